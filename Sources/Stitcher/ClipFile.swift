// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Glibc
package import MP4
package import Media

/// An MP4 or MOV file that is made from pieces of other files. The file has a hidden name until it is finished. An
/// unfinished file is deleted when this object is released.
package final class ClipFile {
    private let descriptor: FileDescriptor
    private let path: String
    private let replaces: Bool
    private var end: Int64
    /// Number of bytes that are reserved for the tables between the file's first box and its media; 0 if the tables are
    /// written after the media.
    private let reserved: Int64
    private var isFinished = false

    /// Begins the file `path`, which must not exist unless `replaces` is set. If `reserved` is more than 0, that many
    /// bytes are kept free before the media, and the tables are written there. A player that reads the file from the
    /// beginning then gets the tables first.
    package init(_ path: String, replaces: Bool, reserving reserved: Int64 = 0) throws(FileFailure) {
        self.path = path
        self.replaces = replaces
        self.reserved = reserved
        var info = stat()
        if lstat(path, &info) == 0 {
            guard replaces else { throw FileFailure("create", path, code: EEXIST) }
            guard info.st_mode & S_IFMT == S_IFREG else {
                throw FileFailure("replace", path, text: "it is not a regular file")
            }
        }
        FinishedFile.removeLeftovers(of: path)
        descriptor = try .create(FinishedFile.hidden(beside: path))
        // Locks the work file. Another process that begins to make the same file sees by the lock that this work file
        // is in use.
        guard descriptor.lockCreated() else { throw FileFailure("create", path, text: "its work file was removed") }
        end = Int64(MovieBox.headSize) + reserved
    }

    deinit {
        if !isFinished { unlink(descriptor.path) }
        // The lock is released explicitly, because closing the descriptor does not always release it: a child process
        // that is being started can hold a copy of the descriptor, and therefore the lock, for a moment longer.
        descriptor.unlock()
    }

    /// Appends the bytes `range` of `file`, and returns the offset of these bytes in this clip file.
    package func copy(_ range: Range<Int64>, of file: FileDescriptor) throws(FileFailure) -> Int64 {
        let offset = end
        try descriptor.copy(range, of: file, to: offset)
        end += Int64(range.count)
        return offset
    }

    /// Appends `bytes`, and returns the offset of these bytes in this clip file.
    package func append(_ bytes: SharedBytes) throws(FileFailure) -> Int64 {
        let offset = end
        try descriptor.write([bytes], at: offset)
        end += Int64(bytes.count)
        return offset
    }

    /// Completes the file with the tables of `clip`, and gives the file its final name.
    package func finish(_ clip: ClipMovie) throws(FileFailure) {
        if reserved > 0 {
            let head = MovieBox.head(clip.layout, clip.tables, reserved: reserved, mediaEnd: end)
            guard Int64(head.count) == Int64(MovieBox.headSize) + reserved else {
                throw FileFailure("create", path, text: "its tables are larger than was expected")
            }
            try descriptor.write([SharedBytes(head)], at: 0)
            try descriptor.synchronise()
        } else {
            _ = try HybridFinish.complete(descriptor, clip.layout, clip.tables, mediaEnd: end)
        }
        try rename()
    }

    /// Makes a fragmented MP4 instead of a plain one. Copies the media that was appended so far into the fragments of a
    /// new file, which gets the final name. `isCancelled` is called before each fragment. Throws ``FileFailure``, or
    /// ``ClipFailure`` if the job was cancelled.
    package func finishInFragments(
        _ clip: ClipMovie, video: ClipTrack, audio: ClipTrack?, isCancelled: () -> Bool
    ) throws {
        let whole = try ClipFile(path, replaces: replaces)
        var fragments = FragmentedClip(clip, video: video, audio: audio)
        whole.end = 0
        _ = try whole.append(SharedBytes(fragments.head))
        while let piece = fragments.next(at: whole.end) {
            if isCancelled() { throw ClipFailure.cancelled }
            _ = try whole.append(SharedBytes(piece.header))
            for range in piece.payload { _ = try whole.copy(range, of: descriptor) }
        }
        _ = try whole.append(SharedBytes(fragments.tail))
        try whole.descriptor.synchronise()
        try whole.rename()
    }

    private func rename() throws(FileFailure) {
        try FinishedFile.publish(descriptor.path, as: path, replaces: replaces)
        isFinished = true
    }
}
