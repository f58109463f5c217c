// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// Deletes a finished file of `channel`, if place, name and content say that it is one; false if it is already gone, it
    /// is held, or somebody else is still at it. Throws a failure without a system's code if it is not the channel's.
    package func delete(_ segment: StoredSegment, of channel: String) throws(FileFailure) -> Bool {
        try delete(recording: segment.fileName, of: channel)
    }

    /// As ``delete(_:of:)``, of the finished file `name`.
    package func delete(recording name: String, of channel: String) throws(FileFailure) -> Bool {
        let path = "\(path)/\(name)"
        let (parent, file): (FileDescriptor, FileDescriptor)
        do {
            parent = try FileDescriptor.open(parentOf: name, in: self.path)
            file = try parent.open(entry: name)
        } catch {
            if error.code == ENOENT { return false }
            throw error
        }
        let ownership = Ownership(self, channel: channel)
        guard let match = ownership.match(name) else {
            throw FileFailure("delete", path, text: "its name is not that of a recording of this channel")
        }
        switch try ownership.verdict(on: file, name, match) {
        case .ours: break
        case .other(let owner):
            // A template without the channel makes one channel's files look like another's.
            throw FileFailure("delete", path, text: "it is a recording of the channel \"\(owner)\"")
        case .empty, .unnamed, .foreign:
            throw FileFailure("delete", path, text: "it has the name of a recording, but this program did not make it")
        }
        // Takes the lock before it looks for the mark: a process that holds a recording sets the mark and then waits
        // for the lock.
        guard file.lock(), !HoldMark.isSet(of: name, in: self) else { return false }
        return try parent.remove(entry: name)
    }
}
