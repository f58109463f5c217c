// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// What a file in a directory of recordings is by its name.
    package enum FileKind: Sendable {
        /// A closed recording, or any other MP4.
        case closed
        /// Being written, or left open by a crash.
        case open
        /// What recovery could make nothing of.
        case broken
    }

    /// How deep subdirectories are looked into.
    private static let depth = 8

    /// An existing directory that is only looked at.
    package static func existing(_ path: String) throws(FileFailure) -> RecordDirectory {
        var path = path.isEmpty ? "." : path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let directory = RecordDirectory(path: path, device: try device(of: path))
        _ = try directory.entries()
        return directory
    }

    /// Recordings here and in subdirectories, by their paths relative to this directory, sorted. What begins with a
    /// dot is left out, as are symbolic links to directories; a subdirectory that cannot be read is, too.
    package func recordings() throws(FileFailure) -> [(name: String, kind: FileKind)] {
        try entries(depth: Self.depth).compactMap { name in Self.kind(name).map { (name, $0) } }
    }

    private static func kind(_ name: String) -> FileKind? {
        if name.hasSuffix(SegmentName.brokenSuffix) { return .broken }
        let isOpen = name.hasSuffix(SegmentName.openMark)
        let closed = isOpen ? name.dropLast(SegmentName.openMark.count) : Substring(name)
        guard RecordFormat.allCases.contains(where: { closed.hasSuffix($0.fileExtension) }) else { return nil }
        return isOpen ? .open : .closed
    }

    /// The runs that living processes are recording here.
    package func livingRuns() -> Set<String> {
        let open = ((try? recordings()) ?? []).filter { $0.kind == .open && isInUse($0.name) }
        return Set(open.compactMap { SegmentReader.run(ofOpen: "\(path)/\($0.name)") })
    }

    /// Whether a living process writes the file `name`.
    package func isInUse(_ name: String) -> Bool {
        guard let descriptor = try? FileDescriptor.open(readOnly: "\(path)/\(name)") else { return false }
        return !descriptor.lock()
    }

    /// The files of `channel`, the oldest first, finished or open. A file that goes while it is looked at is left out.
    ///
    /// Numbers tell the order, whatever the clock did. Where a name has none, its letters say nothing of the order
    /// (`01-12-2026` comes before `30-11-2026`), so all are ordered by when they ended.
    package func segments(of channel: String) throws(FileFailure) -> [StoredSegment] {
        let channel = SegmentName.safe(channel)
        var segments: [StoredSegment] = []
        for fileName in try entries() {
            guard !fileName.hasSuffix(SegmentName.brokenSuffix),
                let name = SegmentName(usedBy: fileName, channel: channel, template: template)
            else { continue }
            var info = stat()
            // A symbolic link is not followed: what it leads to is not ours.
            guard lstat("\(path)/\(fileName)", &info) == 0, info.st_mode & S_IFMT == S_IFREG else { continue }
            let time = info.st_mtim
            segments.append(
                StoredSegment(
                    fileName: fileName, sequence: name.sequence, bytes: Int64(info.st_size),
                    ended: UTCTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000),
                    isFinished: !fileName.hasSuffix(SegmentName.openMark)))
        }
        if segments.allSatisfy({ $0.sequence > 0 }) {
            return segments.sorted { ($0.sequence, $0.fileName) < ($1.sequence, $1.fileName) }
        }
        return segments.sorted { ($0.ended.milliseconds, $0.fileName) < ($1.ended.milliseconds, $1.fileName) }
    }
}
