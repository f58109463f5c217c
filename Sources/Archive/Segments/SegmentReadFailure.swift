// SPDX-License-Identifier: Apache-2.0

/// Why ``SegmentReader`` cannot read a file.
package enum SegmentReadFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system reported a failure.
    case file(FileFailure)
    /// The file is not a recording of relay.
    case foreign(String)
    /// The file begins like a recording, but is damaged.
    case damaged(String)
    /// The file is a recording of audio alone, but video was requested.
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
