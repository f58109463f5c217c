// SPDX-License-Identifier: Apache-2.0

/// The storage guard's rating of the disk.
package enum StorageState: String, Sendable, Codable, CaseIterable {
    /// There is enough space.
    case ok
    /// The disk will be full soon.
    case warning
    /// Recording will stop within minutes.
    case critical
    /// The reserve is reached, or the directory cannot be used. Recording is stopped until that changes.
    case stopped
    /// There was not enough space to begin recording, or the space could not be measured.
    case refused
}

/// The storage guard's status for operators.
package struct StorageStatus: Sendable, Codable, Equatable {
    /// The guard's rating.
    package var state: StorageState
    /// Free bytes at the last measurement; 0 before the first.
    package var freeBytes: Int64
    /// Bytes that must be free before recording starts.
    package var requiredBytes: Int64
    /// Bytes that stay free: recording stops before it uses them.
    package var reserveBytes: Int64
    /// Bytes that retention can free before the reserve is reached.
    package var reclaimableBytes: Int64 = 0
    /// Seconds until the reserve is reached and nothing more can be deleted. The forecast uses the rate at which the
    /// recorder writes or the rate at which free space decreases, whichever is higher; the configured bitrate counts,
    /// too, until something was written and while recording is stopped or refused. Nil without a forecast.
    package var secondsUntilFull: Double?
    /// The path of the recording's directory.
    package var directory: String
    /// Why recording is stopped or refused, in words.
    package var reason: String?
    /// Age of the measurement in seconds; grows while the file system does not answer.
    package var ageSeconds: Double
}

/// The storage guard's answer before recording starts.
package struct StorageAdmission: Sendable, Equatable {
    /// Whether there is enough space.
    package var isAdmitted: Bool
    /// Free bytes of the file system; 0 if they could not be measured.
    package var freeBytes: Int64
    /// Bytes of old recordings that retention can delete during this recording. They count as available space.
    package var deletableBytes: Int64 = 0
    /// Bytes that must be free, or become free by deleting.
    package var requiredBytes: Int64
    /// Bits per second of both tracks.
    package var bitrate: Int64
    /// The expected length of the recording.
    package var duration: Duration
    /// One sentence for the operator.
    package var sentence: String
}
