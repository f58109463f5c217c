// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// The audible audio of a program of several sources, each of which has a tone of its own.
    @Suite("The audio of several sources")
    struct SourceAudioTests {
        private static let sources = "/v1/channels/relay/sources/"
        private let studio: Studio

        init() throws { studio = try Studio() }

        /// Returns two inputs: white with a tone of 880 Hz, and black with 440 Hz.
        private func inputs(black options: String = "") async throws -> [String] {
            [
                "--input", "\(try await studio.clip("white", rate: "30", tone: 880, seconds: 10))#name=white",
                "--input",
                "\(try await studio.clip("black", rate: "30", tone: 440, seconds: 10))#name=black\(options)",
            ]
        }

        /// Changes a source's audio. Returns the program frame from which on the change is audible.
        private func change(_ api: APIClient, _ source: String, _ body: String) async throws -> Int {
            let answer = try await api.ask("PATCH", Self.sources + source, body: body)
            #expect(answer.status == 200, "\(answer)")
            // The frame that is made during the request may be one later than the answer says.
            return (try answer.json()["frame"] as? Int ?? -1) + 2
        }

        @Test("Audio changes on the exact frame of a cut, and gain and mute are changed on air")
        func follows() async throws {
            let (relay, api) = try await studio.start(try await inputs())
            try await studio.pass(15, api)
            let cut = try await studio.put(api, #"{"scene":"black"}"#)
            try await studio.pass(cut + 12, api)
            let quiet = try await change(api, "black", #"{"gain":-12}"#)
            try await studio.pass(quiet + 12, api)
            let silent = try await change(api, "black", #"{"muted":true}"#)
            try await studio.pass(silent + 12, api)
            let levels = try await api.ask("GET", Studio.program).json()["levels"] as? [Double]
            #expect(levels?.count == 2 && levels?.allSatisfy { $0 < -20 } == true, "\(levels ?? [])")
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))

            let tones = try await Tones(studio)
            let white = tones.level(880, tones.frames(cut - 8..<cut - 1))
            let black = tones.level(440, tones.frames(cut + 2..<cut + 11))
            #expect(white > -40 && abs(white - black) < 1, "\(white) and \(black) dBFS")
            #expect(tones.level(440, tones.frames(cut - 8..<cut - 1)) < white - 40)
            #expect(tones.level(880, tones.frames(cut + 2..<cut + 11)) < black - 40)
            // Both tones have the same level in the middle of the fade, a quarter of a frame after the cut.
            let crossing = try #require(
                tones.crossing(from: 880, to: 440, near: tones.frames(cut..<cut + 1).lowerBound))
            #expect(abs(crossing - tones.seconds(cut) - 1 / 120.0) < 0.008, "\(crossing), \(tones.seconds(cut))")
            let reduced = tones.level(440, tones.frames(quiet + 1..<quiet + 11))
            #expect(abs(black - reduced - 12) < 0.5, "\(black) and \(reduced) dBFS")
            #expect(tones.level(440, tones.frames(silent + 2..<silent + 11)) < black - 60)
        }

        @Test("With --audio-from mix all sources and the audio input are audible in every scene, at their initial gain")
        func mixed() async throws {
            let audio = try await studio.make("audio.wav", "sine=1320:sample_rate=48000:duration=10", [])
            let (relay, api) = try await studio.start(
                try await inputs(black: ",gain=-6,muted=yes") + ["--audio-input", audio, "--audio-from", "mix"])
            try await studio.pass(22, api)
            let sources = try await api.ask("GET", Studio.program).json()["sources"] as? [[String: Any]] ?? []
            #expect(sources.map { $0["hasVideo"] as? Bool } == [true, true, false], "\(sources)")
            #expect(sources.last?["input"] as? String == "audio", "\(sources)")
            let heard = try await change(api, "black", #"{"muted":false}"#)
            let cut = try await studio.put(api, #"{"scene":"black"}"#)
            try await studio.pass(max(heard, cut) + 15, api)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))

            let tones = try await Tones(studio)
            let (before, after) = (tones.frames(12..<22), tones.frames(max(heard, cut) + 2..<max(heard, cut) + 12))
            let white = tones.level(880, before)
            #expect(white > -40 && tones.level(1320, before) > -40 && tones.level(440, before) < white - 40)
            #expect(abs(tones.level(880, after) - white) < 0.5, "what is seen changes nothing")
            #expect(abs(tones.level(1320, after) - tones.level(1320, before)) < 0.5)
            #expect(abs(white - tones.level(440, after) - 6) < 0.5, "\(white) and \(tones.level(440, after)) dBFS")
        }

        @Test(
            "With one fixed audio source, its audio is audible whichever source is visible",
            arguments: ["black", "audio"])
        func fixed(source: String) async throws {
            // The audio input is used even if it is not named.
            let (arguments, tone) = source == "audio" ? ([], 1320) : (["--audio-from", source], 440.0)
            let audio = try await studio.make("audio.wav", "sine=1320:sample_rate=48000:duration=10", [])
            let (relay, api) = try await studio.start(try await inputs() + ["--audio-input", audio] + arguments)
            try await studio.pass(22, api)
            let cut = try await studio.put(api, #"{"scene":"black"}"#)
            try await studio.pass(cut + 12, api)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))

            let tones = try await Tones(studio)
            for range in [tones.frames(12..<22), tones.frames(cut - 2..<cut + 8)] {
                let heard = tones.level(tone, range)
                #expect(heard > -40, "\(heard) dBFS")
                for other in [440.0, 880, 1320] where other != tone {
                    #expect(tones.level(other, range) < heard - 40, "\(other) Hz")
                }
            }
        }
    }
}

/// Measures how loud each tone is in the recording of a studio, by the time of its frames.
private struct Tones {
    private static let frameRate = 30.0
    private let audio: DecodedAudio
    /// When the first audio sample is heard, in seconds after the first frame.
    private let start: Double

    init(_ studio: Studio) async throws {
        let path = try #require(RecordingSet(directory: studio.directory.file("rec")).finished.first)
        audio = try await DecodedAudio(path)
        let first = (try await Probe.times(path, "a:0").first, try await Probe.times(path, "v:0").first)
        start = try #require(first.0) - (try #require(first.1))
    }

    func seconds(_ frame: Int) -> Double { Double(frame) / Self.frameRate }

    /// Returns the samples that are heard during these frames.
    func frames(_ range: Range<Int>) -> Range<Int> {
        sample(seconds(range.lowerBound))..<sample(seconds(range.upperBound))
    }

    private func sample(_ seconds: Double) -> Int { Int(((seconds - start) * Double(DecodedAudio.rate)).rounded()) }

    /// Returns the level of a tone, in dBFS, measured with a Hann window over the samples.
    func level(_ hertz: Double, _ range: Range<Int>) -> Double {
        let range = range.clamped(to: audio.samples.indices)
        var (real, imaginary, sum) = (0.0, 0.0, 0.0)
        for index in range {
            let weight = 0.5 - 0.5 * cos(2 * .pi * Double(index - range.lowerBound) / Double(range.count))
            let turn = 2 * .pi * hertz * Double(index) / Double(DecodedAudio.rate)
            real += weight * Double(audio.samples[index]) * cos(turn)
            imaginary += weight * Double(audio.samples[index]) * sin(turn)
            sum += weight
        }
        return 20 * log10(max(1e-9, 2 * (real * real + imaginary * imaginary).squareRoot() / max(1, sum)))
    }

    /// Returns when one tone becomes louder than another, in seconds after the first frame, within 50 ms of sample
    /// `place`.
    func crossing(from first: Double, to next: Double, near place: Int) -> Double? {
        let half = DecodedAudio.rate / 200
        let found = stride(from: place - 2400, to: place + 2400, by: 24).first { center in
            let range = center - half..<center + half
            return level(next, range) > level(first, range)
        }
        return found.map { Double($0) / Double(DecodedAudio.rate) + start }
    }
}
