// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// Whether a record directory must be on a mounted disk.
package enum MountRule: Sendable, Hashable {
    /// The directory must be on a mounted disk if ``MountMemory`` contains it, because it was on a mounted disk before.
    case remembered
    /// The directory must be on a mounted disk: nothing is recorded until a disk is mounted there.
    case required
    /// The directory can be on any file system, and its entry is removed from the ``MountMemory``.
    case ignored
}

/// Remembers which record directories are on mounted disks, so that relay recognizes an empty mount point if relay is
/// started before the disk is mounted. The memory is stored outside of these directories. It has one file for each
/// directory. The file is named after the directory's path, with `%2F` for each slash and `%25` for each `%`. The file
/// contains the mount point and the directory's mark, one per line.
///
/// An entry that cannot be read or written is ignored, without further consequences. All calls block on the disk.
package struct MountMemory: Sendable {
    /// One remembered directory.
    struct Entry: Equatable {
        var mountPoint: String
        var mark: String
    }

    private static let mostBytes = 8192
    private let directory: String?
    /// Tells where file systems are mounted.
    let mounts: MountView

    /// Creates a memory in `directory`, which is created if it is missing. If `directory` is nil, nothing is
    /// remembered. `mounts` tells where file systems are mounted.
    package init(directory: String? = nil, mounts: MountView = .system) {
        (self.directory, self.mounts) = (directory, mounts)
    }

    /// Throws if the record directory `path` must be on a disk, according to `rule` or the memory, and the disk is not
    /// mounted.
    package func checkMount(of path: String, _ rule: MountRule) throws(FileFailure) {
        guard rule != .ignored else { return }
        let entry = recall(path)
        if let entry, !mounts.isMounted(entry.mountPoint) { throw FileFailure.notMounted(path, entry.mountPoint) }
        if entry == nil, rule == .required, mounts.point(path) == MountPoint.root {
            throw FileFailure.notMounted(path, nil)
        }
    }

    /// Returns the entry of the record directory `path`; nil if the memory has no such entry, or if the entry cannot be
    /// read.
    func recall(_ path: String) -> Entry? {
        guard let file = file(of: path), let descriptor = try? FileDescriptor.open(readOnly: file),
            let size = try? descriptor.size(), size < Self.mostBytes,
            let bytes = try? descriptor.read(at: 0, count: Int(size))
        else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        guard lines.count == 2, lines[0].hasPrefix("/") else { return nil }
        return Entry(mountPoint: lines[0], mark: lines[1])
    }

    /// Remembers the record directory `path`.
    func remember(_ path: String, _ entry: Entry) {
        guard let directory, let file = file(of: path), recall(path) != entry, !entry.mountPoint.contains("\n") else {
            return
        }
        let new = "\(file).\(getpid())"
        do {
            try RecordDirectory.create(directory)
            unlink(new)
            let bytes = Array("\(entry.mountPoint)\n\(entry.mark)\n".utf8)
            let written = try FileDescriptor.create(new)
            try written.write([SharedBytes(bytes)], at: 0)
            try written.synchronise()
        } catch {
            unlink(new)
            return
        }
        rename(new, file)
    }

    /// Forgets the record directory `path`.
    func forget(_ path: String) {
        if let file = file(of: path) { unlink(file) }
    }

    private func file(of path: String) -> String? {
        guard let directory else { return nil }
        var path = RecordDirectory.trimmed(path)
        if !path.hasPrefix("/") {
            guard let current = getcwd(nil, 0) else { return nil }
            defer { free(current) }
            path = "\(String(cString: current))/\(path)"
        }
        return "\(directory)/\(path.replacing("%", with: "%25").replacing("/", with: "%2F"))"
    }
}

extension FileFailure {
    /// The failure for the record directory `path` whose disk is not mounted. `mountPoint` is the disk's mount point,
    /// if that is known.
    static func notMounted(_ path: String, _ mountPoint: String?) -> FileFailure {
        let place = mountPoint.map { " at \($0)" } ?? ""
        return FileFailure("record in", path, text: "its disk is not mounted\(place)")
    }
}
