// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The directories that outputs of the configuration write to. Outputs that are requested over the API are allowed to
/// write only to these directories and below them.
struct OutputPlaces {
    private let directories: [String]

    init(_ directories: [String]) { self.directories = directories }

    /// Throws if `output` would write to a directory that is neither one of these directories nor below one. Blocks on
    /// the disk.
    func check(_ output: OutputSpecification) throws(OutputSpecificationError) {
        for directory in output.directories where !contains(directory) {
            let known = Set(directories).sorted().joined(separator: ", ")
            throw OutputSpecificationError(
                known.isEmpty
                    ? "The configuration of this channel has no output to a directory, so none can be added here."
                    : "\(directory) is not in a directory of the configuration: name \(known), or one in it.")
        }
    }

    private func contains(_ directory: String) -> Bool {
        guard let real = Self.real(directory) else { return false }
        return directories.compactMap(Self.real).contains { root in
            real == root || real.hasPrefix(root.hasSuffix("/") ? root : root + "/")
        }
    }

    /// Returns the absolute path of `directory` without symbolic links. The last component need not exist, because
    /// outputs create it. Returns nil if another component does not exist.
    private static func real(_ directory: String) -> String? {
        if let real = resolved(directory) { return real }
        let slash = directory.lastIndex(of: "/")
        let name = slash.map { String(directory[directory.index(after: $0)...]) } ?? directory
        let parent = slash.map { $0 == directory.startIndex ? "/" : String(directory[..<$0]) } ?? "."
        guard ![".", ".."].contains(name), let real = resolved(parent) else { return nil }
        return real == "/" ? "/\(name)" : "\(real)/\(name)"
    }

    private static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
