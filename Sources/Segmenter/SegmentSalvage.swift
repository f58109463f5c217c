// SPDX-License-Identifier: Apache-2.0

internal import Glibc
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
        /// Pictures in it.
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

    /// Of `names`, those that count: of a file and the copy that was salvaged of it only one, the file if it `isWhole`.
    package static func counted(_ names: [String], isWhole: (String) -> Bool) -> Set<String> {
        var counted = Set(names)
        for name in names where !name.hasSuffix(repairedSuffix) {
            let copy = repairedName(name)
            if counted.contains(copy) { counted.remove(isWhole(name) ? copy : name) }
        }
        return counted
    }

    /// Salvages the file `name` of `directory` into ``repairedName(_:)`` beside it. Reads and writes the whole file;
    /// `progress` is told the bytes done. Throws ``SegmentReadFailure``; then nothing is left behind.
    package static func run(
        _ name: String, in directory: RecordDirectory, progress: (Int64) -> Void = { _ in }
    ) throws(SegmentReadFailure) -> Outcome {
        let target = "\(directory.path)/\(repairedName(name))"
        let partial = target + ".part"
        do {
            let original = try FileDescriptor.open(readOnly: "\(directory.path)/\(name)")
            guard SegmentReader.isOurs(try original.read(at: 0, count: MovieBox.fileTypeSize)) else {
                throw SegmentReadFailure.foreign("it does not begin as one")
            }
            guard access(target, F_OK) != 0 else {
                throw FileFailure("salvage", original.path, text: "\(target) exists already")
            }
            let copy = try FileDescriptor.create(partial)
            do {
                let (frames, lost) = try fill(copy, from: original, progress)
                guard try FileDescriptor.rename(partial, to: target) else {
                    throw FileFailure("rename", partial, code: EEXIST)
                }
                return Outcome(fileName: repairedName(name), frames: frames, lostBytes: lost)
            } catch {
                unlink(partial)
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
