// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@testable import Monitor

@Suite("Loudness")
struct LoudnessTests {
    private static let piece = 1600

    /// `seconds` seconds of a tone of `hertz` at `level` in dBFS on both channels, in buffers of one frame.
    private func tone(_ level: Double, hertz: Double = 1000, seconds: Int, from start: Int = 0) -> [AudioBuffer] {
        let amplitude = Float(Decibels.amplitude(level))
        return (0..<seconds * 30).map { index in
            let first = start + index * Self.piece
            let samples = (first..<first + Self.piece).map { position in
                amplitude * Float(sin(2 * .pi * hertz * Double(position) / 48_000))
            }
            return AudioBuffer(position: Int64(first), format: .program, channels: [samples, samples])
        }
    }

    @Test("A tone of 1 kHz at -23 dBFS on both channels is measured as -23 LUFS (EBU Tech 3341, case 1)")
    func reference() throws {
        let meter = try LoudnessMeter(format: .program, peaks: true)
        var readings: [LoudnessStatus] = []
        for audio in tone(-23, seconds: 20) { readings += try meter.measure(audio) }
        #expect((195...200).contains(readings.count))
        let last = try #require(readings.last)
        for value in [last.momentary, last.shortTerm, last.integrated] { #expect(abs(value + 23) <= 0.1, "\(value)") }
        #expect(abs(last.truePeak + 23) < 0.3)
    }

    /// The output of a chain with the target -23 LUFS for `audio`, measured by another meter over the last 5 s.
    private func level(_ audio: [AudioBuffer]) throws -> LoudnessStatus {
        let chain = try LoudnessChain(target: -23, format: .program)
        var made: [AudioBuffer] = []
        for piece in audio { made.append(try chain.process(piece)) }
        if let rest = try chain.finish() { made.append(rest) }
        var end = audio[0].position
        for piece in made {
            #expect(piece.position == end)
            end = piece.end
        }
        #expect(end == audio.last?.end)
        let meter = try LoudnessMeter(format: .program, peaks: true)
        var last = LoudnessStatus()
        for piece in made.suffix(150) { last = try meter.measure(piece).last ?? last }
        return last
    }

    @Test("Audio of -35 LUFS and of -16 LUFS is adjusted to -23 LUFS", arguments: [-35.0, -16, -23])
    func leveled(input: Double) throws {
        let result = try level(tone(input, seconds: 30))
        #expect(abs(result.integrated + 23) <= 0.5, "\(result)")
    }

    @Test(
        "If the level of the audio changes, it is adjusted to -23 LUFS again",
        arguments: [(-35.0, -16.0), (-16, -35)])
    func steps(before: Double, after: Double) throws {
        let result = try level(tone(before, seconds: 30) + tone(after, seconds: 40, from: 30 * 48_000))
        #expect(abs(result.integrated + 23) <= 0.5, "\(result)")
    }

    @Test("During pauses and silence loudness correction does not raise the gain")
    func pauses() {
        var ride = LoudnessRide(target: -23)
        let second = AudioBuffer.silence(at: 0, count: 48_000, format: .program)
        func hold(_ level: Double, _ seconds: Int) {
            for _ in 0..<seconds {
                for _ in 0..<10 { ride.note(momentary: level, shortTerm: level) }
                _ = ride.apply(to: second)
            }
        }
        hold(-30, 20)
        #expect(abs(ride.gain - 7) < 0.1)
        hold(-50, 5)
        #expect(abs(ride.gain - 7) < 0.1)
        hold(-120, 100)
        #expect(abs(ride.gain - 7) < 0.1)
        hold(-55, 60)
        #expect(ride.gain == 20)
    }

    @Test("After the limiter no peak is above -1 dBTP, and no sample of the program is missing")
    func limiter() throws {
        for level in [-20.0, 6] {
            let limiter = try PeakLimiter(format: .program)
            #expect(limiter.delay > 0 && limiter.delay < 480)
            let audio = tone(level, seconds: 4)
            var made = try audio.map { try limiter.limit($0) }
            made.append(try limiter.finish())
            let meter = try LoudnessMeter(format: .program, peaks: true)
            var last = LoudnessStatus()
            for piece in made { last = try meter.measure(piece).last ?? last }
            #expect(last.truePeak < -1, "\(last)")
            let samples = made.flatMap { $0.channels[0] }
            let given = audio.flatMap { $0.channels[0] }
            #expect(samples.count == given.count && made[0].position == 0)
            // The phase of the tone: a sample of delay would be 7.5 degrees.
            let range = 96_000..<144_000
            let (sine, cosine) = range.reduce((0.0, 0.0)) { sums, index in
                let angle = 2 * .pi * 1000 * Double(index) / 48_000
                return (sums.0 + Double(samples[index]) * sin(angle), sums.1 + Double(samples[index]) * cos(angle))
            }
            #expect(abs(atan2(cosine, sine)) * 180 / .pi < 4, "\(level): \(atan2(cosine, sine)) of \(limiter.delay)")
            guard level < 0 else { continue }
            let error = range.map { abs(samples[$0] - given[$0]) }.max() ?? 1
            #expect(error < 0.01, "\(error)")
        }
    }

    @Test("After the limiter a loud tone near 20 kHz is below -1 dBTP")
    func limiterHigh() throws {
        let limiter = try PeakLimiter(format: .program)
        var made = try tone(6, hertz: 19_200, seconds: 4).map { try limiter.limit($0) }
        made.append(try limiter.finish())
        let samples = made.flatMap { $0.channels[0] }
        // These samples are whole periods of the tone, so the sums give its amplitude.
        let (sine, cosine) = (96_000..<144_000).reduce((0.0, 0.0)) { sums, index in
            let angle = 2 * .pi * 19_200 * Double(index) / 48_000
            return (sums.0 + Double(samples[index]) * sin(angle), sums.1 + Double(samples[index]) * cos(angle))
        }
        let level = 20 * log10(hypot(sine, cosine) / 24_000)
        #expect(level < -1, "\(level) dBTP")
    }
}
