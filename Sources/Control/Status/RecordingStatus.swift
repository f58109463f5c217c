// SPDX-License-Identifier: Apache-2.0

package import Segmenter
package import Upload

/// Everything that an operator can know of a recording at one moment; empty where nothing was ever recorded.
package struct RecordingStatus: Sendable, Codable {
    package var recorder: RecorderStatus?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?

    /// Whether something of it is on disk.
    package var hasRecorded: Bool { recorder?.hasMedia ?? false }

    /// What is known of a recording.
    package init(
        recorder: RecorderStatus? = nil, storage: StorageStatus? = nil, retention: RetentionStatus? = nil,
        upload: UploadStatus? = nil
    ) {
        (self.recorder, self.storage, self.retention, self.upload) = (recorder, storage, retention, upload)
    }
}
