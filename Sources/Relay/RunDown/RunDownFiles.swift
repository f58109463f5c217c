// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Where the files lie that a run-down names.
struct RunDownFiles: Sendable {
    /// Why a file cannot be taken, in a sentence.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// What a path that does not begin with a slash is relative to.
    let directory: String
    /// Whether only what lies in the directory may be named: who asks by the API has no say in the rest of the machine.
    var isConfined = false

    /// The real path of the file that is named `path`. Blocks on the disk. Throws where there is none that can be read.
    func resolve(_ path: String) throws(Fault) -> String {
        let missing = Fault(description: "There is no file \(path) that can be read.")
        guard !path.utf8.contains(0), let real = Self.real(path.hasPrefix("/") ? path : "\(directory)/\(path)") else {
            throw missing
        }
        if isConfined {
            let root = Self.real(directory) ?? directory
            guard real.hasPrefix(root.hasSuffix("/") ? root : root + "/") else {
                throw Fault(description: "The file \(path) is not in the directory that --rundown names.")
            }
        }
        var status = stat()
        // A pipe or a device would keep us waiting.
        guard stat(real, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(real, R_OK) == 0 else {
            throw missing
        }
        return real
    }

    private static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
