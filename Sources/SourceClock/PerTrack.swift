// SPDX-License-Identifier: Apache-2.0

package import Media

/// An optional value for each track.
struct PerTrack<Value: Sendable>: Sendable {
    private var video: Value?
    private var audio: Value?

    /// The value of `track`; nil if the track has no value.
    subscript(track: TrackKind) -> Value? {
        get { track == .video ? video : audio }
        _modify {
            if track == .video { yield &video } else { yield &audio }
        }
    }

    /// The tracks that have a value.
    var tracks: [TrackKind] { TrackKind.timed.filter { self[$0] != nil } }
    /// The values, with the video's value first.
    var values: [Value] { [video, audio].compactMap(\.self) }
    /// Number of tracks with a value.
    var count: Int { (video == nil ? 0 : 1) + (audio == nil ? 0 : 1) }
}

extension TrackKind {
    /// The tracks that a source's clock handles.
    package static let timed: [TrackKind] = [.video, .audio]
}
