// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// Handles files that get their final name only when they are finished.
package enum FinishedFile {
    /// Returns a hidden path in the directory of `path`, for an unfinished file; a different one each time.
    package static func hidden(beside path: String) -> String {
        let (directory, stem) = hiddenStem(of: path)
        return "\(directory)\(stem)\(getpid())-\(UInt32.random(in: 0 ... .max)).part"
    }

    /// Returns the hidden path, in the directory of `path`, of the journal from which a later run can continue.
    package static func journal(beside path: String) -> String {
        let (directory, stem) = hiddenStem(of: path)
        return "\(directory)\(stem)resume"
    }

    /// Returns the directory of `path` with its slash, and the prefix of the hidden names for `path`.
    private static func hiddenStem(of path: String) -> (directory: String, stem: String) {
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return (String(path[..<slash]), ".\(path[slash...].prefix(200)).")
    }

    /// Removes hidden files for `path` that were left by killed runs, unless they are locked.
    package static func removeLeftovers(of path: String) {
        for hidden in hiddenPaths(of: path) { removeUnused(hidden) }
    }

    /// Returns the paths of all existing unfinished files for `path`.
    package static func hiddenPaths(of path: String) -> [String] {
        let (directory, stem) = hiddenStem(of: path)
        let names = (try? RecordDirectory.names(in: directory.isEmpty ? "." : directory)) ?? []
        return names.filter { name in
            guard name.hasPrefix(stem), name.hasSuffix(".part") else { return false }
            let number = name.dropFirst(stem.count).dropLast(".part".count).split(separator: "-")
            return number.count == 2 && number.allSatisfy { UInt32($0) != nil }
        }.map { "\(directory)\($0)" }
    }

    /// Removes the file `path`, unless another process has locked it, might be about to lock it because it has just
    /// created it, or, on a file system without locks, might be writing it.
    package static func removeUnused(_ path: String) {
        guard let file = try? FileDescriptor.open(existing: path), !file.mayBeBeginning, file.lockCreated(),
            !file.mayBeWrittenElsewhere
        else { return }
        unlink(path)
    }

    /// Removes the open file `file`.
    package static func remove(_ file: FileDescriptor) throws(FileFailure) {
        guard unlink(file.path) == 0 else { throw FileFailure("remove", file.path, code: errno) }
    }

    /// Renames `hidden` to `path`, durably; replaces an existing file only if `replaces` is set.
    package static func publish(_ hidden: String, as path: String, replaces: Bool) throws(FileFailure) {
        if replaces {
            guard rename(hidden, path) == 0 else { throw FileFailure("create", path, code: errno) }
        } else if try !FileDescriptor.rename(hidden, to: path) {
            throw FileFailure("create", path, code: EEXIST)
        }
        FileDescriptor.synchroniseDirectory(of: path)
    }

    /// Throws unless `bytes` bytes are free in the directory of `path`. The error's message begins with `needs`.
    package static func checkRoom(for bytes: Int64, at path: String, _ needs: String) throws(FileFailure) {
        let slash = path.lastIndex(of: "/")
        let free = try SystemFreeSpace().space(at: slash.map { String(path[...$0]) } ?? ".").free
        guard free >= bytes else {
            throw FileFailure(
                "create", path,
                text: "\(needs) \(ByteSize(bytes: bytes)), and there are only \(ByteSize(bytes: free)) free")
        }
    }
}
