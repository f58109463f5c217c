// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import Segmenter
package import Upload

/// Everything that an operator can know of a recording at one moment; empty where nothing was ever recorded.
package struct RecordingStatus: Sendable, Codable {
    package var recorder: RecorderStatus?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?
    /// The recordings of the program's sources, if they are recorded, too.
    package var sources: [SourceRecordingStatus]

    /// Whether something of it is on disk.
    package var hasRecorded: Bool { recorder?.hasMedia ?? false }

    /// What is known of a recording.
    package init(
        recorder: RecorderStatus? = nil, storage: StorageStatus? = nil, retention: RetentionStatus? = nil,
        upload: UploadStatus? = nil, sources: [SourceRecordingStatus] = []
    ) {
        (self.recorder, self.storage, self.retention, self.upload) = (recorder, storage, retention, upload)
        self.sources = sources
    }
}

/// What an operator can know of the recording of one of several sources.
package struct SourceRecordingStatus: Sendable, Codable {
    /// What is recorded of a source.
    package enum Coding: String, Sendable, Codable {
        /// What it sends, as it comes; nothing came yet.
        case waiting
        /// What it sends, as it comes.
        case copied
        /// What it shows, encoded once more.
        case encoded
    }

    package var source: String
    package var recorder: RecorderStatus?
    package var storage: StorageStatus?
    package var encoder: EncoderStatus
    /// Frames that were left out because the encoder could not keep up, or an input that took over had no keyframe yet.
    package var droppedFrames: Int
    package var coding: Coding
    /// Why it is not recorded, or no more; nil if it is.
    package var failure: String?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?

    /// What is known of one.
    package init(
        source: String, recorder: RecorderStatus?, storage: StorageStatus?, encoder: EncoderStatus, droppedFrames: Int,
        coding: Coding, failure: String? = nil, retention: RetentionStatus? = nil, upload: UploadStatus? = nil
    ) {
        (self.failure, self.retention, self.upload) = (failure, retention, upload)
        self.coding = coding
        (self.source, self.recorder, self.storage) = (source, recorder, storage)
        (self.encoder, self.droppedFrames) = (encoder, droppedFrames)
    }
}
