// SPDX-License-Identifier: Apache-2.0

/// Why a file of a recording ended.
package enum SegmentEnding: String, Sendable, Codable {
    /// It was long enough, and the next one follows without a gap.
    case rotate
    /// The program was over.
    case stop
    /// Writing or reading failed, or the recorder fell too far behind.
    case error
    /// The storage guard stopped the recording, or the disk was full.
    case disk
    /// The recorded source sent nothing for a while; when it sends again, another file begins.
    case silent
    /// A crash left it open, and the next start completed it.
    case recovered
}
