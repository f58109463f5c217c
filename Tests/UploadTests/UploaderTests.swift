// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Catalogue
@testable import Upload

@Suite("Uploads")
struct UploaderTests {
    private let directory: TemporaryDirectory
    private let target: RecordDirectory
    private let catalogue: Catalogue

    init() throws {
        directory = try TemporaryDirectory()
        target = try RecordDirectory.prepare(directory.path)
        catalogue = Catalogue(directory: target, channel: "test", logger: quiet)
        catalogue.start()
    }

    private func record(_ names: String...) throws {
        for (number, name) in names.enumerated() {
            try directory.write("media", to: name)
            catalogue.segmentFinished(.sample(name, number: number))
        }
    }

    private func uploader(
        _ delivery: any SegmentDelivery, sleep: @escaping @Sendable (Duration) async -> Void = { _ in }
    ) -> Uploader {
        Uploader(
            directory: target, channel: "test", catalogue: catalogue, delivery: delivery, sleep: sleep, logger: quiet)
    }

    private func end(_ uploader: Uploader) async {
        await withCheckedContinuation { continuation in uploader.finish { continuation.resume() } }
    }

    private func states() throws -> [String: UploadState?] {
        catalogue.waitUntilIdle()
        let segments = try CatalogueStore(reading: directory.path).segments()
        return Dictionary(uniqueKeysWithValues: segments.map { ($0.name, $0.upload) })
    }

    @Test("What waits goes one after the other, the oldest first; the catalogue knows it, and another run does nothing")
    func order() async throws {
        try record("a.mp4", "b.mp4", "c.mp4")
        let delivery = ScriptedDelivery()
        let uploader = uploader(delivery)
        #expect(!uploader.mayDelete("a.mp4") && !uploader.mayDelete("unknown.mp4"))
        uploader.start()
        await end(uploader)
        #expect(delivery.names == ["a.mp4", "b.mp4", "c.mp4"])
        #expect(try states() == ["a.mp4": .done, "b.mp4": .done, "c.mp4": .done])
        #expect(uploader.mayDelete("a.mp4") && uploader.status.doneFiles == 3 && uploader.status.waitingFiles == 0)

        let again = ScriptedDelivery()
        let next = self.uploader(again)
        next.start()
        await end(next)
        #expect(again.names.isEmpty)
    }

    @Test("A file that fails lets the others pass, comes again, and the waits grow until something succeeds")
    func retry() async throws {
        try record("a.mp4", "b.mp4")
        let delivery = ScriptedDelivery(failures: ["a.mp4": ["no", "no", "no"], "b.mp4": ["no"]])
        let waits = Mutex<[Duration]>([])
        let uploader = uploader(delivery) { time in waits.withLock { $0.append(time) } }
        uploader.start()
        try await eventually { uploader.status.doneFiles == 2 }
        await end(uploader)
        #expect(delivery.names == ["a.mp4", "b.mp4", "a.mp4", "b.mp4", "a.mp4", "a.mp4"])
        #expect(waits.withLock { $0 } == [1, 1.5, 2.25, 1].map { .milliseconds(Int($0 * 1000)) })
        #expect(uploader.status.failures == 4 && uploader.status.lastError == nil)
    }

    @Test("A file that comes while an uploader waits for work goes at once")
    func wake() async throws {
        let delivery = ScriptedDelivery()
        let uploader = uploader(delivery)
        uploader.start()
        try record("a.mp4")
        uploader.segmentFinished(.sample("a.mp4"))
        try await eventually { uploader.status.doneFiles == 1 }
        await end(uploader)
    }

    @Test("At the end a server that is away is tried a few times; what is left waits for the next run")
    func away() async throws {
        try record("a.mp4")
        let delivery = ScriptedDelivery(failures: ["a.mp4": Array(repeating: "away", count: 1000)])
        let uploader = uploader(delivery) { _ in }
        await withCheckedContinuation { continuation in
            uploader.finish { continuation.resume() }
        }
        let other = self.uploader(delivery)
        other.start()
        await end(other)
        #expect(delivery.names.count >= 5 && other.status.lastError == "away")
        #expect(try states() == ["a.mp4": .waiting])
        let next = self.uploader(ScriptedDelivery())
        next.start()
        await end(next)
        #expect(try states() == ["a.mp4": .done])
    }

    @Test("The end cuts a wait short")
    func endsWithAWait() async throws {
        try record("a.mp4")
        let delivery = ScriptedDelivery(failures: ["a.mp4": Array(repeating: "away", count: 1000)])
        let (naps, nap) = AsyncStream.makeStream(of: Void.self)
        let isCut = Mutex(0)
        let uploader = uploader(delivery) { _ in
            nap.yield()
            do { try await Task.sleep(for: .seconds(600)) } catch { isCut.withLock { $0 += 1 } }
        }
        uploader.start()
        var iterator = naps.makeAsyncIterator()
        _ = await iterator.next()
        uploader.finish {}
        try await eventually { isCut.withLock { $0 } == 1 }
        uploader.cancel()
    }

    @Test("Where tries are counted a file is given up, held no longer, and not tried by the next run")
    func givenUp() async throws {
        try record("a.mp4", "b.mp4")
        let delivery = ScriptedDelivery(failures: ["a.mp4": Array(repeating: "no", count: 1000)], mostTries: 3)
        let uploader = uploader(delivery)
        uploader.start()
        await end(uploader)
        #expect(try states() == ["a.mp4": UploadState.none, "b.mp4": .done])
        #expect(uploader.mayDelete("a.mp4") && uploader.status.givenUpFiles == 1)
        #expect(delivery.names.filter { $0 == "a.mp4" }.count == 3)
    }

    @Test("A file that is gone is not tried")
    func gone() async throws {
        try record("a.mp4")
        try FileManager.default.removeItem(atPath: directory.path("a.mp4"))
        let delivery = ScriptedDelivery()
        let uploader = uploader(delivery)
        uploader.start()
        await end(uploader)
        #expect(delivery.names.isEmpty)
        #expect(try states() == ["a.mp4": UploadState.none])
    }

    @Test("While another process uploads nothing is sent; a program that it left behind holds the lock, too")
    func locked() async throws {
        try record("a.mp4")
        let program = try { () throws in
            // The descriptor is closed here as if by a crash; what was started with it goes on.
            let lock = try #require(try UploadLock(directory: directory.path, channel: "test"))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sleep")
            process.arguments = ["1000"]
            process.standardInput = FileHandle(fileDescriptor: lock.file.rawValue, closeOnDealloc: false)
            try process.run()
            return process
        }()
        // SIGTERM is blocked in what a thread of Dispatch starts.
        defer { kill(program.processIdentifier, SIGKILL) }
        let delivery = ScriptedDelivery()
        let uploader = uploader(delivery)
        uploader.start()
        try await eventually { uploader.status.failures > 2 }
        #expect(delivery.names.isEmpty && uploader.status.lastError?.contains("another process") == true)
        kill(program.processIdentifier, SIGKILL)
        program.waitUntilExit()
        try await eventually { uploader.status.doneFiles == 1 }
        await end(uploader)
    }
}
