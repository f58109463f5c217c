// SPDX-License-Identifier: Apache-2.0

/// The format of a recording's files.
package enum RecordFormat: String, Sendable, Codable, CaseIterable {
    /// The file is a fragmented MP4 while it is open, and a plain MP4 when it is closed.
    case hybrid
    /// The file is a fragmented MP4. When it is closed, it gets an index of its fragments.
    case fragmented
    /// An MPEG transport stream.
    case ts

    /// The extension of a closed file, with its dot.
    package var fileExtension: String { self == .ts ? ".ts" : ".mp4" }
}
