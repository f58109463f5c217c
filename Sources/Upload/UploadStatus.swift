// SPDX-License-Identifier: Apache-2.0

/// The status of uploads for operators.
package struct UploadStatus: Sendable, Codable, Equatable {
    /// Number of waiting files, including the current one.
    package var waitingFiles = 0
    /// The size of the waiting files, in bytes.
    package var waitingBytes: Int64 = 0
    /// How long the oldest waiting file has waited since it was finished, in seconds; nil if no file waits.
    package var oldestWaitingSeconds: Double?
    /// The name of the file that is being uploaded; nil if no file is.
    package var current: String?
    /// Number of files that were uploaded since the uploader was created.
    package var doneFiles = 0
    /// The total size of the files that were uploaded since the uploader was created, in bytes.
    package var doneBytes: Int64 = 0
    /// Number of failed tries since the uploader was created, without tries that were only postponed.
    package var failures = 0
    /// Number of files whose last try failed. They are tried until they are uploaded.
    package var failingFiles = 0
    /// How long the file that has failed for the longest time has been failing, in seconds; nil if no file fails.
    package var failingSeconds: Double?
    /// Number of files that an operator gave up since the uploader was created.
    package var givenUpFiles = 0
    /// The reason for the last failure of a try; nil if another try has succeeded since then, or if an operator has
    /// given up the last file that failed.
    package var lastError: String?

    /// The status of an uploader that has done nothing yet.
    package init() {}
}
