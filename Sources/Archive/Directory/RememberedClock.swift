// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// What retention remembers of the wall clock from one run of relay to the next, in a small hidden file beside the
/// recordings. All numbers are milliseconds.
package struct RememberedClock: Sendable, Equatable {
    /// By how much files may look too old, and for how much more running time that matters.
    package struct Lead: Sendable, Equatable {
        /// How much older they may look.
        package var length: Int64
        /// For how much more running time.
        package var left: Int64

        /// A lead of these; none by default.
        package init(length: Int64 = 0, left: Int64 = 0) { (self.length, self.left) = (length, left) }
    }

    /// The wall clock when it was last read.
    package var lastSeen: UTCTime
    /// Whether a time server confirmed it then.
    package var isConfirmed: Bool
    /// The doubt about files that `--keep-min` protects.
    package var least: Lead
    /// The doubt about files that `--keep` deletes.
    package var greatest: Lead
    /// What of the time that relay was off is still taken off the age of files.
    package var lag: Lead

    /// A memory of these.
    package init(
        lastSeen: UTCTime, isConfirmed: Bool, least: Lead = Lead(), greatest: Lead = Lead(), lag: Lead = Lead()
    ) {
        (self.lastSeen, self.isConfirmed) = (lastSeen, isConfirmed)
        (self.least, self.greatest, self.lag) = (least, greatest, lag)
    }

    private static let format = "relay-clock-1"
    /// The file always has this length, so that writing it again needs no room on a full disk.
    private static let length = 256

    /// The file's text: fields between spaces, then a sum of the numbers, which a torn write does not have.
    var text: String {
        let leads = [least, greatest, lag].flatMap { lead -> [Int64] in [lead.length, lead.left] }
        let numbers: [Int64] = [lastSeen.milliseconds, isConfirmed ? 1 : 0] + leads
        let fields = [Self.format] + (numbers + [Self.sum(numbers)]).map { String($0) }
        let line = fields.joined(separator: " ")
        return line + String(repeating: " ", count: max(0, Self.length - 1 - line.utf8.count)) + "\n"
    }

    /// Reads ``text``; nil if it is anything else.
    init?(text: String) {
        let fields = text.split(whereSeparator: \.isWhitespace)
        let numbers = fields.dropFirst().compactMap { Int64($0) }
        guard fields.first == Substring(Self.format), fields.count == 10, numbers.count == 9,
            numbers[8] == Self.sum(numbers.dropLast()), numbers[2...7].allSatisfy({ $0 >= 0 })
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

    /// What was remembered of `channel` in `directory`; nil if nothing is, or it cannot be read. Blocks.
    package static func read(of channel: String, in directory: RecordDirectory) -> RememberedClock? {
        guard let file = try? FileDescriptor.open(readOnly: path(of: channel, in: directory)),
            let attributes = try? file.attributes(), attributes.isRegular, attributes.size == Self.length,
            let bytes = try? file.read(at: 0, count: Self.length)
        else { return nil }
        return RememberedClock(text: String(decoding: bytes, as: UTF8.self))
    }

    /// Remembers it for `channel` in `directory`. Blocks.
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
