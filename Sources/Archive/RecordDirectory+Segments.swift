// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// The files of `channel`, the oldest first, finished or open. A file that goes while it is looked at is left out.
    ///
    /// Numbers tell the order, whatever the clock did. Where a name has none, its letters say nothing of the order
    /// (`01-12-2026` comes before `30-11-2026`), so all are ordered by when they ended.
    ///
    /// `others` are the names of further files of the channel, which its template does not make.
    package func segments(of channel: String, others: [String] = []) throws(FileFailure) -> [StoredSegment] {
        var segments = try entries().compactMap { fileName in
            name(of: fileName, channel).flatMap { segment(fileName, sequence: $0.sequence) }
        }
        let known = Set(segments.map(\.fileName))
        segments += others.filter { !known.contains($0) }.compactMap { segment($0, sequence: 0) }
        if segments.allSatisfy({ $0.sequence > 0 }) {
            return segments.sorted { ($0.sequence, $0.fileName) < ($1.sequence, $1.fileName) }
        }
        return segments.sorted { ($0.ended.milliseconds, $0.fileName) < ($1.ended.milliseconds, $1.fileName) }
    }

    /// The finished files of `channel` that its template does not make, as when it was another and deeper one before.
    ///
    /// Their paths must be such that a template of fields and separators alone could have made them, and they must say
    /// themselves that they are recordings of the channel: an exported clip, and what somebody renamed or put into a
    /// directory of his own, is left alone, and so is another record directory below this one. Opens each file of such a name.
    package func otherSegments(of channel: String) throws(FileFailure) -> [String] {
        let channel = SegmentName.safe(channel)
        let known = Set(try segments(of: channel).map(\.fileName))
        var archives: [Substring: Bool] = [:]
        return try entries(depth: NameTemplate.deepest).filter { fileName in
            guard fileName.hasSuffix(RecordFormat.hybrid.fileExtension), !known.contains(fileName),
                Self.isMadeOfFields(SegmentSalvage.originalName(fileName), channel),
                !isInOtherArchive(fileName, &archives), segment(fileName, sequence: 0) != nil,
                let file = try? FileDescriptor.open(readOnly: "\(path)/\(fileName)"),
                (try? SegmentOrigin(of: file, isStream: false)) == .ours, let owner = file.recordingChannel
            else { return false }
            return SegmentName.safe(owner) == channel
        }
    }

    /// Whether each part of a path consists of the channel, digits and separators, and the last one has the six digits or
    /// more of a time of day or a number, without which no template makes names that differ.
    private static func isMadeOfFields(_ fileName: String, _ channel: String) -> Bool {
        let path = fileName.dropLast(RecordFormat.hybrid.fileExtension.count)
        let parts = path.split(separator: "/").map { $0.replacing(channel, with: "") }
        return parts.allSatisfy { $0.allSatisfy { "0123456789-_.TZ".contains($0) } }
            && parts.last?.count(where: \.isNumber) ?? 0 >= 6
    }

    /// Whether one of the directories between this one and the file is a record directory itself; `known` are those
    /// that were looked at.
    private func isInOtherArchive(_ fileName: String, _ known: inout [Substring: Bool]) -> Bool {
        fileName.indices.filter { fileName[$0] == "/" }.map { fileName[..<$0] }.contains { directory in
            if let isArchive = known[directory] { return isArchive }
            let names = (try? Self.names(in: "\(path)/\(directory)")) ?? []
            let isArchive = names.contains { $0.hasPrefix(Self.markPrefix) }
            known[directory] = isArchive
            return isArchive
        }
    }

    /// What the name of a file of `channel` says, or of the copy that was salvaged of one; nil if it is none of them.
    private func name(of fileName: String, _ channel: String) -> SegmentName? {
        guard !fileName.hasSuffix(SegmentName.brokenSuffix) else { return nil }
        return SegmentName(
            usedBy: SegmentSalvage.originalName(fileName), channel: SegmentName.safe(channel), template: template)
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
