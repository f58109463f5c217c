// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import Segmenter
package import Upload

/// The complete status of a recording at one moment; empty if nothing was ever recorded.
package struct RecordingStatus: Sendable, Codable {
    package var recorder: RecorderStatus?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?
    /// The recordings of the program's sources, if the sources are recorded.
    package var sources: [SourceRecordingStatus]

    /// Whether any part of the recording is on the disk.
    package var hasRecorded: Bool { recorder?.hasMedia ?? false }

    package init(
        recorder: RecorderStatus? = nil, storage: StorageStatus? = nil, retention: RetentionStatus? = nil,
        upload: UploadStatus? = nil, sources: [SourceRecordingStatus] = []
    ) {
        (self.recorder, self.storage, self.retention, self.upload) = (recorder, storage, retention, upload)
        self.sources = sources
    }
}

/// The status of the recording in a channel's second directory.
package struct SecondRecordingStatus: Sendable, Codable {
    /// The path of the directory, as it is configured.
    package var directory: String
    package var recorder: RecorderStatus?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?

    /// The status of a recording in `directory`; `status` never contains recordings of sources.
    package init(directory: String, _ status: RecordingStatus) {
        self.directory = directory
        (recorder, storage, retention, upload) = (status.recorder, status.storage, status.retention, status.upload)
    }
}

/// The status of the recording of one of several sources.
package struct SourceRecordingStatus: Sendable, Codable {
    /// How a source is recorded.
    package enum Coding: String, Sendable, Codable {
        /// The source's packets will be copied, but none has arrived yet; or the recording could not be started.
        case waiting
        /// The source's packets are copied.
        case copied
        /// The source's frames are re-encoded.
        case encoded
    }

    package var source: String
    package var recorder: RecorderStatus?
    package var storage: StorageStatus?
    package var encoder: EncoderStatus
    /// The number of frames that were dropped because the encoder could not keep up, or because a backup input had
    /// taken over and had sent no keyframe yet.
    package var droppedFrames: Int
    package var coding: Coding
    /// Why the source is not recorded, or not recorded any more; nil if it is recorded.
    package var failure: String?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?

    /// The status of one source's recording.
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
