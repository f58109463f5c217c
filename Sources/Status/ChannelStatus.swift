// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import FanOut
package import Ingest
package import Media
package import Monitor
package import Program
package import Segmenter
package import Upload

/// The complete status of a channel at one moment.
package struct ChannelStatus: Sendable, Codable {
    package var sources: [SourceStatus]
    /// Which input is on air; nil if there is only one.
    package var selection: SelectionStatus?
    /// The sources of a program that has several sources. The status of their inputs is in ``sources``, one source
    /// after the other.
    package var parts: [PartStatus]?
    /// The position of the program's run-down, without the segments; nil without a run-down.
    package var runDown: RunDownStatus?
    package var feed: FeedStatus
    /// The status of the feed from which the audio comes, which may be the same feed; nil for a program without audio.
    package var audioFeed: FeedStatus?
    package var program: ProgramStatus
    package var encoder: EncoderStatus
    /// The renditions; nil without any.
    package var renditions: [RenditionStatus]?
    package var frameRate: FrameRate
    package var outputs: [OutputStatus]
    package var recorder: RecorderStatus?
    /// The status of the recorder that records only for clips, even after it has ended; nil if there never was such a
    /// recorder.
    package var clipsRecorder: RecorderStatus?
    /// The name of the rendition that is recorded; nil if the program's own encoding is recorded, or nothing.
    package var recordedRendition: String?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?
    /// The status of the recordings of the program's sources; nil if they are not recorded.
    package var sourceRecordings: [SourceRecordingStatus]?
    /// The status of a program that is passed through; the status of the encoder is then meaningless.
    package var passthrough: PassthroughStatus?
    /// The status of the monitors. In a program that is passed through, only the audio is monitored, and only if that
    /// was requested.
    package var monitor: MonitorStatus?

    /// Creates the status of a program. The code that owns the outputs and the recording adds their parts.
    package init(
        sources: [SourceStatus], selection: SelectionStatus? = nil, feed: FeedStatus, audioFeed: FeedStatus? = nil,
        program: ProgramStatus, encoder: EncoderStatus, frameRate: FrameRate, outputs: [OutputStatus] = [],
        passthrough: PassthroughStatus? = nil
    ) {
        (self.sources, self.selection, self.feed, self.audioFeed) = (sources, selection, feed, audioFeed)
        (self.program, self.encoder, self.frameRate, self.outputs) = (program, encoder, frameRate, outputs)
        self.passthrough = passthrough
    }

    /// The current program time, in nanoseconds.
    package var programNanoseconds: Int64 {
        passthrough?.programNanoseconds ?? frameRate.timeBase.rescale(program.position, to: .nanoseconds)
    }
}
