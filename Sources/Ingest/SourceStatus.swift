// SPDX-License-Identifier: Apache-2.0

package import Media
package import SRT
package import SourceClock

/// A snapshot of the state and the counters of a source.
package struct SourceStatus: Sendable, Codable, Hashable {
    /// The stages of a source's life.
    package enum State: String, Sendable, Codable, CaseIterable {
        /// The source was opened and is not started, or a live source or a loop is being opened again.
        case opening
        /// The source is reading and decoding.
        case running
        /// The input of a live source, or of a loop that failed, will be opened again after a pause.
        case waiting
        /// Everything was delivered, or the source was stopped.
        case ended
        /// Reading failed, and is not attempted again.
        case failed
    }

    /// The current stage.
    package var state: State = .opening
    /// The format of the video, as found when the source was last opened; nil before that, and without video.
    package var video: VideoFormat?
    /// Frames delivered since the start.
    package var framesDecoded: Int64 = 0
    /// Frames that were not decoded, because only keyframes were wanted or because decoding had to wait for the next
    /// keyframe.
    package var framesSkipped: Int64 = 0
    /// Frames of a live source that were decoded too late to be shown on time, because the machine is too slow.
    package var framesOverdue: Int64 = 0
    /// Why only keyframes of a live source are decoded although its video is visible; nil if all frames are decoded.
    package var overload: String?
    /// Packets or frames that the decoders refused or repaired, and packets that the transport reports as damaged.
    package var decodeErrors: Int64 = 0
    /// Compressed packets read since the start.
    package var packetsRead: Int64 = 0
    /// How many times a live source, or a loop that failed, was opened again.
    package var reopens: Int64 = 0
    /// Tracks of a live source that deliver no packets, although its input is open.
    package var silentTracks: Set<TrackKind> = []
    /// Audio tracks that the input has and that are not carried, such as `audio track 2 (AAC, deu)`.
    package var uncarriedTracks: [String] = []
    /// How far a live source's audio is from its correct position relative to the video, in seconds; positive if the
    /// audio is early. An offset of more than 0.1 s is corrected at once. Nil for other sources.
    package var audioOffsetSeconds: Double?
    /// The state of a live source's clock; nil for other sources.
    package var clock: SourceClockStatus?
    /// The statistics of libsrt, with totals of all connections so far; nil if the input does not use SRT.
    package var srt: SRTInputStatistics?
    /// The last failure, in one sentence without secrets.
    package var lastError: String?

    /// Creates the status of a source that has not begun.
    package init() {}
}
