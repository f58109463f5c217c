// SPDX-License-Identifier: Apache-2.0

package import Archive

/// Retention's status for operators.
package struct RetentionStatus: Sendable, Codable, Equatable {
    /// The number of finished files of the channel in the directory.
    package var files = 0
    /// Bytes of all files of the channel, including the open one.
    package var bytes: Int64 = 0
    /// When the oldest finished file ended.
    package var oldest: UTCTime?
    /// The number of old finished files that must not be deleted yet, for example because they wait for upload or
    /// because an operator holds them.
    package var heldFiles = 0
    /// The number of files that retention has deleted since it was created.
    package var deletedFiles = 0
    /// Bytes of the files that retention has deleted since it was created.
    package var deletedBytes: Int64 = 0
    /// Bytes of the files that can be deleted to free disk space; 0 if no minimum of free space is configured.
    package var reclaimableBytes: Int64 = 0
    /// How many more bytes can be recorded before the total size, or too little free space, requires the next deletion;
    /// nil without such limits, and until the files were checked for the first time.
    package var roomBytes: Int64?
    /// Why a limit is exceeded, or why more files might be kept than necessary, in words; nil if there is no such
    /// problem.
    package var problem: String?
}

/// The numbers that the storage guard needs to know about retention.
package struct RetentionBalance: Sendable, Equatable {
    /// Bytes of the files that retention has deleted since it was created.
    package var deletedBytes: Int64
    /// Bytes that can be freed before recording has to stop.
    package var reclaimableBytes: Int64

    package init(deletedBytes: Int64 = 0, reclaimableBytes: Int64 = 0) {
        self.deletedBytes = deletedBytes
        self.reclaimableBytes = reclaimableBytes
    }
}

/// Can prevent retention from deleting a finished file, for example because an upload still needs it. It is called on
/// retention's queue, where waiting for a disk is allowed.
package protocol RetentionVeto: AnyObject, Sendable {
    /// Whether the finished file `fileName`, relative to the recording's directory, is allowed to be deleted.
    func mayDelete(_ fileName: String) -> Bool
    /// Why more files might be kept than necessary, in words for an operator; nil if there is no such reason.
    var problem: String? { get }
}

extension RetentionVeto {
    package var problem: String? { nil }
}
