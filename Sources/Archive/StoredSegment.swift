// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import MP4

/// A file of one channel as the directory shows it.
package struct StoredSegment: Sendable, Equatable {
    /// Relative to the recording's directory.
    package var fileName: String
    /// Counts up over the channel's files; 0 if the name does not say it.
    package var sequence: Int
    /// Its size.
    package var bytes: Int64
    /// When it was last written: when it ended.
    package var ended: UTCTime
    /// Whether it has its final name. Others are being written, or wait to be completed.
    package var isFinished: Bool
}

extension RecordDirectory {
    /// The files of `channel`, the oldest first, finished or open. A file that goes while it is looked at is left out.
    ///
    /// Numbers tell the order, whatever the clock did. Where a name has none, its letters say nothing of the order
    /// (`01-12-2026` comes before `30-11-2026`), so all are ordered by when they ended.
    package func segments(of channel: String) throws(FileFailure) -> [StoredSegment] {
        let channel = SegmentName.safe(channel)
        var segments: [StoredSegment] = []
        for fileName in try entries() {
            guard !fileName.hasSuffix(SegmentName.brokenSuffix),
                let name = SegmentName(usedBy: fileName, channel: channel, template: template)
            else { continue }
            var info = stat()
            // A symbolic link is not followed: what it leads to is not ours.
            guard lstat("\(path)/\(fileName)", &info) == 0, info.st_mode & S_IFMT == S_IFREG else { continue }
            let time = info.st_mtim
            segments.append(
                StoredSegment(
                    fileName: fileName, sequence: name.sequence, bytes: Int64(info.st_size),
                    ended: UTCTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000),
                    isFinished: !fileName.hasSuffix(SegmentName.openMark)))
        }
        if segments.allSatisfy({ $0.sequence > 0 }) {
            return segments.sorted { ($0.sequence, $0.fileName) < ($1.sequence, $1.fileName) }
        }
        return segments.sorted { ($0.ended.milliseconds, $0.fileName) < ($1.ended.milliseconds, $1.fileName) }
    }

    /// Deletes a finished file of `channel`, if it is one of ours by its content too; false if it is already gone, or
    /// another process is still at it.
    package func delete(_ segment: StoredSegment, of channel: String) throws(FileFailure) -> Bool {
        let path = "\(path)/\(segment.fileName)"
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(existing: path)
        } catch {
            if error.code == ENOENT { return false }
            throw error
        }
        guard try file.isOurs(isStream: segment.fileName.hasSuffix(RecordFormat.ts.fileExtension)) else {
            throw FileFailure("delete", path, text: "it has the name of a recording, but is none of this program")
        }
        // A template without the channel, or an unlucky name, makes one channel's files look like another's.
        if let owner = file.channel, SegmentName.safe(owner) != SegmentName.safe(channel) {
            throw FileFailure("delete", path, text: "it is a recording of the channel \"\(owner)\"")
        }
        guard file.lock() else { return false }
        if unlink(path) == 0 { return true }
        guard errno == ENOENT else { throw FileFailure("delete", path, code: errno) }
        return false
    }
}

extension FileDescriptor {
    /// Whether the file begins as those of this program do, open or closed.
    func isOurs(isStream: Bool) throws(FileFailure) -> Bool {
        if isStream { return TransportStreamFile.isOurs(try read(at: 0, count: TransportStreamFile.headSize)) }
        var head = BoxReader(try read(at: 0, count: MovieBox.fileTypeSize + 8)[...])
        guard let first = try? head.box(), first.type == "ftyp", first.whole.count == MovieBox.fileTypeSize,
            let size = try? head.u32(), let type = try? head.code()
        else { return false }
        return (size == 1 && type == "mdat") || (size == MovieBox.placeholderSize && type == "free")
    }

    /// Whose recording the file is, as its head says, which a closed file still has; nil if it does not say it there.
    var channel: String? {
        guard let layout = try? FragmentedFileReader(self).readHead()?.layout else { return nil }
        return (try? MovieTagsReader.tags(layout.userData))?.channel
    }
}
