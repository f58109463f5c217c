// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// Says, by an empty file in a record directory, that clips may be lost that hold files.
///
/// `.relay-clips.restoring` is there from before a damaged catalogue is set aside until its clips are in the new one, and
/// `.relay-clips.broken-N` names the database that they are in. If not all of them could be read, the first becomes
/// `.relay-clips.unknown`, which stays until an operator removes it. A file needs no room on a full disk and outlives the
/// catalogue. All calls block on the disk.
enum ClipMark {
    private static let (pending, brokenPrefix) = (".relay-clips.restoring", ".relay-clips.broken-")
    /// The mark that an operator removes.
    static let unknown = ".relay-clips.unknown"

    /// Notes that clips are in the database that was set aside, or is about to be, under the number `number`.
    static func begin(_ number: Int, in directory: String) throws(FileFailure) {
        try touch(pending, in: directory)
        try touch("\(brokenPrefix)\(number)", in: directory)
    }

    /// The numbers of the databases whose clips are not in the new one yet, the newest first.
    static func databases(in directory: String) throws(FileFailure) -> [Int] {
        try RecordDirectory.names(in: directory).filter { $0.hasPrefix(brokenPrefix) }
            .compactMap { Int($0.dropFirst(brokenPrefix.count)) }.sorted(by: >)
    }

    /// Notes that the clips of these databases are in the new one, all of them if `isWhole`.
    static func end(_ numbers: [Int], isWhole: Bool, in directory: String) throws(FileFailure) {
        let path = "\(directory)/\(pending)"
        if !isWhole {
            // It keeps its time.
            guard rename(path, "\(directory)/\(unknown)") == 0 || errno == ENOENT else {
                throw FileFailure("rename", path, code: errno)
            }
        }
        // The mark without a number first: without the others it could never be taken away.
        for name in [pending] + numbers.map({ "\(brokenPrefix)\($0)" }) {
            guard unlink("\(directory)/\(name)") == 0 || errno == ENOENT else {
                throw FileFailure("delete", "\(directory)/\(name)", code: errno)
            }
        }
    }

    /// Notes that clips are lost.
    static func setUnknown(in directory: String) throws(FileFailure) { try touch(unknown, in: directory) }

    /// Until when clips may have been lost, in milliseconds since 1970; nil if none are.
    static func time(in directory: String) -> Int64? {
        [pending, unknown].compactMap { name -> Int64? in
            var info = stat()
            guard lstat("\(directory)/\(name)", &info) == 0 else { return errno == ENOENT ? nil : .max }
            return Int64(info.st_mtim.tv_sec) &* 1000 &+ Int64(info.st_mtim.tv_nsec) / 1_000_000
        }.max()
    }

    /// Makes the file `name`, or brings its time up to date.
    private static func touch(_ name: String, in directory: String) throws(FileFailure) {
        let path = "\(directory)/\(name)"
        do {
            _ = try FileDescriptor.create(path)
        } catch {
            guard error.code == EEXIST else { throw error }
            utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW)
        }
        FileDescriptor.synchroniseDirectory(of: path)
    }
}
