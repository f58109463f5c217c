// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// Whether the directories `one` and `other` are the same, or one of them is in the other. Symbolic links, `..` and
    /// directories that are mounted at several places are followed. But if a directory in one of them is itself mounted
    /// at another place, and the other is that place or in it, this is not recognized: the directories above a mount
    /// point are not those above the mounted directory. The directories need not exist. Blocks on the disks.
    package static func areNested(_ one: String, _ other: String) -> Bool {
        let (one, other) = (real(one), real(other))
        return isWithin(one, other) || isWithin(other, one)
    }

    /// Whether the directories `one` and `other` are the same. Follows what ``areNested(_:_:)`` follows. The directories
    /// need not exist. Blocks on the disks.
    package static func areSame(_ one: String, _ other: String) -> Bool {
        let (one, other) = (real(one), real(other))
        guard one != other, let identity = FileIdentity(one) else { return one == other }
        return FileIdentity(other) == identity
    }

    /// Whether `inner` is `outer` or in it; both are absolute paths without symbolic links.
    private static func isWithin(_ inner: String, _ outer: String) -> Bool {
        if inner == outer || inner.hasPrefix(outer == "/" ? outer : outer + "/") { return true }
        // `inner` and the directories above it are also compared with `outer` by device and inode number, because a
        // directory that is mounted at two places has the same numbers at both.
        guard let identity = FileIdentity(outer) else { return false }
        var place = inner[...]
        while let slash = place.lastIndex(of: "/"), place != "/" {
            if FileIdentity(String(place)) == identity { return true }
            place = place[..<slash]
        }
        return false
    }

    /// Returns the absolute path of `path` without symbolic links, `.` and `..`. The part that does not exist yet is
    /// taken as it is written. Blocks on the disk.
    package static func real(_ path: String) -> String {
        var place = path.hasPrefix("/") ? path : "./\(path)"
        var missing: [Substring] = []
        while true {
            if let found = realpath(place.isEmpty ? "/" : place, nil) {
                defer { free(found) }
                return missing.reversed().reduce(String(cString: found), appending)
            }
            // If no slash is left, `place` is `.`, and not even this directory was found, because the current directory
            // was removed. `path` is then returned unchanged.
            guard let slash = place.lastIndex(of: "/") else { return path }
            missing.append(place[place.index(after: slash)...])
            place = String(place[..<slash])
        }
    }

    /// Returns the path of the entry `name` of the directory `path`, where `name` can also be `.` or `..`.
    private static func appending(_ path: String, _ name: Substring) -> String {
        switch name {
        case "", ".": path
        case "..": path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? path
        default: path == "/" ? "/\(name)" : "\(path)/\(name)"
        }
    }
}
