// SPDX-License-Identifier: Apache-2.0

package import Media

/// How long a file of a recording is.
package enum SegmentLength: Sendable, Hashable {
    /// By time, at least a second.
    case duration(Duration)
    /// By size, at least 1 MB.
    case bytes(Int64)

    /// Reads `30m` or `2GB`.
    package init(parsing text: String) throws(TextFailure) {
        if text.lowercased().hasSuffix("b") {
            let size = try ByteSize(parsing: text)
            guard size.bytes >= 1_000_000 else {
                throw TextFailure("A segment of \(text) is too small; 1MB is the least, 2GB is usual.")
            }
            self = .bytes(size.bytes)
            return
        }
        guard let duration = try? DurationText(parsing: text).duration else {
            throw TextFailure("\"\(text)\" is not a segment length; write for example 10s, 30m, 1h30m or 2GB.")
        }
        guard duration >= .seconds(1) else {
            throw TextFailure("A segment of \(text) is too short; 1s is the least, 30m is usual.")
        }
        self = .duration(duration)
    }
}
