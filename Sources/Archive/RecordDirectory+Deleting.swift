// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// Deletes a finished file of `channel`, if its content says, too, that it is one; false if it is already gone, or
    /// somebody else is still at it. Throws if it is a file of another program or of another channel.
    package func delete(_ segment: StoredSegment, of channel: String) throws(FileFailure) -> Bool {
        let path = "\(path)/\(segment.fileName)"
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(existing: path)
        } catch {
            if error.code == ENOENT { return false }
            throw error
        }
        let isStream = segment.fileName.hasSuffix(RecordFormat.ts.fileExtension)
        guard try SegmentOrigin(of: file, isStream: isStream) == .ours, let owner = isStream ? channel : file.channel
        else {
            throw FileFailure("delete", path, text: "it has the name of a recording, but is none of this program")
        }
        // A template without the channel, or an unlucky name, makes one channel's files look like another's.
        if SegmentName.safe(owner) != SegmentName.safe(channel) {
            throw FileFailure("delete", path, text: "it is a recording of the channel \"\(owner)\"")
        }
        guard file.lock() else { return false }
        if unlink(path) == 0 { return true }
        guard errno == ENOENT else { throw FileFailure("delete", path, code: errno) }
        return false
    }
}
