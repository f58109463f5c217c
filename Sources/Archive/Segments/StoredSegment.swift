// SPDX-License-Identifier: Apache-2.0

/// A file of one channel, as its directory entry describes it.
package struct StoredSegment: Sendable, Equatable {
    /// The file's path, relative to the recording's directory.
    package var fileName: String
    /// The file's number within the channel; 0 if the name does not contain it.
    package var sequence: Int
    /// The file's size in bytes.
    package var bytes: Int64
    /// When the file was last written, which is when it ended.
    package var ended: UTCTime
    /// Whether the file has its final name. Files with other names are being written, or must still be completed.
    package var isFinished: Bool
}
