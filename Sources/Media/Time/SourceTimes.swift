// SPDX-License-Identifier: Apache-2.0

/// The mapping of a live source's clock to ours. Media times are on the source's timeline; moments are on
/// CLOCK_MONOTONIC. Any thread may call it.
package protocol SourceTimes: AnyObject, Sendable {
    /// Moves the source's clock mapping to `moment`, and detects late media. Called at each tick of the program.
    func advance(to moment: Timestamp)
    /// The moment at which `time` of the source's timeline is due, by the current mapping; nil while there is no
    /// mapping.
    func due(_ time: Timestamp, of track: TrackKind) -> Timestamp?
    /// How much longer the media of `track` lasts on our clock than its timestamps say: 0.0001 means 100 ppm.
    func stretch(of track: TrackKind) -> Double
}
