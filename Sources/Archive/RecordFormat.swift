// SPDX-License-Identifier: Apache-2.0

/// The format of a recording's files.
package enum RecordFormat: String, Sendable, Codable, CaseIterable {
    /// Fragmented MP4 while it is open, a plain MP4 when it is closed.
    case hybrid
    /// Fragmented MP4, with an index of its fragments when it is closed.
    case fragmented
    /// An MPEG transport stream.
    case ts

    /// The extension of a closed file, with its dot.
    package var fileExtension: String { self == .ts ? ".ts" : ".mp4" }
}
