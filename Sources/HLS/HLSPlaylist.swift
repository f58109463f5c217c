// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A live media playlist of fragmented MP4 segments (RFC 8216, 4.3).
struct HLSPlaylist: Equatable {
    /// A segment in the playlist.
    struct Entry: Equatable {
        /// The name of the segment's file, which is in the directory of the playlist.
        var name: String
        /// The name of the file with the header that the segment needs.
        var map: String
        /// The duration of the segment in microseconds.
        var duration: Int64
        /// The time at which the segment begins, in milliseconds since 1970 (UTC).
        var date: Int64
        /// Whether the segment's times or coding do not continue those of the previous segment.
        var isDiscontinuous: Bool
        /// Whether a decoder can start at this segment.
        var isIndependent = true
        /// The markers within the segment.
        var marks: [HLSMark] = []
    }

    /// The segments in the playlist, oldest first.
    private(set) var entries: [Entry] = []
    /// The number of the first segment in the playlist (RFC 8216, 4.3.3.2).
    private(set) var mediaSequence: Int64 = 0
    /// The number of discontinuities that have left the playlist (RFC 8216, 4.3.3.3).
    private(set) var discontinuitySequence: Int64 = 0
    /// The target duration in whole seconds. The rounded duration of a segment never exceeds the target duration (RFC
    /// 8216, 4.3.3.1).
    private(set) var targetSeconds: Int64
    /// Whether the playlist has the end tag `EXT-X-ENDLIST` (RFC 8216, 4.3.3.4).
    var hasEnded = false

    /// The maximum number of segments, even if they are very short. This limit keeps the playlist's file below 1 MiB.
    static let maximumEntries = 4000
    /// The maximum number of bytes of all markers together. This limit keeps the playlist's file below 1 MiB.
    private static let maximumMarkBytes = 256 << 10

    /// Creates a playlist without segments.
    init(targetSeconds: Int64) { self.targetSeconds = targetSeconds }

    /// Returns a copy of the playlist with a target duration of at least `seconds`.
    func with(targetSeconds seconds: Int64) -> HLSPlaylist {
        var copy = self
        copy.targetSeconds = max(targetSeconds, seconds)
        return copy
    }

    /// The total duration of all segments in microseconds.
    var duration: Int64 { entries.reduce(0) { $0 + $1.duration } }

    /// Returns a playlist without segments, for a new program in the same directory. The new playlist continues the
    /// numbers of this playlist, because players and caches may have read this playlist (RFC 8216, 6.2.1).
    func successor(targetSeconds: Int64) -> HLSPlaylist {
        var next = HLSPlaylist(targetSeconds: targetSeconds)
        next.mediaSequence = mediaSequence + Int64(entries.count)
        next.discontinuitySequence = discontinuitySequence + Int64(entries.count(where: \.isDiscontinuous))
        return next
    }

    /// Adds a segment, and returns the segments that leave the playlist. The newest `limit` segments stay, and more of
    /// them if these last less than three target durations (RFC 8216, 6.2.2).
    mutating func append(_ entry: Entry, limit: Int) -> [Entry] {
        entries.append(entry)
        // The target duration is raised if the segment is longer. It should not change, but a segment that is longer
        // than the target duration does more harm to players.
        targetSeconds = max(targetSeconds, (entry.duration + 500_000) / 1_000_000)
        var left: [Entry] = []
        var remaining = duration
        while entries.count > limit {
            guard remaining - entries[0].duration >= 3_000_000 * targetSeconds || entries.count > Self.maximumEntries
            else { break }
            let entry = entries.removeFirst()
            remaining -= entry.duration
            mediaSequence += 1
            // A discontinuity leaves the playlist together with the segment that follows it.
            if entry.isDiscontinuous { discontinuitySequence += 1 }
            left.append(entry)
        }
        return left
    }

    /// Adds each marker to the segment that contains its time, or to the first segment if the marker is earlier. A
    /// marker leaves the playlist with its segment. If all markers together have too many bytes, the markers of the
    /// oldest segments are dropped.
    mutating func add(_ marks: [HLSMark]) {
        guard !marks.isEmpty, !entries.isEmpty else { return }
        for mark in marks {
            entries[entries.lastIndex { $0.date <= mark.date } ?? 0].marks.append(mark)
        }
        let sizes = entries.map { $0.marks.reduce(0) { $0 + $1.line.utf8.count } }
        var bytes = sizes.reduce(0, +)
        for (index, size) in sizes.enumerated() where bytes > Self.maximumMarkBytes {
            entries[index].marks = []
            bytes -= size
        }
    }

    /// The text of the playlist's file.
    var text: String {
        var lines = [
            "#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(targetSeconds)",
            "#EXT-X-MEDIA-SEQUENCE:\(mediaSequence)", "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuitySequence)",
        ]
        // `EXT-X-INDEPENDENT-SEGMENTS` applies to all segments of the playlist (RFC 8216, 4.3.5.1), so it is written
        // only if a decoder can start at each of them.
        if entries.allSatisfy(\.isIndependent) { lines.append("#EXT-X-INDEPENDENT-SEGMENTS") }
        var map: String?
        for entry in entries {
            if entry.isDiscontinuous { lines.append("#EXT-X-DISCONTINUITY") }
            if entry.map != map { lines.append("#EXT-X-MAP:URI=\"\(entry.map)\"") }
            map = entry.map
            lines.append("#EXT-X-PROGRAM-DATE-TIME:\(HLSDate.text(milliseconds: entry.date))")
            lines += entry.marks.map(\.line)
            lines.append("#EXTINF:\(Self.seconds(entry.duration)),")
            lines.append(entry.name)
        }
        if hasEnded { lines.append("#EXT-X-ENDLIST") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns a duration in seconds with six decimals, such as `4.004000`. It is computed without floating point.
    private static func seconds(_ microseconds: Int64) -> String {
        let fraction = String(microseconds % 1_000_000)
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)"
    }

    /// The names of all files that the playlist refers to.
    var names: Set<String> { Set(entries.flatMap { [$0.name, $0.map] }) }
}

extension HLSPlaylist {
    /// Parses a text that ``text`` has written. Returns nil for any other text.
    ///
    /// The caller limits the length of the text. Only names that relay makes are accepted, because relay later deletes
    /// the files with these names.
    init?(parsing text: String) {
        let lines = text.split(separator: "\n")
        guard lines.first == "#EXTM3U" else { return nil }
        self.init(targetSeconds: 1)
        var (map, date, duration, isDiscontinuous) = ("", Int64(0), Int64?.none, false)
        var marks: [HLSMark] = []
        let areIndependent = lines.contains("#EXT-X-INDEPENDENT-SEGMENTS")
        for line in lines.dropFirst() {
            let tag = line.prefix { $0 != ":" }
            let value = line.dropFirst(tag.count + 1)
            switch tag {
            case "#EXT-X-TARGETDURATION": targetSeconds = Int64(value) ?? 0
            case "#EXT-X-MEDIA-SEQUENCE": mediaSequence = Int64(value) ?? -1
            case "#EXT-X-DISCONTINUITY-SEQUENCE": discontinuitySequence = Int64(value) ?? -1
            case "#EXT-X-DISCONTINUITY": isDiscontinuous = true
            case "#EXT-X-MAP": map = String(value.dropFirst(5).dropLast())
            case "#EXT-X-PROGRAM-DATE-TIME": date = HLSDate.milliseconds(String(value)) ?? 0
            case "#EXTINF": duration = Int64(value.filter { $0 != "." && $0 != "," })
            case "#EXT-X-DATERANGE": if let mark = HLSMark(parsing: value) { marks.append(mark) }
            case "#EXT-X-ENDLIST": hasEnded = true
            case _ where line.hasPrefix("#"): continue
            default:
                guard let length = duration, (0...3_600_000_000).contains(length), HLSName.isOurs(String(line)),
                    HLSName.isOurs(map)
                else { return nil }
                entries.append(
                    Entry(
                        name: String(line), map: map, duration: length, date: date, isDiscontinuous: isDiscontinuous,
                        isIndependent: areIndependent, marks: marks))
                (duration, isDiscontinuous, marks) = (nil, false, [])
            }
        }
        // A playlist with numbers beyond these limits is refused, so that later calculations with them cannot overflow.
        let counters: ClosedRange<Int64> = 0...(.max / 2)
        guard (1...3600).contains(targetSeconds), counters.contains(mediaSequence),
            counters.contains(discontinuitySequence), entries.count <= Self.maximumEntries
        else { return nil }
    }
}

/// Dates in a playlist, such as `2026-11-21T11:12:16.345Z` (ISO 8601, as RFC 8216, 4.3.2.6, requires).
enum HLSDate {
    /// The current time in microseconds since 1970.
    static var nowMicroseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The text of a date, which is given in milliseconds since 1970.
    static func text(milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)].map { padded($0, 2) }
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded(Int($0), 2) }
        let fraction = padded(Int(milliseconds % 1000), 3)
        return "\(date.joined(separator: "-"))T\(time.joined(separator: ":")).\(fraction)Z"
    }

    /// Parses a date that ``text(milliseconds:)`` has written. Returns nil for any other text.
    static func milliseconds(_ text: String) -> Int64? {
        let numbers = text.split(whereSeparator: { "-T:.Z".contains($0) }).map { Int32($0) ?? -1 }
        // Larger numbers would overflow below.
        guard text.utf8.count == 24, numbers.count == 7, numbers.allSatisfy({ (0...9999).contains($0) }) else {
            return nil
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        let date = Int64(timegm(&parts)) * 1000 + Int64(numbers[6])
        return Self.text(milliseconds: date) == text ? date : nil
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
