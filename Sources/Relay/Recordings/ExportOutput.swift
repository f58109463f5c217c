// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc
internal import Segmenter

/// Where a clip may go. Not among the recordings: whatever lies there is taken for one, uploaded and kept; and not in
/// the place of one.
enum ExportOutput {
    /// What speaks against making `output`, in one sentence, while recordings are in `directory`, if there are any; nil if
    /// nothing does.
    static func objection(to output: String, recordings directory: String?, replaces: Bool) -> String? {
        if !replaces, access(output, F_OK) == 0 {
            return "\(output) exists; name another file, or replace it with --force."
        }
        guard let parent = resolved(place(of: output)), let directory = directory.flatMap(resolved),
            parent == directory || parent.hasPrefix(directory == "/" ? "/" : directory + "/")
        else { return nil }
        return "\(output) would lie among the recordings and be taken for one; name a file in another directory."
    }

    /// The directory of recordings, known by its catalogue, that would contain `output`; nil if no such directory
    /// would. Blocks on the disk.
    static func recordings(around output: String) -> String? {
        guard var directory = resolved(place(of: output)) else { return nil }
        while !Catalogue.exists(in: directory) {
            guard directory != "/", let slash = directory.lastIndex(of: "/") else { return nil }
            directory = slash == directory.startIndex ? "/" : String(directory[..<slash])
        }
        return directory
    }

    /// Which of the files `paths` is the existing file `output` under another name; nil if none is.
    static func original(of output: String, in paths: [String]) -> String? {
        guard let own = FileIdentity(output) else { return nil }
        return paths.first { FileIdentity($0) == own }
    }

    /// Bytes that stay free where `output` is made: in the file system of the recordings what the storage guard keeps free for
    /// them by default.
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

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
