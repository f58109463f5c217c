// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Ingest
internal import Media
internal import Monitor
internal import Program
internal import Segmenter
internal import Upload

/// Everything that an operator can know of a channel at one moment.
struct ChannelStatus: Sendable, Codable {
    var sources: [SourceStatus]
    /// Which input is on air; nil where there is no choice.
    var selection: SelectionStatus?
    var feed: FeedStatus
    /// The same of the audio, from the same feed or another; nil for a program without audio.
    var audioFeed: FeedStatus?
    var program: ProgramStatus
    var encoder: EncoderStatus
    var frameRate: FrameRate
    var outputs: [OutputStatus]
    var recorder: RecorderStatus?
    var storage: StorageStatus?
    var retention: RetentionStatus?
    var upload: UploadStatus?
    /// Of a program that is passed through: then nothing is known of an encoder.
    var passthrough: PassthroughStatus?
    /// What is watched of the program; of one that is passed through only its audio, if that was asked for.
    var monitor: MonitorStatus?
}
