// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The left audio channel of a received or recorded file, as the ffmpeg program decodes it.
struct DecodedAudio {
    static let rate = 48_000
    let samples: [Float]

    init(_ path: String) async throws {
        let directory = try TemporaryDirectory()
        let raw = directory.file("audio")
        try await run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-i", path, "-vn", "-af", "pan=mono|c0=c0", "-f", "f32le", raw])
        let data = try Data(contentsOf: URL(fileURLWithPath: raw))
        samples = data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    }

    init(samples: [Float]) { self.samples = samples }

    /// The samples at which the beeps of the test signal begin. A beep is loud audio after half a second without loud
    /// audio.
    var beeps: [Int] {
        var result: [Int] = []
        var lastLoud = -Self.rate
        for index in samples.indices where abs(samples[index]) > 0.2 {
            if index - lastLoud > Self.rate / 2 { result.append(index) }
            lastLoud = index
        }
        return result
    }

    /// The root mean square of the difference from `other`, sample by sample.
    func difference(from other: DecodedAudio, in range: Range<Int>) -> Double {
        let range = range.clamped(to: 0..<min(samples.count, other.samples.count))
        let sum = range.reduce(0.0) { sum, index in
            let difference = Double(samples[index]) - Double(other.samples[index])
            return sum + difference * difference
        }
        return (sum / Double(max(1, range.count))).squareRoot()
    }

    /// The root mean square of the difference from the test signal, whose beeps begin at each full second and last
    /// `beepLength` samples.
    func error(in range: Range<Int>, beepLength: Int) -> Double {
        var sum = 0.0
        let range = range.clamped(to: samples.indices)
        for index in range {
            let position = index % Self.rate
            let time = Double(position) / Double(Self.rate)
            let beep = position < beepLength ? 0.35 * sin(2 * .pi * 1000 * time) : 0
            let difference = Double(samples[index]) - 0.05 * sin(2 * .pi * 440 * time) - beep
            sum += difference * difference
        }
        return (sum / Double(max(1, range.count))).squareRoot()
    }
}

/// How much later each beep of the test signal comes than its flash, in milliseconds.
struct AVOffset {
    let milliseconds: [Double]

    /// Measures `path`. Beeps at `joins`, in seconds, do not count, because a beep with which a clip begins may be
    /// faded in during its first milliseconds.
    init(_ path: String, frames: DecodedFrames, joins: [Double] = []) async throws {
        let frameTimes = try await Probe.times(path, "v:0")
        guard let audioStart = try await Probe.times(path, "a:0").first, frameTimes.count == frames.flashes.count else {
            throw HarnessFailure("\(path) has \(frameTimes.count) times for \(frames.flashes.count) frameTimes.")
        }
        let audio = try await DecodedAudio(path)
        let beeps = audio.beeps.map { audioStart + Double($0) / Double(DecodedAudio.rate) }
        milliseconds = frameTimes.indices.compactMap { index in
            guard frames.flashes[index], index == 0 || !frames.flashes[index - 1] else { return nil }
            let flash = frameTimes[index]
            if joins.contains(where: { abs($0 - (flash - frameTimes[0])) < 0.01 }) { return nil }
            guard let beep = beeps.min(by: { abs($0 - flash) < abs($1 - flash) }), abs(beep - flash) < 0.4 else {
                return nil
            }
            return (beep - flash) * 1000
        }
    }

    /// The largest offset in either direction.
    var worst: Double { milliseconds.map(abs).max() ?? .infinity }
}
