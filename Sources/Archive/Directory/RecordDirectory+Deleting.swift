// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// Deletes a finished file, if its place, name and content show that it belongs to `channel`. Returns false if the
    /// file is already gone, is held, or is in use by another process. Throws a failure without a system error code if
    /// it does not belong to the channel.
    package func delete(_ segment: StoredSegment, of channel: String) throws(FileFailure) -> Bool {
        try delete(recording: segment.fileName, of: channel)
    }

    /// Deletes the finished file `name`, like ``delete(_:of:)``.
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
            // If the template lacks the channel, the names of different channels' files look the same.
            throw FileFailure("delete", path, text: "it is a recording of the channel \"\(owner)\"")
        case .empty, .unnamed, .foreign:
            throw FileFailure("delete", path, text: "it has the name of a recording, but this program did not make it")
        }
        // The lock is taken before the check for the mark: a process that holds a recording sets the mark and then
        // waits for the lock.
        guard file.lock(), !HoldMark.isSet(of: name, in: self) else { return false }
        return try parent.remove(entry: name)
    }
}
