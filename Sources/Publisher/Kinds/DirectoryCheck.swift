// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

/// Tests whether relay can write to a directory. The functions may block on the disk.
package enum DirectoryCheck {
    /// Tests whether relay can write to the directory `path`. If the directory does not exist, tests its nearest
    /// existing parent.
    package static func check(_ path: String) -> OutputFinding {
        let existing = existing(path)
        guard access(existing, W_OK | X_OK) == 0 else {
            return OutputFinding(.unusable, "\(existing): \(String(cString: strerror(errno)))")
        }
        return OutputFinding(
            .usable, existing == path ? "\(path) can be written" : "\(path) can be made in \(existing)")
    }

    /// Returns `path`, or its nearest parent directory that exists.
    package static func existing(_ path: String) -> String {
        var path = URL(fileURLWithPath: path).path
        while path != "/", access(path, F_OK) != 0, let slash = path.lastIndex(of: "/") {
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        return path
    }
}
