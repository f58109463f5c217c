// SPDX-License-Identifier: Apache-2.0

/// What an operator sees of uploads.
public struct UploadStatus: Sendable, Codable, Equatable {
    /// Files that wait, the current one included.
    public var waitingFiles = 0
    /// Their bytes.
    public var waitingBytes: Int64 = 0
    /// How long the oldest of them has waited, in seconds since it was finished; nil if none waits.
    public var oldestWaitingSeconds: Double?
    /// The file that is being uploaded.
    public var current: String?
    /// Files uploaded since the start.
    public var doneFiles = 0
    /// Their bytes.
    public var doneBytes: Int64 = 0
    /// Tries that failed since the start.
    public var failures = 0
    /// Files whose last try failed. They are tried until they are handed over.
    public var failingFiles = 0
    /// How long the longest of them has failed, in seconds since its first failure; nil if none fails.
    public var failingSeconds: Double?
    /// Files that an operator gave up since the start.
    public var givenUpFiles = 0
    /// Why the last try failed; nil when one has succeeded since.
    public var lastError: String?

    /// Nothing yet.
    public init() {}
}
