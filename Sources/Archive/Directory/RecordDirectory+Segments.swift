// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// Returns the finished and open files that belong to `channel` by their place and name, the oldest first. Leaves
    /// out files that disappear in the meantime. The content is not read: see ``Ownership``.
    ///
    /// Sequence numbers determine the order, even if the clock was set back. Names without a number do not sort by time
    /// (`01-12-2026` comes before `30-11-2026`), so all files are then sorted by when they ended.
    ///
    /// `others` are the names of further files of the channel that do not fit its templates.
    package func segments(of channel: String, others: [String] = []) throws(FileFailure) -> [StoredSegment] {
        let ownership = Ownership(self, channel: channel)
        var segments = try entries().compactMap { fileName -> StoredSegment? in
            guard !fileName.hasSuffix(SegmentName.brokenSuffix),
                case .certain(let sequence) = ownership.match(fileName)
            else { return nil }
            return segment(fileName, sequence: sequence)
        }
        let known = Set(segments.map(\.fileName))
        segments += others.filter { !known.contains($0) }.compactMap { segment($0, sequence: 0) }
        if segments.allSatisfy({ $0.sequence > 0 }) {
            return segments.sorted { ($0.sequence, $0.fileName) < ($1.sequence, $1.fileName) }
        }
        return segments.sorted { ($0.ended.milliseconds, $0.fileName) < ($1.ended.milliseconds, $1.fileName) }
    }

    /// Returns the finished files of `channel` whose names fit no stored template, for example because an earlier
    /// version of relay used another template.
    ///
    /// The names must fit some template of only fields and separators, and the content must show that the files are
    /// recordings of the channel. Opens each file with such a name.
    package func otherSegments(of channel: String) throws(FileFailure) -> [String] {
        let ownership = Ownership(self, channel: channel)
        return try entries(depth: NameTemplate.deepest).filter { fileName in
            guard !fileName.hasSuffix(SegmentName.openMark), case .possible = ownership.match(fileName),
                segment(fileName, sequence: 0) != nil
            else { return false }
            return ownership.owns(fileName) ?? false
        }
    }

    private func segment(_ fileName: String, sequence: Int) -> StoredSegment? {
        var info = stat()
        // Symbolic links are not followed, because they may lead to foreign files.
        guard lstat("\(path)/\(fileName)", &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
        return StoredSegment(
            fileName: fileName, sequence: sequence, bytes: min(Int64(info.st_size), Self.largest),
            ended: Self.time(info.st_mtim), isFinished: !fileName.hasSuffix(SegmentName.openMark))
    }

    /// A sparse file may have any size; with this limit the sum of thousands does not overflow.
    static let largest: Int64 = 1 << 50

    /// Converts a file system's time, which may be nonsense, to one between the years 1 and 9999.
    static func time(_ time: timespec) -> UTCTime {
        let seconds = min(max(Int64(time.tv_sec), -62_135_596_800), 253_402_300_799)
        return UTCTime(milliseconds: seconds * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
