// SPDX-License-Identifier: Apache-2.0

package import Media

/// When written data is made durable. Durable data is on the disk itself, and not only in the operating system's
/// memory.
package enum SyncPolicy: Sendable, Hashable {
    /// Data is never made durable explicitly; the operating system decides.
    case never
    /// Data is made durable at the end of each file.
    case segment
    /// Data is made durable after each fragment, unless an earlier request is still being served, and at the end of
    /// each file.
    case fragment
    /// Data is made durable after a fragment if this much time has passed since the last time, and at the end of each
    /// file.
    case every(Duration)

    /// The default: every 10 seconds, and at the end of each file.
    package static let standard = SyncPolicy.every(.seconds(10))

    /// Reads `fragment`, `segment`, `never` or a length of time of at least a second.
    package init(parsing text: String) throws(TextFailure) {
        switch text {
        case "never": self = .never
        case "segment": self = .segment
        case "fragment": self = .fragment
        default:
            guard let duration = try? DurationText(parsing: text).duration, duration >= .seconds(1) else {
                throw TextFailure(
                    "\"\(text)\" is no time to synchronise; "
                        + "write fragment, segment, never, or a length of time such as 10s.")
            }
            self = .every(duration)
        }
    }

    /// The time between two synchronisations of an open file; nil if a file is synchronised only at its end, or never.
    var interval: Duration? {
        switch self {
        case .never, .segment: nil
        case .fragment: .zero
        case .every(let duration): duration
        }
    }
}
