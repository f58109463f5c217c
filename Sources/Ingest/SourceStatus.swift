// SPDX-License-Identifier: Apache-2.0

package import Media
package import SRT
package import SourceClock

/// What a source is doing: a snapshot.
package struct SourceStatus: Sendable, Codable, Hashable {
    /// The stages of a source's life.
    package enum State: String, Sendable, Codable, CaseIterable {
        /// Opened, not started; or a live source or a loop that is being opened again.
        case opening
        /// Reading and decoding.
        case running
        /// A live source, or a loop that failed, that waits before it tries to open its input again.
        case waiting
        /// Everything was delivered, or the source was stopped.
        case ended
        /// Reading failed for good.
        case failed
    }

    /// The stage.
    package var state: State = .opening
    /// What its video was when it was opened last; nil before, and without video.
    package var video: VideoFormat?
    /// Frames delivered since the start.
    package var framesDecoded: Int64 = 0
    /// Frames that were not decoded because only keyframes were wanted, or while the next one was waited for.
    package var framesSkipped: Int64 = 0
    /// Frames of a live source that were decoded after their time because the machine was late.
    package var framesOverdue: Int64 = 0
    /// Why only keyframes of a live source are decoded though it is seen; nil if all of it is.
    package var overload: String?
    /// Packets or frames that the decoders refused or repaired, and packets that the transport says are damaged.
    package var decodeErrors: Int64 = 0
    /// Compressed packets read since the start.
    package var packetsRead: Int64 = 0
    /// How many times a live source, or a loop that failed, was opened again.
    package var reopens: Int64 = 0
    /// Tracks of a live source of which nothing comes, though it is open.
    package var silentTracks: Set<TrackKind> = []
    /// Audio tracks that the input has and that are not carried, such as `audio track 2 (AAC, deu)`.
    package var uncarriedTracks: [String] = []
    /// How far a live source's audio lies from where its stamps put it against video, in seconds, positive if it is early;
    /// what is above 0.1 is put right at once. Nil for others.
    package var audioOffsetSeconds: Double?
    /// What is known of a live source's clock; nil for others.
    package var clock: SourceClockStatus?
    /// What libsrt says of the connection; nil where the input does not come by SRT.
    package var srt: SRTInputStatistics?
    /// The last failure, in one sentence without secrets.
    package var lastError: String?

    /// A source that has not begun.
    package init() {}
}
