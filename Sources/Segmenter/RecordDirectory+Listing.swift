// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// What a file in a directory of recordings is by its name.
    package enum FileKind: Sendable {
        /// A closed recording, or any other MP4.
        case closed
        /// Being written, or left open by a crash.
        case open
        /// What recovery could make nothing of.
        case broken
    }

    /// How deep subdirectories are looked into.
    private static let depth = 8

    /// An existing directory that is only looked at.
    package static func existing(_ path: String) throws(FileFailure) -> RecordDirectory {
        var path = path.isEmpty ? "." : path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let directory = RecordDirectory(path: path, device: try device(of: path))
        _ = try directory.entries()
        return directory
    }

    /// Recordings here and in subdirectories, by their paths relative to this directory, sorted. What begins with a
    /// dot is left out, as are symbolic links to directories; a subdirectory that cannot be read is, too.
    package func recordings() throws(FileFailure) -> [(name: String, kind: FileKind)] {
        var found: [(name: String, kind: FileKind)] = []
        try collect("", depth: Self.depth, &found)
        return found.sorted { $0.name < $1.name }
    }

    private func collect(
        _ prefix: String, depth: Int, _ found: inout [(name: String, kind: FileKind)]
    ) throws(FileFailure) {
        let here = prefix.isEmpty ? self : RecordDirectory(path: "\(path)/\(prefix)", device: device)
        for entry in try here.entries() where !entry.hasPrefix(".") {
            let name = prefix.isEmpty ? entry : "\(prefix)/\(entry)"
            if let kind = Self.kind(entry) {
                found.append((name, kind))
            } else if depth > 0, isDirectory(name) {
                try? collect(name, depth: depth - 1, &found)
            }
        }
    }

    private static func kind(_ name: String) -> FileKind? {
        if name.hasSuffix(SegmentName.openSuffix) { return .open }
        if name.hasSuffix(SegmentName.closedSuffix) { return .closed }
        return name.hasSuffix(SegmentName.brokenSuffix) ? .broken : nil
    }

    private func isDirectory(_ name: String) -> Bool {
        var info = stat()
        return lstat("\(path)/\(name)", &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
    }

    /// The runs that living processes are recording here.
    package func livingRuns() -> Set<String> {
        let open = ((try? recordings()) ?? []).filter { $0.kind == .open && isInUse($0.name) }
        return Set(open.compactMap { SegmentReader.run(ofOpen: "\(path)/\($0.name)") })
    }

    /// Whether a living process writes the file `name`.
    package func isInUse(_ name: String) -> Bool {
        guard let descriptor = try? FileDescriptor.open(readOnly: "\(path)/\(name)") else { return false }
        return !descriptor.lock()
    }
}
