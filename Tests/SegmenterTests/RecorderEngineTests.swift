// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

/// Tests the recorder's work on packets, step by step on its queue and with a clock that stands still.
@Suite struct RecorderEngineTests {
    private static let rate = FrameRate(25)

    private let directory: TemporaryDirectory
    private let queue = DispatchQueue(label: "test.recorder")
    private let clock = ManualClock()
    private let box = RecorderStatusBox()
    private let keyframes = KeyframeSpy()
    private let counted: Count
    private let engine: RecorderEngine

    /// A number that the engine's queue changes and the test reads.
    private final class Count: Sendable {
        let value = Mutex(0)
    }

    init() throws {
        directory = try TemporaryDirectory()
        let synchroniser = FileSynchroniser(name: "test")
        let configuration = RecorderConfiguration(
            directory: try RecordDirectory.prepare(directory.path), channel: "test", length: .duration(.seconds(3600)),
            programStart: UTCTime(milliseconds: 1_795_269_790_123))
        let closer = SegmentCloser(
            directory: configuration.directory, channel: "test", status: box, synchroniser: synchroniser, clock: clock,
            logger: quiet)
        let count = Count()
        counted = count
        engine = RecorderEngine(
            .init(
                configuration: configuration, description: StreamDescription(video: videoTrack(rate: Self.rate)),
                keyframes: keyframes, clock: clock, wallClock: { UTCTime(milliseconds: 1_795_269_790_123) },
                queued: { 0 }, counted: { frames in count.value.withLock { $0 += frames } }, logger: quiet, status: box,
                closer: closer, synchroniser: synchroniser), on: queue)
    }

    /// Runs `body` on the engine's queue, updates the status, and returns the result.
    @discardableResult
    private func perform<Result: Sendable>(_ body: @Sendable (isolated RecorderEngine) -> Result) -> Result {
        queue.sync {
            engine.assumeIsolated { engine in
                defer { engine.publish() }
                return body(engine)
            }
        }
    }

    private func feed(_ frames: Range<Int64>) {
        perform { engine in
            for frame in frames {
                engine.process(.packet(videoPacket(frame, rate: Self.rate, isKeyframe: frame % 25 == 0)))
            }
        }
    }

    private func finish() {
        perform { $0.finish() }
        let isClosed = DispatchSemaphore(value: 0)
        perform { [queue] in $0.environment.closer.whenIdle(queue) { isClosed.signal() } }
        isClosed.wait()
    }

    private var status: RecorderStatus { box.value.withLock { $0 } }

    @Test func `Packets wait for the end of their fragment and 50 ms more, and are then written without it`() {
        #expect(perform { $0.untilOverdue } == nil)
        feed(0..<5)
        #expect(perform { $0.untilOverdue } == .milliseconds(550))
        clock.advance(by: .milliseconds(549))
        perform { $0.writeOverdue() }
        #expect(perform { $0.untilOverdue } == .milliseconds(1) && status.framesWritten == 0)
        clock.advance(by: .milliseconds(1))
        perform { $0.writeOverdue() }
        #expect(perform { $0.untilOverdue } == nil && status.framesWritten == 5)
        finish()
    }

    @Test
    func `The recorder sleeps until its fragment ends, but never less than 50 ms of media, and only while it writes`() {
        #expect(perform { $0.collectsUntil } == nil)
        feed(0..<5)
        #expect(perform { $0.collectsUntil } == 500_000_000)
        feed(5..<13)
        #expect(perform { $0.collectsUntil } == 530_000_000)
        perform { $0.suspend("a test") }
        #expect(perform { $0.collectsUntil } == nil)
        finish()
    }

    @Test func `After a failure the disk is tried again a second later, and recording continues at a keyframe`() throws
    {
        feed(0..<25)
        let path = directory.path
        perform { $0.fail(FileFailure("write", path, code: EIO)) }
        #expect(status.state == .failed && status.lastError?.contains("write") == true)
        clock.advance(by: .milliseconds(999))
        feed(25..<50)
        #expect(status.state == .failed && keyframes.requests.withLock { !$0.contains(nil) })
        clock.advance(by: .milliseconds(1))
        feed(51..<60)
        #expect(status.state == .waiting && keyframes.requests.withLock { $0.count { $0 == nil } } == 1)
        feed(75..<100)
        #expect(status.state == .recording)
        finish()
        let gap = try #require(status.gaps.first)
        #expect(status.gapCount == 1 && gap.cause == .failure && gap.to == 3_000_000_000)
        #expect(status.framesWritten + status.gapFrames == 84, "each frame that came is on the disk or in the gap")
    }

    @Test func `Frames that a full queue refused are counted once, and their gap begins with the earliest of them`()
        throws
    {
        feed(0..<25)
        perform { engine in
            engine.process(.overflowBegan(bytes: 100))
            engine.process(.overflowEnded(frames: 20, from: 960_000_000, lastAudio: nil))
        }
        #expect(status.state == .waiting && status.gapFrames == 20 && counted.value.withLock { $0 } == 20)
        feed(50..<75)
        #expect(status.state == .recording)
        finish()
        let gap = try #require(status.gaps.first)
        #expect(gap.from == 960_000_000 && gap.to == 2_000_000_000 && gap.frames == 20 && gap.cause == .overflow)
        #expect(status.gapCount == 1 && status.gapFrames == 20 && counted.value.withLock { $0 } == 20)
        #expect(status.framesWritten == 50 && status.segmentsFinished == 2)
    }
}
