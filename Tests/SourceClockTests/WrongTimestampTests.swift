// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

/// A wrong timestamp changes the delay that a packet seems to have. These tests compare a source with a wrong timestamp
/// to the same source without it.
@Suite("The buffer of a source with a wrong timestamp")
struct WrongTimestampTests {
    /// Buffer and latency of a source, in milliseconds, five times a second; nil before there is a mapping.
    private struct Trace {
        var buffer: [Double?] = []
        var latency: [Double?] = []
        var status = SourceClockStatus()
    }

    private static let transports: [SourceClockSettings] = [
        .rtmp, .rtp, .transportStream, .playlist(target: .seconds(2)), .device(stampsAreMonotonic: false),
    ]

    private func trace(_ model: SenderModel, _ settings: SourceClockSettings, _ seed: UInt64) -> Trace {
        var clock = SourceClock(settings, tracks: [.video: (.mpegTS, nil), .audio: (.mpegTS, nil)])
        var packets = SenderPackets(model, random: SeededRandom(seed: seed))
        var trace = Trace()
        var next = MonotonicInstant.zero + .milliseconds(200)
        while let packet = packets.next() {
            while packet.arrival >= next {
                _ = clock.advance(to: next)
                let sent = Timestamp(nanoseconds: next.nanoseconds) + model.start
                trace.buffer.append(clock.isPlaced ? clock.status.bufferMilliseconds : nil)
                trace.latency.append(clock.due(sent, of: .video).map { ($0 - next).inSeconds * 1000 })
                next += .milliseconds(200)
            }
            _ = clock.note(packet.stamp, arrival: packet.arrival)
        }
        trace.status = clock.status
        return trace
    }

    /// By how much the largest value of `values` exceeds the value of `others` of the same time.
    private func excess(_ values: some Sequence<Double?>, over others: some Sequence<Double?>) -> Double {
        zip(values, others).compactMap { pair in pair.0.flatMap { value in pair.1.map { value - $0 } } }.max() ?? 0
    }

    // Wrong timestamps leave fewer delays from which to create the mapping. With Wi-Fi, whose delays vary by some
    // 10 ms, the buffer is then a little different. A wrong delay that counts lengthens the buffer by 70 to 230 ms.
    @Test(
        "One to four timestamps in a row that are wrong by 0.1 to 2 s do not lengthen the buffer",
        arguments: TrackKind.timed, transports)
    func buffer(track: TrackKind, settings: SourceClockSettings) {
        var random = SeededRandom("wrong timestamp \(track) \(settings.latency) \(settings.arrivals)")
        for moment in [0.2..<1.5, 3..<25, 35..<60] {
            var model = SenderModel()
            let seconds = Double.random(in: moment, using: &random)
            model.duration = .seconds(seconds + 25)
            model.jitter = random.pick([.gauss(milliseconds: 5), .wifi])
            if settings.arrivals == .bursts { (model.segment, model.burst) = (.seconds(2), .seconds(6)) }
            let seed = random.next()
            let right = trace(model, settings, seed)
            let first = Int64(seconds * (track == .video ? 25 : 46.875))
            for size in [-1990, -700, -240, -200, -150, -100, 100, 150, 240, 700, 1990] as [Int64] {
                for count in [1, random.pick([2, 3, 4])] as [Int64] {
                    model.outlier = .init(track: track, first: first, count: count, by: .milliseconds(size))
                    let wrong = trace(model, settings, seed)
                    let comment = Comment("\(size) ms at \(count) packets from \(first), seed \(seed): \(model)")
                    #expect(excess(wrong.buffer, over: right.buffer) < 25, comment)
                    #expect(excess(wrong.latency, over: right.latency) < 25, comment)
                    #expect(wrong.status.steps <= right.status.steps, comment)
                    #expect(wrong.status.pathChanges <= right.status.pathChanges, comment)
                }
            }
        }
    }

    @Test(
        "A buffer that wrong timestamps of the first second lengthened is shortened after five minutes, without a step",
        arguments: [3, 20] as [Int64])
    func longerBuffer(count: Int64) {
        var model = SenderModel()
        (model.duration, model.jitter) = (.seconds(420), .gauss(milliseconds: 5))
        var random = SeededRandom("longer buffer \(count)")
        let seed = random.next()
        let right = trace(model, .rtmp, seed)
        model.outlier = .init(track: .video, first: 0, count: count, by: .milliseconds(200))
        let wrong = trace(model, .rtmp, seed)
        #expect(excess(wrong.buffer, over: right.buffer) > 150, "the buffer was longer")
        #expect(excess(wrong.buffer.suffix(5 * 60), over: right.buffer.suffix(5 * 60)) < 10)
        // The latency follows by up to 150 ppm, which is 9 ms in a minute.
        let later = zip(wrong.latency, right.latency).map { ($0 ?? 0) - ($1 ?? 0) }
        #expect(later[5 * 415] < later[5 * 325] - 5 || later[5 * 415] < 10, "\(later[5 * 325]), \(later[5 * 415])")
        #expect(wrong.status.steps == right.status.steps)
    }

    @Test(
        "A path that becomes 300 ms longer for good lengthens the buffer at once, also if packets are lost meanwhile",
        arguments: [0, 200, 1000] as [Int64])
    func longerPath(lost: Int64) {
        var model = SenderModel()
        (model.duration, model.jitter) = (.seconds(90), .gauss(milliseconds: 5))
        model.pathChange = (60_000_000_000, .milliseconds(300))
        // After lost packets, the timestamps leap.
        model.pauses = [(60_000_000_000 - .milliseconds(lost)..<60_000_000_000, [.video, .audio])]
        var random = SeededRandom("longer path \(lost)")
        let found = trace(model, .rtmp, random.next())
        let (before, after) = (found.latency[5 * 59] ?? 0, found.latency[5 * 61] ?? 0)
        #expect(after - before > 100 && after > 340, "\(before), \(after)")
        #expect(found.status.steps == 1)
        #expect(found.status.latePackets <= 15, "\(found.status)")
    }
}
