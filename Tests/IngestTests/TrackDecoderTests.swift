// SPDX-License-Identifier: Apache-2.0

import CFFmpeg
import Media
import TestSupport
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Decoder of a track", .timeLimit(.minutes(10)))
struct TrackDecoderTests {
    /// A decoder whose results a script sets.
    private final class ScriptedDecoder: PacketDecoder {
        var onSend: () throws(AVFailure) -> Void = {}
        var onReceive: () throws(AVFailure) -> Decoder.Output = { () throws(AVFailure) in .needsPacket }
        private(set) var sent = 0
        private(set) var received = 0

        func send(_ packet: PacketBox?) throws(AVFailure) {
            if packet != nil { sent += 1 }
            try onSend()
        }

        func receive() throws(AVFailure) -> Decoder.Output {
            received += 1
            return try onReceive()
        }

        /// The number of packets before each flush.
        private(set) var flushes: [Int] = []
        func flush() { flushes.append(sent) }
    }

    private static let failure = AVFailure(operation: "decode", subject: "test", code: relay_averror_invalid_data)

    private func track(
        _ decoder: ScriptedDecoder, packets: Int, kind: TrackKind = .video, monitor: SourceMonitor = SourceMonitor()
    ) throws -> TrackDecoder {
        var source = avcodec_parameters_alloc()
        defer { avcodec_parameters_free(&source) }
        let stream = StreamInfo(
            index: 0, kind: kind, timeBase: .milliseconds, stampBits: 64, codecName: "test", video: nil,
            sampleRate: 0,
            parameters: try CodecParameters(copying: try #require(source), subject: "test"))
        let track = TrackDecoder(stream, decoder: decoder, monitor: monitor)
        for _ in 0..<packets { track.queue.append(try PacketBox(subject: "test")) }
        return track
    }

    @Test("A decoder that returns only errors fails after a limited number of errors")
    func stuck() throws {
        let decoder = ScriptedDecoder()
        decoder.onReceive = { () throws(AVFailure) in throw Self.failure }
        let monitor = SourceMonitor()
        let track = try track(decoder, packets: 3, monitor: monitor)
        guard case .failed(let failure) = track.next(inputEnded: false) else {
            Issue.record("the track did not report the failure")
            return
        }
        #expect(failure == Self.failure)
        #expect(decoder.received == TrackDecoder.stuckLimit)
        #expect(monitor.status.decodeErrors == Int64(TrackDecoder.stuckLimit))
        #expect(track.queue.isEmpty == false)
    }

    // Before the fix, reordered frames left the decoder only when further ones were put in: two or three keyframes
    // late, so they were never shown.
    @Test(
        "In keyframe mode each keyframe is output before the next one is decoded; later all frames are decoded again",
        arguments: [Decoder.Threading.slices, .frames])
    func keyframes(threading: Decoder.Threading) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=d=4:s=320x180:r=25", "-c:v", "libx264", "-bf", "3", "-b_strategy", "0",
            "-g", "25", "-sc_threshold", "0", "-pix_fmt", "yuv420p", suffix: ".ts")
        let demuxer = try Demuxer(
            url: clip.path, options: Demuxer.Options(), interrupter: Interrupter(), subject: "clip")
        let stream = try #require(demuxer.bestVideo)
        let monitor = SourceMonitor()
        monitor.decodesKeyframesOnly = true
        let track = TrackDecoder(
            stream, decoder: try Decoder(stream, threading: threading, subject: "clip"), monitor: monitor)
        var (keyframes, shown) = ([Int64?](), [Int64?]())
        func decode(inputEnded: Bool = false) {
            while case .frame(let frame) = track.next(inputEnded: inputEnded) { shown.append(track.time(of: frame)) }
        }
        while let packet = try demuxer.readPacket() {
            if packet.isKeyframe {
                #expect(keyframes.count > 2 || shown == keyframes)
                monitor.decodesKeyframesOnly = keyframes.count < 2
                keyframes.append(packet.pts)
            }
            track.queue.append(packet)
            if keyframes.count < 3 { decode() }
        }
        #expect(keyframes.count == 4 && shown == Array(keyframes.prefix(2)))
        #expect(monitor.status.framesSkipped == 48)
        decode(inputEnded: true)
        #expect(shown.count == 52 && shown.dropFirst(2).first == keyframes[2])
    }

    @Test("At a gap an audio decoder is flushed, and a video decoder is not", arguments: [TrackKind.audio, .video])
    func hole(kind: TrackKind) throws {
        let decoder = ScriptedDecoder()
        let track = try track(decoder, packets: 0, kind: kind)
        // The packet at 120 is slightly late, there is a gap before the packet at 400, and the time of the last packet
        // goes back.
        for time in [0, 21, 42, 120, 400, 421, 100] as [Int64] {
            let packet = try PacketBox(subject: "test")
            packet.stamp(pts: time, dts: time)
            track.queue.append(packet)
        }
        guard case .needsPacket = track.next(inputEnded: false) else {
            Issue.record("the track did not go on behind the packets")
            return
        }
        #expect(decoder.sent == 7 && decoder.flushes == (kind == .audio ? [4] : []))
    }

    /// Queues packets of 40 ms from `start` on. Video has a keyframe each second.
    private func queue(_ packets: Int, from start: Int, in track: TrackDecoder) throws {
        for index in start..<start + packets {
            let packet = try PacketBox(subject: "test")
            packet.packet.pointee.pts = Int64(index * 40)
            packet.packet.pointee.dts = Int64(index * 40)
            if index % 25 == 0 { packet.packet.pointee.flags |= AV_PKT_FLAG_KEY }
            track.queue.append(packet)
        }
    }

    @Test(
        "A live source's decoder that refuses everything fails after one second of media",
        arguments: [TrackKind.video, .audio])
    func refusesEverything(kind: TrackKind) throws {
        let decoder = ScriptedDecoder()
        decoder.onSend = { () throws(AVFailure) in throw Self.failure }
        let track = try track(decoder, packets: 0, kind: kind)
        track.watch()
        try queue(50, from: 0, in: track)
        guard case .failed(Self.failure) = track.next(inputEnded: false) else {
            Issue.record("the track did not fail")
            return
        }
        #expect(decoder.sent == 26)
    }

    @Test("A replacement decoder decodes the queued packets, starting at a keyframe if the coding needs one")
    func takesOver() throws {
        for beginsAnywhere in [true, false] {
            let decoder = ScriptedDecoder()
            decoder.onSend = { () throws(AVFailure) in throw Self.failure }
            let old = try track(decoder, packets: 0)
            old.watch()
            try queue(80, from: 0, in: old)
            _ = old.next(inputEnded: false)
            let other = ScriptedDecoder()
            let new = try track(other, packets: 0)
            new.takeOver(from: old, beginsAnywhere: beginsAnywhere)
            #expect(new.refusal.replacements == 1 && old.queue.isEmpty)
            guard case .needsPacket = new.next(inputEnded: false) else {
                Issue.record("the track did not take what waited")
                return
            }
            #expect(other.sent == (beginsAnywhere ? 54 : 30))
        }
    }

    @Test("If a decoder refuses everything, a live source's decoder fails and a file's decoder does not")
    func unwatched() throws {
        for isWatched in [true, false] {
            let decoder = ScriptedDecoder()
            decoder.onSend = { () throws(AVFailure) in throw Self.failure }
            let track = try track(decoder, packets: 0)
            if isWatched { track.watch() }
            try queue(200, from: 0, in: track)
            let hasFailed = if case .failed = track.next(inputEnded: false) { true } else { false }
            #expect(hasFailed == isWatched && decoder.sent == (isWatched ? 26 : 200))
        }
    }

    @Test("Packets that a decoder refuses are dropped one by one, counted, and reported in the status")
    func refused() throws {
        let decoder = ScriptedDecoder()
        decoder.onSend = { () throws(AVFailure) in throw Self.failure }
        let monitor = SourceMonitor()
        let track = try track(decoder, packets: 250, monitor: monitor)
        guard case .needsPacket = track.next(inputEnded: false) else {
            Issue.record("the track did not go on behind the packets")
            return
        }
        #expect(decoder.sent == 250)
        #expect(monitor.status.decodeErrors == 250)
        #expect(monitor.status.lastError == "\(Self.failure) (200 errors in a row)")
    }

    @Test("Refused packets are logged when 100 were refused in a row, and each time their number has doubled")
    func logged() throws {
        let decoder = ScriptedDecoder()
        decoder.onSend = { () throws(AVFailure) in throw Self.failure }
        let log = CollectedLog()
        let track = try track(decoder, packets: 850, monitor: SourceMonitor(logger: log.logger))
        _ = track.next(inputEnded: false)
        #expect(
            log.lines
                == [100, 200, 400, 800].map { "nothing can be decoded errors_in_a_row=\($0) reason=\(Self.failure)" })
    }

    @Test("The first failed conversion of a frame or audio buffer is logged, and all failures are counted")
    func conversions() {
        let log = CollectedLog()
        let monitor = SourceMonitor(logger: log.logger)
        for _ in 0..<3 { monitor.noteConversionFailure(Self.failure) }
        #expect(log.lines == ["what was decoded cannot be converted reason=\(Self.failure)"])
        #expect(monitor.status.decodeErrors == 3)
        #expect(monitor.status.lastError == Self.failure.description)
    }

    @Test("A frame between errors resets the count of errors after which a decoder fails")
    func recovers() throws {
        let decoder = ScriptedDecoder()
        var calls = 0
        decoder.onReceive = { () throws(AVFailure) in
            calls += 1
            guard calls % TrackDecoder.stuckLimit == 0 else { throw Self.failure }
            return .frame(try DecodedFrame(subject: "test"))
        }
        let track = try track(decoder, packets: 0)
        for _ in 0..<3 {
            guard case .frame = track.next(inputEnded: false) else {
                Issue.record("the track gave up a decoder that gives frames")
                return
            }
        }
    }

    @Test("If a decoder reports only errors at the end of its input, the track ends")
    func drained() throws {
        let decoder = ScriptedDecoder()
        let track = try track(decoder, packets: 1)
        decoder.onReceive = { () throws(AVFailure) in
            guard decoder.received > 2 else { return .needsPacket }
            throw Self.failure
        }
        guard case .ended = track.next(inputEnded: true) else {
            Issue.record("the track did not end")
            return
        }
        #expect(decoder.sent == 1)
    }
}
