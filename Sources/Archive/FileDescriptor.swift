// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import MP4
package import Media
internal import Synchronization

/// An open file. It is closed when the last reference is released; until then any thread can use it.
package final class FileDescriptor: Sendable, ByteSource {
    /// `flock(2)`: takes a descriptor and an operation, and returns 0 or `errno`.
    package typealias LockCall = @Sendable (_ file: CInt, _ operation: CInt) -> CInt

    private let number: CInt
    private let isWritable: Bool
    private let lockCall: LockCall
    /// The path with which the file was opened, for error messages.
    package let path: String

    private init(
        _ operation: String, _ path: String, flags: CInt, lockCall: @escaping LockCall = systemLock
    ) throws(FileFailure) {
        var result: CInt
        repeat { result = Glibc.open(path, flags | O_CLOEXEC, 0o644) } while result < 0 && errno == EINTR
        guard result >= 0 else { throw FileFailure(operation, path, code: errno) }
        number = result
        isWritable = flags & O_ACCMODE != O_RDONLY
        self.lockCall = lockCall
        self.path = path
    }

    /// Creates `path`, which must not exist.
    package static func create(_ path: String) throws(FileFailure) -> FileDescriptor {
        try FileDescriptor("create", path, flags: O_RDWR | O_CREAT | O_EXCL)
    }

    /// Opens `path` for reading and writing. Refuses a symbolic link, because it can point out of the directory.
    package static func open(
        existing path: String, lockCall: @escaping LockCall = systemLock
    ) throws(FileFailure) -> FileDescriptor {
        try FileDescriptor("open", path, flags: O_RDWR | O_NOFOLLOW, lockCall: lockCall)
    }

    /// Opens `path` for reading. Refuses a symbolic link, and does not block on a FIFO or device.
    package static func open(
        readOnly path: String, lockCall: @escaping LockCall = systemLock
    ) throws(FileFailure) -> FileDescriptor {
        try FileDescriptor("open", path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK, lockCall: lockCall)
    }

    /// Opens the directory `path`, so that files in it can be opened and its entries can be made durable.
    package static func open(directory path: String) throws(FileFailure) -> FileDescriptor {
        try FileDescriptor("open", path, flags: O_RDONLY | O_DIRECTORY)
    }

    /// Opens the directory that contains the file `name`, which is relative to the directory `root`. Refuses a symbolic
    /// link in place of one of the directories in between, because the link could lead out of `root`.
    package static func open(parentOf name: String, in root: String) throws(FileFailure) -> FileDescriptor {
        try FileDescriptor.open(directory: root).open(parentOf: name)
    }

    /// Opens the directory that contains the file `name`, which is relative to this directory. Refuses a symbolic link
    /// in place of one of the directories in between.
    func open(parentOf name: String) throws(FileFailure) -> FileDescriptor {
        var directory = self
        for part in Self.parts(of: name).filter({ !$0.isEmpty }).dropLast() {
            directory = try directory.open(part, flags: O_RDONLY | O_DIRECTORY)
        }
        return directory
    }

    /// Opens the file in this directory whose name is the last component of `name`, for reading and writing. Refuses a
    /// symbolic link.
    func open(entry name: String) throws(FileFailure) -> FileDescriptor {
        try open(Self.lastPart(of: name), flags: O_RDWR)
    }

    /// Opens the file in this directory whose name is the last component of `name`, for reading. Refuses a symbolic
    /// link, and does not block on a FIFO or device.
    func open(readOnlyEntry name: String) throws(FileFailure) -> FileDescriptor {
        try open(Self.lastPart(of: name), flags: O_RDONLY | O_NONBLOCK)
    }

    private func open(_ name: String, flags: CInt) throws(FileFailure) -> FileDescriptor {
        let path = "\(path)/\(name)"
        var result: CInt
        repeat { result = openat(number, name, flags | O_NOFOLLOW | O_CLOEXEC) } while result < 0 && errno == EINTR
        guard result >= 0 else { throw FileFailure("open", path, code: errno) }
        return FileDescriptor(taking: result, isWritable: flags & O_ACCMODE != O_RDONLY, path: path)
    }

    /// Creates the file in this directory whose name is the last component of `name`. The file must not exist.
    package func create(entry name: String) throws(FileFailure) -> FileDescriptor {
        let name = Self.lastPart(of: name)
        let path = "\(path)/\(name)"
        var result: CInt
        repeat {
            result = openat(number, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        } while result < 0
            && errno == EINTR
        guard result >= 0 else { throw FileFailure("create", path, code: errno) }
        return FileDescriptor(taking: result, isWritable: true, path: path)
    }

    /// Removes the file in this directory whose name is the last component of `name`. Returns false if the file does
    /// not exist.
    package func remove(entry name: String) throws(FileFailure) -> Bool {
        let name = Self.lastPart(of: name)
        if unlinkat(number, name, 0) == 0 { return true }
        guard errno == ENOENT else { throw FileFailure("delete", "\(path)/\(name)", code: errno) }
        return false
    }

    private static func lastPart(of name: String) -> String { parts(of: name).last { !$0.isEmpty } ?? name }

    /// The components of the path `name`. The path is split by bytes, as the operating system does. In Swift, a slash
    /// and a combining mark after it are one Character, but the system still treats the slash as a separator.
    static func parts(of name: String) -> [String] {
        name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private init(taking number: CInt, isWritable: Bool, path: String) {
        self.number = number
        self.isWritable = isWritable
        lockCall = Self.systemLock
        self.path = path
    }

    deinit {
        Self.withoutLocks.withLock { $0[ObjectIdentifier(self)] = nil }
        close(number)
    }

    /// Calls `flock(2)`.
    package static let systemLock: LockCall = { file, operation in
        while flock(file, operation) != 0 { if errno != EINTR { return errno } }
        return 0
    }

    /// The files that this process has locked on file systems without locks, by descriptor.
    private static let withoutLocks = Mutex<[ObjectIdentifier: FileIdentity]>([:])

    /// Takes the advisory lock that marks the file as in use. Returns false only if another descriptor or process has
    /// the lock. A read-only descriptor takes a shared lock, because NFS refuses an exclusive lock on such a
    /// descriptor.
    ///
    /// If the file system has no locks (NFS without its lock daemon), only locks of this process are considered: see
    /// ``mayBeWrittenElsewhere``.
    package func lock() -> Bool {
        switch lockCall(number, (isWritable ? LOCK_EX : LOCK_SH) | LOCK_NB) {
        case 0: return true
        case EWOULDBLOCK: return false
        default: break
        }
        guard let identity = FileIdentity(number) else { return true }
        return Self.withoutLocks.withLock { locked in
            guard !locked.contains(where: { $0.value == identity && $0.key != ObjectIdentifier(self) }) else {
                return false
            }
            locked[ObjectIdentifier(self)] = identity
            return true
        }
    }

    /// Whether another process might be writing the file although no lock shows it. This is true if the file system has
    /// no locks and the file was written less than a minute ago. A time in the future counts as recent. The value is
    /// right only after ``lock()``, which finds out whether there are locks.
    var mayBeWrittenElsewhere: Bool {
        guard Self.withoutLocks.withLock({ $0[ObjectIdentifier(self)] != nil }) else { return false }
        return wasWritten(within: Self.quietTime)
    }

    /// Whether the file was written in the last `seconds` seconds, or the time is unknown.
    private func wasWritten(within seconds: Int) -> Bool {
        var info = stat()
        return fstat(number, &info) != 0 || info.st_mtim.tv_sec > Glibc.time(nil) - seconds
    }

    /// If a file was last written longer ago than this, in seconds, it counts as complete. A recording is written every
    /// second or two; a minute also covers a disk that stalls for a while.
    private static let quietTime = 60

    /// Whether the file is empty and so new that its creator might be about to lock it and to write its head.
    package var mayBeBeginning: Bool { (try? size()) == 0 && wasWritten(within: Self.beginningTime) }

    /// The maximum age in seconds of a file that its creator might not have locked yet. Creating a file, locking it and
    /// writing its head takes a millisecond; 5 s also cover a busy machine.
    private static let beginningTime = 5

    /// Locks a file that was just created; returns false if another process has locked or renamed it in between.
    package func lockCreated() -> Bool {
        guard lock(), let own = FileIdentity(number) else { return false }
        return FileIdentity(path) == own
    }

    /// Releases the lock, even if a child process still has a copy of this descriptor.
    package func unlock() {
        Self.withoutLocks.withLock { $0[ObjectIdentifier(self)] = nil }
        _ = lockCall(number, LOCK_UN)
    }

    /// Returns the file's status.
    func information() throws(FileFailure) -> stat {
        var info = stat()
        guard fstat(number, &info) == 0 else { throw FileFailure("stat", path, code: errno) }
        return info
    }

    /// Returns a string that changes when the file is replaced or written.
    package func version() throws(FileFailure) -> String {
        let info = try information()
        return "\(info.st_dev) \(info.st_ino) \(info.st_size) \(info.st_mtim.tv_sec) \(info.st_mtim.tv_nsec)"
    }

    /// Returns the file's size in bytes, whether it is a regular file, and its number of hard links.
    package func attributes() throws(FileFailure) -> (size: Int64, isRegular: Bool, links: UInt64) {
        let info = try information()
        return (Int64(info.st_size), info.st_mode & S_IFMT == S_IFREG, UInt64(info.st_nlink))
    }

    /// Returns the file's size in bytes.
    package func size() throws(FileFailure) -> Int64 { try attributes().size }

    /// Reads up to `count` bytes at `offset`; fewer only at the end of the file.
    package func read(at offset: Int64, count: Int) throws(FileFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes[filled...].withUnsafeMutableBytes {
                pread(number, $0.baseAddress, $0.count, Int(offset) + filled)
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw FileFailure("read", path, code: errno) }
            if got == 0 { break }
            filled += got
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Writes `pieces` one after the other from `offset` on. One system call is used, or several if there are more than
    /// `IOV_MAX` pieces or if the system writes only a part of them.
    package func write(_ pieces: [SharedBytes], at offset: Int64) throws(FileFailure) {
        var position = offset
        var index = 0
        var skip = 0
        while index < pieces.count {
            // `pieces` keeps the bytes alive beyond the call that reads them.
            var written = withExtendedLifetime(pieces) {
                let vectors = Self.vectors(of: pieces, from: index, skipping: skip)
                return pwritev(number, vectors, CInt(vectors.count), Int(position))
            }
            if written < 0 && errno == EINTR { continue }
            guard written >= 0 else { throw FileFailure("write", path, code: errno) }
            let before = position
            position += Int64(written)
            while index < pieces.count, written >= pieces[index].count - skip {
                written -= pieces[index].count - skip
                (index, skip) = (index + 1, 0)
            }
            skip += written
            // POSIX permits a call that writes nothing and reports no error; without this check the loop would never
            // end.
            if position == before && index < pieces.count { throw FileFailure("write", path, code: EIO) }
        }
    }

    /// Copies `range` of `source` to `offset` within the kernel.
    package func copy(_ range: Range<Int64>, of source: FileDescriptor, to offset: Int64) throws(FileFailure) {
        guard lseek(number, Int(offset), SEEK_SET) >= 0 else { throw FileFailure("write", path, code: errno) }
        var position = Int(range.lowerBound)
        while Int64(position) < range.upperBound {
            let copied = sendfile(number, source.number, &position, Int(range.upperBound) - position)
            if copied < 0 && errno == EINTR { continue }
            guard copied >= 0 else {
                // The failure names the written file: the system does not report which of the two files caused the
                // error, and a full disk is the likely cause.
                throw FileFailure("write", path, code: errno)
            }
            guard copied > 0 else { throw FileFailure("read", source.path, text: "it ends too early") }
        }
    }

    /// `IOV_MAX` of Linux (`linux/uio.h`, `UIO_MAXIOV`).
    private static let vectorLimit = 1024

    private static func vectors(of pieces: [SharedBytes], from index: Int, skipping skip: Int) -> [iovec] {
        var vectors: [iovec] = []
        for (position, piece) in pieces[index...].prefix(vectorLimit).enumerated() {
            let start = position == 0 ? skip : 0
            piece.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                vectors.append(
                    iovec(iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: rest.count))
            }
        }
        return vectors
    }

    /// Truncates the file to `size` bytes.
    package func truncate(to size: Int64) throws(FileFailure) {
        guard ftruncate(number, Int(size)) == 0 else { throw FileFailure("truncate", path, code: errno) }
    }

    /// Makes the content durable.
    package func synchronise() throws(FileFailure) {
        guard fdatasync(number) == 0 else { throw FileFailure("synchronise", path, code: errno) }
    }

    /// Makes the entries of this directory durable, as far as the file system can.
    func synchroniseEntries() { fsync(number) }

    /// Makes the directory entry of the file `path` durable, as far as the file system can.
    package static func synchroniseDirectory(of path: String) {
        let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if let directory = try? open(directory: parent) { fsync(directory.number) }
    }

    /// The result of reserving space.
    package enum Allocation {
        case done
        case noSpace(FileFailure)
        /// The file system cannot reserve space.
        case impossible
    }

    /// A file of this size, 1 TiB, is larger than any recording.
    private static let irrelevantSize: Int64 = 1 << 40

    /// Returns the maximum size of the file in bytes. It is the limit of the file system, such as 4 GiB for FAT32, or of
    /// the process (`RLIMIT_FSIZE`, getrlimit(2)), whichever is less. Returns `Int64.max` if the file system allows 1
    /// TiB and the process has no limit. Moves the position in the file to 0.
    package func largestSize() -> Int64 {
        var own = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        let limit = getrlimit(resource, &own) == 0 ? Int64(clamping: own.rlim_cur) : .max
        // The system refuses a position beyond the largest size (lseek(2)).
        let largest = Self.largestSize { lseek(number, Int($0), SEEK_SET) >= 0 || errno != EINVAL }
        lseek(number, 0, SEEK_SET)
        return min(limit, largest)
    }

    /// Returns the largest position that `isAllowed` accepts, which accepts all positions before it; `Int64.max` if it
    /// accepts 1 TiB.
    static func largestSize(_ isAllowed: (Int64) -> Bool) -> Int64 {
        var (allowed, refused) = (Int64(0), irrelevantSize)
        if isAllowed(refused) { return .max }
        while refused - allowed > 1 {
            let middle = (allowed + refused) / 2
            if isAllowed(middle) { allowed = middle } else { refused = middle }
        }
        return allowed
    }

    /// Reserves space for `count` bytes at `offset`, without changing the file's size.
    package func allocate(_ count: Int64, at offset: Int64) -> Allocation {
        while relay_allocate_keeping_size(number, Int(offset), Int(count)) != 0 {
            if errno == EINTR { continue }
            let failure = FileFailure("write", path, code: errno)
            return failure.isOutOfSpace ? .noSpace(failure) : .impossible
        }
        return .done
    }

    /// Renames `path` to `target` if the name `target` is free, and returns whether the file was renamed. Never
    /// overwrites a file.
    static func rename(_ path: String, to target: String) throws(FileFailure) -> Bool {
        try rename(path, to: target, in: currentDirectory, shownAs: path)
    }

    /// Renames a file in this directory, from the last component of `name` to the last component of `target`, if the
    /// new name is free. Returns whether the file was renamed. Never overwrites a file.
    func rename(entry name: String, to target: String) throws(FileFailure) -> Bool {
        let name = Self.lastPart(of: name)
        return try Self.rename(name, to: Self.lastPart(of: target), in: number, shownAs: "\(path)/\(name)")
    }

    /// The value of `AT_FDCWD` in `linux/fcntl.h`. Swift's module does not contain the constant.
    private static let currentDirectory: CInt = -100

    /// Renames `name` to `target`, both relative to `directory`; `path` is for error texts.
    private static func rename(
        _ name: String, to target: String, in directory: CInt, shownAs path: String
    ) throws(FileFailure) -> Bool {
        if relay_rename_no_replace(directory, name, target) == 0 { return true }
        if errno == EEXIST { return false }
        guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) else { throw FileFailure("rename", path, code: errno) }
        // The file system does not support renaming that refuses to overwrite (NFS). A hard link with the new name is
        // created instead, which never overwrites either, and then the old name is removed.
        if linkat(directory, name, directory, target, 0) == 0 {
            // If the old name cannot be removed, the new name stays: recovery finds both names of the file and removes
            // the old one.
            guard unlinkat(directory, name, 0) == 0 else { throw FileFailure("remove", path, code: errno) }
            return true
        }
        if errno == EEXIST { return false }
        guard [EPERM, EMLINK, ENOSYS, EOPNOTSUPP].contains(errno) else {
            throw FileFailure("rename", path, code: errno)
        }
        // The file system has no hard links (FAT, some FUSE). Checks that the name is free, and then renames the file.
        // Another process could create the name between these two calls.
        guard faccessat(directory, target, F_OK, 0) != 0 else { return false }
        guard renameat(directory, name, directory, target) == 0 else { throw FileFailure("rename", path, code: errno) }
        return true
    }
}
