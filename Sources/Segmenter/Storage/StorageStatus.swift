// SPDX-License-Identifier: Apache-2.0

/// What the storage guard thinks of the disk.
package enum StorageState: String, Sendable, Codable, CaseIterable {
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
package struct StorageStatus: Sendable, Codable, Equatable {
    /// The verdict.
    package var state: StorageState
    /// Free bytes at the last measurement; 0 before the first.
    package var freeBytes: Int64
    /// Bytes that must be free before recording starts.
    package var requiredBytes: Int64
    /// Bytes that stay free.
    package var reserveBytes: Int64
    /// Bytes that retention may free before it comes to that.
    package var reclaimableBytes: Int64 = 0
    /// Seconds until the reserve is reached and nothing more may be reclaimed, at the worse of the recorder's own rate
    /// and the observed one; nil when the space does not shrink or is not known.
    package var secondsUntilFull: Double?
    /// The directory.
    package var directory: String
    /// Why recording is stopped or refused, in words.
    package var reason: String?
    /// Age of the measurement in seconds; grows while the file system does not answer.
    package var ageSeconds: Double
}

/// The guard's answer before recording starts.
package struct StorageAdmission: Sendable, Equatable {
    /// Whether there is room.
    package var isAdmitted: Bool
    /// Free bytes.
    package var freeBytes: Int64
    /// Bytes of old recordings that retention may delete in the course of this one. They count as room.
    package var deletableBytes: Int64 = 0
    /// Bytes that must be free, or become free by deleting.
    package var requiredBytes: Int64
    /// Bits a second of both tracks.
    package var bitrate: Int64
    /// The expected length.
    package var duration: Duration
    /// One sentence for the operator.
    package var sentence: String
}
