// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import Media
import Testing

@Suite("Resampling of audio")
struct ResamplerTests {
    /// Ten seconds of a tone at `rate`, converted to the program's format and stretched.
    private func resample(rate: Int, by stretch: Double) throws -> [Float] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "sine=1000:d=10:r=\(rate)", "-af", "volume=4", "-c:a", "pcm_s16le", suffix: ".wav")
        let demuxer = try Demuxer(
            url: clip.path, options: Demuxer.Options(), interrupter: Interrupter(), subject: "test")
        let stream = try #require(demuxer.bestAudio)
        let decoder = try Decoder(stream, threading: .slices, subject: "test")
        let resampler = Resampler(target: .program, subject: "test", compensates: true)
        resampler.start(at: 0)
        var samples: [Float] = []
        var expected: Int64 = 0
        while let packet = try demuxer.readPacket() {
            try decoder.send(packet)
            while case .frame(let frame) = try decoder.receive() {
                resampler.compensate(by: stretch)
                let audio = try resampler.convert(frame)
                #expect(audio.position == expected)
                expected = audio.end
                samples += audio.channels[0]
            }
        }
        #expect(resampler.pending > 0 && resampler.pending < 100)
        return samples + (try resampler.flush()).channels[0]
    }

    @Test(
        "The resampler stretches audio by the requested amount, and its first sample keeps its time",
        arguments: [48_000, 44_100])
    func stretched(rate: Int) throws {
        for stretch in [-500e-6, 0, 500e-6, 1000e-6] {
            let samples = try resample(rate: rate, by: stretch)
            #expect(abs(Double(samples.count) - 480_000 * (1 + stretch)) <= 3, "\(stretch)")
            // One second after the start, and near the end, the samples must equal those of a stretched tone. The limit
            // near the end is larger, because the library adjusts the ratio in steps of 1 ppm, which are 10 µs after 10
            // s.
            for (middle, limit) in [(48_000, 0.02), (470_000, 0.07)] {
                let error = (middle..<middle + 480).map { index in
                    let time = Double(index) / 48_000 / (1 + stretch)
                    return abs(Double(samples[index]) - 0.5 * sin(2 * .pi * 1000 * time))
                }
                #expect((error.max() ?? 1) < limit, "\(stretch) at \(middle): \(error.max() ?? 1)")
            }
        }
    }
}
