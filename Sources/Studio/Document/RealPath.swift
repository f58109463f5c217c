// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Resolves the symbolic links of a path.
package enum RealPath {
    /// Returns the absolute path of `path` without symbolic links; nil if nothing is there. Blocks on the disk.
    package static func of(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
