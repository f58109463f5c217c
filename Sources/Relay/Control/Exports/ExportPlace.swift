// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// Where exported clips lie: in a hidden directory of the recordings, so that nobody takes them for one. All calls block
/// on the disk.
struct ExportPlace {
    private static let name = ".relay-exports"
    /// What no job of this run knows, an earlier one made: it goes after a day. Seconds.
    private static let strangersAge = 86_400

    let directory: RecordDirectory
    private var path: String { "\(directory.path)/\(Self.name)" }

    /// The path of the clip of the job `id`.
    func path(of id: String) -> String { "\(path)/\(id).mp4" }

    /// Makes the directory, and removes what earlier runs of the process left long ago; `known` are jobs of this one.
    func prepare(known: Set<String>) throws(FileFailure) {
        try directory.checkMount()
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw FileFailure("create directory", path, code: errno)
        }
        var info = stat()
        guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
            throw FileFailure("export to", path, text: "it is a symbolic link, or no directory")
        }
        for entry in try RecordDirectory.names(in: path) where entry != "." && entry != ".." {
            let isKnown = known.contains { entry.contains($0) }
            guard !isKnown, lstat("\(path)/\(entry)", &info) == 0, info.st_mode & S_IFMT == S_IFREG,
                info.st_mtim.tv_sec < time(nil) - Self.strangersAge
            else { continue }
            unlink("\(path)/\(entry)")
        }
    }

    /// Removes the clip of the job `id`, if there is one.
    func remove(_ id: String) { unlink(path(of: id)) }
}
