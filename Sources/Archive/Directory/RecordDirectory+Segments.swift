// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// The files of `channel` by their place and name, the oldest first, finished or open. A file that goes while it is
    /// looked at is left out. The content is not read: see ``Ownership``.
    ///
    /// Numbers tell the order, whatever the clock did. Where a name has none, its letters say nothing of the order
    /// (`01-12-2026` comes before `30-11-2026`), so all are ordered by when they ended.
    ///
    /// `others` are the names of further files of the channel, which its templates do not make.
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

    /// The finished files of `channel` that no noted template makes, as when it was another one in an earlier version.
    ///
    /// A template of fields and separators alone must be able to make their names, and they must say themselves that they
    /// are recordings of the channel. Opens each file of such a name.
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
        // A symbolic link is not followed: what it leads to is not ours.
        guard lstat("\(path)/\(fileName)", &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
        return StoredSegment(
            fileName: fileName, sequence: sequence, bytes: min(Int64(info.st_size), Self.largest),
            ended: Self.time(info.st_mtim), isFinished: !fileName.hasSuffix(SegmentName.openMark))
    }

    /// A sparse file may state any size; thousands of this one still have a sum.
    static let largest: Int64 = 1 << 50

    /// What a file system says of a time, which may be nonsense, between the years 1 and 9999.
    static func time(_ time: timespec) -> UTCTime {
        let seconds = min(max(Int64(time.tv_sec), -62_135_596_800), 253_402_300_799)
        return UTCTime(milliseconds: seconds * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
