// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Catalogue

/// Checks which reader has its turn to read from a disk.
@Suite struct DiskTurnsTests {
    private final class Reader: Sendable {
        let wakes = Mutex(0)

        func take(_ disk: UInt64, _ turns: DiskTurns) -> Bool {
            turns.take(disk, for: self) { [weak self] in self?.wakes.withLock { $0 += 1 } }
        }
        var woken: Int { wakes.withLock { $0 } }
    }

    private final class Results: Sendable {
        private let names = Mutex<[String]>([])

        func append(_ name: String) { names.withLock { $0.append(name) } }
        var all: [String] { names.withLock { $0 } }
    }

    @Test func `Readers of a disk get their turns in the order of their requests`() {
        let turns = DiskTurns()
        let (first, second, third) = (Reader(), Reader(), Reader())
        #expect(first.take(1, turns))
        #expect(!second.take(1, turns))
        #expect(!third.take(1, turns))
        #expect(first.take(1, turns), "its turn has not ended")
        turns.leave(1, first)
        #expect(second.woken == 1 && third.woken == 0)
        #expect(!first.take(1, turns) && second.take(1, turns))
        turns.leave(1, third)
        turns.leave(1, second)
        #expect(first.woken == 1 && third.woken == 0)
        turns.leave(1, first)
        #expect(turns.readers(of: 1) == 0)
    }

    @Test func `Readers of different disks do not wait for each other`() {
        let turns = DiskTurns()
        let (first, second) = (Reader(), Reader())
        #expect(first.take(1, turns) && second.take(2, turns))
        turns.leave(1, second)
        #expect(first.take(1, turns) && second.woken == 0)
    }

    // Regression: each channel limited its own reading only, so a disk with many channels was read many times as fast.
    @Test func `The checksums of several channels on one disk are computed one file at a time`() throws {
        let place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        let names = (0..<6).map { "\($0).mp4" }
        for name in names { try place.write([UInt8](repeating: 1, count: 3), to: name) }
        let disk = try #require(FileStatus(place.path)).device
        let (turns, other) = (DiskTurns(), Reader())
        #expect(other.take(disk, turns))
        let done = Results()
        let queues = ["one", "two"].map { channel in
            ChecksumQueue(directory: directory, channel: channel, turns: turns) { name, _, _, _ in done.append(name) }
        }
        queues[0].add(Array(names[..<3]))
        queues[1].add(Array(names[3...]))
        try eventually("both wait") { turns.readers(of: disk) == 3 }
        #expect(done.all.isEmpty)
        turns.leave(disk, other)
        try eventually("all are read") { done.all.count == 6 }
        // The two channels took turns.
        let firsts = done.all.map { names[..<3].contains($0) }
        #expect(zip(firsts, firsts.dropFirst()).allSatisfy { $0 != $1 })
        try eventually("the turns have ended") { turns.readers(of: disk) == 0 }
        withExtendedLifetime(queues) {}
    }

    private struct Freed {
        weak var queue: ChecksumQueue?
    }

    @Test func `A checksum queue that is released while its disk is missing does not wait for the disk`() throws {
        let place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        try FileManager.default.removeItem(atPath: place.path)
        var queue: ChecksumQueue? = ChecksumQueue(directory: directory, channel: "one") { _, _, _, _ in }
        let freed = Freed(queue: queue)
        queue?.add(["a.mp4"])
        queue = nil
        try eventually("it is freed") { freed.queue == nil }
    }

    @Test func `A checksum queue that is stopped or released gives up its turn to read the disk`() throws {
        let place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        for name in ["a.mp4", "b.mp4"] { try place.write([UInt8](repeating: 1, count: 3), to: name) }
        let disk = try #require(FileStatus(place.path)).device
        let (turns, other) = (DiskTurns(), Reader())
        #expect(other.take(disk, turns))
        var queue: ChecksumQueue? = ChecksumQueue(directory: directory, channel: "one", turns: turns) { _, _, _, _ in }
        queue?.add(["a.mp4"])
        try eventually("it waits") { turns.readers(of: disk) == 2 }
        queue = nil
        try eventually("it is freed") { turns.readers(of: disk) == 1 }
        let stopped = ChecksumQueue(directory: directory, channel: "two", turns: turns) { _, _, _, _ in }
        stopped.add(["b.mp4"])
        try eventually("it waits") { turns.readers(of: disk) == 2 }
        stopped.stop()
        turns.leave(disk, other)
        try eventually("it has left") { turns.readers(of: disk) == 0 }
    }
}
