// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// A file that has its name only when it is finished.
package enum FinishedFile {
    /// A hidden path in the directory of `path`, for what is not finished; another one each time.
    package static func hidden(beside path: String) -> String {
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let name = ".\(path[slash...].prefix(200)).\(getpid())-\(UInt32.random(in: 0 ... .max)).part"
        return "\(path[..<slash])\(name)"
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
