// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// The directory that recordings go to.
public struct RecordDirectory: Sendable {
    /// Its path, without a slash at the end.
    public let path: String
    /// The file system it was on when it was prepared (`st_dev`): an empty mount point must not be filled instead.
    let device: UInt64
    /// The name of an empty file in it by which it is known again when its disk comes back under another number; nil
    /// where none can be made.
    let mark: String?

    private static let markPrefix = ".relay-archive-"

    private init(path: String, device: UInt64, mark: String? = nil) {
        self.path = path
        self.device = device
        self.mark = mark
    }

    /// Makes `path` a directory that can be written, creating what is missing of it, and proves it with a file that is
    /// created and removed.
    public static func prepare(_ path: String) throws(FileFailure) -> RecordDirectory {
        var path = path.isEmpty ? "." : path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        try create(path)
        let directory = RecordDirectory(path: path, device: try Self.device(of: path))
        try directory.probe(bytes: 0)
        return RecordDirectory(path: path, device: directory.device, mark: directory.findMark())
    }

    /// The mark that is there, or else a new one. A name needs no room on a full disk, and copying is no matter: what
    /// the mark tells apart is a disk and the empty mount point under it.
    private func findMark() -> String? {
        if let mark = try? entries().first(where: { $0.hasPrefix(Self.markPrefix) }) { return mark }
        let name = Self.markPrefix + String(UInt64.random(in: 0 ... .max), radix: 16)
        return (try? FileDescriptor.create("\(path)/\(name)")) == nil ? nil : name
    }

    private static func create(_ path: String) throws(FileFailure) {
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

    private static func device(of path: String) throws(FileFailure) -> UInt64 {
        var info = stat()
        guard stat(path, &info) == 0 else { throw FileFailure("open directory", path, code: errno) }
        guard info.st_mode & S_IFMT == S_IFDIR else { throw FileFailure("open directory", path, code: ENOTDIR) }
        return UInt64(info.st_dev)
    }

    /// Checks that the directory is still on the file system it was on, or on it again. A file system that is mounted
    /// again may get another number (NFS, tmpfs and btrfs always do, a disk that is plugged in again can), but it has
    /// the mark; the empty directory that it was mounted on has neither.
    func checkMount() throws(FileFailure) {
        if try Self.device(of: path) == device { return }
        if let mark, access("\(path)/\(mark)", F_OK) == 0 { return }
        throw FileFailure("record in", path, text: "another file system is mounted there, or none any more")
    }

    /// Creates a file of `bytes` and removes it: the only proof that writing works.
    func probe(bytes: Int) throws(FileFailure) {
        try checkMount()
        let name = "\(path)/.relay-probe-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let file = try FileDescriptor.create(name)
        defer { unlink(name) }
        guard bytes > 0 else { return }
        let block = SharedBytes(count: 1 << 16) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
        try file.write(Array(repeating: block, count: (bytes + block.count - 1) / block.count), at: 0)
        try file.synchronise()
    }

    /// The names of what is in the directory.
    func entries() throws(FileFailure) -> [String] {
        guard let stream = opendir(path) else { throw FileFailure("read directory", path, code: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // The name is a C string in a fixed array; its length byte says how much of the record is valid.
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names.sorted()
    }

    /// The highest sequence number that `channel` has used here, open, closed or broken; 0 if none.
    func lastSequence(of channel: String) throws(FileFailure) -> Int {
        let channel = SegmentName.safe(channel)
        return try entries().compactMap(SegmentName.init(usedBy:)).filter { $0.channel == channel }
            .map(\.sequence).max() ?? 0
    }
}
