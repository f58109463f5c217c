// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Segmenter

@Suite struct DurabilityTests {
    private static let rate = FrameRate(25)

    private func recorder(_ directory: TemporaryDirectory, _ sync: SyncPolicy, clock: ManualClock) throws -> Recorder {
        var configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(60)))
        configuration.sync = sync
        return Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            clock: clock, logger: quiet)
    }

    @Test func `The sync policy decides how often a file is synchronised while it is written`() throws {
        for (sync, expected) in [
            (SyncPolicy.never, 0...0), (.segment, 0...0), (.fragment, 8...11), (.every(.seconds(2)), 2...3),
        ] {
            let (directory, clock) = (try TemporaryDirectory(), ManualClock())
            let recorder = try recorder(directory, sync, clock: clock)
            for packet in syntheticProgram(rate: Self.rate, frames: 125, isKeyframe: { $0 % 25 == 0 }) {
                recorder.accept([packet])
                guard packet.track == .video else { continue }
                recorder.wake()
                recorder.waitUntilIdle()
                recorder.waitForSynchroniser()
                clock.advance(by: .milliseconds(40))
            }
            let count = recorder.status.syncLatency.count
            #expect(expected.contains(count), "\(sync): \(count)")
            Recording(directory: directory, recorder: recorder).finish()
            #expect(recorder.status.framesWritten == 125)
        }
    }

    @Test func `If a file cannot be synchronised, each frame is written or counted as lost, and none twice`() throws {
        let (directory, clock, hasFailed) = (try TemporaryDirectory(), ManualClock(), Flag())
        var configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(60)))
        configuration.sync = .fragment
        let synchroniser = FileSynchroniser(name: "test") { (file) throws(FileFailure) in
            let isFirst = hasFailed.value.withLock { value in
                defer { value = true }
                return !value
            }
            if isFirst { throw FileFailure("synchronise", file.path, code: 5) }
        }
        let recorder = Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            clock: clock, wallClock: { .now }, synchroniser: synchroniser, logger: quiet)
        for packet in syntheticProgram(rate: Self.rate, frames: 125, isKeyframe: { $0 % 25 == 0 }) {
            recorder.accept([packet])
            guard packet.track == .video else { continue }
            recorder.wake()
            recorder.waitUntilIdle()
            recorder.waitForSynchroniser()
            clock.advance(by: .milliseconds(40))
        }
        Recording(directory: directory, recorder: recorder).finish()
        let status = recorder.status
        #expect(status.gapCount == 1 && status.gapFrames > 0)
        #expect(status.framesWritten + status.gapFrames == 125)
    }

    @Test func `A sync policy is parsed, and an invalid one is refused`() throws {
        #expect(try SyncPolicy(parsing: "fragment") == .fragment)
        #expect(try SyncPolicy(parsing: "30s") == .every(.seconds(30)))
        for text in ["", "always", "0s", "10ms", "-1"] {
            #expect(throws: TextFailure.self) { try SyncPolicy(parsing: text) }
        }
    }

    /// Returns how many bytes a file occupies on the disk.
    private func occupied(_ path: String) throws -> Int {
        let result = try run("stat", "-c", "%b %B", path)
        let numbers = result.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        return numbers[0] * numbers[1]
    }

    @Test
    func `Disk space is reserved ahead of a file's data, and unused space is released when the file is closed`() throws
    {
        let directory = try TemporaryDirectory()
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(60)), directory: directory)
        recording.feed(syntheticProgram(rate: Self.rate, frames: 100, isKeyframe: { $0 % 25 == 0 }))
        recording.recorder.waitUntilIdle()
        let open = directory.path(try #require(directory.files.first))
        let size = try #require(try FileManager.default.attributesOfItem(atPath: open)[.size] as? Int)
        #expect(size < 100_000)
        #expect(try occupied(open) >= 1 << 20)
        recording.finish()
        #expect(try occupied(try #require(recording.finished.first)) < 200_000)
    }

    @Test func `One very long write does not raise the median or 99th percentile of write latency`() {
        var histogram = LatencyHistogram()
        for _ in 0..<98 { histogram.record(.milliseconds(1)) }
        histogram.record(.milliseconds(100))
        histogram.record(.seconds(10))
        let status = histogram.status
        #expect(status.count == 100 && status.maximumMilliseconds == 10_000)
        #expect((1.0...2.1).contains(status.p50Milliseconds))
        #expect((100.0...200.0).contains(status.p99Milliseconds))
    }

    @Test func `The reported percentiles of write latency are at least the exact values and at most twice as long`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var histogram = LatencyHistogram()
            let longest = random.pick([1, 999, 1000, 1024, 1_048_576, 40_000_000_000] as [Int64])
            var durations = (0..<Int.random(in: 1...300, using: &random)).map { _ in
                Int64.random(in: 0...longest, using: &random)
            }
            for duration in durations { histogram.record(.nanoseconds(duration)) }
            durations.sort()
            let status = histogram.status
            for (percent, bound) in [(50, status.p50Milliseconds), (99, status.p99Milliseconds)] {
                // The nearest rank.
                let exact = Double(durations[(durations.count * percent + 99) / 100 - 1]) / 1e6
                #expect(bound >= exact && bound <= max(0.001, 2 * exact), "\(percent) of \(durations)")
            }
            #expect(status.p99Milliseconds <= status.maximumMilliseconds)
        }
    }
}

private final class Flag: Sendable {
    let value = Mutex(false)
}
