// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// A file that has its name only when it is finished.
package enum FinishedFile {
    /// A hidden path in the directory of `path`, for a file that is not finished; a different one each time.
    package static func hidden(beside path: String) -> String {
        let (directory, stem) = hiddenStem(of: path)
        return "\(directory)\(stem)\(getpid())-\(UInt32.random(in: 0 ... .max)).part"
    }

    /// The hidden path, in the directory of `path`, of the file from which a later run can continue.
    package static func journal(beside path: String) -> String {
        let (directory, stem) = hiddenStem(of: path)
        return "\(directory)\(stem)resume"
    }

    /// The directory of `path` with its slash, and how hidden names beside it begin.
    private static func hiddenStem(of path: String) -> (directory: String, stem: String) {
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return (String(path[..<slash]), ".\(path[slash...].prefix(200)).")
    }

    /// Removes what killed runs left of `path`: hidden files that are not locked.
    package static func removeLeftovers(of path: String) {
        for hidden in hiddenPaths(of: path) { removeUnused(hidden) }
    }

    /// All hidden paths that were made for `path` and are there.
    package static func hiddenPaths(of path: String) -> [String] {
        let (directory, stem) = hiddenStem(of: path)
        let names = (try? RecordDirectory.names(in: directory.isEmpty ? "." : directory)) ?? []
        return names.filter { name in
            guard name.hasPrefix(stem), name.hasSuffix(".part") else { return false }
            let number = name.dropFirst(stem.count).dropLast(".part".count).split(separator: "-")
            return number.count == 2 && number.allSatisfy { UInt32($0) != nil }
        }.map { "\(directory)\($0)" }
    }

    /// Removes the file `path` unless it is locked or about to be locked.
    package static func removeUnused(_ path: String) {
        guard let file = try? FileDescriptor.open(existing: path), !file.mayBeBeginning, file.lockCreated(),
            !file.mayBeWrittenElsewhere
        else { return }
        unlink(path)
    }

    /// Removes the file that is open.
    package static func remove(_ file: FileDescriptor) throws(FileFailure) {
        guard unlink(file.path) == 0 else { throw FileFailure("remove", file.path, code: errno) }
    }

    /// Gives what is at `hidden` the name `path`, durably; what has that name already is replaced only if it `replaces` it.
    package static func publish(_ hidden: String, as path: String, replaces: Bool) throws(FileFailure) {
        if replaces {
            guard rename(hidden, path) == 0 else { throw FileFailure("create", path, code: errno) }
        } else if try !FileDescriptor.rename(hidden, to: path) {
            throw FileFailure("create", path, code: EEXIST)
        }
        FileDescriptor.synchroniseDirectory(of: path)
    }

    /// Throws unless `bytes` are free in the directory of `path`; `needs` begins the sentence.
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
