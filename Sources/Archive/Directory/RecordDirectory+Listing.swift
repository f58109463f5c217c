// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// The kind of a file in a directory of recordings, by its name.
    package enum FileKind: Sendable {
        /// A closed recording, or any other file with a recording's extension.
        case closed
        /// A file that is being written, or that a crash left open.
        case open
        /// A file that recovery could not use.
        case broken
    }

    /// How many levels of subdirectories are searched.
    static let depth = 8

    /// Returns an existing directory for reading only.
    package static func existing(_ path: String) throws(FileFailure) -> RecordDirectory {
        let path = trimmed(path)
        let place = DirectoryPlace(try FileSystemNumber(of: path), notedTemplates: notedTemplates(in: path))
        let directory = RecordDirectory(path: path, place: place)
        // The directory is opened to find out whether it can be read. It is not listed, which would take longer the
        // more files there are.
        guard let stream = opendir(directory.path) else {
            throw FileFailure("read directory", directory.path, code: errno)
        }
        closedir(stream)
        return directory
    }

    /// Returns recordings in this directory and its subdirectories, by their relative paths, sorted. Leaves out hidden
    /// files, symbolic links to directories, unreadable subdirectories and, if this is itself a record directory,
    /// nested record directories. MOV files, which are never recorded but can be made from recordings, are included
    /// only if `andMOV` is set.
    package func recordings(andMOV: Bool = false) throws(FileFailure) -> [(name: String, kind: FileKind)] {
        try entries(depth: Self.depth).compactMap { name in
            if let kind = Self.kind(name) { return (name, kind) }
            return andMOV && name.lowercased().hasSuffix(".mov") ? (name, .closed) : nil
        }
    }

    /// The kind of the file `name`; nil if its extension is not that of a recording.
    static func kind(_ name: String) -> FileKind? {
        if name.hasSuffix(SegmentName.brokenSuffix) { return .broken }
        let isOpen = name.hasSuffix(SegmentName.openMark)
        let closed = isOpen ? name.dropLast(SegmentName.openMark.count) : Substring(name)
        guard RecordFormat.allCases.contains(where: { closed.hasSuffix($0.fileExtension) }) else { return nil }
        return isOpen ? .open : .closed
    }

    /// Returns the identifiers of the recorder runs that are writing MP4 files in this directory. An open transport
    /// stream does not contain its run.
    package func livingRuns() -> Set<String> {
        let open = ((try? recordings()) ?? []).filter { $0.kind == .open && isInUse($0.name) }
        return Set(open.compactMap { SegmentReader.run(ofOpen: "\(path)/\($0.name)") })
    }

    /// Whether a process has locked the file `name`, as a recorder does while it writes the file. Also true for an open
    /// file that a process might be writing: one that is empty and was created a moment ago or, on a file system
    /// without locks, was written less than a minute ago. False if the file cannot be opened.
    package func isInUse(
        _ name: String, lockCall: @escaping FileDescriptor.LockCall = FileDescriptor.systemLock
    ) -> Bool {
        guard let descriptor = try? FileDescriptor.open(readOnly: "\(path)/\(name)", lockCall: lockCall) else {
            return false
        }
        let isOpen = name.hasSuffix(SegmentName.openMark)
        // The age is checked before the lock is taken, because a writer that has just created the file might not have
        // locked it yet.
        if isOpen, descriptor.mayBeBeginning { return true }
        return !descriptor.lock() || (isOpen && descriptor.mayBeWrittenElsewhere)
    }
}

// MARK: The files of a channel

extension RecordDirectory {
    /// Returns the finished and open files that belong to `channel` according to their directories and names, the
    /// oldest first. Leaves out files that disappear in the meantime. The content is not read: see ``Ownership``.
    ///
    /// Sequence numbers determine the order, even if the clock was set back. Names without a number do not sort by time
    /// (`01-12-2026` comes before `30-11-2026`). If there is such a name, all files are sorted by the time at which
    /// they ended.
    ///
    /// `others` are the names of further files of the channel, which do not fit the directory's templates.
    package func segments(of channel: String, others: [String] = []) throws(FileFailure) -> [StoredSegment] {
        let ownership = Ownership(self, channel: channel)
        var segments = try entries().compactMap { fileName -> StoredSegment? in
            guard !fileName.hasSuffix(SegmentName.brokenSuffix), case .certain(let sequence) = ownership.match(fileName)
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
    /// The names must fit a template that consists only of fields and separators. Each file with such a name is opened,
    /// and its content must show that it is a recording of the channel.
    package func otherSegments(of channel: String) throws(FileFailure) -> [String] {
        let ownership = Ownership(self, channel: channel)
        return try entries(depth: NameTemplate.deepest).filter { fileName in
            guard !fileName.hasSuffix(SegmentName.openMark), case .possible = ownership.match(fileName),
                segment(fileName, sequence: 0) != nil
            else { return false }
            return ownership.owns(fileName) ?? false
        }
    }

    /// Returns the file `fileName` with its attributes; nil if there is no regular file with that name. `sequence` is
    /// its number within the channel, or 0.
    package func segment(_ fileName: String, sequence: Int) -> StoredSegment? {
        var info = stat()
        // Symbolic links are not followed, because they can lead to foreign files.
        guard lstat("\(path)/\(fileName)", &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
        return StoredSegment(
            fileName: fileName, sequence: sequence, bytes: min(Int64(info.st_size), Self.largest),
            ended: Self.time(info.st_mtim), isFinished: !fileName.hasSuffix(SegmentName.openMark))
    }

    /// Larger sizes are reported as this size: a sparse file can have any size, and the sum of thousands must not
    /// overflow.
    static let largest: Int64 = 1 << 50

    /// Converts a file system's time, which can be any number, to one between the years 1 and 9999.
    static func time(_ time: timespec) -> UTCTime {
        let seconds = min(max(Int64(time.tv_sec), -62_135_596_800), 253_402_300_799)
        return UTCTime(milliseconds: seconds * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

// MARK: Reading

extension RecordDirectory {
    /// Returns an existing directory, whose files are named by `template`, for reading only.
    package static func existing(_ path: String, template: NameTemplate) throws(FileFailure) -> RecordDirectory {
        let directory = try existing(path)
        return RecordDirectory(path: directory.path, place: directory.place, template: template)
    }

    /// Opens the file `name`, a path below this directory, for reading. The file must be a regular file. Hidden files
    /// and symbolic links are refused. A path that leads through a symbolic link is refused, too.
    package func open(recording name: String) throws(FileFailure) -> FileDescriptor {
        let parts = FileDescriptor.parts(of: name)
        guard !name.utf8.contains(0), parts.allSatisfy({ !$0.isEmpty && $0.utf8.first != UInt8(ascii: ".") }) else {
            throw FileFailure("open", path, text: "this is no name of a recording")
        }
        let file = try FileDescriptor.open(parentOf: name, in: path).open(readOnlyEntry: name)
        guard try file.attributes().isRegular else {
            throw FileFailure("open", file.path, text: "it is not a regular file")
        }
        return file
    }

    /// Returns the name that the open file `name` gets when it is closed. Any other name is returned unchanged.
    package static func closedName(of name: String) -> String {
        name.hasSuffix(SegmentName.openMark) ? String(name.dropLast(SegmentName.openMark.count)) : name
    }

    /// Returns the name that the file `name` has while it is being written.
    package static func openName(of name: String) -> String { name + SegmentName.openMark }
}

/// A value that changes when a file's content changes, as far as inode, size and time of modification show it.
package struct FileStamp: Sendable, Hashable {
    /// The inode number.
    package var number: UInt64
    /// The size in bytes.
    package var size: Int64
    /// When the file was last written, in nanoseconds since 1970.
    package var modified: Int64
}

extension FileDescriptor {
    /// Returns the file's current stamp.
    package func stamp() throws(FileFailure) -> FileStamp {
        let info = try information()
        return FileStamp(
            number: UInt64(info.st_ino), size: Int64(info.st_size),
            modified: Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec))
    }
}
