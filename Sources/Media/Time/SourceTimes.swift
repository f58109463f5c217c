// SPDX-License-Identifier: Apache-2.0

/// What a live source knows of its own clock. Media times are on the source's timeline, moments on CLOCK_MONOTONIC. All
/// calls may come from any thread.
package protocol SourceTimes: AnyObject, Sendable {
    /// Moves the source's map up to `moment`, and notices what did not come by then. To be called at each tick of the
    /// program.
    func advance(to moment: Timestamp)
    /// When `time` of the source's timeline is due by the current map; nil while the source has no map.
    func due(_ time: Timestamp, of track: TrackKind) -> Timestamp?
    /// By how much the media of `track` last longer on our clock than by their stamps: 0.0001 is 100 ppm.
    func stretch(of track: TrackKind) -> Double
}
