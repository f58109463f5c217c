// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import FanOut
package import Ingest
package import Media
package import Monitor
package import Program
package import Segmenter
package import Upload

/// Everything that an operator can know of a channel at one moment.
package struct ChannelStatus: Sendable, Codable {
    package var sources: [SourceStatus]
    /// Which input is on air; nil where there is no choice.
    package var selection: SelectionStatus?
    /// The sources of a program that has several; their inputs are ``sources``, one source's after the other's.
    package var parts: [PartStatus]?
    /// Where its run-down is, without the segments; nil without one.
    package var runDown: RunDownStatus?
    package var feed: FeedStatus
    /// The same of the audio, from the same feed or another; nil for a program without audio.
    package var audioFeed: FeedStatus?
    package var program: ProgramStatus
    package var encoder: EncoderStatus
    /// Its further encodings; nil without any.
    package var renditions: [RenditionStatus]?
    package var frameRate: FrameRate
    package var outputs: [OutputStatus]
    package var recorder: RecorderStatus?
    /// What is recorded for clips alone, or was last; nil if nothing ever was.
    package var clipsRecorder: RecorderStatus?
    /// Which rendition is recorded; nil for the program's own encoding, and while nothing is recorded.
    package var recordedRendition: String?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?
    /// The recordings of its sources; nil where they are not recorded.
    package var sourceRecordings: [SourceRecordingStatus]?
    /// The status of a program that is passed through; nothing is known of an encoder then.
    package var passthrough: PassthroughStatus?
    /// What is watched of the program; of one that is passed through only its audio, if that was asked for.
    package var monitor: MonitorStatus?

    /// What is known of a program; the owners of the outputs and of the recording fill these in.
    package init(
        sources: [SourceStatus], selection: SelectionStatus? = nil, feed: FeedStatus, audioFeed: FeedStatus? = nil,
        program: ProgramStatus, encoder: EncoderStatus, frameRate: FrameRate, outputs: [OutputStatus] = [],
        passthrough: PassthroughStatus? = nil
    ) {
        (self.sources, self.selection, self.feed, self.audioFeed) = (sources, selection, feed, audioFeed)
        (self.program, self.encoder, self.frameRate, self.outputs) = (program, encoder, frameRate, outputs)
        self.passthrough = passthrough
    }

    /// How far the program is, in nanoseconds.
    package var programNanoseconds: Int64 {
        passthrough?.programNanoseconds ?? frameRate.timeBase.rescale(program.position, to: .nanoseconds)
    }
}
