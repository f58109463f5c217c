// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LibAV
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest
@testable import SourceClock

/// Tests the decoder of a live source whose packets are all due at once.
@Suite("The decoder of live sources", .timeLimit(.minutes(2)))
struct SourceDecoderTests {
    /// A feed that the test plays, which counts how often it is asked to open its input again.
    private final class ScriptedFeed: LiveFeed {
        private let calls = Atomic(0)
        var asked: Int { calls.load(ordering: .relaxed) }

        func start(into inbox: PacketInbox, wanted: Set<TrackKind>) {}
        func openAgain(after failure: IngestError) -> Bool {
            calls.add(1, ordering: .relaxed)
            return true
        }
        func stop() {}
        func waitUntilOver() {}
        func status(with own: SourceStatus) -> SourceStatus { own }
    }

    private let monitor: SourceMonitor
    private let log = CollectedLog(from: .notice)
    private let feed = ScriptedFeed()
    private let sink = CollectingSink()
    private let inbox: PacketInbox
    private let timing: SourceTiming

    init() {
        monitor = SourceMonitor(logger: log.logger)
        timing = SourceTiming(
            SourceClock(.rtmp, tracks: [.video: (.mpegTS, 33)]), frameRate: FrameRate(25), programTime: ProgramTime(),
            name: "in", monitor: monitor)
        inbox = PacketInbox(
            [.video], known: [.video: (.mpegTS, 33)], stampBits: 33, timing: timing, monitor: monitor)
    }

    private func clip(_ encoder: String, size: String = "320x180") throws -> Clip {
        try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=\(size):r=25:d=6", "-c:v", encoder, "-g", "12", "-bf", "0", "-pix_fmt",
            "yuv420p", suffix: ".ts")
    }

    private func demuxer(_ clip: Clip) throws -> Demuxer {
        try Demuxer(url: clip.path, options: .init(), interrupter: Interrupter(), subject: "clip")
    }

    /// Puts the frames of `clip`, which begin to arrive at second `start`, into the inbox as if they were frames of
    /// `stream`. Returns the number of frames.
    private func put(_ clip: Clip, as stream: LiveStream, from start: Int64 = 0) throws -> Int {
        let demuxer = try demuxer(clip)
        var count = 0
        while let box = try demuxer.readPacket() {
            let time = Int64(count) * 3600
            let arrival = MonotonicInstant(nanoseconds: start * 1_000_000_000 + Int64(count) * 40_000_000)
            let stamp = SourceClock.Stamp(.video, dts: time, pts: time, duration: 3600)
            guard let noted = timing.note(stamp, arrival: arrival) else { continue }
            timing.advance(to: arrival)
            box.stamp(
                pts: TimeBase.nanoseconds.rescale(noted.time.nanoseconds, to: .mpegTS),
                dts: TimeBase.nanoseconds.rescale(noted.decodeTime.nanoseconds, to: .mpegTS))
            inbox.put(
                .packet(LivePacket(content: .read(box, stream), time: noted.time, decodeTime: noted.decodeTime)))
            count += 1
        }
        return count
    }

    /// Runs the decoder until the inbox ends.
    private func run(_ clock: ManualClock = ManualClock(now: 1_000_000_000_000_000)) -> DispatchGroup {
        let group = DispatchGroup()
        DispatchQueue(label: "decoder").async(group: group) { [inbox, feed, sink, monitor] in
            SourceDecoder(
                inbox, from: feed, into: sink,
                video: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: .bt709), audio: nil,
                options: TrackOptions(), monitor: monitor, name: "in", clock: clock
            ).run()
        }
        return group
    }

    @Test("If decoders refuse the last packets of an input that has ended, the input is not reopened for that reason")
    func refusedRest() throws {
        let stream = LiveStream(try #require(try demuxer(clip("libx264")).bestVideo))
        inbox.put(.opening(LiveOpening(tracks: .streams([stream]))))
        #expect(try put(clip("libx265"), as: stream) == 150)
        inbox.interrupt()
        let group = run()
        inbox.waitUntilDelivered()
        #expect(feed.asked == 0 && sink.taken.frames.isEmpty)
        inbox.put(.opening(LiveOpening(tracks: .streams([stream]))))
        inbox.end(failure: nil)
        group.wait()
        #expect(feed.asked == 0)
    }

    @Test("An input whose video two decoders refuse is reopened once, and the new packets are decoded")
    func refused() throws {
        let good = try clip("libx264")
        let stream = LiveStream(try #require(try demuxer(good).bestVideo))
        inbox.put(.opening(LiveOpening(tracks: .streams([stream]))))
        _ = try put(clip("libx265"), as: stream)
        let group = run()
        try eventually("the input is to be opened again") { feed.asked > 0 }
        inbox.interrupt()
        inbox.waitUntilDelivered()
        let asked = feed.asked
        timing.restart([.video: (.mpegTS, 33)])
        let next = LiveStream(stream.info)
        inbox.put(.opening(LiveOpening(tracks: .streams([next]))))
        let count = try put(good, as: next, from: 20)
        inbox.interrupt()
        inbox.waitUntilDelivered()
        inbox.end(failure: nil)
        group.wait()
        let frames = sink.taken.frames.count
        #expect(feed.asked == asked && frames == count && count == 150)
    }

    // Regression: a playlist that changed its initialization section froze for as long as its buffer was.
    @Test("If an input continues in another coding, the packets before the change are decoded, too")
    func continues() throws {
        let (first, second) = (try clip("libx264"), try clip("mpeg2video"))
        let stream = LiveStream(try #require(try demuxer(first).bestVideo))
        let next = LiveStream(try #require(try demuxer(second).bestVideo))
        inbox.put(.opening(LiveOpening(tracks: .streams([stream]))))
        var count = try put(first, as: stream)
        inbox.put(.opening(LiveOpening(tracks: .streams([next]), continues: true)))
        count += try put(second, as: next, from: 6)
        inbox.interrupt()
        let group = run()
        inbox.waitUntilDelivered()
        inbox.end(failure: nil)
        group.wait()
        #expect(sink.taken.frames.count == count && count == 300)
        #expect(feed.asked == 0)
    }

    @Test("If the size of an input's video changes, the operator is told")
    func size() throws {
        let (first, second) = (try clip("libx264"), try clip("libx264", size: "160x90"))
        let stream = LiveStream(try #require(try demuxer(first).bestVideo))
        inbox.put(.opening(LiveOpening(tracks: .streams([stream]))))
        let count = try put(first, as: stream) + put(second, as: stream, from: 6)
        inbox.interrupt()
        let group = run()
        inbox.waitUntilDelivered()
        inbox.end(failure: nil)
        group.wait()
        #expect(sink.taken.frames.count == count)
        #expect(log.lines(containing: "the video of the input has another size now").count == 1)
    }

    @Test("An input that still cannot be decoded after it was reopened is reopened once more after 10 s")
    func refusedAgain() throws {
        let (good, other) = (try clip("libx264"), try clip("libx265"))
        let stream = LiveStream(try #require(try demuxer(good).bestVideo))
        let clock = ManualClock(now: 1_000_000_000_000_000)
        let group = run(clock)
        /// Opens the input again, and puts packets that decoders refuse into the inbox.
        func open(_ second: Int64) throws {
            if second > 0 { timing.restart([.video: (.mpegTS, 33)]) }
            let next = LiveStream(stream.info)
            inbox.put(.opening(LiveOpening(tracks: .streams([next]))))
            _ = try put(other, as: next, from: second)
        }
        func end() {
            inbox.interrupt()
            inbox.waitUntilDelivered()
        }
        let replaced = "a decoder refused everything and was replaced"
        try open(0)
        try eventually("the input is to be opened again") { feed.asked > 0 }
        end()
        let (asked, told) = (feed.asked, log.lines(containing: replaced).count)
        try open(20)
        // The second and the third of these decoders also refuse all packets.
        try eventually("decoders are replaced again") { log.lines(containing: replaced).count >= told + 3 }
        #expect(feed.asked == asked)
        end()
        clock.advance(by: .seconds(10))
        try open(40)
        try eventually("the input is to be opened once more") { feed.asked > asked }
        end()
        inbox.end(failure: nil)
        group.wait()
    }

    @Test("After an input was reopened all its frames are decoded, even if only keyframes were decoded before")
    func overload() throws {
        let clip = try clip("libx264")
        let stream = LiveStream(try #require(try demuxer(clip).bestVideo))
        inbox.put(.opening(LiveOpening(tracks: .streams([stream]))))
        _ = try put(clip, as: stream)
        let group = run()
        inbox.interrupt()
        inbox.waitUntilDelivered()
        monitor.isReduced = true
        monitor.update { $0.overload = "The machine is too slow." }
        let before = sink.taken.frames.count
        timing.restart([.video: (.mpegTS, 33)])
        let next = LiveStream(stream.info)
        inbox.put(.opening(LiveOpening(tracks: .streams([next]))))
        let count = try put(clip, as: next, from: 20)
        inbox.interrupt()
        inbox.waitUntilDelivered()
        inbox.end(failure: nil)
        group.wait()
        #expect(!monitor.isReduced && monitor.status.overload == nil)
        #expect(sink.taken.frames.count - before == count && count == 150)
    }

    @Test("A sender that leaves before the program has begun does not keep the next one away")
    func heldAudio() throws {
        let demuxer = try demuxer(Clip("-f", "lavfi", "-i", "sine=d=4:r=48000", "-c:a", "aac", suffix: ".ts"))
        let stream = LiveStream(try #require(demuxer.bestAudio))
        let timing = SourceTiming(
            SourceClock(.rtmp, tracks: [.audio: (.mpegTS, 33)]), frameRate: FrameRate(25), programTime: ProgramTime(),
            name: "in", monitor: monitor)
        let inbox = PacketInbox(
            [.audio], known: [.audio: (.mpegTS, 33)], stampBits: 33, timing: timing, monitor: monitor)
        inbox.put(.opening(LiveOpening(tracks: .streams([stream]))))
        var count = Int64(0)
        while let box = try demuxer.readPacket() {
            // A packet of AAC has 1024 samples.
            let (time, arrival) = (count * 1920, MonotonicInstant(nanoseconds: count * 21_333_333))
            let stamp = SourceClock.Stamp(.audio, dts: time, pts: time, duration: 1920)
            let noted = try #require(timing.note(stamp, arrival: arrival))
            timing.advance(to: arrival)
            box.stamp(
                pts: TimeBase.nanoseconds.rescale(noted.time.nanoseconds, to: .mpegTS),
                dts: TimeBase.nanoseconds.rescale(noted.decodeTime.nanoseconds, to: .mpegTS))
            inbox.put(
                .packet(LivePacket(content: .read(box, stream), time: noted.time, decodeTime: noted.decodeTime)))
            count += 1
        }
        inbox.interrupt()
        #expect(timing.isPlaced && count > 180)
        // Audio is held, because the program has not begun.
        sink.programTime.line = nil
        let group = DispatchGroup()
        DispatchQueue(label: "decoder").async(group: group) { [feed, sink, monitor] in
            SourceDecoder(
                inbox, from: feed, into: sink, video: nil, audio: .program, options: TrackOptions(), monitor: monitor,
                name: "in", clock: ManualClock(now: 1_000_000_000_000_000)
            ).run()
        }
        inbox.waitUntilDelivered()
        #expect(sink.taken.audio.isEmpty)
        monitor.stop()
        group.wait()
    }

    @Test("Packets in the inbox do not count as decoded while the decoder has not taken all entries")
    func notDelivered() throws {
        inbox.interrupt()
        #expect(inbox.takeAll().count == 1)
        inbox.put(.opening(LiveOpening(tracks: .any)))
        inbox.interrupt()
        inbox.markDelivered()
        let isOver = Atomic(false)
        DispatchQueue(label: "reader").async { [inbox] in
            inbox.waitUntilDelivered()
            isOver.store(true, ordering: .relaxed)
        }
        #expect(inbox.takeAll().count == 2 && !isOver.load(ordering: .relaxed))
        inbox.markDelivered()
        try eventually("all is delivered") { isOver.load(ordering: .relaxed) }
    }
}
