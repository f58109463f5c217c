// SPDX-License-Identifier: Apache-2.0

/// A file of one channel, from its directory entry.
package struct StoredSegment: Sendable, Equatable {
    /// Its path, relative to the recording's directory.
    package var fileName: String
    /// The file's number within the channel; 0 if the name does not contain it.
    package var sequence: Int
    /// Its size in bytes.
    package var bytes: Int64
    /// When it was last written, which is when it ended.
    package var ended: UTCTime
    /// Whether it has its final name; other files are being written, or must still be completed.
    package var isFinished: Bool
}
