// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// Deletes a finished file of `channel`, if its content says, too, that it is one; false if it is already gone, it is
    /// held, or somebody else is still at it. Throws if it is a file of another program or of another channel.
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
        let isStream = name.hasSuffix(RecordFormat.ts.fileExtension)
        guard try SegmentOrigin(of: file, isStream: isStream) == .ours, let owner = isStream ? channel : file.channel
        else {
            throw FileFailure("delete", path, text: "it has the name of a recording, but is none of this program")
        }
        // A template without the channel, or an unlucky name, makes one channel's files look like another's.
        if SegmentName.safe(owner) != SegmentName.safe(channel) {
            throw FileFailure("delete", path, text: "it is a recording of the channel \"\(owner)\"")
        }
        // With the lock, which whoever holds a recording waits for after the mark is there.
        guard file.lock(), !HoldMark.isSet(of: name, in: self) else { return false }
        return try parent.remove(entry: name)
    }
}
