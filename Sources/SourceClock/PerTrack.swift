// SPDX-License-Identifier: Apache-2.0

package import Media

/// Holds one optional value for the video track and one for the audio track.
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

    /// The tracks for which a value is set.
    var tracks: [TrackKind] { TrackKind.timed.filter { self[$0] != nil } }
    /// The values that are set; the video track's value comes first.
    var values: [Value] { [video, audio].compactMap(\.self) }
    /// The number of tracks for which a value is set.
    var count: Int { (video == nil ? 0 : 1) + (audio == nil ? 0 : 1) }
}

extension TrackKind {
    /// The kinds of tracks whose timestamps a ``SourceClock`` handles.
    package static let timed: [TrackKind] = [.video, .audio]

    /// The kind of a source's other track: audio for video, and video for audio.
    package var other: TrackKind { self == .video ? .audio : .video }
}
