// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import MP4
internal import Media

/// Makes a new file of what can still be played of a damaged one, which stays as it is.
///
/// A closed file still holds the fragments it was written as. So whatever became of its index or its middle, it can be
/// read as if it had been left open.
package enum SegmentSalvage {
    /// What could be saved.
    package struct Outcome: Sendable, Equatable {
        /// The new file, relative to the directory.
        package var fileName: String
        /// Frames in it.
        package var frames: Int
        /// Bytes of the original that are in no whole fragment.
        package var lostBytes: Int64
    }

    private static let blockSize = 1 << 20

    /// How the names of salvaged files end.
    package static let repairedSuffix = ".repaired" + RecordFormat.hybrid.fileExtension

    /// The name of the file that ``run(_:in:progress:)`` makes of `name`.
    package static func repairedName(_ name: String) -> String {
        let closed = RecordFormat.hybrid.fileExtension
        let suffix = [closed + SegmentName.openMark, closed, SegmentName.brokenSuffix]
            .first { name.hasSuffix($0) }
        return name.dropLast(suffix?.count ?? 0) + repairedSuffix
    }

    /// The name of a closed file that ``repairedName(_:)`` makes into `name`; `name` itself if it is that of no copy.
    static func originalName(_ name: String) -> String {
        guard name.hasSuffix(repairedSuffix) else { return name }
        return name.dropLast(repairedSuffix.count) + RecordFormat.hybrid.fileExtension
    }

    /// Of `names`, those that count: of a file and the copy that was salvaged of it only one, the file if it `isWhole`.
    package static func counted(_ names: [String], isWhole: (String) -> Bool) -> Set<String> {
        var counted = Set(names)
        for name in names where !name.hasSuffix(repairedSuffix) {
            let copy = repairedName(name)
            if counted.contains(copy) { counted.remove(isWhole(name) ? copy : name) }
        }
        return counted
    }

    /// Free bytes that a copy must leave: a recording that runs needs room more than a copy does.
    private static let reserve: Int64 = 1 << 30

    /// Salvages the file `name` of `directory` into ``repairedName(_:)`` beside it. Reads and writes the whole file;
    /// `progress` is told the bytes done. Throws ``SegmentReadFailure``; then nothing is left behind.
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

    /// The beginning of the path of a copy that is not finished. The copy is hidden, so that it is not taken for what a
    /// crash left of a recording.
    private static func hiddenPrefix(_ target: String) -> String {
        let slash = target.lastIndex(of: "/").map { target.index(after: $0) } ?? target.startIndex
        return "\(target[..<slash]).\(target[slash...].prefix(200))."
    }

    /// Removes what interrupted attempts at `target` have left. A copy that is being made is locked.
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
