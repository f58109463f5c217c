// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

@Suite struct GapTests {
    private static let rate = FrameRate(25)

    /// Groups of 25 frames in the decoding order 0 4 2 1 3 8 6 5 7 …, with unimportant audio.
    private func reordered(groups: Int64) -> [EncodedPacket] {
        let order: [Int64] = [0] + (Int64(0)..<6).flatMap { mini -> [Int64] in [4, 2, 1, 3].map { mini * 4 + $0 } }
        let videoPackets = (0..<groups).flatMap { group -> [EncodedPacket] in
            order.enumerated().map { index, frame in
                videoPacket(
                    group * 25 + frame, decodedAt: group * 25 + Int64(index) - 3, rate: Self.rate,
                    isKeyframe: frame == 0)
            }
        }
        let audio = (-1..<(groups * 48_000 / 1024)).map { audioPacket($0) }
        return (videoPackets + audio).sorted {
            ($0.programDts, $0.track.rawValue) < ($1.programDts, $1.track.rawValue)
        }
    }

    @Test func `A copied frame is counted as lost if frames that are shown before it are missing`() throws {
        let packets = reordered(groups: 4)
        let frames = packets.filter { $0.track == .video }
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory())
        // The last frame is 29, and 26 to 28 are missing.
        let end = try #require(packets.firstIndex { $0 === frames[27] })
        recording.feed(packets[..<end])
        let next = videoTrack(rate: Self.rate, avcC: [1, 77, 0, 30, 255, 224, 0])
        let rest = packets[end...].filter { $0.track == .audio || $0.pts >= 50 }
        recording.feed(rest.map { $0.track == .video ? $0.recoded(as: next) : $0 })
        recording.finish()
        let status = recording.recorder.status
        #expect(status.segmentsFinished == 2 && status.gapCount == 0)
        #expect(status.framesWritten == 26 + 50 && status.incompleteFrames == 1)
    }

    @Test(arguments: [true, false])
    func `A copied recording whose last file would have no visible frame ends with the file before it`(isPaused: Bool)
        throws
    {
        let directory = try TemporaryDirectory()
        let witness = RecordingWitness()
        var configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(60)),
            observers: [witness])
        configuration.isCopied = true
        let recorder = Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            logger: quiet)
        let recording = Recording(directory: directory, recorder: recorder)
        recorder.cut(at: Self.rate.start(of: 24))
        // Frame 24, the last one before the cut, has arrived; the frames that precede it in presentation order have
        // not.
        let packets = reordered(groups: 1)
        recording.feed(packets.filter { $0.track == .audio || !(21...23).contains($0.pts) })
        if isPaused { recorder.pause() }
        recording.finish()
        let status = recorder.status
        #expect(status.segmentsFinished == 1 && directory.files.count == 1, "\(directory.files)")
        #expect(status.incompleteFrames == 1 && status.framesWritten >= 21)
        // No file follows, so this one ends with the recording or with its source.
        #expect(witness.records.map(\.ending) == [isPaused ? .silent : .stop])
    }

    @Test
    func `If a suspension falls between reordered frames, the recording has one gap without extra losses`() throws {
        let packets = reordered(groups: 6)
        let videoPackets = packets.filter { $0.track == .video }
        for count in 60..<70 {
            let recording = try Recording(
                description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory())
            let index = try #require(packets.firstIndex { $0.dts == videoPackets[count].dts && $0.track == .video })
            recording.feed(packets[..<index])
            recording.recorder.waitUntilIdle()
            recording.recorder.suspend("a test")
            recording.feed(packets[index...].prefix(60))
            recording.recorder.waitUntilIdle()
            recording.recorder.resume()
            recording.feed(packets[index...].dropFirst(60))
            recording.finish()
            let status = recording.recorder.status
            let gap = try #require(status.gaps.first)
            #expect(status.framesWritten + gap.frames == 150)
            let to = try #require(gap.to)
            #expect(to - gap.from == .milliseconds(gap.frames * 40), "after \(count) videoPackets")
        }
    }

    @Test func `If a fragment cannot be written, the gap begins at the fragment's earliest frame`() throws {
        let (directory, clock) = (try TemporaryDirectory(), ManualClock())
        let configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(60)))
        let recorder = Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            clock: clock, logger: quiet)
        let packets = reordered(groups: 4)
        for packet in packets where packet.programDts < 2_000_000_000 { recorder.accept([packet]) }
        recorder.wake()
        recorder.waitUntilIdle()
        for name in directory.files { try FileManager.default.removeItem(atPath: directory.path(name)) }
        for packet in packets where packet.programDts >= 2_000_000_000 { recorder.accept([packet]) }
        recorder.wake()
        recorder.waitUntilIdle()
        let done = DispatchSemaphore(value: 0)
        recorder.finish(deadline: .distantFuture) { done.signal() }
        done.wait()
        let gap = try #require(recorder.status.gaps.first)
        #expect(recorder.status.framesWritten + gap.frames == 100)
        // All missing frames come after `from` in presentation order. Frames on disk can come after `from`, too,
        // because frames are reordered.
        let latest = 4_000_000_000 - .milliseconds(gap.frames * 40) as ProgramInstant
        #expect(gap.from <= latest && gap.from >= latest - .milliseconds(160))
    }

    @Test func `A gap in the program's frame numbers does not count as reordered frames that are still to arrive`() {
        var order = PresentationOrder()
        for (index, frame) in ([0] + Array(10..<60)).enumerated() {
            order.append(videoPacket(Int64(frame), rate: Self.rate, isKeyframe: false), count: index + 1)
        }
        #expect(order.wholePrefix == 51, "a hole in the program is none of reordering")
    }
}

@Suite struct RoomTests {
    private static let rate = FrameRate(25)

    @Test func `A thread that waits for space in the recorder's queue continues when half of the queue is free`() {
        let queue = RecorderQueue(limit: 1000)
        for frame in Int64(0)..<9 { _ = queue.push(videoPacket(frame, rate: Self.rate, isKeyframe: frame == 0)) }
        let woken = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            while !queue.waitForRoom(upTo: .milliseconds(200)) {}
            woken.signal()
        }
        for _ in 0..<3 { _ = queue.pop() }
        #expect(!queue.waitForRoom(upTo: .milliseconds(1)), "600 bytes are more than half")
        _ = queue.pop()
        woken.wait()
        #expect(queue.waitForRoom(upTo: .never))
    }

    @Test func `The recorder's thread is woken for 50 ms of media, and at once for a packet that can begin a file`() {
        let queue = RecorderQueue(limit: 1 << 20)
        func wakes(_ packet: EncodedPacket) -> Bool {
            _ = queue.push(packet)
            return queue.isWorthDraining
        }
        func drain() { while queue.pop() != nil {} }
        #expect(wakes(videoPacket(0, rate: Self.rate, isKeyframe: true)))
        drain()
        #expect(!wakes(videoPacket(1, rate: Self.rate, isKeyframe: false)))
        // These audio packets begin at 42.7 and 64 ms; a frame lasts 40 ms.
        #expect(!wakes(audioPacket(2)) && !wakes(audioPacket(3)))
        #expect(wakes(videoPacket(3, rate: Self.rate, isKeyframe: false)))
        drain()
        #expect(!queue.isWorthDraining)
        #expect(!wakes(videoPacket(4, rate: Self.rate, isKeyframe: false)))
        #expect(wakes(videoPacket(5, rate: Self.rate, isKeyframe: true)))
    }

    @Test func `While the recorder collects a fragment, its thread is woken at the end of the fragment`() {
        let queue = RecorderQueue(limit: 4 << 20)
        func wakes(_ packet: EncodedPacket) -> Bool {
            _ = queue.push(packet)
            return queue.isWorthDraining
        }
        func drain() { while queue.pop() != nil {} }
        queue.collect(until: 400_000_000)
        #expect((Int64(1)..<10).allSatisfy { !wakes(videoPacket($0, rate: Self.rate, isKeyframe: false)) })
        // Audio ends a fragment only 50 ms after its end: packet 19 is at 405 ms, packet 22 at 469 ms.
        #expect(!wakes(audioPacket(19)))
        #expect(wakes(audioPacket(22)))
        drain()
        queue.collect(until: 800_000_000)
        #expect(!wakes(videoPacket(19, rate: Self.rate, isKeyframe: false)))
        #expect(wakes(videoPacket(20, rate: Self.rate, isKeyframe: false)))
        drain()
        queue.collect(until: 1_200_000_000)
        #expect(!wakes(videoPacket(21, rate: Self.rate, isKeyframe: false)))
        #expect(wakes(videoPacket(22, rate: Self.rate, isKeyframe: false, size: 1 << 20)), "much memory is in use")
        drain()
        #expect(!wakes(videoPacket(23, rate: Self.rate, isKeyframe: false)))
        #expect(wakes(videoPacket(24, rate: Self.rate, isKeyframe: true)), "a file can begin")
    }

    @Test func `Each recorder's queue has reserved memory, and all queues share a limit for what exceeds it`() {
        let budget = QueueBudget(limit: 500)
        let one = RecorderQueue(limit: 10_000, own: 200, budget: budget)
        let two = RecorderQueue(limit: 10_000, own: 200, budget: budget)
        // Each frame has 100 bytes.
        func fill(_ queue: RecorderQueue, _ frames: Range<Int64>) {
            for frame in frames { _ = queue.push(videoPacket(frame, rate: Self.rate, isKeyframe: frame % 5 == 0)) }
        }
        fill(one, 0..<20)
        #expect(one.depth.bytes == 700 && one.uncounted == 13)
        fill(two, 0..<20)
        #expect(two.depth.bytes == 200 && two.uncounted == 18)
        // The second queue can take the memory that the first one gives back, but only at a keyframe, and when half of
        // the second queue's contents are written.
        one.removeAll()
        for _ in 0..<2 { _ = two.pop() }
        fill(two, 20..<40)
        #expect(two.depth.bytes == 700)
    }

    @Test func `A pause in the recorder's queue keeps its place between packets, and consecutive pauses become one`() {
        let queue = RecorderQueue(limit: 1 << 20)
        queue.pause()
        queue.pause()
        _ = queue.push(videoPacket(0, rate: Self.rate, isKeyframe: true))
        queue.pause()
        _ = queue.push(videoPacket(50, rate: Self.rate, isKeyframe: true))
        #expect(queue.isWorthDraining && queue.beginDrain())
        var order: [Int64?] = []
        while let item = queue.pop() {
            switch item {
            case .packet(let packet): order.append(packet.pts)
            case .pause: order.append(nil)
            case .overflowBegan, .overflowEnded: Issue.record("nothing is refused")
            }
        }
        #expect(order == [nil, 0, nil, 50])
    }

    @Test func `If a program faster than real time waits for its recorder, it is recorded completely`() throws {
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory(),
            queueLimit: 20_000)
        let packets = syntheticProgram(rate: Self.rate, frames: 2000, isKeyframe: { $0 % 25 == 0 }, size: 1000)
        for packet in packets {
            recording.recorder.accept([packet])
            recording.recorder.waitForRoom()
        }
        recording.finish()
        #expect(recording.recorder.status.framesWritten == 2000)
        #expect(recording.recorder.status.gapCount == 0)
    }

    /// Regression: a program faster than real time waited forever for a disk that hung.
    @Test func `A program faster than real time continues without a disk that hangs, until the disk answers`() throws {
        let clock = ManualClock()
        let disk = DispatchSemaphore(value: 0)
        func record(wallClock: @escaping @Sendable () -> UTCTime) throws -> Recording {
            try Recording(
                description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory(),
                clock: clock, queueLimit: 20_000, wallClock: wallClock)
        }
        let first = try record { .now }
        // The recorder asks for the date when its first file begins.
        let second = try record {
            disk.wait()
            disk.signal()
            return .now
        }
        let recorders = [first.recorder, second.recorder]
        let packets = syntheticProgram(rate: Self.rate, frames: 3000, isKeyframe: { $0 % 25 == 0 }, size: 1000)
        let (half, release) = (packets.count / 2, DispatchSemaphore(value: 0))
        let fed = Mutex(0)
        Thread.detachNewThread {
            for (index, packet) in packets.enumerated() {
                for recorder in recorders { recorder.accept([packet]) }
                Recorder.waitForRoom(in: recorders, patience: .seconds(12))
                fed.withLock { $0 = index + 1 }
                if index + 1 == half { release.wait() }
            }
        }
        try eventually("the program continues") {
            clock.advance(by: .seconds(1))
            return fed.withLock { $0 } > 100
        }
        #expect(clock.now - .zero >= .seconds(12), "the program waits for a while")
        try eventually("half of the program is recorded") { fed.withLock { $0 } == half }
        disk.signal()
        try eventually("the disk has written what waited") { second.recorder.status.queueBytes == 0 }
        release.signal()
        try eventually("the whole program is recorded") { fed.withLock { $0 } == packets.count }
        first.finish()
        second.finish()
        #expect(first.recorder.status.framesWritten == 3000 && first.recorder.status.gapCount == 0)
        let status = second.recorder.status
        let gap = try #require(status.gaps.first)
        #expect(status.gapCount == 1 && status.framesWritten + gap.frames == 3000)
        #expect(gap.cause == .overflow && gap.from < .zero + .seconds(2))
        let (back, end) = (try #require(gap.to), ProgramInstant.zero + .seconds(62))
        #expect(back > .zero + .seconds(55) && back < end, "the second half is recorded")
    }

    @Test func `A program waits for the only disk that it is recorded to, however long that disk hangs`() throws {
        let (clock, disk) = (ManualClock(), DispatchSemaphore(value: 0))
        let done = Mutex(false)
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory(),
            clock: clock, queueLimit: 20_000,
            wallClock: {
                // Each request takes an hour.
                clock.advance(by: .seconds(3600))
                disk.wait()
                disk.signal()
                return .now
            })
        let recorder = recording.recorder
        let packets = syntheticProgram(rate: Self.rate, frames: 500, isKeyframe: { $0 % 25 == 0 }, size: 1000)
        Thread.detachNewThread {
            for packet in packets {
                recorder.accept([packet])
                Recorder.waitForRoom(in: [recorder], patience: .seconds(12))
            }
            done.withLock { $0 = true }
        }
        try eventually("the disk hangs") { clock.now - .zero >= .seconds(3600) }
        clock.advance(by: .seconds(3600))
        disk.signal()
        try eventually("the program ends") { done.withLock { $0 } }
        recording.finish()
        #expect(recorder.status.framesWritten == 500 && recorder.status.gapCount == 0)
    }

    @Test func `A program does not wait for a recorder that is suspended`() throws {
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory(),
            queueLimit: 2000)
        recording.recorder.suspend("a test")
        recording.recorder.waitUntilIdle()
        recording.recorder.accept((0..<15).map { videoPacket($0, rate: Self.rate, isKeyframe: true) })
        recording.recorder.waitForRoom()
        #expect(recording.recorder.status.state == .suspended)
        recording.finish()
        recording.recorder.accept((0..<15).map { videoPacket($0, rate: Self.rate, isKeyframe: true) })
        recording.recorder.waitForRoom()
        #expect(recording.recorder.status.state == .stopped)
    }
}

@Suite struct BacklogTests {
    @Test func `Suspending a recorder does not wait until its queue is written`() throws {
        let rate = FrameRate(25)
        let isOpen = Mutex(false)
        // The first request for a date blocks the recorder's queue until all requests are made.
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(600)), directory: try TemporaryDirectory(),
            wallClock: {
                try? eventually { isOpen.withLock { $0 } }
                return .now
            })
        let packets = syntheticProgram(rate: rate, frames: 1000, isKeyframe: { $0 % 25 == 0 })
        recording.recorder.accept(packets)
        recording.recorder.wake()
        recording.recorder.suspend("a test")
        isOpen.withLock { $0 = true }
        recording.recorder.waitUntilIdle()
        let status = recording.recorder.status
        #expect(status.state == .suspended && (1...256).contains(status.framesWritten), "\(status.framesWritten)")
        recording.recorder.resume()
        recording.finish()
        #expect(recording.recorder.status.gaps.first?.reason == "a test")
    }

    @Test func `The recorder writes all packets that have queued up`() throws {
        let rate = FrameRate(25)
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(600)), directory: try TemporaryDirectory())
        recording.recorder.accept(syntheticProgram(rate: rate, frames: 1000, isKeyframe: { $0 % 25 == 0 }))
        recording.recorder.wake()
        recording.recorder.waitUntilIdle()
        #expect(recording.recorder.status.queueBytes == 0)
        recording.finish()
        #expect(recording.recorder.status.framesWritten == 1000)
    }
}

@Suite struct DatingTests {
    private func keyframe(_ second: Int64) -> EncodedPacket {
        videoPacket(second * 25, rate: FrameRate(25), isKeyframe: true)
    }

    @Test func `Files are dated by program time as long as the wall clock agrees with it`() {
        var dating = SegmentDating(programStart: UTCTime(milliseconds: 1_000_000))
        for second in [Int64(0), 60, 120] {
            // The encoder's delay is 3 s. The time for which a file's first frame waited in the queue does not change
            // the file's date.
            let (start, moved) = dating.date(
                keyframe(second), now: UTCTime(milliseconds: 1_003_000 + second * 1000 + second * 100),
                queued: second * 100 + second * 10)
            #expect(start.milliseconds == 1_000_000 + second * 1000)
            #expect(moved == nil)
        }
    }

    @Test func `If program time and wall clock drift apart, files are dated by the clock, and this is logged once`() {
        var dating = SegmentDating(programStart: nil)
        dating.begin(keyframe(0), now: UTCTime(milliseconds: 1_000_000))
        func date(_ second: Int64, _ now: Int64) -> (UTCTime, Int64?) {
            dating.date(keyframe(second), now: UTCTime(milliseconds: now), queued: 0)
        }
        #expect(date(0, 1_000_000) == (UTCTime(milliseconds: 1_000_000), nil))
        // The program stalled for 30 s.
        #expect(date(60, 1_090_000) == (UTCTime(milliseconds: 1_090_000), 30_000))
        #expect(date(120, 1_150_500) == (UTCTime(milliseconds: 1_150_000), nil))
        // The clock is set back by an hour.
        #expect(date(180, -2_390_000) == (UTCTime(milliseconds: -2_390_000), nil))
        #expect(date(240, -2_330_000) == (UTCTime(milliseconds: -2_330_000), nil))
    }

    @Test func `The dates of files of a program faster than real time never go back`() {
        var dating = SegmentDating(programStart: UTCTime(milliseconds: 1_000_000))
        let dates = (Int64(0)..<60).map { second in
            dating.date(keyframe(second), now: UTCTime(milliseconds: 1_000_000 + second), queued: 0).start.milliseconds
        }
        #expect(dates == dates.sorted() && (dates.last ?? 0) < 1_003_000)
    }
}
