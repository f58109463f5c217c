// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import MP4
internal import Media

/// Completes files that a crash or a failed close left open. Blocks on the disk, so it must not run on the media path.
package enum SegmentRecovery {
    /// The result for one file.
    package enum Outcome: Sendable, Equatable {
        /// The file is now a plain MP4, or a transport stream in which data is missing. It is called `fileName` and has
        /// `frames` frames. `droppedBytes` is the number of bytes that were damaged or missing. Damaged bytes at the
        /// end were cut off. Damaged bytes between whole fragments are still in the file, but are not part of its
        /// program.
        case completed(fileName: String, frames: Int, droppedBytes: Int64)
        /// The file was complete; only its final name was missing.
        case renamed(fileName: String)
        /// Nothing in the file can be played; the file was renamed to `fileName`.
        case setAside(fileName: String, reason: String)
        /// A running process is writing the file, or might be writing it on a file system without locks.
        case inUse
        /// The file could not be read or written.
        case failed(FileFailure)
    }

    /// How many bytes at a file's end might not have reached the disk when power was lost. The system writes data to
    /// the disk after 35 s at the latest (`vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`), and this
    /// number of bytes is more than 35 s of media at 50 Mbit/s.
    private static let volatileTail: Int64 = 256 << 20

    /// One open file that was found.
    package struct Entry: Sendable, Equatable {
        /// The file's name while it was open.
        package let fileName: String
        /// The result of the recovery.
        package let outcome: Outcome
    }

    /// Completes the files of `channel` that were left open in `directory`. Touches no other file, such as a browser's
    /// download: see ``Ownership``.
    package static func run(in directory: RecordDirectory, channel: String) throws(FileFailure) -> [Entry] {
        try run(in: directory, channel: channel, checkedTail: volatileTail)
    }

    /// Like ``run(in:channel:)``, but reads the last `checkedTail` bytes of each file to find missing media. `own`
    /// contains the files that this process wrote, each with the number of its bytes of media. These files never count
    /// as being in use, even if they are new.
    package static func run(
        in directory: RecordDirectory, channel: String, checkedTail: Int64, own: [String: Int64] = [:],
        lockCall: @escaping FileDescriptor.LockCall = FileDescriptor.systemLock
    ) throws(FileFailure) -> [Entry] {
        // This throws if the directory's disk is not mounted, so that files under its mount point are left alone.
        try directory.checkMount()
        let ownership = Ownership(directory, channel: channel)
        var entries: [Entry] = []
        for fileName in try directory.entries(depth: NameTemplate.deepest)
        where fileName.hasSuffix(SegmentName.openMark) {
            guard let match = ownership.match(fileName), let name = SegmentName(anyName: fileName) else { continue }
            let outcome = recover(name, in: directory.path, own[fileName], checkedTail, lockCall) { file in
                switch try ownership.verdict(on: file, fileName, match) {
                case .ours, .empty: true
                case .unnamed: match.isCertain
                case .other, .foreign: false
                }
            }
            if let outcome { entries.append(Entry(fileName: fileName, outcome: outcome)) }
        }
        return entries
    }

    /// Completes the open files `names` in `directory`, of any channel. Files that another program wrote are left
    /// unchanged. An empty file is completed only if its name has the standard form.
    package static func run(
        in directory: RecordDirectory, open names: [String],
        lockCall: @escaping FileDescriptor.LockCall = FileDescriptor.systemLock
    ) -> [Entry] {
        names.compactMap { fileName in
            guard let name = SegmentName(anyName: fileName) else { return nil }
            let isUsual = SegmentName(fileName: fileName) != nil
            let outcome = recover(name, in: directory.path, nil, volatileTail, lockCall) { file in
                switch try SegmentOrigin(of: file, isStream: name.fileExtension == RecordFormat.ts.fileExtension) {
                case .ours: true
                case .nothing: isUsual
                case .foreign: false
                }
            }
            return outcome.map { Entry(fileName: fileName, outcome: $0) }
        }
    }

    /// Returns the result for the file `name`; nil if `isOurs` returns false, so that the file is left alone. `written`
    /// is the number of bytes that this process wrote to the file; nil if another process wrote it, or might still be
    /// writing it.
    private static func recover(
        _ name: SegmentName, in directory: String, _ written: Int64?, _ checkedTail: Int64,
        _ lockCall: @escaping FileDescriptor.LockCall, isOurs: (FileDescriptor) throws -> Bool
    ) -> Outcome? {
        do {
            let descriptor = try FileDescriptor.open(existing: "\(directory)/\(name.open)", lockCall: lockCall)
            guard try descriptor.attributes().isRegular else {
                throw FileFailure("open", descriptor.path, text: "it is not a regular file")
            }
            guard try isOurs(descriptor) else { return nil }
            // The age is checked before the lock is taken, because a writer that has just created the file might not
            // have locked it yet.
            if written == nil, descriptor.mayBeBeginning { return .inUse }
            guard descriptor.lock(), written != nil || !descriptor.mayBeWrittenElsewhere else { return .inUse }
            if name.fileExtension == RecordFormat.ts.fileExtension {
                return try completeStream(descriptor, name, in: directory, written, checkedTail)
            }
            return try complete(descriptor, name, in: directory, checkedTail)
        } catch let failure as FileFailure {
            return .failed(failure)
        } catch {
            return setAside(name, in: directory, reason: "\(error)")
        }
    }

    private static func complete(
        _ descriptor: FileDescriptor, _ name: SegmentName, in directory: String, _ checkedTail: Int64
    ) throws -> Outcome {
        switch try FragmentedFileReader(UncachedFile(descriptor.path), checkedTail: checkedTail).read() {
        case .closed:
            // The file is truncated and synchronised again, because the crash might have come before the reserved space
            // was released and before the head was on the disk.
            try descriptor.truncate(to: try descriptor.attributes().size)
            try descriptor.synchronise()
            return .renamed(fileName: try rename(descriptor, name, in: directory))
        case .open(let file):
            guard file.fragments > 0 else { throw MP4Failure(description: "it holds no whole fragment") }
            let tail = try descriptor.attributes().size - file.mediaEnd
            if tail > 0 { try descriptor.truncate(to: file.mediaEnd) }
            _ = try HybridFinish.complete(descriptor, file.layout, file.tables, mediaEnd: file.mediaEnd)
            let fileName = try rename(descriptor, name, in: directory)
            return .completed(fileName: fileName, frames: file.frames, droppedBytes: max(0, tail) + file.skippedBytes)
        }
    }

    /// Completes a transport stream. Such a file needs no index: what follows its last whole packet is cut off, and
    /// data that never reached the disk is counted. The whole file is read only if data is missing from the last
    /// `checkedTail` bytes. `written` is the number of bytes that this process wrote to the file; nil if another
    /// process wrote it.
    private static func completeStream(
        _ descriptor: FileDescriptor, _ name: SegmentName, in directory: String, _ written: Int64?, _ checkedTail: Int64
    ) throws -> Outcome {
        let file = try UncachedFile(descriptor.path)
        let end = try TransportStreamFile.end(of: file, size: try file.size())
        guard end > 0 else { throw MP4Failure(description: "it holds no whole packet") }
        let isWhole = end >= written ?? end
        let checked = TransportStreamFile.tail(of: end, checkedTail)
        var content = try TransportStreamFile.content(of: file, in: checked, isWhole: isWhole)
        if content.missingBytes > 0, checked.lowerBound > 0 {
            content = try TransportStreamFile.content(of: file, in: 0..<end, isWhole: isWhole)
        }
        // Truncates the file even if nothing is cut off, because that releases the space that was reserved beyond the
        // end.
        try descriptor.truncate(to: end)
        try descriptor.synchronise()
        let fileName = try rename(descriptor, name, in: directory)
        if isWhole, content.missingBytes == 0 { return .renamed(fileName: fileName) }
        let missing = content.missingBytes + max(0, (written ?? end) - end)
        return .completed(fileName: fileName, frames: content.frames, droppedBytes: missing)
    }

    /// Gives the file with the open name `name` its final name, and returns that name. If an earlier attempt already
    /// created the new name, but a crash or a failure prevented the removal of the old name, only the old name is
    /// removed.
    private static func rename(
        _ descriptor: FileDescriptor, _ name: SegmentName, in directory: String
    ) throws(FileFailure) -> String {
        var (open, closed) = (stat(), stat())
        guard try descriptor.attributes().links > 1, stat(descriptor.path, &open) == 0 else {
            return try HybridFinish.rename(name, below: directory)
        }
        for attempt in 0..<1000 {
            let target = name.closed(attempt: attempt)
            guard stat("\(directory)/\(target)", &closed) == 0 else { break }
            guard open.st_ino == closed.st_ino, open.st_dev == closed.st_dev else { continue }
            guard unlink(descriptor.path) == 0 else { throw FileFailure("remove", descriptor.path, code: errno) }
            return target
        }
        return try HybridFinish.rename(name, below: directory)
    }

    private static func setAside(_ name: SegmentName, in directory: String, reason: String) -> Outcome {
        let path = "\(directory)/\(name.open)"
        do {
            for attempt in 0..<1000 {
                let target = "\(name)" + (attempt == 0 ? "" : "-\(attempt)") + SegmentName.brokenSuffix
                guard try FileDescriptor.rename(path, to: "\(directory)/\(target)") else { continue }
                return .setAside(fileName: target, reason: reason)
            }
            return .failed(FileFailure("rename", path, code: EEXIST))
        } catch {
            return .failed(error)
        }
    }
}
