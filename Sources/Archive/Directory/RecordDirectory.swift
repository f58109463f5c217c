// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// A directory for recordings.
///
/// ```swift
/// let template = try NameTemplate(parsing: "{date}/{channel}_{time}")
/// let directory = try RecordDirectory.prepare("/recordings", template: template)
/// for segment in try directory.segments(of: "studio") where segment.isFinished {
///     print(segment.fileName, segment.bytes)
/// }
/// ```
package struct RecordDirectory: Sendable {
    /// The directory's path, without a slash at the end (except for `/`).
    package let path: String
    /// The directory's file system, which all copies share. It is checked before recording, so that recordings do not
    /// fill the file system under an empty mount point.
    let place: DirectoryPlace
    /// The template by which new files are named.
    package let template: NameTemplate
    /// Remembers that the directory is on a mounted disk; nil for a directory that is only read.
    private let memory: MountMemory?
    /// All templates by which files in the directory can be named: the current one, the standard one, and earlier ones.
    var templates: [NameTemplate] { [template, .standard] + place.now.notedTemplates }

    /// The prefix of the mark's name. The mark is an empty file that identifies the directory.
    static let markPrefix = ".relay-archive-"
    /// The name of the catalogue's database in a record directory.
    package static let catalogueName = ".relay.sqlite"

    init(path: String, place: DirectoryPlace, template: NameTemplate = .standard, memory: MountMemory? = nil) {
        self.path = path
        self.place = place
        self.template = template
        self.memory = memory
    }

    /// Prepares a writable directory at `path`, and creates the directory if necessary. A test file, which is created
    /// and removed, proves that the directory is writable. New files are named by `template`.
    ///
    /// If the directory must be on a disk, according to `rule` or `memory`, and the disk is not mounted, nothing is
    /// created: ``isAwaited`` stays true until ``checkMount()`` finds the disk.
    package static func prepare(
        _ path: String, template: NameTemplate = .standard, mount rule: MountRule = .remembered,
        memory: MountMemory = MountMemory()
    ) throws(FileFailure) -> RecordDirectory {
        let path = trimmed(path)
        if rule == .ignored { memory.forget(path) }
        let known = memory.recall(path)
        let isOnDisk = known != nil || rule == .required
        let place = DirectoryPlace(mark: known?.mark, mountPoint: isOnDisk ? known?.mountPoint : MountPoint.root)
        let directory = RecordDirectory(path: path, place: place, template: template, memory: memory)
        if directory.isDiskMounted { try directory.adopt() }
        return directory
    }

    /// Returns `path` without slashes at its end; `/` stays unchanged, and an empty path becomes `.`.
    static func trimmed(_ path: String) -> String {
        var path = path.isEmpty ? "." : path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// The name of the mark that was found or created last; nil without a mark.
    var mark: String? { place.now.mark }

    /// Whether the directory's disk has not been mounted yet since the directory was prepared.
    package var isAwaited: Bool { place.now.fileSystem == nil }

    /// Counts the changes of the file system or directory at this path. When the count has changed, a file that was
    /// opened before is no longer in the directory.
    package var generation: Int { place.now.generation }

    /// Identifies the disk that is mounted at this path, also after it was mounted again.
    package var disk: DiskIdentity {
        let now = place.now
        return now.mark.map(DiskIdentity.marked) ?? .unmarked(generation: now.generation)
    }

    /// Whether the disk on which the directory must be is mounted.
    private var isDiskMounted: Bool {
        place.now.mountPoint.map(mounts.isMounted) ?? (mounts.point(path) != MountPoint.root)
    }

    private var mounts: MountView { memory?.mounts ?? .system }

    /// Prepares the directory on the file system that is mounted now.
    private func adopt() throws(FileFailure) {
        try Self.create(path)
        let fileSystem = try FileSystemNumber(of: path)
        try proveWritable(bytes: 0)
        let (mark, mountPoint) = (findMark(), mounts.point(path))
        noteTemplate()
        place.adopt(fileSystem, mark: mark, mountPoint: mountPoint, notedTemplates: Self.notedTemplates(in: path))
        if let mark, mountPoint != MountPoint.root {
            memory?.remember(path, MountMemory.Entry(mountPoint: mountPoint, mark: mark))
        }
    }

    /// Returns the name of the existing mark, or else creates one; nil if that fails. An empty file needs no space on a
    /// full disk. A copy of the mark does no harm: the mark only distinguishes a disk from the empty mount point under
    /// it.
    private func findMark() -> String? {
        if let mark = Self.mark(in: path) { return mark }
        let name = Self.markPrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
        return (try? FileDescriptor.create("\(path)/\(name)")) == nil ? nil : name
    }

    /// Returns the name of the mark in the directory `path`; nil if it has no mark or cannot be read.
    static func mark(in path: String) -> String? {
        (try? names(in: path))?.filter { $0.hasPrefix(markPrefix) }.min()
    }

    static func create(_ path: String) throws(FileFailure) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += (partial.isEmpty || partial.hasSuffix("/") ? "" : "/") + part
            if mkdir(partial, 0o755) == 0 || errno == EEXIST { continue }
            let code = errno
            var info = stat()
            // The directory can exist although the call to create it fails: on a read-only file system, or without
            // permission to write to its parent.
            if stat(partial, &info) == 0 { continue }
            throw FileFailure("create directory", partial, code: code)
        }
    }

    static func device(of path: String) throws(FileFailure) -> UInt64 {
        var info = stat()
        guard stat(path, &info) == 0 else { throw FileFailure("open directory", path, code: errno) }
        guard info.st_mode & S_IFMT == S_IFDIR else { throw FileFailure("open directory", path, code: ENOTDIR) }
        return UInt64(info.st_dev)
    }

    /// Checks that the directory is on its file system, or on another one that was mounted in its place. If another
    /// file system was mounted, the directory is prepared on it, which changes ``generation``. A file system that is
    /// mounted again can get another number (NFS, tmpfs and btrfs always get one, a removable disk sometimes), but the
    /// directory on it still contains the mark. An empty mount point is recognized because the number differs, the mark
    /// is missing, and no file system is mounted there.
    package func checkMount() throws(FileFailure) {
        let known = place.now
        var found: FileSystemNumber?
        do {
            found = try FileSystemNumber(of: path)
        } catch {
            guard memory != nil, error.code == ENOENT else { throw error }
        }
        let hasMark = known.mark.map { access("\(path)/\($0)", F_OK) == 0 }
        if let found, found == known.fileSystem, memory == nil || hasMark ?? true { return }
        guard memory != nil else { throw otherFileSystem }
        if let found, hasMark == true {
            let noted = Self.notedTemplates(in: path)
            return place.adopt(found, mark: known.mark, mountPoint: mounts.point(path), notedTemplates: noted)
        }
        guard isDiskMounted else { throw FileFailure.notMounted(path, known.mountPoint) }
        // If the directory was removed, it is created again on another disk, but not on the same disk.
        if found == nil, try FileSystemNumber(of: MountPoint.existing(path)) == known.fileSystem {
            throw FileFailure("open directory", path, code: ENOENT)
        }
        try adopt()
    }

    /// Writes a file of `bytes` bytes and removes it. Nothing else proves that writing works.
    package func probe(bytes: Int) throws(FileFailure) {
        try checkMount()
        try proveWritable(bytes: bytes)
    }

    private func proveWritable(bytes: Int) throws(FileFailure) {
        let name = "\(path)/.relay-probe-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let file = try FileDescriptor.create(name)
        defer { unlink(name) }
        guard bytes > 0 else { return }
        let block = SharedBytes(count: 1 << 16) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
        try file.write(Array(repeating: block, count: (bytes + block.count - 1) / block.count), at: 0)
        try file.synchronise()
    }

    private var otherFileSystem: FileFailure {
        FileFailure("record in", path, text: "another file system is mounted there, or none any more")
    }

    /// Opens the directory in which the file `name` is to be created. Throws if this directory is not on the file
    /// system that ``checkMount()`` found, because the disk can have been unmounted since that check. What is mounted
    /// later does not matter: the opened directory stays on its file system.
    package func openParent(of name: SegmentName) throws(FileFailure) -> FileDescriptor {
        let root = try FileDescriptor.open(directory: path)
        let known = place.now
        guard let fileSystem = known.fileSystem, try fileSystem.contains(root) else {
            throw isDiskMounted ? otherFileSystem : FileFailure.notMounted(path, known.mountPoint)
        }
        return try root.open(parentOf: name.open)
    }

    /// Creates the directories between this one and the file `name`. Refuses a symbolic link in place of a directory,
    /// so that recordings stay in this directory.
    package func makeParents(of name: SegmentName) throws(FileFailure) {
        let directories = name.path.split(separator: "/").dropLast()
        var partial = path
        for directory in directories {
            partial += "/" + directory
            guard mkdir(partial, 0o755) == 0 || errno == EEXIST else {
                throw FileFailure("create directory", partial, code: errno)
            }
            var info = stat()
            guard lstat(partial, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
                throw FileFailure("record in", partial, text: "it is a symbolic link, or no directory")
            }
        }
    }

    /// Returns the relative paths of all files in the directory, and in the subdirectories that its templates can make,
    /// sorted. Leaves out directories, hidden files and, if this is itself a record directory, the files of nested
    /// record directories.
    func entries() throws(FileFailure) -> [String] { try entries(depth: templates.map(\.depth).max() ?? 0) }

    /// Like ``entries()``, but searches `depth` levels of subdirectories.
    func entries(depth: Int) throws(FileFailure) -> [String] { try walk(depth).files }

    /// Returns the relative paths of the record directories up to `depth` levels below this one; none if this is not
    /// itself a record directory. Files in them do not belong to this directory.
    package func nestedArchives(depth: Int = 8) throws(FileFailure) -> [String] { try walk(depth).archives }

    private func walk(_ depth: Int) throws(FileFailure) -> (files: [String], archives: [String]) {
        var (files, archives): ([String], [String]) = ([], [])
        var directories: [String] = []
        let top = try Self.read(path)
        // If this directory is not itself a record directory, the files of nested record directories are listed, too.
        let isArchive = top.contains { Self.isArchiveMark($0.name) }
        Self.sort(top, of: "", &files, &directories)
        for _ in 0..<depth {
            let level = directories
            directories = []
            for directory in level {
                // A directory that disappeared in the meantime, or that this user is not allowed to read, is skipped.
                guard let entries = try? Self.read("\(path)/\(directory)") else { continue }
                if isArchive, entries.contains(where: { Self.isArchiveMark($0.name) }) {
                    archives.append(String(directory.dropLast()))
                } else {
                    Self.sort(entries, of: directory, &files, &directories)
                }
            }
        }
        return (files.sorted(), archives.sorted())
    }

    /// Appends the paths of `entries`, which are in the directory `relative`, to `files` and `directories`; skips
    /// hidden entries.
    private static func sort(
        _ entries: [(name: String, isDirectory: Bool)], of relative: String, _ files: inout [String],
        _ directories: inout [String]
    ) {
        for entry in entries where !entry.name.hasPrefix(".") {
            if entry.isDirectory {
                directories.append("\(relative)\(entry.name)/")
            } else {
                files.append(relative + entry.name)
            }
        }
    }

    /// Whether the directory at `path` is a record directory; false if it cannot be read.
    static func isArchive(_ path: String) -> Bool { (try? names(in: path))?.contains(where: isArchiveMark) ?? false }

    /// Whether an entry called `name` shows that its directory is a record directory. The entry is the mark or the
    /// catalogue. A catalogue can exist without a mark, because some file systems refuse the mark, and because earlier
    /// versions of relay created none.
    static func isArchiveMark(_ name: String) -> Bool { name.hasPrefix(markPrefix) || name == catalogueName }

    /// Returns the names of all entries of the directory `path`, including hidden ones.
    package static func names(in path: String) throws(FileFailure) -> [String] { try read(path).map(\.name) }

    /// Returns the entries of the directory `path`.
    static func read(_ path: String) throws(FileFailure) -> [(name: String, isDirectory: Bool)] {
        guard let stream = opendir(path) else { throw FileFailure("read directory", path, code: errno) }
        defer { closedir(stream) }
        var found: [(name: String, isDirectory: Bool)] = []
        while let entry = nextEntry(of: stream, at: path) { found.append(entry) }
        return found
    }

    /// Returns the next entry of the open directory `stream`, whose path is `path`; nil at its end.
    static func nextEntry(of stream: OpaquePointer, at path: String) -> (name: String, isDirectory: Bool)? {
        guard let entry = readdir(stream) else { return nil }
        // The name is a null-terminated C string in a fixed array.
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        var info = stat()
        let isUnknown = entry.pointee.d_type == DT_UNKNOWN
        let isDirectory =
            isUnknown
            ? lstat("\(path)/\(name)", &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
            : entry.pointee.d_type == DT_DIR
        return (name, isDirectory)
    }

    /// Returns the highest sequence number that `channel` has used in this directory, in open, closed or broken files;
    /// 0 if there is no such file. Files of another channel count if their names do not contain the channel, because
    /// both channels then share the names.
    package func lastSequence(of channel: String) throws(FileFailure) -> Int {
        let ownership = Ownership(self, channel: channel)
        let names = try entries().compactMap { name -> (name: String, match: Ownership.NameMatch)? in
            guard let match = ownership.match(name), match.isCertain else { return nil }
            return (name, match)
        }
        // Files are opened in descending order of their numbers: nearly always the first one belongs to the channel.
        let last = names.sorted { $0.match.sequence > $1.match.sequence }.first { name, match in
            guard !name.hasSuffix(SegmentName.brokenSuffix), let file = try? open(recording: name) else { return true }
            return (try? ownership.verdict(on: file, name, match)) != .foreign
        }
        return last?.match.sequence ?? 0
    }
}

// MARK: Deleting

extension RecordDirectory {
    /// Deletes a finished file, if its directory, name and content show that it belongs to `channel`. Returns false if
    /// the file is already gone, is held, or is in use by another process. Throws a failure whose code is 0 if the file
    /// does not belong to the channel.
    package func delete(_ segment: StoredSegment, of channel: String) throws(FileFailure) -> Bool {
        try delete(recording: segment.fileName, of: channel)
    }

    /// Deletes the finished file `name`, like ``delete(_:of:)``.
    package func delete(recording name: String, of channel: String) throws(FileFailure) -> Bool {
        let path = "\(path)/\(name)"
        let (parent, file): (FileDescriptor, FileDescriptor)
        do {
            parent = try FileDescriptor.open(parentOf: name, in: self.path)
            file = try parent.open(entry: name)
        } catch {
            if error.code == ENOENT { return false }
            throw error
        }
        let ownership = Ownership(self, channel: channel)
        guard let match = ownership.match(name) else {
            throw FileFailure("delete", path, text: "its name is not that of a recording of this channel")
        }
        switch try ownership.verdict(on: file, name, match) {
        case .ours: break
        case .other(let owner):
            // The name of another channel's file can fit this channel, too, if the template does not contain the
            // channel.
            throw FileFailure("delete", path, text: "it is a recording of the channel \"\(owner)\"")
        case .empty, .unnamed, .foreign:
            throw FileFailure("delete", path, text: "it has the name of a recording, but this program did not make it")
        }
        // The lock is taken before the check for the mark: a process that holds a recording sets the mark and then
        // waits for the lock.
        guard file.lock(), !HoldMark.isSet(of: name, in: self) else { return false }
        return try parent.remove(entry: name)
    }
}

// MARK: Templates

/// The name templates that were used in a record directory. They are stored in a hidden file, so that older recordings
/// are still recognized by their names.
extension RecordDirectory {
    private static let templatesName = ".relay-names"
    /// The maximum number of templates that are read: the newest ones.
    private static let mostTemplates = 64

    /// Returns the templates stored in the directory at `path`; empty if the file is missing or unreadable.
    static func notedTemplates(in path: String) -> [NameTemplate] {
        guard let file = try? FileDescriptor.open(readOnly: "\(path)/\(templatesName)"),
            let size = try? file.attributes(), size.isRegular,
            let bytes = try? file.read(at: 0, count: Int(min(size.size, 1 << 16)))
        else { return [] }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(mostTemplates)
        return lines.compactMap { try? NameTemplate(parsing: String($0)) }
    }

    /// Stores the template of the directory, unless it is the standard one or already stored. On a full disk this fails
    /// without further consequences: as long as this run uses the template, relay knows it anyway.
    private func noteTemplate() {
        guard template != .standard, !Self.notedTemplates(in: path).contains(template) else { return }
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let number = Glibc.open("\(path)/\(Self.templatesName)", flags, 0o644)
        guard number >= 0 else { return }
        defer { close(number) }
        // The line is written in one call, because another process can append its own line at the same time.
        let line = Array("\(template.text)\n".utf8)
        _ = write(number, line, line.count)
    }
}

/// The identity of a disk with a directory of recordings.
package enum DiskIdentity: Sendable, Equatable {
    /// The name of the directory's mark, an empty file. No other directory contains a mark with this name.
    case marked(String)
    /// No mark can be created in the directory. The ``RecordDirectory/generation`` distinguishes disks without a mark.
    case unmarked(generation: Int)
}
