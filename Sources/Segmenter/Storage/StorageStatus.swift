// SPDX-License-Identifier: Apache-2.0

/// What the storage guard thinks of the disk.
public enum StorageState: String, Sendable, Codable, CaseIterable {
    /// There is room.
    case ok
    /// The time until the disk is full is short.
    case warning
    /// Minutes are left until recording stops.
    case critical
    /// The reserve is reached or the directory cannot be used: nothing is recorded until that changes.
    case stopped
    /// There was never enough room to begin.
    case refused
}

/// What an operator sees of the storage guard.
public struct StorageStatus: Sendable, Codable, Equatable {
    /// The verdict.
    public var state: StorageState
    /// Free bytes at the last measurement; 0 before the first.
    public var freeBytes: Int64
    /// Bytes that must be free before recording starts.
    public var requiredBytes: Int64
    /// Bytes that stay free.
    public var reserveBytes: Int64
    /// Bytes that retention may free before it comes to that.
    public var reclaimableBytes: Int64 = 0
    /// Seconds until the reserve is reached and nothing more may be reclaimed, at the worse of the recorder's own rate
    /// and the observed one; nil when the space does not shrink or is not known.
    public var secondsUntilFull: Double?
    /// The directory.
    public var directory: String
    /// Why recording is stopped or refused, in words.
    public var reason: String?
    /// Age of the measurement in seconds; grows while the file system does not answer.
    public var ageSeconds: Double
}

/// The guard's answer before recording starts.
public struct StorageAdmission: Sendable, Equatable {
    /// Whether there is room.
    public var isAdmitted: Bool
    /// Free bytes.
    public var freeBytes: Int64
    /// Bytes of old recordings that retention may delete in the course of this one. They count as room.
    public var deletableBytes: Int64 = 0
    /// Bytes that must be free, or become free by deleting.
    public var requiredBytes: Int64
    /// Bits a second of both tracks.
    public var bitrate: Int64
    /// The expected length.
    public var duration: Duration
    /// One sentence for the operator.
    public var sentence: String
}
