// SPDX-License-Identifier: Apache-2.0

/// The status of uploads for operators.
package struct UploadStatus: Sendable, Codable, Equatable {
    /// Number of waiting files, including the current one.
    package var waitingFiles = 0
    /// The size of the waiting files, in bytes.
    package var waitingBytes: Int64 = 0
    /// How long the oldest waiting file has waited since it was finished, in seconds; nil if no file waits.
    package var oldestWaitingSeconds: Double?
    /// The file that is being uploaded.
    package var current: String?
    /// Number of files that were uploaded since the start.
    package var doneFiles = 0
    /// The size of the uploaded files, in bytes.
    package var doneBytes: Int64 = 0
    /// Number of failed tries since the start.
    package var failures = 0
    /// Number of files whose last try failed. They are tried until they are uploaded.
    package var failingFiles = 0
    /// How long the file that has failed for the longest time has been failing, in seconds; nil if no file fails.
    package var failingSeconds: Double?
    /// Number of files that an operator gave up since the start.
    package var givenUpFiles = 0
    /// Why the last try failed; nil after a later success.
    package var lastError: String?

    /// The status of an uploader that has done nothing yet.
    package init() {}
}
