// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// The directory that recordings go to.
package struct RecordDirectory: Sendable {
    /// Its path, without a slash at the end.
    package let path: String
    /// The file system it is on: an empty mount point must not be filled instead. All copies share it.
    let place: DirectoryPlace
    /// What its files are called.
    package let template: NameTemplate
    /// Where it is remembered that the directory is on a disk that is mounted; nil for a directory that is only looked at.
    private let memory: MountMemory?
    /// All templates that its files may have been named by: its own, the usual one, and those that it had before.
    var templates: [NameTemplate] { [template, .standard] + place.now.notedTemplates }

    /// How the name of every mark begins: of the empty file by which the directory is known again.
    static let markPrefix = ".relay-archive-"
    /// The name of the catalogue's database in a record directory.
    package static let catalogueName = ".relay.sqlite"

    init(path: String, place: DirectoryPlace, template: NameTemplate = .standard, memory: MountMemory? = nil) {
        self.path = path
        self.place = place
        self.template = template
        self.memory = memory
    }

    /// Makes `path` a directory that can be written, creating what is missing of it, and proves it with a file that is
    /// created and removed. Its files are called as `template` says.
    ///
    /// Where it is on a disk that must be mounted, by `rule` or by what `memory` knows, and is not, nothing is made: the
    /// directory ``isAwaited`` then, until ``checkMount()`` finds the disk.
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

    /// `path` without a slash at its end.
    static func trimmed(_ path: String) -> String {
        var path = path.isEmpty ? "." : path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// The mark that it was found by, or got, last.
    var mark: String? { place.now.mark }

    /// Whether its disk was not mounted since it was prepared.
    package var isAwaited: Bool { place.now.fileSystem == nil }

    /// Counts the file systems, and directories, that are used one after the other under this path: an open file is not in
    /// the directory any more when this has changed.
    package var generation: Int { place.now.generation }

    /// Whether the disk is mounted that the directory must be on, if there is such a disk.
    private var isDiskMounted: Bool {
        place.now.mountPoint.map(MountPoint.isMounted) ?? (MountPoint.of(path) != MountPoint.root)
    }

    /// Makes the directory usable on the file system that is there now.
    private func adopt() throws(FileFailure) {
        try Self.create(path)
        let fileSystem = try FileSystemNumber(of: path)
        try proveWritable(bytes: 0)
        let (mark, mountPoint) = (findMark(), MountPoint.of(path))
        noteTemplate()
        place.adopt(fileSystem, mark: mark, mountPoint: mountPoint, notedTemplates: Self.notedTemplates(in: path))
        if let mark, mountPoint != MountPoint.root {
            memory?.remember(path, MountMemory.Entry(mountPoint: mountPoint, mark: mark))
        }
    }

    /// The mark that is there, or else a new one. A name needs no room on a full disk, and copying is no matter: what
    /// the mark tells apart is a disk and the empty mount point under it.
    private func findMark() -> String? {
        if let mark = try? names().first(where: { $0.hasPrefix(Self.markPrefix) }) { return mark }
        let name = Self.markPrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
        return (try? FileDescriptor.create("\(path)/\(name)")) == nil ? nil : name
    }

    static func create(_ path: String) throws(FileFailure) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += (partial.isEmpty || partial.hasSuffix("/") ? "" : "/") + part
            if mkdir(partial, 0o755) == 0 || errno == EEXIST { continue }
            let code = errno
            var info = stat()
            // A parent on a read-only file system, or one that may not be searched for writing, can exist all the same.
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

    /// Checks that the directory is on the file system it was on, or on it again, or on another one that is mounted in its
    /// place: then it is made usable there, which ``generation`` tells. A file system that is mounted again may get another
    /// number (NFS, tmpfs and btrfs always do, a disk that is plugged in again can), but it has the mark. The empty directory
    /// that it was mounted on has neither, and nothing is mounted there.
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
        guard memory != nil else {
            throw FileFailure("record in", path, text: "another file system is mounted there, or none any more")
        }
        if let found, hasMark == true {
            let noted = Self.notedTemplates(in: path)
            return place.adopt(found, mark: known.mark, mountPoint: MountPoint.of(path), notedTemplates: noted)
        }
        guard isDiskMounted else { throw FileFailure.notMounted(path, known.mountPoint) }
        // A directory that somebody removed is not made again, but on another disk it is.
        if found == nil, try FileSystemNumber(of: MountPoint.existing(path)) == known.fileSystem {
            throw FileFailure("open directory", path, code: ENOENT)
        }
        try adopt()
    }

    /// Creates a file of `bytes` and removes it: the only proof that writing works.
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

    /// Creates the directories between this one and the file `name`. A symbolic link in the place of one is refused: what
    /// is recorded stays in this directory.
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

    /// The paths, from here, of all that is in the directory and in those below it that its templates can make, but for
    /// directories, what is hidden, and what is in another record directory; sorted.
    func entries() throws(FileFailure) -> [String] {
        try entries(depth: templates.map(\.depth).max() ?? 0)
    }

    /// Like ``entries()``, but looks `depth` directories deep.
    func entries(depth: Int) throws(FileFailure) -> [String] { try walk(depth).files }

    /// The paths of the record directories up to `depth` directories below this one. Each has files of its own.
    package func nestedArchives(depth: Int = 8) throws(FileFailure) -> [String] { try walk(depth).archives }

    private func walk(_ depth: Int) throws(FileFailure) -> (files: [String], archives: [String]) {
        var (files, archives): ([String], [String]) = ([], [])
        var directories: [String] = []
        let top = try Self.read(path)
        // In a directory that holds several record directories all files are shown.
        let isArchive = top.contains { Self.isArchiveMark($0.name) }
        Self.sort(top, of: "", &files, &directories)
        for _ in 0..<depth {
            let level = directories
            directories = []
            for directory in level {
                // A directory that vanished meanwhile, or that this user may not read, holds no recordings for it.
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

    /// Appends the paths of `entries`, which are in the directory `relative`, to `files` and `directories`, but for what
    /// is hidden.
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
    static func isArchive(_ path: String) -> Bool {
        (try? names(in: path))?.contains(where: isArchiveMark) ?? false
    }

    /// Whether a record directory alone has an entry called `name`: the mark, which a file system may refuse, or a
    /// catalogue, which earlier versions made without it.
    private static func isArchiveMark(_ name: String) -> Bool {
        name.hasPrefix(markPrefix) || name == catalogueName
    }

    /// The names of all that is in the directory itself, also of what is hidden; sorted.
    private func names() throws(FileFailure) -> [String] { try Self.names(in: path).sorted() }

    /// The names of all that is in the directory `path`, also of what is hidden.
    package static func names(in path: String) throws(FileFailure) -> [String] { try read(path).map(\.name) }

    /// What is in the directory `path`.
    private static func read(_ path: String) throws(FileFailure) -> [(name: String, isDirectory: Bool)] {
        guard let stream = opendir(path) else { throw FileFailure("read directory", path, code: errno) }
        defer { closedir(stream) }
        var found: [(name: String, isDirectory: Bool)] = []
        while let entry = readdir(stream) {
            // The name is a C string in a fixed array; its length byte says how much of the record is valid.
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var info = stat()
            let isUnknown = entry.pointee.d_type == DT_UNKNOWN
            let isDirectory =
                isUnknown
                ? lstat("\(path)/\(name)", &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
                : entry.pointee.d_type == DT_DIR
            found.append((name, isDirectory))
        }
        return found
    }

    /// The highest sequence number that `channel` has used here, open, closed or broken; 0 if none. Files of another
    /// channel whose names do not say it count, because they share the names.
    package func lastSequence(of channel: String) throws(FileFailure) -> Int {
        let ownership = Ownership(self, channel: channel)
        let names = try entries().compactMap { name -> (name: String, match: Ownership.NameMatch)? in
            guard let match = ownership.match(name), match.isCertain else { return nil }
            return (name, match)
        }
        // Files are opened from the highest number down: the first is nearly always one that counts.
        let last = names.sorted { $0.match.sequence > $1.match.sequence }.first { name, match in
            guard !name.hasSuffix(SegmentName.brokenSuffix), let file = try? open(recording: name) else { return true }
            return (try? ownership.verdict(on: file, name, match)) != .foreign
        }
        return last?.match.sequence ?? 0
    }
}
