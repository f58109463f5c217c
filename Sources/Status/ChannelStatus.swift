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
    /// The sources of a program that has several. Their inputs are in ``sources``, one source after the other.
    package var parts: [PartStatus]?
    /// The position of its run-down, without the segments; nil without a run-down.
    package var runDown: RunDownStatus?
    package var feed: FeedStatus
    /// The same for the audio, from the same feed or another; nil for a program without audio.
    package var audioFeed: FeedStatus?
    package var program: ProgramStatus
    package var encoder: EncoderStatus
    /// The renditions; nil without any.
    package var renditions: [RenditionStatus]?
    package var frameRate: FrameRate
    package var outputs: [OutputStatus]
    package var recorder: RecorderStatus?
    /// The status of the recorder that records only for clips, also after it has ended; nil if there never was one.
    package var clipsRecorder: RecorderStatus?
    /// The recorded rendition; nil if the program's own encoding is recorded, or nothing.
    package var recordedRendition: String?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?
    /// The recordings of its sources; nil if they are not recorded.
    package var sourceRecordings: [SourceRecordingStatus]?
    /// The status of a program that is passed through; the encoder's status then means nothing.
    package var passthrough: PassthroughStatus?
    /// The status of the monitors; for a program that is passed through, only of its audio, and only if that was
    /// requested.
    package var monitor: MonitorStatus?

    /// The status of a program; the owners of the outputs and of the recording add their parts.
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
