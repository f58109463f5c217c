// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import MP4

/// Data that the disk has lost, and that only the system's memory still contains.
@Suite struct LostDataTests {
    // Regression: after a failed fdatasync, the file was read from the system's memory and synchronised again. Linux
    // reports success for the second call. So data that was not on the disk was reported as complete.
    @Test func `Recovery reads from the disk and not from the page cache, so that it notices lost data`() throws {
        guard let disk = try LoopDisk() else {
            #expect(ProcessInfo.processInfo.environment["CI"] == nil, "no loop device can be mounted")
            return
        }
        let sample = SampleRecording()
        let name = "\(disk.path)/\(SampleRecording.name).part"
        try Data(sample.open).write(to: URL(fileURLWithPath: name))
        let file = try FileDescriptor.open(existing: name)
        try file.synchronise()
        sync()
        // Changes the blocks of the third fragment's frames in the image, without the knowledge of the file system.
        let image = [UInt8](try Data(contentsOf: URL(fileURLWithPath: disk.image)))
        let mark = Array(sample.open[sample.fragments[2]..<sample.fragments[2] + 100])
        let place = try #require(BoxReader.positions(of: mark, in: image).first)
        let blocks = try #require(FileHandle(forWritingAtPath: disk.image))
        try blocks.seek(toOffset: UInt64(place + 1500))
        try blocks.write(contentsOf: Data(count: 2048))
        try blocks.close()
        #expect(try file.read(at: 0, count: sample.open.count) == sample.open, "the system still has it in memory")

        let outcome = try SegmentRecovery.run(in: .prepare(disk.path), channel: "test").first?.outcome
        let lost = Int64(sample.fragments[3] - sample.fragments[2])
        #expect(outcome == .completed(fileName: SampleRecording.name, frames: 75, droppedBytes: lost))
    }

    @Test func `Recovery drops fragments in which a power failure left zeros instead of data`() throws {
        let sample = SampleRecording()
        var torn = sample.open
        for index in sample.fragments[3] + 2048..<sample.fragments[3] + 4096 { torn[index] = 0 }
        let temporary = try TemporaryDirectory()
        try temporary.write(torn, to: SampleRecording.name + ".part")
        let outcome = try SegmentRecovery.run(in: .prepare(temporary.path), channel: "test").first?.outcome
        let dropped = Int64(sample.open.count - sample.fragments[3])
        #expect(outcome == .completed(fileName: SampleRecording.name, frames: 75, droppedBytes: dropped))
        #expect(try SegmentReader.read(temporary.path(SampleRecording.name)).problems.isEmpty)
    }

    @Test func `Reading a file without the page cache returns the same bytes as with the cache`() throws {
        let temporary = try TemporaryDirectory()
        let bytes = (0..<600_001).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try temporary.write(bytes, to: "file")
        let file = try UncachedFile(temporary.path("file"))
        #expect(try file.size() == 600_001)
        for (offset, count) in [(0, 10), (599_990, 100), (262_140, 20), (4095, 300_000), (700_000, 5), (1, 0)] {
            let expected = offset < bytes.count ? Array(bytes[offset..<min(bytes.count, offset + count)]) : []
            #expect(try file.read(at: Int64(offset), count: count) == expected, "\(offset)")
        }
        #expect(throws: FileFailure.self) { try UncachedFile(temporary.path("none")) }
    }

    // Regression: some file systems permit to open a file with O_DIRECT, but then refuse to read it. Recovery set such
    // files aside.
    @Test func `A file that refuses direct reads although it was opened with O_DIRECT is read normally`() throws {
        let temporary = try TemporaryDirectory()
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try temporary.write(bytes, to: "file")
        let file = try UncachedFile(temporary.path("file")) { file, buffer, offset in
            if fcntl(file, F_GETFL) & 0o240000 != 0 {
                errno = EINVAL
                return -1
            }
            return pread(file, buffer.baseAddress, buffer.count, offset)
        }
        #expect(try file.read(at: 0, count: bytes.count) == bytes)
        let broken = try UncachedFile(temporary.path("file")) { _, _, _ in
            errno = EINVAL
            return -1
        }
        #expect(throws: FileFailure("read", temporary.path("file"), code: EINVAL)) { try broken.read(at: 0, count: 1) }
    }
}
