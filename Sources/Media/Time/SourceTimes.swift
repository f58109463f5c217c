// SPDX-License-Identifier: Apache-2.0

/// A live source's knowledge of its own clock. Media times are on the source's timeline, moments on CLOCK_MONOTONIC.
/// Any thread may call.
package protocol SourceTimes: AnyObject, Sendable {
    /// Moves the source's clock mapping to `moment`, and detects late media. Called at each tick of the program.
    func advance(to moment: Timestamp)
    /// When `time` of the source's timeline is due by the current mapping; nil while the source has none.
    func due(_ time: Timestamp, of track: TrackKind) -> Timestamp?
    /// How much longer the media of `track` lasts on our clock than by its timestamps: 0.0001 is 100 ppm.
    func stretch(of track: TrackKind) -> Double
}
