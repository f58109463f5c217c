// SPDX-License-Identifier: Apache-2.0

/// Why ``SegmentReader`` can say nothing of a file.
package enum SegmentReadFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system reports a failure.
    case file(FileFailure)
    /// The file is not a recording of this program.
    case foreign(String)
    /// The file begins as a recording does, and continues differently.
    case damaged(String)
    /// The file is a recording of audio alone, where video is wanted.
    case audioAlone

    package var description: String {
        switch self {
        case .file(let failure): failure.description
        case .foreign(let reason): "it is not a recording of relay: \(reason)"
        case .damaged(let reason): "it is damaged: \(reason)"
        case .audioAlone: "it holds audio alone, and no video"
        }
    }
}
