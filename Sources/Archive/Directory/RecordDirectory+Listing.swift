// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// The kind of a file in a directory of recordings, by its name.
    package enum FileKind: Sendable {
        /// A closed recording, or any other MP4.
        case closed
        /// Being written, or left open by a crash.
        case open
        /// A file that recovery could not use.
        case broken
    }

    /// How many levels of subdirectories are searched.
    private static let depth = 8

    /// Returns an existing directory for reading only.
    package static func existing(_ path: String) throws(FileFailure) -> RecordDirectory {
        let path = trimmed(path)
        let place = DirectoryPlace(try FileSystemNumber(of: path), notedTemplates: notedTemplates(in: path))
        let directory = RecordDirectory(path: path, place: place)
        _ = try directory.entries()
        return directory
    }

    /// Returns recordings in this directory and its subdirectories, by their relative paths, sorted. Leaves out hidden
    /// files, symbolic links to directories, and unreadable subdirectories. MOV files, which are never recorded but can
    /// be made from recordings, are included only if `andMOV` is set.
    package func recordings(andMOV: Bool = false) throws(FileFailure) -> [(name: String, kind: FileKind)] {
        try entries(depth: Self.depth).compactMap { name in
            if let kind = Self.kind(name) { return (name, kind) }
            return andMOV && name.lowercased().hasSuffix(".mov") ? (name, .closed) : nil
        }
    }

    private static func kind(_ name: String) -> FileKind? {
        if name.hasSuffix(SegmentName.brokenSuffix) { return .broken }
        let isOpen = name.hasSuffix(SegmentName.openMark)
        let closed = isOpen ? name.dropLast(SegmentName.openMark.count) : Substring(name)
        guard RecordFormat.allCases.contains(where: { closed.hasSuffix($0.fileExtension) }) else { return nil }
        return isOpen ? .open : .closed
    }

    /// Returns the runs that running processes are recording here.
    package func livingRuns() -> Set<String> {
        let open = ((try? recordings()) ?? []).filter { $0.kind == .open && isInUse($0.name) }
        return Set(open.compactMap { SegmentReader.run(ofOpen: "\(path)/\($0.name)") })
    }

    /// Whether a running process writes the file `name`, or may do so if the file system has no locks.
    package func isInUse(
        _ name: String, lockCall: @escaping FileDescriptor.LockCall = FileDescriptor.systemLock
    ) -> Bool {
        guard let descriptor = try? FileDescriptor.open(readOnly: "\(path)/\(name)", lockCall: lockCall) else {
            return false
        }
        let isOpen = name.hasSuffix(SegmentName.openMark)
        // This is checked before the lock, because the file's writer may be about to take the lock.
        if isOpen, descriptor.mayBeBeginning { return true }
        return !descriptor.lock() || (isOpen && descriptor.mayBeWrittenElsewhere)
    }
}
