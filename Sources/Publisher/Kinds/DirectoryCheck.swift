// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

/// Tests whether a directory can be written to. The functions block on the disk.
package enum DirectoryCheck {
    /// Tests whether `path` can be written to or, if it does not exist, its longest part that exists.
    package static func check(_ path: String) -> OutputFinding {
        let existing = existing(path)
        guard access(existing, W_OK | X_OK) == 0 else {
            return OutputFinding(.unusable, "\(existing): \(String(cString: strerror(errno)))")
        }
        return OutputFinding(
            .usable, existing == path ? "\(path) can be written" : "\(path) can be made in \(existing)")
    }

    /// The longest part of `path` that exists.
    package static func existing(_ path: String) -> String {
        var path = URL(fileURLWithPath: path).path
        while path != "/", access(path, F_OK) != 0, let slash = path.lastIndex(of: "/") {
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        return path
    }
}
