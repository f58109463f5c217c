// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads the entries of a record directory in steps of bounded size, round after round.
///
/// No directory stays open between two steps, because an open directory would keep a disk busy that an operator wants
/// to unmount. The position in a directory is kept as the number that telldir(3) returns. File systems define this
/// number by the entry and not by the open directory, because NFS servers depend on that. On a file system that defines
/// it in another way, a round can miss or repeat entries. So a caller must not conclude that a file is gone because a
/// round did not return it.
struct DirectoryWalk: Sendable {
    private struct Level: Sendable {
        /// The path below the record directory, with a slash at the end; empty for the record directory itself.
        var path: String
        var depth: Int
    }

    /// The directories that this round still has to read; the last one is being read.
    private var levels: [Level] = []
    /// The subdirectories of the directory that is being read, as far as they were found.
    private var below: [Level] = []
    /// The number of telldir(3) at which to continue in the directory that is being read; 0 at its beginning.
    private var place = 0
    /// How many entries were read in all rounds.
    private(set) var entries = 0

    /// Whether the next step begins a round.
    var isAtStart: Bool { levels.isEmpty }

    /// Reads at most `most` entries, up to the end of the round; reads more only if telldir(3) returns no usable
    /// number. Returns the relative paths of files among them. Leaves out hidden files, and those files of a nested
    /// record directory that are read after its mark.
    mutating func step(_ most: Int, in directory: RecordDirectory) throws(FileFailure) -> [String] {
        if levels.isEmpty {
            levels = [Level(path: "", depth: 0)]
            (below, place) = ([], 0)
        }
        var found: [String] = []
        let last = entries + most
        while entries < last, let level = levels.last { try read(level, until: last, in: directory, &found) }
        return found
    }

    private mutating func read(
        _ level: Level, until last: Int, in directory: RecordDirectory, _ found: inout [String]
    ) throws(FileFailure) {
        let path = "\(directory.path)/\(level.path)"
        guard let stream = opendir(path) else {
            let code = errno
            guard level.depth > 0 else {
                levels = []
                throw FileFailure("read directory", directory.path, code: code)
            }
            // A directory that disappeared in the meantime, or that this user is not allowed to read, is skipped.
            return leave()
        }
        defer { closedir(stream) }
        if place != 0 { seekdir(stream, place) }
        while true {
            if entries >= last {
                let here = telldir(stream)
                // If telldir(3) returns no usable number on this file system, the directory is read to its end now.
                if here != 0, here != -1 {
                    place = here
                    return
                }
            }
            guard let entry = RecordDirectory.nextEntry(of: stream, at: path) else { return leave() }
            entries += 1
            if level.depth > 0, RecordDirectory.isArchiveMark(entry.name) {
                below = []
                return leave()
            }
            if entry.name.hasPrefix(".") { continue }
            if !entry.isDirectory {
                found.append(level.path + entry.name)
            } else if level.depth < NameTemplate.deepest {
                below.append(Level(path: "\(level.path)\(entry.name)/", depth: level.depth + 1))
            }
        }
    }

    /// Leaves the directory that is being read. The round continues with the next directory.
    private mutating func leave() {
        if !levels.isEmpty { levels.removeLast() }
        levels.insert(contentsOf: below, at: 0)
        (below, place) = ([], 0)
    }
}
