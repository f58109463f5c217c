// SPDX-License-Identifier: Apache-2.0

internal import Segmenter
internal import Upload

/// Everything that an operator can know of a recording at one moment; empty where nothing was ever recorded.
struct RecordingStatus: Sendable, Codable {
    var recorder: RecorderStatus?
    var storage: StorageStatus?
    var retention: RetentionStatus?
    var upload: UploadStatus?

    /// Whether something of it is on disk.
    var hasRecorded: Bool { recorder?.hasMedia ?? false }
}
