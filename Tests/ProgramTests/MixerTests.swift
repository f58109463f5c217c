// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Program

@Suite("Audio mixer")
struct MixerTests {
    private let clock = ManualClock()
    private let rate = FrameRate(25)

    /// Returns a feed with one second of a sine of this frequency, level and phase.
    private func feed(_ hertz: Double, level: Double = 0.25, phase: Double = 0) -> SourceFeed {
        feed((0..<48_000).map { Float(level * sin(2 * .pi * hertz * Double($0) / 48_000 + phase)) })
    }

    private func feed(_ samples: [Float]) -> SourceFeed {
        let feed = SourceFeed(pacing: .paced, frameRate: rate, audio: .program, clock: clock)
        let storage = FrameBuffer(width: 2, height: 2) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
        for pts in 0..<Int64(25) {
            feed.deliver(VideoFrame(pts: pts, timeBase: rate.timeBase, width: 2, height: 2, storage: storage))
        }
        feed.deliver(AudioBuffer(position: 0, format: .program, channels: [samples, samples]))
        return feed
    }

    /// Mixes frame by frame and limits the result, as the program does; `parts` returns the feeds of each frame. In the
    /// frames `standing` the feeds are paused.
    private func mix(
        _ frames: Int64, fade: Int64 = 960, standing: Range<Int64> = 0..<0, _ parts: (Int64) -> [Mixer.Part]
    ) -> [Float] {
        var mixer = Mixer(format: .program)
        var limiter = Limiter(format: .program)
        var samples: [Float] = []
        let take = { (audio: AudioBuffer) in
            #expect(audio.position == samples.count)
            samples += audio.channels[0]
        }
        for index in 0..<frames {
            let parts = parts(index)
            for part in parts {
                if standing.contains(index) { part.feed.stand(for: 1) } else { part.feed.skipVideo(FrameIndex(index)) }
            }
            let range = SampleIndex(index * 1920)..<SampleIndex((index + 1) * 1920)
            let mixed = mixer.mix(parts, range, fade: fade)
            take(limiter.limit(mixed, alone: mixer.isAlone))
        }
        take(limiter.finish(at: frames * 1920))
        return samples
    }

    @Test("A single source passes the audio mixer unchanged, even above the limiter's ceiling")
    func alone() {
        let feed = feed(440, level: 1)
        let samples = mix(10) { _ in [.init(feed: feed, isHeard: true)] }
        #expect(samples == (0..<19_200).map { Float(sin(2 * .pi * 440 * Double($0) / 48_000)) })
    }

    @Test("A source's audio is delayed exactly to the sample, and a changed delay is cross-faded within 10 ms")
    func delayed() {
        let feed = feed(440)
        let samples = mix(12) { index in
            [.init(feed: feed, isHeard: true, offset: index < 4 ? 0 : index < 8 ? 1000 : 0)]
        }
        let own = (0..<24_000).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        #expect(Array(samples[..<7680]) == Array(own[..<7680]))
        // The audio of the last 1000 samples was stored: no audio is missing, and these samples are heard again.
        #expect(Array(samples[8160..<15_360]) == Array(own[7160..<14_360]))
        #expect(Array(samples[15_840..<23_040]) == Array(own[15_840..<23_040]))
        let steps = zip(samples, samples.dropFirst()).map { abs($1 - $0) }
        let natural = zip(own, own.dropFirst()).map { abs($1 - $0) }.max() ?? 0
        #expect((steps.max() ?? 1) < natural * 1.2, "no click")
    }

    @Test("A source's audio is played earlier exactly to the sample, and back at its own time, without a click")
    func earlier() {
        let feed = feed(440)
        let samples = mix(16) { index in
            [.init(feed: feed, isHeard: true, offset: index < 4 ? 0 : index < 8 ? -5000 : index < 12 ? 700 : 0)]
        }
        let own = (0..<48_000).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        #expect(Array(samples[..<7680]) == Array(own[..<7680]))
        #expect(Array(samples[8160..<15_360]) == Array(own[13_160..<20_360]))
        #expect(Array(samples[15_840..<23_040]) == Array(own[15_140..<22_340]))
        // The audio that was taken ahead is given back, and nothing is missing.
        #expect(Array(samples[23_520..<30_720]) == Array(own[23_520..<30_720]))
        let steps = zip(samples, samples.dropFirst()).map { abs($1 - $0) }
        let natural = zip(own, own.dropFirst()).map { abs($1 - $0) }.max() ?? 0
        #expect((steps.max() ?? 1) < natural * 1.2, "no click")
    }

    @Test("Audio that was played early is not lost if the source is paused and continues")
    func earlierStanding() {
        let feed = feed(440)
        let samples = mix(16, standing: 8..<10) { index in
            [.init(feed: feed, isHeard: true, offset: (4..<8).contains(index) ? -5000 : 0)]
        }
        let own = (0..<48_000).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        // The audio is two frames later than before, like its video.
        #expect(Array(samples[25_000..<30_720]) == Array(own[21_160..<26_880]))
    }

    @Test("A live source's audio can be played earlier by up to half of its buffered audio")
    func earlierLive() {
        let live = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program, clock: clock)
        let own = (0..<48_000).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        // The audio is delivered 200 ms before it is due, as by a source with that latency.
        var delivered = 0
        let deliver = { (end: Int) in
            let part = Array(own[delivered..<end])
            live.deliver(AudioBuffer(position: Int64(delivered), format: .program, channels: [part, part]))
            delivered = end
        }
        let samples = mix(12) { index in
            deliver(Int(index + 1) * 1920 + 9600)
            return [.init(feed: live, isHeard: true, offset: index < 3 ? 0 : index < 6 ? -9600 : -4800)]
        }
        #expect(Array(samples[..<11_520]) == Array(own[..<11_520]), "what is too much is not done")
        #expect(Array(samples[12_000..<23_040]) == Array(own[16_800..<27_840]))
        #expect(live.mostAhead == 4800)
    }

    @Test(
        "A source's undelayed audio can be read whatever delay is set for the source",
        arguments: [-3000, 0, 3000])
    func asItCame(offset: Int64) {
        let (feed, source) = (feed(440), Bus())
        var mixer = Mixer(format: .program)
        for index in Int64(0)..<6 {
            feed.skipVideo(FrameIndex(index))
            let range = SampleIndex(index * 1920)..<SampleIndex((index + 1) * 1920)
            _ = mixer.mix([.init(feed: feed, isHeard: true, offset: offset, source: source)], range, fade: 960)
            let own = (0..<1920).map { Float(0.25 * sin(2 * .pi * 440 * Double(Int(index) * 1920 + $0) / 48_000)) }
            #expect(mixer.audio(of: source)?.channels[0] == own && mixer.audio(of: source)?.position == index * 1920)
        }
    }

    @Test("A source that has a delay from its beginning is silent until the delay has passed")
    func lateFromTheBeginning() {
        let feed = feed(440)
        let samples = mix(4) { _ in [.init(feed: feed, isHeard: true, offset: 3000)] }
        let own = (0..<4680).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        #expect(samples[..<3000].allSatisfy { $0 == 0 } && Array(samples[3000...]) == own)
    }

    @Test("The audio of a cut begins at the first sample of its frame, fades for half a frame, and makes no click")
    func cut() {
        let (a, b) = (feed(440), feed(523))
        let samples = mix(10) { index in
            [.init(feed: a, isHeard: index < 5), .init(feed: b, isHeard: index >= 5)]
        }
        let before = (0..<9600).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        let after = (10_560..<19_200).map { Float(0.25 * sin(2 * .pi * 523 * Double($0) / 48_000)) }
        #expect(Array(samples[..<9600]) == before && Array(samples[10_560...]) == after)
        #expect(samples[9600] != Float(0.25 * sin(2 * .pi * 440 * 9600 / 48_000)))
        #expect(splash(Array(samples[8000..<12_096])) < -60)
    }

    /// Returns, in decibels, the energy above 7 kHz relative to the total energy, for the window of 4096 samples in
    /// which it is highest.
    private func splash(_ samples: [Float]) -> Double {
        // A difference filter of high order attenuates by far more than 60 dB below 1 kHz.
        var high = samples.map(Double.init)
        for _ in 0..<6 { high = zip(high.dropFirst(), high).map { ($0 - $1) / 2 } }
        let power = { (values: [Double]) in values.reduce(0) { $0 + $1 * $1 } / Double(values.count) }
        return 10 * log10(power(high) / power(samples.map(Double.init)))
    }

    @Test("In the middle of a fade between two unrelated sources the loudness is unchanged")
    func equalPower() {
        let (a, b) = (feed(440), feed(1000))
        let samples = mix(20, fade: 19_200) { index in
            [.init(feed: a, isHeard: index < 5), .init(feed: b, isHeard: index >= 5)]
        }
        #expect(abs(10 * log10(power(samples[17_280..<21_120]) / power(samples[0..<9600]))) < 0.3)
    }

    private func power(_ samples: ArraySlice<Float>) -> Double {
        samples.reduce(0) { $0 + Double($1 * $1) } / Double(samples.count)
    }

    @Test("During a fade between two sources with the same signal the level is unchanged", arguments: [960, 19_200])
    func sameSignal(fade: Int64) {
        let (a, b) = (feed(440), feed(440))
        let samples = mix(20, fade: fade) { index in
            [.init(feed: a, isHeard: index < 5), .init(feed: b, isHeard: index >= 5)]
        }
        let own = (0..<38_400).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        // 0.1 dB of the peak would be 0.0029.
        #expect(zip(samples, own).allSatisfy { abs($0 - $1) < 0.0005 })
    }

    @Test(
        "If a fade between two sources with the same signal is reversed, the level is unchanged"
    )
    func thereAndBack() {
        let (a, b) = (feed(440), feed(440))
        let samples = mix(10) { index in
            [.init(feed: a, isHeard: index != 5), .init(feed: b, isHeard: index == 5)]
        }
        let own = (0..<19_200).map { Float(0.25 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        #expect(zip(samples, own).allSatisfy { abs($0 - $1) < 0.0005 })
    }

    @Test("During a fade between two partly correlated sources the loudness is unchanged")
    func halfAlike() {
        var random = SeededRandom(seed: 7)
        var noise: [Float] { (0..<48_000).map { _ in Float.random(in: -0.15...0.15, using: &random) } }
        let (common, one, other) = (noise, noise, noise)
        let (a, b) = (feed(zip(common, one).map { $0 + $1 }), feed(zip(common, other).map { $0 + $1 }))
        let samples = mix(20, fade: 19_200) { index in
            [.init(feed: a, isHeard: index < 5), .init(feed: b, isHeard: index >= 5)]
        }
        #expect(abs(10 * log10(power(samples[17_280..<21_120]) / power(samples[0..<9600]))) < 0.4)
    }

    @Test("A gain changes smoothly within a frame, and a muted source is silent")
    func gain() {
        let feed = feed(440)
        let samples = mix(10) { index in
            [.init(feed: feed, isHeard: true, gain: index < 4 ? 1 : index < 7 ? 0.5 : 0)]
        }
        let peak = { (range: Range<Int>) in samples[range].map { abs($0) }.max() ?? 0 }
        #expect(abs(peak(0..<7680) - 0.25) < 0.001 && abs(peak(9600..<13_440) - 0.125) < 0.001)
        #expect(samples[15_360...].allSatisfy { $0 == 0 })
        #expect(zip(samples, samples.dropFirst()).allSatisfy { abs($0 - $1) < 0.016 })
    }

    @Test("A cut in the middle of a long fade silences both earlier sources")
    func cutOff() {
        let (a, b, c) = (feed(440), feed(660), feed(880))
        var mixer = Mixer(format: .program)
        var samples: [Float] = []
        for index in Int64(0)..<15 {
            for feed in [a, b, c] { feed.skipVideo(FrameIndex(index)) }
            let range = SampleIndex(index * 1920)..<SampleIndex((index + 1) * 1920)
            let heard = index < 5 ? a : index < 8 ? b : c
            let parts = [a, b, c].map { Mixer.Part(feed: $0, isHeard: $0 === heard) }
            samples += mixer.mix(parts, range, fade: index < 8 ? 96_000 : 960).channels[0]
        }
        let expected = (16_320..<28_800).map { Float(0.25 * sin(2 * .pi * 880 * Double($0) / 48_000)) }
        #expect(Array(samples[16_320...]) == expected)
    }

    @Test("After a loud fade the limiter's gain recovers slowly, not at the next frame")
    func released() {
        let (a, b) = (feed(440, level: 0.95), feed(450, level: 0.95))
        let samples = mix(20) { index in
            [.init(feed: a, isHeard: index < 5), .init(feed: b, isHeard: index >= 5)]
        }
        #expect(samples[9600..<11_520].allSatisfy { abs($0) <= Limiter.ceiling * 1.00001 })
        let plain = (0..<38_400).map { Float(0.95 * sin(2 * .pi * 450 * Double($0) / 48_000)) }
        let steps = zip(samples[10_600...], samples[10_601...]).map { abs($0 - $1) }
        #expect((steps.max() ?? 1) < 0.95 * 2 * .pi * 450 / 48_000 * 1.02)
        #expect(Array(samples[24_000...]) == Array(plain[24_000...]))
    }

    @Test("A cut between two sources that the limiter reduces makes no click", arguments: [0.89, 0.95, 1])
    func loudCut(level: Double) {
        for step in 0..<4 {
            let phase = Double(step) * .pi / 2
            let (a, b) = (feed(440, level: level, phase: phase), feed(880, level: level, phase: phase * 1.7))
            let samples = mix(12) { index in
                [.init(feed: a, isHeard: index < 5), .init(feed: b, isHeard: index >= 5)]
            }
            #expect(samples[9600..<11_520].allSatisfy { abs($0) <= Limiter.ceiling * 1.00001 })
            let worst = loudestHigh(samples, in: 9120..<12_720)
            #expect(worst < -60, "\(worst) dBFS at phase \(phase)")
            // The sources are identical to the last bit until the limiter's look-ahead, and after its release.
            let own = (0..<9600).map { Float(level * sin(2 * .pi * 440 * Double($0) / 48_000 + phase)) }
            #expect(Array(samples[..<9348]) == Array(own[..<9348]))
            let next = (0..<23_040).map { Float(level * sin(2 * .pi * 880 * Double($0) / 48_000 + phase * 1.7)) }
            #expect(Array(samples[17_280...]) == Array(next[17_280...]))
        }
    }

    /// Returns the level above 6 kHz, in dBFS, of the loudest 5 ms in `range`.
    private func loudestHigh(_ samples: [Float], in range: Range<Int>) -> Double {
        let half = 95
        let taps = (-half...half).map { tap -> Double in
            let turn = Double(tap) * .pi / Double(half)
            let window = 0.42 + 0.5 * cos(turn) + 0.08 * cos(2 * turn)
            return tap == 0 ? 0.75 : -sin(.pi * 0.25 * Double(tap)) / (.pi * Double(tap)) * window
        }
        let high = range.map { index in
            taps.indices.reduce(0) { $0 + taps[$1] * Double(samples[index + $1 - half]) }
        }
        let powers = stride(from: 0, to: high.count - 239, by: 240).map { start in
            high[start..<start + 240].reduce(0) { $0 + $1 * $1 } / 240
        }
        return 10 * log10(powers.max() ?? 0)
    }

    @Test("A mix below the limiter's ceiling is the exact sum of its sources, sample for sample")
    func sum() {
        let (a, b) = (feed(440, level: 0.4), feed(997, level: 0.4))
        let samples = mix(10) { _ in [a, b].map { .init(feed: $0, isHeard: true) } }
        let expected = (0..<19_200).map { index -> Double in
            0.4 * (sin(2 * .pi * 440 * Double(index) / 48_000) + sin(2 * .pi * 997 * Double(index) / 48_000))
        }
        #expect(samples.count == 19_200)
        #expect(zip(samples, expected).allSatisfy { abs(Double($0) - $1) < 1e-6 })
    }

    @Test("A mix that is too loud is limited to -1 dB, also between the samples")
    func limited() {
        let feeds = [feed(11_990, level: 0.7), feed(997, level: 0.6), feed(440, level: 0.5)]
        let samples = mix(20) { _ in feeds.map { .init(feed: $0, isHeard: true) } }
        #expect(samples.allSatisfy { abs($0) <= Limiter.ceiling * 1.00001 })
        var worst = 0.0
        // Interpolates between the samples with a long windowed sine.
        for index in stride(from: 64, to: samples.count - 64, by: 7) {
            for phase in [0.25, 0.5, 0.75] {
                var value = 0.0
                for tap in -31...32 {
                    let distance = Double(tap) - phase
                    let window = 0.5 + 0.5 * cos(.pi * distance / 33)
                    value += Double(samples[index + tap]) * sin(.pi * distance) / (.pi * distance) * window
                }
                worst = max(worst, abs(value))
            }
        }
        #expect(20 * log10(worst) < -1, "\(20 * log10(worst)) dBTP")
    }

    @Test("A loud tone near 20 kHz is limited to -1 dBTP, wherever its samples are", arguments: [0, 0.15, 0.3, 0.45])
    func limitedHigh(phase: Double) {
        let feeds = [feed(19_200, level: 0.7, phase: phase), feed(19_200, level: 0.7, phase: phase)]
        let samples = mix(20) { _ in feeds.map { .init(feed: $0, isHeard: true) } }
        // These samples are whole periods of the tone, so the sums give its amplitude.
        let (sine, cosine) = (19_200..<28_800).reduce((0.0, 0.0)) { sums, index in
            let angle = 2 * .pi * 19_200 * Double(index) / 48_000
            return (sums.0 + Double(samples[index]) * sin(angle), sums.1 + Double(samples[index]) * cos(angle))
        }
        let level = 20 * log10(hypot(sine, cosine) / 4800)
        #expect(level < -1, "\(level) dBTP")
    }

    @Test("An audio meter shows the peak, and falls by 20 dB per second")
    func meter() {
        let source = Bus()
        let (meter, feed) = (source.meter, feed(440, level: 0.5))
        _ = mix(5) { _ in [.init(feed: feed, isHeard: false, source: source)] }
        #expect(meter.levels.count == 2 && abs(meter.levels[0] + 6.02) < 0.1)
        meter.note(.silence(at: 0, count: 24_000, format: .program), gain: 1)
        #expect(abs(meter.levels[0] + 16.02) < 0.1)
    }
}
