// SPDX-License-Identifier: Apache-2.0

package import Media

/// The rules that decide which files of a recording are kept. Each limit applies on its own: as soon as one limit is
/// exceeded, the oldest finished files are deleted.
package struct RetentionRules: Sendable, Equatable {
    /// Files that ended longer ago than this are deleted; nil for no limit.
    package var maximumAge: Duration?
    /// The maximum number of bytes of all files of the channel together; nil for no limit.
    package var maximumBytes: Int64?
    /// How much of the disk should be free; nil if files are not deleted to free disk space.
    package var minimumFree: FreeSpaceGoal?
    /// Files that ended more recently than this are not deleted.
    package var minimumAge: Duration

    /// Creates rules that delete only what the given limits require. By default no file younger than an hour is
    /// deleted.
    package init(
        maximumAge: Duration? = nil, maximumBytes: Int64? = nil, minimumFree: FreeSpaceGoal? = nil,
        minimumAge: Duration = .seconds(3600)
    ) {
        self.maximumAge = maximumAge
        self.maximumBytes = maximumBytes
        self.minimumFree = minimumFree
        self.minimumAge = minimumAge
    }
}

/// How much of a disk should stay free.
package enum FreeSpaceGoal: Sendable, Equatable, CustomStringConvertible {
    /// A number of bytes.
    case bytes(Int64)
    /// A percentage of the disk, from 1 to 90.
    case percent(Int64)

    /// Parses a text such as `10%` or `50GB`.
    package init(parsing text: String) throws(TextFailure) {
        guard text.hasSuffix("%") else {
            guard let size = try? ByteSize(parsing: text) else {
                throw TextFailure("\"\(text)\" is not an amount of free space; write for example 10% or 50GB.")
            }
            self = .bytes(size.bytes)
            return
        }
        guard let number = DecimalNumber(text.dropLast())?.times(1), (1...90).contains(number) else {
            throw TextFailure("\"\(text)\" is not a part of a disk to keep free; write 1% to 90%.")
        }
        self = .percent(number)
    }

    /// Returns how many bytes of `capacity` should be free.
    package func bytes(of capacity: Int64) -> Int64 {
        switch self {
        case .bytes(let bytes): bytes
        case .percent(let percent): capacity / 100 * percent
        }
    }

    package var description: String {
        switch self {
        case .bytes(let bytes): "\(ByteSize(bytes: bytes))"
        case .percent(let percent): "\(percent)%"
        }
    }
}

/// The limit that required the deletion of a file.
package enum RetentionRule: String, Sendable, Codable {
    /// The file was too old.
    case age
    /// The channel's files took too much space.
    case size
    /// Too little of the disk was free.
    case free
}
