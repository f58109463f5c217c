// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Timestamps that wrap")
struct StampTrackTests {
    /// The unwrapped steps of timestamps that start at `start` and grow by `step`, masked to `bits`.
    private func steps(
        from start: Int64, by step: Int64, bits: Int, base: TimeBase, signed: Bool = false
    ) -> Set<Duration> {
        var track = StampTrack(timeBase: base, bits: bits)
        let modulus: Int64 = 1 << Int64(bits)
        var last: Timestamp?
        var steps: Set<Duration> = []
        for index in 0..<Int64(200) {
            var ticks = (start + index * step) % modulus
            if signed, ticks >= modulus / 2 { ticks -= modulus }
            guard let time = track.unwrap(ticks) else { return [] }
            if let last { steps.insert(time - last) }
            last = time
        }
        return steps
    }

    @Test(
        "Timestamps that begin just before a wrap, or before a sign bit, continue without a jump",
        arguments: [4_294_965_296, 2_147_481_648, 16_775_215, 0, 4_294_967_295] as [Int64])
    func milliseconds(start: Int64) {
        #expect(steps(from: start, by: 40, bits: 32, base: .milliseconds) == [.milliseconds(40)])
        #expect(steps(from: start, by: 40, bits: 32, base: .milliseconds, signed: true) == [.milliseconds(40)])
    }

    @Test(
        "The 33-bit timestamps of a transport stream wrap without a jump",
        arguments: [8_589_844_592, 4_294_877_296] as [Int64])
    func transportStream(start: Int64) {
        #expect(steps(from: start, by: 3600, bits: 33, base: .mpegTS) == [.milliseconds(40)])
    }

    @Test("Timestamps that the demuxer has already unwrapped continue without a jump")
    func unwrappedAlready() {
        var track = StampTrack(timeBase: .mpegTS, bits: 33)
        let first = track.unwrap((1 << 33) - 1800)
        let second = track.unwrap((1 << 33) + 1800)
        #expect(second == first.map { $0 + .milliseconds(40) })
    }

    @Test("A reordered timestamp from before a wrap that arrives after the wrap keeps its earlier time")
    func reordered() {
        var track = StampTrack(timeBase: .milliseconds, bits: 32)
        let last = (Int64(1) << 32) - 10
        let first = track.unwrap(last)
        let wrapped = track.unwrap(30)
        let back = track.unwrap(last + 5)
        let on = track.unwrap(70)
        #expect(first == Timestamp(last, in: .milliseconds))
        #expect(wrapped == first.map { $0 + .milliseconds(40) })
        #expect(back == first.map { $0 + .milliseconds(5) })
        #expect(on == first.map { $0 + .milliseconds(80) })
    }

    @Test("A presentation time after the wrap is close to its decoding time before the wrap")
    func presentation() {
        var track = StampTrack(timeBase: .mpegTS, bits: 33)
        let decode = track.unwrap((1 << 33) - 900)
        #expect(track.beside(1800) == decode.map { $0 + .milliseconds(30) })
    }

    @Test("A track that begins after a wrap is aligned to the track that began before the wrap")
    func joining() {
        var track = StampTrack(timeBase: .milliseconds, bits: 32)
        track.join(at: Timestamp((1 << 32) - 5, in: .milliseconds))
        let time = track.unwrap(3)
        #expect(time == Timestamp((1 << 32) + 3, in: .milliseconds))
    }

    @Test("Impossible timestamps have no time, and none of them crashes the process")
    func hostile() {
        var random = SeededRandom()
        for bits in [nil, 8, 24, 32, 33, 62, 63, 64, 1000] as [Int?] {
            var track = StampTrack(timeBase: TimeBase(1, 90_000), bits: bits)
            for value in [Int64.max, .min, 1 << 61, -(1 << 61), (1 << 61) + 1] {
                _ = track.unwrap(value)
                _ = track.beside(value)
                _ = track.length(value)
            }
            for _ in 0..<1000 {
                _ = track.unwrap(.random(in: .min ... .max, using: &random) >> Int64.random(in: 0...40, using: &random))
            }
        }
        var track = StampTrack(timeBase: TimeBase(.max, 1), bits: nil)
        let time = track.unwrap(.max / 4)
        #expect(time == nil)
    }
}
