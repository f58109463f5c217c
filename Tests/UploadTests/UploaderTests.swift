// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Catalogue
@testable import Upload

@Suite("Uploads of finished recordings")
struct UploaderTests {
    private let directory: TemporaryDirectory
    private let target: RecordDirectory
    private let catalogue: Catalogue
    /// Only the uploader's waits advance this clock.
    private let clock = ManualClock()

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

    /// Returns an uploader whose waits only advance its clock, and take no real time. `sleep` is called for each wait.
    private func uploader(
        _ delivery: any SegmentDelivery, sleep: @escaping @Sendable (Duration) async -> Void = { _ in }
    ) -> Uploader {
        Uploader(
            directory: target, channel: "test", catalogue: catalogue, delivery: delivery,
            sleep: { [clock] time in
                await sleep(time)
                clock.advance(by: time)
            }, clock: clock, logger: quiet)
    }

    private func end(_ uploader: Uploader) async {
        await withCheckedContinuation { continuation in uploader.finish { continuation.resume() } }
    }

    private func states() throws -> [String: UploadState?] {
        catalogue.waitUntilIdle()
        let segments = try CatalogueStore(reading: directory.path).segments()
        return Dictionary(uniqueKeysWithValues: segments.map { ($0.name, $0.upload) })
    }

    @Test("Waiting files are uploaded one by one, oldest first, and a later run uploads none of them again")
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

    @Test("For each upload the ledger has an entry with the place of the copy, and for failed tries it has none")
    func ledger() async throws {
        try record("a.mp4", "b.mp4")
        let uploader = uploader(ScriptedDelivery(failures: ["a.mp4": ["no"]]))
        uploader.start()
        try await eventually { uploader.status.doneFiles == 2 }
        uploader.perform(.retry("b.mp4"))
        try await eventually { uploader.status.doneFiles == 3 }
        await end(uploader)
        catalogue.waitUntilIdle()
        let entries = try ChannelLedger(directory: target, channel: "test").uploads(0..<Int64.max, limit: 10)
        #expect(entries.map(\.place) == ["remote:b.mp4", "remote:a.mp4", "remote:b.mp4"])
        #expect(entries.map(\.bytes) == [1000, 1000, 1000])
    }

    @Test("A file whose upload fails does not delay other files, and is retried at growing intervals")
    func retry() async throws {
        try record("a.mp4", "b.mp4")
        let delivery = ScriptedDelivery(failures: ["a.mp4": ["no", "no", "no"], "b.mp4": ["no"]])
        let waits = Mutex<[Duration]>([])
        let uploader = uploader(delivery) { time in waits.withLock { $0.append(time) } }
        uploader.start()
        try await eventually { uploader.status.doneFiles == 2 }
        await end(uploader)
        #expect(delivery.names == ["a.mp4", "b.mp4", "a.mp4", "b.mp4", "a.mp4", "a.mp4"])
        // The last wait is the file's own, for its third failure: the success of another file does not shorten it.
        let total: Duration = waits.withLock { $0.reduce(.zero, +) }
        #expect(total == .milliseconds(7000), "1 + 1.5 + 2.25 + 2.25 s")
        #expect(uploader.status.failures == 4 && uploader.status.lastError == nil)
    }

    @Test("A file that arrives while the uploader is idle is uploaded at once")
    func wake() async throws {
        let delivery = ScriptedDelivery()
        let uploader = uploader(delivery)
        uploader.start()
        try record("a.mp4")
        uploader.segmentFinished(.sample("a.mp4"))
        try await eventually { uploader.status.doneFiles == 1 }
        await end(uploader)
    }

    @Test("At the end of the run an unreachable server is tried a few times, and the file waits for the next run")
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

    // Regression: while a remote failed, new files were queued up to 5 min later. Until then the status did not count
    // them, and an operator could delete them.
    @Test("A file that arrives while the uploader pauses after failures is queued and counted at once")
    func arrivesDuringPause() async throws {
        try record("a.mp4")
        let delivery = ScriptedDelivery(failures: ["a.mp4": Array(repeating: "away", count: 1000)])
        let (naps, nap) = AsyncStream.makeStream(of: Void.self)
        // Each wait of the uploader waits for an element of this stream. None comes before the test ends, so the wait
        // ends only when its task is cancelled.
        let (wakings, waking) = AsyncStream.makeStream(of: Void.self)
        let uploader = Uploader(
            directory: target, channel: "test", catalogue: catalogue, delivery: delivery,
            sleep: { _ in
                nap.yield()
                for await _ in wakings {}
            }, clock: clock, logger: quiet)
        uploader.start()
        var iterator = naps.makeAsyncIterator()
        _ = await iterator.next()
        try directory.write("media", to: "b.mp4")
        catalogue.segmentFinished(.sample("b.mp4", number: 2))
        uploader.segmentFinished(.sample("b.mp4", number: 2))
        try await eventually { uploader.status.waitingFiles == 2 }
        #expect(try states() == ["a.mp4": .waiting, "b.mp4": .waiting] && delivery.names == ["a.mp4"])
        uploader.cancel()
        waking.finish()
    }

    @Test("The end of the run interrupts the wait before an upload's retry")
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

    @Test("A file whose upload fails for three days is kept and retried all the time, until it succeeds")
    func failsForDays() async throws {
        try record("a.mp4", "b.mp4")
        // 1000 failures take three and a half days, because the last retries are 5 min apart.
        let delivery = ScriptedDelivery(failures: ["a.mp4": Array(repeating: "no", count: 1000)])
        let isSeen = Mutex(false)
        let uploader = uploader(delivery) { _ in
            while delivery.names.count > 900, !isSeen.withLock({ $0 }) { await Task.yield() }
        }
        uploader.start()
        try await eventually { delivery.names.count > 900 }
        #expect(try states()["a.mp4"] == .waiting && !uploader.mayDelete("a.mp4"))
        isSeen.withLock { $0 = true }
        try await eventually { uploader.status.doneFiles == 2 }
        #expect(clock.now - .zero > .seconds(3 * 86_400))
        #expect(uploader.status.failingFiles == 0 && uploader.status.givenUpFiles == 0)
        await end(uploader)
        #expect(try states() == ["a.mp4": .done, "b.mp4": .done])
    }

    @Test("A file whose upload failed in one run is queued, and the next run uploads it at once")
    func nextRun() async throws {
        try record("a.mp4")
        let first = uploader(ScriptedDelivery(failures: ["a.mp4": Array(repeating: "no", count: 1000)]))
        first.start()
        await end(first)
        #expect(try states() == ["a.mp4": .waiting])
        #expect(!first.mayDelete("a.mp4") && first.status.failingFiles == 1 && first.status.failingSeconds ?? 0 > 0)
        let delivery = ScriptedDelivery()
        let next = uploader(delivery)
        next.start()
        await end(next)
        #expect(delivery.names == ["a.mp4"] && next.mayDelete("a.mp4"))
    }

    @Test("A file whose upload is postponed does not count as failing: it stays queued, and no alarm is raised")
    func later() async throws {
        try record("a.mp4", "b.mp4")
        let delivery = ScriptedDelivery(
            failures: ["a.mp4": Array(repeating: "the tape is busy", count: 1000)], isLater: true)
        let uploader = uploader(delivery) { _ in
            while delivery.names.count > 50, !Task.isCancelled { await Task.yield() }
        }
        uploader.start()
        try await eventually { delivery.names.count > 50 }
        let status = uploader.status
        #expect(status.failures == 0 && status.failingFiles == 0 && status.failingSeconds == nil)
        #expect(status.lastError == nil && status.waitingFiles == 1 && status.doneFiles == 1)
        #expect(!uploader.mayDelete("a.mp4"))
        uploader.cancel()
    }

    @Test("A file whose upload an operator gave up may be deleted, and is queued again if all files are retried")
    func orders() async throws {
        try record("a.mp4", "gone.mp4")
        let delivery = ScriptedDelivery(failures: ["a.mp4": Array(repeating: "no", count: 3)])
        let (naps, nap) = AsyncStream.makeStream(of: Void.self)
        let uploader = uploader(delivery) { _ in
            nap.yield()
            try? await Task.sleep(for: .seconds(600))
        }
        uploader.start()
        var iterator = naps.makeAsyncIterator()
        _ = await iterator.next()
        uploader.perform(.giveUp("gone.mp4"))
        uploader.perform(.giveUp("a.mp4"))
        try await eventually { try states() == ["a.mp4": UploadState.none, "gone.mp4": UploadState.none] }
        #expect(uploader.mayDelete("a.mp4") && uploader.status.givenUpFiles == 2)
        #expect(uploader.status.failingFiles == 0 && uploader.status.lastError == nil)
        try FileManager.default.removeItem(atPath: directory.path("gone.mp4"))
        let before = delivery.names.count
        try await eventually {
            uploader.perform(.retryAll)
            return uploader.status.doneFiles == 1
        }
        #expect(delivery.names.count > before)
        #expect(try states() == ["a.mp4": .done, "gone.mp4": UploadState.none])
        uploader.perform(.retry("a.mp4"))
        try await eventually { uploader.status.doneFiles == 2 }
        uploader.cancel()
    }

    @Test("A queued file that was deleted meanwhile is not uploaded")
    func gone() async throws {
        try record("a.mp4")
        catalogue.waitUntilIdle()
        try FileManager.default.removeItem(atPath: directory.path("a.mp4"))
        let delivery = ScriptedDelivery()
        let uploader = uploader(delivery)
        uploader.start()
        await end(uploader)
        #expect(delivery.names.isEmpty)
        #expect(try states() == ["a.mp4": UploadState.none])
    }

    @Test("While another process uploads, or a program that it started still runs, no file is uploaded")
    func locked() async throws {
        try record("a.mp4")
        let program = try { () throws in
            // The descriptor is closed here as after a crash. The program that was started with it continues to run.
            let lock = try #require(try UploadLock(directory: directory.path, channel: "test"))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sleep")
            process.arguments = ["1000"]
            process.standardInput = FileHandle(fileDescriptor: lock.file.rawValue, closeOnDealloc: false)
            try process.run()
            return process
        }()
        // SIGTERM would not end the program, because it is blocked in processes that a Dispatch thread starts.
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
