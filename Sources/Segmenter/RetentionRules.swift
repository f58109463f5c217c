// SPDX-License-Identifier: Apache-2.0

/// What of a recording is kept. Each limit stands for itself: whichever asks first has the oldest finished files deleted.
public struct RetentionRules: Sendable, Equatable {
    /// Files that ended longer ago than this are deleted.
    public var maximumAge: Duration?
    /// Bytes that all files of the channel may take.
    public var maximumBytes: Int64?
    /// Bytes that are to be free on the disk.
    public var minimumFree: FreeSpaceGoal?
    /// No file that ended more recently is ever deleted.
    public var minimumAge: Duration

    /// Rules that delete nothing but what the given limits ask for, and nothing younger than an hour.
    public init(
        maximumAge: Duration? = nil, maximumBytes: Int64? = nil, minimumFree: FreeSpaceGoal? = nil,
        minimumAge: Duration = .seconds(3600)
    ) {
        self.maximumAge = maximumAge
        self.maximumBytes = maximumBytes
        self.minimumFree = minimumFree
        self.minimumAge = minimumAge
    }

    /// What is wrong with the rules for files of `length` on a disk of `capacity` bytes, recorded as `budget` says; nil
    /// if nothing is. A limit below one file would delete each as soon as it may.
    public func contradiction(length: SegmentLength, budget: StorageBudget, capacity: Int64?) -> String? {
        let file: (time: Duration, bytes: Int64)
        switch length {
        case .duration(let time): file = (time, budget.bytes(in: time))
        case .bytes(let bytes): file = (.seconds(bytes / max(1, budget.bytes(in: .seconds(1)))), bytes)
        }
        if let maximumAge, maximumAge < file.time {
            return "--keep \(DurationText(maximumAge)) is shorter than one file (about \(DurationText(file.time))): "
                + "give a longer time, or a shorter --segment."
        }
        if let maximumAge, maximumAge < minimumAge {
            return "--keep \(DurationText(maximumAge)) contradicts --keep-min \(DurationText(minimumAge)), which keeps "
                + "every file for longer: lower --keep-min too."
        }
        if let maximumBytes, maximumBytes < file.bytes {
            return "--keep-size \(ByteSize(bytes: maximumBytes)) is less than one file (about "
                + "\(ByteSize(bytes: file.bytes))): give a larger size, or a shorter --segment."
        }
        if let minimumFree, let capacity, minimumFree.bytes(of: capacity) >= capacity {
            return "--keep-free \(minimumFree) is more than the disk holds (\(ByteSize(bytes: capacity))): give less."
        }
        return nil
    }
}

/// How much of a disk is to stay free.
public enum FreeSpaceGoal: Sendable, Equatable, CustomStringConvertible {
    /// So many bytes.
    case bytes(Int64)
    /// So many hundredths of the disk, from 1 to 90.
    case percent(Int64)

    /// Reads `10%` or `50GB`.
    public init(parsing text: String) throws(TextFailure) {
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

    /// The bytes that are to be free of `capacity`.
    func bytes(of capacity: Int64) -> Int64 {
        switch self {
        case .bytes(let bytes): bytes
        case .percent(let percent): capacity / 100 * percent
        }
    }

    public var description: String {
        switch self {
        case .bytes(let bytes): "\(ByteSize(bytes: bytes))"
        case .percent(let percent): "\(percent)%"
        }
    }
}

/// Which limit had a file deleted.
public enum RetentionRule: String, Sendable, Codable {
    /// It was older than is kept.
    case age
    /// The channel's files took too much.
    case size
    /// Too little of the disk was free.
    case free
}
