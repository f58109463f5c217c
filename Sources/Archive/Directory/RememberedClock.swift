// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import Media

/// What retention remembers about the wall clock from one run of relay to the next, in a small hidden file beside the
/// recordings. All numbers are milliseconds.
package struct RememberedClock: Sendable, Equatable {
    /// A possible error of the wall clock that makes files look older than they are.
    package struct Lead: Sendable, Equatable {
        /// How much older than their real age files can look.
        package var length: Int64
        /// How much longer this possible error must be considered. Only the time while relay runs counts.
        package var left: Int64

        /// A lead with these values; with 0, files do not look older than they are.
        package init(length: Int64 = 0, left: Int64 = 0) { (self.length, self.left) = (length, left) }
    }

    /// The time of the wall clock when it was last read.
    package var lastSeen: UTCTime
    /// Whether a time server confirmed the clock at that time.
    package var isConfirmed: Bool
    /// The possible error for files that `--keep-min` protects.
    package var least: Lead
    /// The possible error for files that `--keep` deletes.
    package var greatest: Lead
    /// The part of relay's downtime that is still subtracted from the age of files.
    package var lag: Lead

    package init(
        lastSeen: UTCTime, isConfirmed: Bool, least: Lead = Lead(), greatest: Lead = Lead(), lag: Lead = Lead()
    ) {
        (self.lastSeen, self.isConfirmed) = (lastSeen, isConfirmed)
        (self.least, self.greatest, self.lag) = (least, greatest, lag)
    }

    private static let format = "relay-clock-1"
    /// The times that a wall clock can show, up to the year 2255. With any others, differences would overflow.
    private static let times: Range<Int64> = 0..<9_000_000_000_000
    /// The file always has this length, so that writing it again needs no space on a full disk.
    private static let length = 256

    /// The file's text: fields separated by spaces, then a checksum of the numbers, which reveals a torn write.
    var text: String {
        let leads = [least, greatest, lag].flatMap { lead -> [Int64] in [lead.length, lead.left] }
        let numbers: [Int64] = [lastSeen.milliseconds, isConfirmed ? 1 : 0] + leads
        let fields = [Self.format] + (numbers + [Self.sum(numbers)]).map { String($0) }
        let line = fields.joined(separator: " ")
        return line + String(repeating: " ", count: max(0, Self.length - 1 - line.utf8.count)) + "\n"
    }

    /// Reads ``text``; nil if the text is something else.
    init?(text: String) {
        let fields = text.split(whereSeparator: \.isWhitespace)
        let numbers = fields.dropFirst().compactMap { Int64($0) }
        guard fields.first == Substring(Self.format), fields.count == 10, numbers.count == 9,
            numbers[8] == Self.sum(numbers.dropLast()), Self.times.contains(numbers[0]),
            numbers[2...7].allSatisfy({ $0 >= 0 })
        else { return nil }
        self.init(
            lastSeen: UTCTime(milliseconds: numbers[0]), isConfirmed: numbers[1] == 1,
            least: Lead(length: numbers[2], left: numbers[3]), greatest: Lead(length: numbers[4], left: numbers[5]),
            lag: Lead(length: numbers[6], left: numbers[7]))
    }

    private static func sum(_ numbers: some Sequence<Int64>) -> Int64 { numbers.reduce(7) { $0 &* 31 &+ $1 } }

    private static func path(of channel: String, in directory: RecordDirectory) -> String {
        "\(directory.path)/.relay-clock-\(SegmentName.safe(channel))"
    }

    /// Reads what was remembered for `channel` in `directory`; nil if the file is missing or unreadable. Blocks.
    package static func read(of channel: String, in directory: RecordDirectory) -> RememberedClock? {
        guard let file = try? FileDescriptor.open(readOnly: path(of: channel, in: directory)),
            let attributes = try? file.attributes(), attributes.isRegular, attributes.size == Self.length,
            let bytes = try? file.read(at: 0, count: Self.length)
        else { return nil }
        return RememberedClock(text: String(decoding: bytes, as: UTF8.self))
    }

    /// Stores this value for `channel` in `directory`. Blocks.
    package func write(of channel: String, in directory: RecordDirectory) throws(FileFailure) {
        let path = Self.path(of: channel, in: directory)
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(existing: path)
        } catch {
            guard error.code == ENOENT else { throw error }
            file = try FileDescriptor.create(path)
        }
        let bytes = Array(text.utf8)
        try file.write([SharedBytes(count: bytes.count) { $0.copyBytes(from: bytes) }], at: 0)
    }
}

/// Whether a time server disciplines the system's clock, as NTP, chrony or systemd-timesyncd report it to the kernel
/// (adjtimex(2)).
package enum ConfirmedClock {
    /// If a wall clock differs from the kernel's clock by more than this, the kernel's report does not apply to that wall
    /// clock.
    private static let tolerance: Duration = .seconds(5)

    /// Whether the kernel confirms that `wall`, read just now, is right. Can be called on any thread.
    package static func confirms(_ wall: UTCTime) -> Bool {
        var kernel: Int64 = 0
        return relay_clock_is_synchronised(&kernel) != 0 && abs(kernel - wall.milliseconds) <= tolerance.inMilliseconds
    }
}
