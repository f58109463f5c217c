// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Media
import TestSupport
import Testing

@testable import Archive
@testable import MP4
@testable import Segmenter

@Suite struct RecoveryTests {
    private static let rate = FrameRate(25)
    static let partName = "test_20261121T140310.123Z_000001.mp4.part"

    /// A closed file of four seconds, and the same file while it was open. The closed file is marked as recovered; this
    /// is its only difference from a regularly closed file.
    static func sample() throws -> (closed: [UInt8], open: [UInt8]) {
        let directory = try TemporaryDirectory()
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(3600)), directory: directory)
        recording.feed(syntheticProgram(rate: rate, frames: 100, isKeyframe: { $0 % 50 == 0 }, size: 40))
        recording.finish()
        let path = try #require(recording.finished.first)
        var closed = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let ending = Array("ending=stop     ".utf8)
        let place = try #require(BoxReader.positions(of: ending, in: closed).last)
        closed.replaceSubrange(place..<place + ending.count, with: Array("ending=recovered".utf8))
        let size = closed[40..<48].reduce(0) { $0 << 8 | Int($1) }
        return (closed, MovieBox.openHead + closed[48..<32 + size])
    }

    private func recover(_ bytes: some Collection<UInt8>) throws -> (SegmentRecovery.Outcome?, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let path = directory.path(Self.partName)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -6)], ofItemAtPath: path)
        return (try SegmentRecovery.run(in: .prepare(directory.path), channel: "test").first?.outcome, directory)
    }

    @Test func `Recovery completes a truncated file up to its last complete fragment, or sets it aside`() throws {
        let (_, open) = try Self.sample()
        var completed: [Int] = []
        for length in stride(from: 0, through: open.count, by: 97) {
            let (outcome, directory) = try recover(open.prefix(length))
            switch outcome {
            case .completed(let name, let frames, _):
                #expect(directory.files == [name])
                completed.append(frames)
            case .setAside(let name, _): #expect(directory.files == [name])
            default: Issue.record("at \(length): \(String(describing: outcome))")
            }
        }
        #expect(completed == completed.sorted())
        #expect(Set(completed).count >= 7, "every fragment counts")
        #expect(
            try recover(open).0 == .completed(fileName: String(Self.partName.dropLast(5)), frames: 100, droppedBytes: 0)
        )
    }

    @Test func `A recovered file has the same bytes as one that was closed normally`() throws {
        let (closed, open) = try Self.sample()
        let (_, directory) = try recover(open)
        let made = try Data(contentsOf: URL(fileURLWithPath: directory.path(directory.files[0])))
        #expect([UInt8](made) == closed)
    }

    @Test func `Recovery completes a close that a crash interrupted before the head's change or the rename`() throws {
        let (closed, open) = try Self.sample()
        let (first, directory) = try recover(MovieBox.openHead + closed[48...])
        guard case .completed(_, 100, let dropped) = first else {
            Issue.record("\(String(describing: first))")
            return
        }
        #expect(dropped == Int64(closed.count - open.count))
        #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: directory.path(directory.files[0])))) == closed)
        #expect(try recover(closed).0 == .renamed(fileName: String(Self.partName.dropLast(5))))
    }

    // Regression: recovery set the recorder's new file aside, which was created and not locked yet.
    @Test func `Recovery does not touch a new empty file that its recorder has not locked yet`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(Self.partName)
        let writer = try FileDescriptor.create(path)
        func run() throws -> SegmentRecovery.Outcome? {
            try SegmentRecovery.run(in: .prepare(directory.path), channel: "test").first?.outcome
        }
        #expect(try run() == .inUse)
        #expect(writer.lockCreated())
        writer.unlock()
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -6)], ofItemAtPath: path)
        guard case .setAside = try run() else {
            Issue.record("\(directory.files)")
            return
        }
    }

    // Regression: if flock failed, repair cut and renamed the file that another process was writing.
    @Test
    func `On a file system without locks, a new open file counts as in use for a minute, and is then completed`() throws
    {
        let directory = try TemporaryDirectory()
        let record = try RecordDirectory.prepare(directory.path)
        let path = directory.path(Self.partName)
        try Data(Self.sample().open).write(to: URL(fileURLWithPath: path))
        let none: FileDescriptor.LockCall = { _, _ in ENOLCK }
        #expect(record.isInUse(Self.partName, lockCall: none) && !record.isInUse(Self.partName))
        let open = SegmentRecovery.run(in: record, open: [Self.partName], lockCall: none)
        #expect(open.map(\.outcome) == [.inUse])
        func run(own: [String: Int64] = [:]) throws -> SegmentRecovery.Outcome? {
            try SegmentRecovery.run(in: record, channel: "test", checkedTail: .max, own: own, lockCall: none)
                .first?.outcome
        }
        #expect(try run() == .inUse)
        #expect(directory.files == [Self.partName])
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -61)], ofItemAtPath: path)
        #expect(!record.isInUse(Self.partName, lockCall: none))
        let name = String(Self.partName.dropLast(5))
        #expect(try run() == .completed(fileName: name, frames: 100, droppedBytes: 0))
        // A file that this process itself could not close has no writer any more, so recovery does not wait for one.
        try Data(Self.sample().open).write(to: URL(fileURLWithPath: directory.path(Self.partName)))
        #expect(
            try run(own: [Self.partName: 1])
                == .completed(fileName: "\(name.dropLast(4))-1.mp4", frames: 100, droppedBytes: 0))
    }

    /// Returns where each fragment of `open` begins.
    private static func fragments(_ open: [UInt8]) -> [Int] {
        BoxReader.positions(of: Array("moof".utf8), in: open).map { $0 - 4 }
    }

    @Test func `Recovery keeps the fragments after a damaged one`() throws {
        let (_, open) = try Self.sample()
        let starts = Self.fragments(open)
        for damaged in 1..<starts.count - 1 {
            var bytes = open
            // The second half of the fragment's header is zero, as after the loss of a sector.
            for index in starts[damaged] + 16..<starts[damaged] + 60 { bytes[index] = 0 }
            let (outcome, directory) = try recover(bytes)
            guard case .completed(let name, let frames, let dropped) = outcome else {
                Issue.record("at \(damaged): \(String(describing: outcome))")
                continue
            }
            #expect((80..<100).contains(frames))
            #expect(dropped == Int64(starts[damaged + 1] - starts[damaged]))
            #expect(directory.files == [name])
        }
    }

    @Test
    func `If the search for fragments after damage reaches its limit, the rest of the file is not truncated`() throws {
        let (_, open) = try Self.sample()
        let starts = Self.fragments(open)
        var bytes = open
        for index in starts[2] + 16..<starts[2] + 60 { bytes[index] = 0 }
        let directory = try TemporaryDirectory()
        try Data(bytes).write(to: URL(fileURLWithPath: directory.path("file")))
        let descriptor = try FileDescriptor.open(existing: directory.path("file"))
        guard case .open(let file) = try FragmentedFileReader(descriptor, searchLimit: 100).read() else {
            Issue.record("not open")
            return
        }
        #expect(file.fragments == 2)
        #expect(file.mediaEnd == Int64(open.count))
        #expect(file.skippedBytes == Int64(open.count - starts[2]))
    }

    @Test func `If a crash left a file with its open name and its final name, recovery removes the open name`() throws {
        let (closed, open) = try Self.sample()
        for content in [closed, open] {
            for target in ["test_20261121T140310.123Z_000001.mp4", "test_20261121T140310.123Z_000001-1.mp4"] {
                let directory = try TemporaryDirectory()
                try Data(content).write(to: URL(fileURLWithPath: directory.path(Self.partName)))
                try FileManager.default.linkItem(
                    atPath: directory.path(Self.partName), toPath: directory.path(target))
                if target.contains("-1") {
                    try Data([1]).write(to: URL(fileURLWithPath: directory.path(String(Self.partName.dropLast(5)))))
                }
                _ = try SegmentRecovery.run(in: .prepare(directory.path), channel: "test")
                #expect(!directory.files.contains(Self.partName))
                #expect(directory.files.count == (target.contains("-1") ? 2 : 1))
                #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: directory.path(target)))) == closed)
            }
        }
    }

    @Test func `Recovery of randomly damaged files never crashes the process`() throws {
        let (closed, open) = try Self.sample()
        var random = SeededRandom()
        let directory = try TemporaryDirectory()
        for round in 0..<3000 {
            var bytes = round % 3 == 0 ? closed : open
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                // Most damage hits the structure: the head and the first fragment.
                let range = Bool.random(using: &random) ? min(bytes.count, 2000) : bytes.count
                bytes[Int.random(in: 0..<range, using: &random)] =
                    [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0 ... .max)][
                        Int.random(in: 0..<6, using: &random)]
            }
            if round % 5 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            try Data(bytes).write(to: URL(fileURLWithPath: directory.path("fuzz")))
            let descriptor = try FileDescriptor.open(existing: directory.path("fuzz"))
            if case .open(let file)? = try? FragmentedFileReader(descriptor).read() {
                #expect(MovieBox.closed(file.layout, file.tables).count > 8)
            }
        }
    }

    @Test func `Recovery does not change foreign files, existing files and files in use`() throws {
        let (_, open) = try Self.sample()
        let directory = try TemporaryDirectory()
        let foreign = ["other_20261121T140310.123Z_000001.mp4.part", "holiday.mp4.part", "test_x.mp4.part"]
        let target = String(Self.partName.dropLast(5))
        for name in foreign + [Self.partName] {
            try Data(open).write(to: URL(fileURLWithPath: directory.path(name)))
        }
        try Data([1]).write(to: URL(fileURLWithPath: directory.path(target)))
        let holder = try FileDescriptor.open(existing: directory.path(Self.partName))
        #expect(holder.lock())
        let record = try RecordDirectory.prepare(directory.path)
        #expect(try SegmentRecovery.run(in: record, channel: "test").map(\.outcome) == [.inUse])
        withExtendedLifetime(holder) {}
        try FileManager.default.moveItem(
            atPath: directory.path(Self.partName), toPath: directory.path("test_20261121T140310.123Z_000002.mp4.part"))
        try Data(open).write(to: URL(fileURLWithPath: directory.path(Self.partName)))
        _ = try SegmentRecovery.run(in: record, channel: "test")
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.path(target))) == Data([1]))
        #expect(directory.files.contains("test_20261121T140310.123Z_000001-1.mp4"))
        for name in foreign {
            #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: directory.path(name)))) == open)
        }
    }
}

private struct NearlyFull: FreeSpaceProbe {
    func space(at path: String) throws(FileFailure) -> DiskSpace { DiskSpace(free: 1 << 30, capacity: 1 << 40) }
}

@Suite struct SalvageTests {
    private static let name = "x.mp4"

    /// Returns a directory with a damaged file `x.mp4`.
    private func sample() throws -> (TemporaryDirectory, RecordDirectory) {
        let directory = try TemporaryDirectory()
        let recording = try Recording(
            description(rate: FrameRate(25)), length: .duration(.seconds(60)), directory: directory)
        recording.record(syntheticProgram(rate: FrameRate(25), frames: 100, isKeyframe: { $0 % 25 == 0 }))
        let file = try #require(recording.finished.first)
        try FileManager.default.moveItem(atPath: file, toPath: directory.path(Self.name))
        return (directory, try .existing(directory.path))
    }

    @Test func `An unfinished repaired copy is hidden, and removed if its repair was abandoned`() throws {
        let (directory, record) = try sample()
        let leftover = ".x.repaired.mp4.1-1.part"
        let others = [".y.repaired.mp4.1-1.part", ".x.repaired.mp4"]
        for name in [leftover] + others { try Data().write(to: URL(fileURLWithPath: directory.path(name))) }
        let living = ".x.repaired.mp4.1-2.part"
        let holder = try FileDescriptor.create(directory.path(living))
        #expect(holder.lock())
        var seen: [String] = []
        let outcome = try SegmentSalvage.run(Self.name, in: record) { _ in seen = directory.all }
        #expect(outcome.fileName == "x.repaired.mp4" && outcome.frames == 100)
        #expect(!seen.contains { $0.hasPrefix("x.") && $0 != Self.name } && !seen.contains(leftover), "\(seen)")
        #expect(seen.contains { $0.hasPrefix(".x.repaired.mp4.\(getpid())-") && $0.hasSuffix(".part") }, "\(seen)")
        let left = directory.all.filter { !$0.hasPrefix(".relay") }
        #expect(left == ([living] + others + [Self.name, "x.repaired.mp4"]).sorted())
        withExtendedLifetime(holder) {}
    }

    @Test func `A repair does not start without disk space for the copy and a reserve`() throws {
        let (directory, record) = try sample()
        let before = directory.all
        do {
            _ = try SegmentSalvage.run(Self.name, in: record, probe: NearlyFull())
            Issue.record("it was salvaged")
        } catch {
            #expect(error.description.contains("a copy needs 1.0 GB of free space"), "\(error)")
        }
        #expect(directory.all == before)
    }
}
