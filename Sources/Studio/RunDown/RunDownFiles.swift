// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// Finds the files that a run-down names.
struct RunDownFiles: Sendable {
    /// The reason why a file cannot be used, in a sentence.
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// The directory to which relative paths refer.
    let directory: String
    /// Whether only files in the directory or below it are allowed, because a client of the API must not have access to
    /// other files of the machine.
    var isConfined = false

    /// Returns the real path of the file with the name `path`. Blocks on the disk. Throws if no such file can be read.
    func resolve(_ path: String) throws(Fault) -> String {
        let place = path.hasPrefix("/") ? path : "\(directory)/\(path)"
        guard !path.utf8.contains(0), let real = RealPath.of(place) else { throw missing(path, place) }
        if isConfined {
            guard isInside(real) else {
                throw Fault(description: "The file \(path) is not in the directory that --rundown names.")
            }
        }
        // A pipe or a device is refused, because reading it might block.
        guard FileStatus(real)?.kind == .regular, access(real, R_OK) == 0 else { throw missing(path, place) }
        return real
    }

    private func isInside(_ real: String) -> Bool {
        let root = RealPath.of(directory) ?? directory
        return real.hasPrefix(root.hasSuffix("/") ? root : root + "/")
    }

    /// The error for a missing file, which lists some of the video files in the file's directory.
    private func missing(_ path: String, _ place: String) -> Fault {
        let text = "There is no file \(path) that can be read."
        guard !path.utf8.contains(0), let end = place.lastIndex(of: "/"),
            let folder = RealPath.of(String(place[...end])), !isConfined || isInside(folder + "/")
        else {
            return Fault(description: text)
        }
        let names = Self.videos(in: folder)
        guard !names.isEmpty else { return Fault(description: text) }
        let more = names.count > Self.mostNames ? " and others" : ""
        let told = names.prefix(Self.mostNames).joined(separator: ", ")
        return Fault(description: "\(text) There are \(told)\(more).")
    }

    /// The maximum number of file names in the error for a missing file, and of directory entries that are read to find
    /// these names.
    private static let (mostNames, mostEntries) = (5, 10_000)
    private static let endings = ["mp4", "mov", "m4v", "mkv", "webm", "ts", "m2ts", "mts", "mpg", "mxf", "avi", "flv"]

    /// The names of video files in alphabetical order. Blocks on the disk.
    private static func videos(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        for _ in 0..<mostEntries {
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
                field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !name.hasPrefix("."), let ending = name.split(separator: ".").last?.lowercased(),
                endings.contains(ending), !name.contains(where: \.isNewline)
            else { continue }
            names.append(name)
        }
        return names.sorted()
    }
}
