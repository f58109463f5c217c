// SPDX-License-Identifier: Apache-2.0

import CFFmpeg
import Media
import TestSupport
import Testing

@testable import Ingest
@testable import LibAV
@testable import SourceClock

/// Tests decoding lanes with scripted decoders. The due times of the source's packets are known.
@Suite("Decoding lane of a live source")
struct DecodingLaneTests {
    private static let failure = AVFailure(operation: "decode", subject: "test", code: relay_averror_invalid_data)

    /// A decoder that gives a frame for each packet, or refuses all packets.
    private final class ScriptedTrack: LiveTrack {
        let decoder: TrackDecoder
        private(set) var isFinished = false
        private(set) var sent: [Int64?] = []
        private(set) var skipped: Timestamp?

        func skip(upTo time: Timestamp) { skipped = time }

        init(_ stream: StreamInfo, works: Bool, monitor: SourceMonitor) {
            let inner = Inner()
            decoder = TrackDecoder(stream, decoder: inner, monitor: monitor)
            decoder.watch()
            inner.onSend = { [unowned self] packet throws(AVFailure) in
                sent.append(packet.dts)
                if !works { throw DecodingLaneTests.failure }
            }
        }

        func step(inputEnded: Bool) -> TrackDecoder.Progress {
            let before = sent.count
            switch decoder.next(inputEnded: inputEnded) {
            case .failed(let failure): return .failed(failure)
            case .ended:
                isFinished = true
                return .ended
            case .frame: return .advanced
            case .needsPacket: return sent.count > before ? .advanced : .needsPacket
            }
        }
    }

    /// The decoder that replaces libav's.
    private final class Inner: PacketDecoder {
        var onSend: (PacketBox) throws(AVFailure) -> Void = { _ in }
        private var isDraining = false

        func send(_ packet: PacketBox?) throws(AVFailure) {
            guard let packet else {
                isDraining = true
                return
            }
            try onSend(packet)
        }

        func receive() throws(AVFailure) -> Decoder.Output { isDraining ? .ended : .needsPacket }
        func flush() {}
    }

    /// A track whose frames can never be converted.
    private final class FailingTrack: LiveTrack {
        let decoder: TrackDecoder
        let isFinished = false
        private let failure: AVFailure

        init(_ stream: StreamInfo, _ failure: AVFailure, monitor: SourceMonitor) {
            decoder = TrackDecoder(stream, decoder: Inner(), monitor: monitor)
            self.failure = failure
        }

        func step(inputEnded: Bool) -> TrackDecoder.Progress {
            _ = decoder.queue.popFirst()
            return .failed(failure)
        }
    }

    private let monitor: SourceMonitor
    private let timing: SourceTiming
    private let log = CollectedLog()

    init() {
        monitor = SourceMonitor(logger: log.logger)
        timing = SourceTiming(
            SourceClock(.rtmp, tracks: [.video: (.milliseconds, nil), .audio: (.milliseconds, nil)]),
            frameRate: FrameRate(25), programTime: ProgramTime(), name: "in", monitor: monitor)
    }

    private func stream(_ kind: TrackKind) throws -> LiveStream {
        var source = avcodec_parameters_alloc()
        defer { avcodec_parameters_free(&source) }
        return LiveStream(
            StreamInfo(
                index: 0, kind: kind, timeBase: .milliseconds, stampBits: 64, codecName: "test", video: nil,
                sampleRate: 0, parameters: try CodecParameters(copying: try #require(source), subject: "test")))
    }

    /// `count` packets of 40 ms of `stream`, beginning with the number `start`, with a keyframe each second.
    private func packets(_ count: Int, from start: Int = 0, of stream: LiveStream) throws -> [LivePacket] {
        try (start..<start + count).map { index in
            let box = try PacketBox(subject: "test")
            box.stamp(pts: Int64(index * 40), dts: Int64(index * 40))
            if index % 25 == 0 { box.packet.pointee.flags |= AV_PKT_FLAG_KEY }
            let time = Timestamp(nanoseconds: Int64(index) * 40_000_000)
            return LivePacket(content: .read(box, stream), time: time, decodeTime: time)
        }
    }

    /// Places the source so that all its packets are due.
    private func place() {
        for index in 0..<200 {
            for track in TrackKind.timed {
                _ = timing.note(
                    .init(track, dts: Int64(index * 40), pts: Int64(index * 40), duration: 40),
                    arrival: MonotonicInstant(nanoseconds: Int64(index) * 40_000_000))
            }
            timing.advance(to: MonotonicInstant(nanoseconds: Int64(index) * 40_000_000))
        }
    }

    /// Steps `lane` until it is idle. Returns `isInVain` of each failure.
    private func drain(_ lane: DecodingLane) -> [Bool] {
        var failures: [Bool] = []
        for _ in 0..<10_000 {
            switch lane.step(now: .distantFuture) {
            case .idle: return failures
            case .advanced: break
            case .failed(_, let isInVain): failures.append(isInVain)
            }
        }
        Issue.record("the lane has no end")
        return failures
    }

    @Test("A decoder that refuses everything is replaced after 1 s, and the new one decodes the queued packets")
    func replaced() throws {
        place()
        for kind in [TrackKind.video, .audio] {
            var made: [ScriptedTrack] = []
            let lane = DecodingLane(kind, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
                let track = ScriptedTrack(
                    try coding.stream(subject: "in"), works: !made.isEmpty, monitor: self.monitor)
                made.append(track)
                return track
            }
            for packet in try packets(100, of: stream(kind)) { lane.append(packet) }
            #expect(drain(lane) == [false])
            #expect(made.map(\.sent.count) == [26, 74])
            lane.interrupt()
            #expect(drain(lane) == [] && lane.isEmpty)
        }
        #expect(log.lines(containing: "a decoder refused everything and was replaced").count == 2)
    }

    @Test(
        "If replacement decoders refuse everything too, each next one gets more time before it is replaced"
    )
    func inVain() throws {
        place()
        var made = 0
        let lane = DecodingLane(.audio, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            made += 1
            return ScriptedTrack(try coding.stream(subject: "in"), works: false, monitor: self.monitor)
        }
        for packet in try packets(25 * 20, of: stream(.audio)) { lane.append(packet) }
        // The five decoders are replaced after 1, 1, 2, 4 and 8 seconds.
        #expect(drain(lane) == [false, true, true, true, true] && made == 6)
    }

    @Test("If no decoder can be opened, opening is tried again at each keyframe, and the failure is logged once")
    func none() throws {
        place()
        var asked = 0
        let lane = DecodingLane(.video, timing: timing, monitor: monitor, name: "in") { (_) throws(AVFailure) in
            asked += 1
            throw Self.failure
        }
        for packet in try packets(100, of: stream(.video)) { lane.append(packet) }
        #expect(drain(lane) == [true, true, true, true] && asked == 4 && lane.isEmpty)
        #expect(log.lines(containing: "video of the input cannot be decoded").count == 1)
        #expect(monitor.status.decodeErrors == 4)
    }

    @Test("If no decoder can be opened after a reopening either, this is logged only if the reason is another one")
    func otherFailure() throws {
        place()
        let other = AVFailure(operation: "decode", subject: "other", code: relay_averror_invalid_data)
        var failures = [Self.failure, Self.failure, other, other]
        let lane = DecodingLane(.video, timing: timing, monitor: monitor, name: "in") { (_) throws(AVFailure) in
            throw failures.removeFirst()
        }
        for number in 0..<4 {
            lane.restart(timeLimit: .seconds(2))
            for packet in try packets(1, from: number * 25, of: stream(.video)) { lane.append(packet) }
            #expect(drain(lane) == [true])
        }
        #expect(failures.isEmpty)
        #expect(log.lines(containing: "video of the input cannot be decoded").count == 2)
    }

    @Test("Packets of another coding are decoded after the previous decoder has output all its frames")
    func codings() throws {
        place()
        var made: [ScriptedTrack] = []
        let lane = DecodingLane(.video, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            let track = ScriptedTrack(try coding.stream(subject: "in"), works: true, monitor: self.monitor)
            made.append(track)
            return track
        }
        let all = try packets(30, of: stream(.video)) + packets(20, from: 30, of: stream(.video))
        for packet in all { lane.append(packet) }
        #expect(drain(lane) == [])
        #expect(made.map(\.sent.count) == [30, 20] && made.first?.isFinished == true)
    }

    @Test(
        "Video that a second connection repeats is decoded and not shown, and repeated audio is dropped",
        arguments: [(TrackKind.video, 20), (.audio, 15)])
    func repeats(kind: TrackKind, sent: Int) throws {
        place()
        var made: [ScriptedTrack] = []
        let lane = DecodingLane(kind, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            let track = ScriptedTrack(try coding.stream(subject: "in"), works: true, monitor: self.monitor)
            made.append(track)
            return track
        }
        let stream = try stream(kind)
        for packet in try packets(30, of: stream) { lane.append(packet) }
        lane.interrupt()
        lane.resume(mayRepeat: true)
        for packet in try packets(20, from: 25, of: stream) { lane.append(packet) }
        #expect(drain(lane) == [])
        #expect(made.map(\.sent.count) == [30, sent] && made.first?.isFinished == true)
        #expect(made.map(\.skipped) == [nil, Timestamp(nanoseconds: 29 * 40_000_000)])
    }

    @Test("While a reopened source's decoding is suspended, only the newest packets within the time limit are kept")
    func held() throws {
        place()
        var made: [ScriptedTrack] = []
        let lane = DecodingLane(.audio, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            let track = ScriptedTrack(try coding.stream(subject: "in"), works: true, monitor: self.monitor)
            made.append(track)
            return track
        }
        lane.restart(timeLimit: .seconds(2))
        let stream = try stream(.audio)
        for index in 0..<200 {
            for packet in try packets(1, from: index, of: stream) { lane.append(packet) }
            guard case .idle = lane.step(now: .distantFuture, isHeld: true) else {
                Issue.record("a held lane decoded")
                return
            }
        }
        #expect(made.count == 1 && made.allSatisfy { $0.decoder.queue.length <= .seconds(2) && $0.sent.isEmpty })
        #expect(drain(lane) == [] && made.first?.sent.count == 51)
    }

    @Test("A decoder is released once its sender has left and all packets are decoded, and not before")
    func released() throws {
        place()
        weak var made: ScriptedTrack?
        let lane = DecodingLane(.video, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            let track = ScriptedTrack(try coding.stream(subject: "in"), works: true, monitor: self.monitor)
            made = track
            return track
        }
        for packet in try packets(30, of: stream(.video)) { lane.append(packet) }
        _ = drain(lane)
        lane.rest()
        #expect(made != nil)
        lane.interrupt()
        lane.rest()
        #expect(made != nil)
        _ = drain(lane)
        lane.rest()
        #expect(made == nil && lane.isEmpty)
        for packet in try packets(30, from: 60, of: stream(.video)) { lane.append(packet) }
        _ = drain(lane)
        #expect(made != nil)
    }

    /// A lane for video whose packets are due only 30 s after they arrive. `made` gets each track that the lane makes.
    private func waitingLane(_ made: @escaping (ScriptedTrack) -> Void) -> DecodingLane {
        var settings = SourceClockSettings.rtmp
        settings.latency = .seconds(30)
        timing.restart([.video: (.milliseconds, nil), .audio: (.milliseconds, nil)], as: settings)
        place()
        return DecodingLane(.video, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            let track = ScriptedTrack(try coding.stream(subject: "in"), works: true, monitor: self.monitor)
            made(track)
            return track
        }
    }

    /// Puts `count` packets that state a size of `size` bytes into `lane`. No packet is due yet.
    private func fill(_ lane: DecodingLane, with count: Int, of size: Int32) throws {
        let packets = try packets(count, of: stream(.video))
        for packet in packets {
            if case .read(let box, _) = packet.content { box.packet.pointee.size = size }
            lane.append(packet)
            guard case .idle = lane.step(now: .zero) else {
                Issue.record("a packet was decoded before it was due")
                return
            }
        }
    }

    @Test("A live source's buffer keeps 30 s of packets at 40 Mbit/s until they are due")
    func longLatency() throws {
        var made: [ScriptedTrack] = []
        let lane = waitingLane { made.append($0) }
        try fill(lane, with: 750, of: 200_000)
        #expect(drain(lane) == [] && made.map(\.sent.count) == [750])
        #expect(log.lines.isEmpty && monitor.status.decodeErrors == 0)
    }

    @Test("If a live source's buffer is full, newer packets are dropped and logged once, and older ones are shown")
    func fullBuffer() throws {
        var made: [ScriptedTrack] = []
        let lane = waitingLane { made.append($0) }
        try fill(lane, with: 700, of: 1 << 20)
        let limit = 64 + Int(timing.longestWait.inSeconds.rounded(.up)) * 16
        #expect(lane.bytes == limit << 20 && monitor.status.decodeErrors == Int64(700 - limit))
        #expect(drain(lane) == [] && made.first?.sent == (0..<limit).map { Int64($0 * 40) })
        #expect(log.lines(containing: "the buffer of the input is full").count == 1)
    }

    @Test("A missing library for conversions is logged once, and no log line says that another decoder took over")
    func missingLibrary() throws {
        place()
        let missing = AVFailure(operation: "convert", subject: "in", missingLibrary: "libavfilter")
        var made = 0
        let lane = DecodingLane(.video, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            made += 1
            return FailingTrack(try coding.stream(subject: "in"), missing, monitor: self.monitor)
        }
        var failures: [Bool] = []
        for packet in try packets(100, of: stream(.video)) {
            lane.append(packet)
            failures += drain(lane)
        }
        #expect(failures == [true, true, true, true] && made == 4)
        #expect(log.lines.count == 1, "\(log.lines)")
    }

    @Test("When an input is reopened, its waiting packets are dropped, and the following packets are decoded")
    func restart() throws {
        place()
        var made = 0
        let lane = DecodingLane(.video, timing: timing, monitor: monitor, name: "in") { (coding) throws(AVFailure) in
            made += 1
            return ScriptedTrack(try coding.stream(subject: "in"), works: true, monitor: self.monitor)
        }
        let stream = try stream(.video)
        for packet in try packets(30, of: stream) { lane.append(packet) }
        lane.restart(timeLimit: .seconds(60))
        #expect(lane.isEmpty && drain(lane) == [] && made == 0)
        for packet in try packets(30, from: 60, of: stream) { lane.append(packet) }
        _ = drain(lane)
        #expect(made == 1)
    }
}
