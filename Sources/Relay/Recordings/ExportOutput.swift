// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc
internal import Segmenter
internal import Studio

/// Checks where a clip may be written. It must not be in a directory of recordings, because every file there counts as
/// a recording, and is uploaded and kept. It must not replace a recording either.
enum ExportOutput {
    /// Returns why a clip must not be written to `output`, in one sentence; nil if it may be. `directory` is the
    /// directory of the recordings, if there are any.
    static func objection(to output: String, recordings directory: String?, replaces: Bool) -> String? {
        if !replaces, access(output, F_OK) == 0 {
            return "\(output) exists; name another file, or replace it with --force."
        }
        guard let parent = RealPath.of(place(of: output)), let directory = directory.flatMap(RealPath.of),
            parent == directory || parent.hasPrefix(directory == "/" ? "/" : directory + "/")
        else { return nil }
        return "\(output) would lie among the recordings and be taken for one; name a file in another directory."
    }

    /// Returns the directory of recordings, recognized by its catalogue, that would contain `output`; nil if there is
    /// no such directory. Blocks on the disk.
    static func recordings(around output: String) -> String? {
        guard var directory = RealPath.of(place(of: output)) else { return nil }
        while !Catalogue.exists(in: directory) {
            guard directory != "/", let slash = directory.lastIndex(of: "/") else { return nil }
            directory = slash == directory.startIndex ? "/" : String(directory[..<slash])
        }
        return directory
    }

    /// Returns the first of the files `paths` that is the same file as the existing `output`; nil if no file is. If
    /// there is no file `output`, `paths` is not evaluated.
    static func original(of output: String, in paths: @autoclosure () throws -> [String]) rethrows -> String? {
        guard let own = FileIdentity(output) else { return nil }
        return try paths().first { FileIdentity($0) == own }
    }

    /// Returns how many bytes an export must leave free on the disk of `output`: the storage guard's default reserve if
    /// the recordings are on the same file system, otherwise 0.
    static func reserve(of output: String, recordings directory: String) -> Int64 {
        guard let one = FileStatus(place(of: output)), let other = FileStatus(directory), one.device == other.device,
            let capacity = try? SystemFreeSpace().space(at: directory).capacity
        else { return 0 }
        return StorageBudget(videoBitrate: 0, audioBitrate: 0, duration: .zero, capacity: capacity).reserveBytes
    }

    /// The directory of `output`.
    private static func place(of output: String) -> String {
        output.lastIndex(of: "/").map { String(output[...$0]) } ?? "."
    }
}
