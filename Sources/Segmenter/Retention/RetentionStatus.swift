// SPDX-License-Identifier: Apache-2.0

package import Archive

/// What an operator sees of retention.
package struct RetentionStatus: Sendable, Codable, Equatable {
    /// Finished files of the channel in the directory.
    package var files = 0
    /// Bytes of all its files, the open one too.
    package var bytes: Int64 = 0
    /// When the oldest finished file ended.
    package var oldest: UTCTime?
    /// Finished files that may not be deleted because something else still needs them, such as an upload.
    package var heldFiles = 0
    /// Files deleted since the start.
    package var deletedFiles = 0
    /// Their bytes.
    package var deletedBytes: Int64 = 0
    /// Bytes that could be deleted for free space; 0 unless that is asked for.
    package var reclaimableBytes: Int64 = 0
    /// Why a limit is not kept, in words; nil if all are.
    package var problem: String?
}

/// What retention means for the free space that the storage guard sees.
package struct RetentionBalance: Sendable, Equatable {
    /// Bytes that were freed since the start.
    package var deletedBytes: Int64
    /// Bytes that can be freed before recording has to stop.
    package var reclaimableBytes: Int64

    /// A balance.
    package init(deletedBytes: Int64 = 0, reclaimableBytes: Int64 = 0) {
        self.deletedBytes = deletedBytes
        self.reclaimableBytes = reclaimableBytes
    }
}

/// A user of finished files that may still need them, such as an upload. It is asked on retention's queue, where
/// waiting for a disk is allowed.
package protocol RetentionVeto: AnyObject, Sendable {
    /// Whether the finished file `fileName`, relative to the recording's directory, may be deleted.
    func mayDelete(_ fileName: String) -> Bool
    /// Why more may be kept than is needed, in words for an operator; nil if that is not so.
    var problem: String? { get }
}

extension RetentionVeto {
    package var problem: String? { nil }
}
