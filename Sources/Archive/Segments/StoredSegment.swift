// SPDX-License-Identifier: Apache-2.0

/// A file of one channel as the directory shows it.
package struct StoredSegment: Sendable, Equatable {
    /// Relative to the recording's directory.
    package var fileName: String
    /// Counts up over the channel's files; 0 if the name does not say it.
    package var sequence: Int
    /// Its size.
    package var bytes: Int64
    /// When it was last written: when it ended.
    package var ended: UTCTime
    /// Whether it has its final name. Others are being written, or wait to be completed.
    package var isFinished: Bool
}
