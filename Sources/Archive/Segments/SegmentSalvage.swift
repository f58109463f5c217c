// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import MP4
internal import Media

/// Copies the playable part of a damaged file to a new file; the damaged file does not change.
///
/// A closed file still contains the fragments with which it was written. Therefore it can be read like a file that was
/// left open, even if its index or its middle is damaged.
package enum SegmentSalvage {
    /// The result of a salvage.
    package struct Outcome: Sendable, Equatable {
        /// The name of the new file, relative to the record directory.
        package var fileName: String
        /// The number of frames in the new file.
        package var frames: Int
        /// The number of bytes of the original that do not belong to a whole fragment.
        package var lostBytes: Int64
    }

    private static let blockSize = 1 << 20

    /// The suffix of salvaged files.
    package static let repairedSuffix = ".repaired" + RecordFormat.hybrid.fileExtension

    /// Returns the name of the file that ``run(_:in:progress:)`` makes from `name`.
    package static func repairedName(_ name: String) -> String {
        let closed = RecordFormat.hybrid.fileExtension
        let suffix = [closed + SegmentName.openMark, closed, SegmentName.brokenSuffix]
            .first { name.hasSuffix($0) }
        return name.dropLast(suffix?.count ?? 0) + repairedSuffix
    }

    /// Returns the name of the closed file from which ``repairedName(_:)`` makes `name`; `name` itself if it is not the
    /// name of a copy.
    static func originalName(_ name: String) -> String {
        guard name.hasSuffix(repairedSuffix) else { return name }
        return name.dropLast(repairedSuffix.count) + RecordFormat.hybrid.fileExtension
    }

    /// Returns `names` with only one name for a file and its salvaged copy. This is the file's name if `isWhole`
    /// returns true for the file, and otherwise the copy's name.
    package static func counted(_ names: [String], isWhole: (String) -> Bool) -> Set<String> {
        var counted = Set(names)
        for name in names where !name.hasSuffix(repairedSuffix) {
            let copy = repairedName(name)
            if counted.contains(copy) { counted.remove(isWhole(name) ? copy : name) }
        }
        return counted
    }

    /// Free bytes that a copy must leave on the disk, because a running recording needs the space more urgently.
    private static let reserve: Int64 = 1 << 30

    /// Salvages the file `name` in `directory` to ``repairedName(_:)`` beside it. Reads and writes the whole file;
    /// calls `progress` with the number of bytes done. If it throws, it leaves no file behind.
    package static func run(
        _ name: String, in directory: RecordDirectory, probe: any FreeSpaceProbe = SystemFreeSpace(),
        progress: (Int64) -> Void = { _ in }
    ) throws(SegmentReadFailure) -> Outcome {
        let target = "\(directory.path)/\(repairedName(name))"
        do {
            let original = try FileDescriptor.open(readOnly: "\(directory.path)/\(name)")
            guard MovieBox.isFileType(try original.read(at: 0, count: MovieBox.fileTypeSize)) else {
                throw SegmentReadFailure.foreign("it does not begin as one")
            }
            guard access(target, F_OK) != 0 else {
                throw FileFailure("salvage", original.path, text: "\(target) exists already")
            }
            removeLeftovers(of: target)
            try checkSpace(for: original, try probe.space(at: directory.path))
            let unique = "\(getpid())-\(UInt32.random(in: 0 ... .max))"
            let copy = try FileDescriptor.create("\(hiddenPrefix(target))\(unique).part")
            do {
                guard copy.lockCreated() else { throw FileFailure("create", copy.path, code: EEXIST) }
                let (frames, lost) = try fill(copy, from: original, progress)
                guard try FileDescriptor.rename(copy.path, to: target) else {
                    throw FileFailure("rename", copy.path, code: EEXIST)
                }
                return Outcome(fileName: repairedName(name), frames: frames, lostBytes: lost)
            } catch {
                unlink(copy.path)
                throw error
            }
        } catch let failure as FileFailure {
            throw .file(failure)
        } catch let failure as SegmentReadFailure {
            throw failure
        } catch {
            throw .damaged("\(error)")
        }
    }

    private static func checkSpace(for original: FileDescriptor, _ space: DiskSpace) throws(FileFailure) {
        let size = try original.attributes().size
        guard space.free - reserve < size else { return }
        let (wanted, free) = (ByteSize(bytes: size + reserve), ByteSize(bytes: space.free))
        throw FileFailure("salvage", original.path, text: "a copy needs \(wanted) of free space, and there is \(free)")
    }

    /// Returns the prefix of an unfinished copy's path. The copy is hidden, so that it is not mistaken for a recording
    /// that a crash left open.
    private static func hiddenPrefix(_ target: String) -> String {
        let slash = target.lastIndex(of: "/").map { target.index(after: $0) } ?? target.startIndex
        return "\(target[..<slash]).\(target[slash...].prefix(200))."
    }

    /// Removes the files that interrupted attempts to write `target` left behind. A copy that is being made is locked,
    /// and is not removed.
    private static func removeLeftovers(of target: String) {
        let prefix = hiddenPrefix(target)
        guard let slash = prefix.lastIndex(of: "/") else { return }
        for name in (try? RecordDirectory.names(in: String(prefix[..<slash]))) ?? [] where name.hasSuffix(".part") {
            let path = "\(prefix[...slash])\(name)"
            guard path.hasPrefix(prefix), let file = try? FileDescriptor.open(existing: path), file.lock() else {
                continue
            }
            unlink(path)
        }
    }

    private static func fill(
        _ copy: FileDescriptor, from original: FileDescriptor, _ progress: (Int64) -> Void
    ) throws -> (frames: Int, lost: Int64) {
        let size = try original.attributes().size
        var offset: Int64 = 0
        while offset < size {
            let block = try original.read(at: offset, count: Int(min(Int64(blockSize), size - offset)))
            guard !block.isEmpty else { break }
            try copy.write([SharedBytes(block)], at: offset)
            offset += Int64(block.count)
            progress(offset)
        }
        try copy.write([SharedBytes(MovieBox.openHead)], at: 0)
        guard case .open(let file) = try FragmentedFileReader(copy).read(), file.fragments > 0 else {
            throw MP4Failure(description: "it holds no whole fragment")
        }
        try copy.truncate(to: file.mediaEnd)
        _ = try HybridFinish.complete(copy, file.layout, file.tables, mediaEnd: file.mediaEnd)
        return (file.frames, file.skippedBytes)
    }
}
