// SPDX-License-Identifier: Apache-2.0

/// What an operator sees of uploads.
package struct UploadStatus: Sendable, Codable, Equatable {
    /// Files that wait, the current one included.
    package var waitingFiles = 0
    /// Their bytes.
    package var waitingBytes: Int64 = 0
    /// How long the oldest of them has waited, in seconds since it was finished; nil if none waits.
    package var oldestWaitingSeconds: Double?
    /// The file that is being uploaded.
    package var current: String?
    /// Files uploaded since the start.
    package var doneFiles = 0
    /// Their bytes.
    package var doneBytes: Int64 = 0
    /// Tries that failed since the start.
    package var failures = 0
    /// Files whose last try failed. They are tried until they are handed over.
    package var failingFiles = 0
    /// How long the longest of them has failed, in seconds since its first failure; nil if none fails.
    package var failingSeconds: Double?
    /// Files that an operator gave up since the start.
    package var givenUpFiles = 0
    /// Why the last try failed; nil when one has succeeded since.
    package var lastError: String?

    /// Nothing yet.
    package init() {}
}
