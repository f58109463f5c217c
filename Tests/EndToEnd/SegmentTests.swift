// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension SerialRecordings {
    /// The frames and samples at which one file of a recording ends and the next one begins.
    @Suite("Segments of a recording")
    struct SegmentTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Returns how many audio packets, of 1024 samples each, begin within the first `samples` of the program.
        private func packets(before samples: Int) -> Int { (samples + 1023) / 1024 }

        @Test(
            "Consecutive recording files neither repeat nor lose a frame or an audio sample",
            arguments: [
                ("3s", [90, 90, 90, 50]), ("2500ms", [75, 75, 75, 75, 20]), ("1s700ms", [51, 51, 51, 51, 51, 51, 14]),
            ])
        func joins(length: String, frames: [Int]) async throws {
            let total = frames.reduce(0, +)
            let set = RecordingSet(directory: directory.file("recordings"))
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "\(total * 100 / 3)ms"]
                    + ["--record", set.directory, "--segment", length])
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = try await set.frames()
            #expect(files.map(\.counters.count) == frames)
            #expect(DecodedFrames.breaks(in: files.flatMap(\.counters)).isEmpty)
            #expect(files.first?.span?.lowerBound == 0)
            try await checkAudio(set, frames: frames)
        }

        /// Checks the audio of the files. Audio is cut between packets: a file contains the packets that begin while
        /// its frames are shown. A frame lasts 1600 samples.
        private func checkAudio(_ set: RecordingSet, frames: [Int]) async throws {
            var program: [Float] = []
            var joins: [Int] = []
            var start = 0
            for (path, count) in zip(set.finished, frames) {
                let end = start + count
                let first = packets(before: start * 1600)
                let audio = try await DecodedAudio(path)
                #expect(audio.samples.count == (packets(before: end * 1600) - first) * 1024, "\(path)")
                #expect(try await Probe.times(path, "v:0").first == 0, "\(path)")
                let audioStart = try #require(try await Probe.times(path, "a:0").first)
                #expect(abs(audioStart - Double(first * 1024 - start * 1600) / 48_000) < 0.0001, "\(path)")
                program += audio.samples
                joins.append(program.count)
                start = end
            }
            #expect(program.count == packets(before: start * 1600) * 1024)
            let whole = DecodedAudio(samples: program)
            // The beep lasts two frames. A loss of a few samples, or a click, would be a larger error than that of the
            // codec.
            for join in joins.dropLast() {
                #expect(whole.error(in: join - 2048..<join + 2048, beepLength: 3200) < 0.01, "at sample \(join)")
            }
        }

        @Test("Each file of a 29.97 fps program begins exactly where the previous file ends")
        func fractionalRate() async throws {
            let set = RecordingSet(directory: directory.file("recordings"))
            let result = try await RelayProcess.run(
                Shape.size + ["--fps", "29.97", "--unpaced", "--duration", "10s", "--record", set.directory]
                    + ["--segment", "3s"])
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = try await set.frames()
            #expect(files.map(\.counters.count) == [90, 90, 90, 30])
            #expect(DecodedFrames.breaks(in: files.flatMap(\.counters)).isEmpty)
            var samples = 0
            for path in set.finished { samples += try await DecodedAudio(path).samples.count }
            // 300 frames last 480 480 samples.
            #expect(samples == packets(before: 480_480) * 1024)
        }

        @Test("Recording files end at about the configured size, and no frame is lost between them")
        func bySize() async throws {
            let clip = try await Clip.noisy(seconds: 8, in: directory)
            let set = RecordingSet(directory: directory.file("recordings"))
            let result = try await RelayProcess.run(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "4M", "--gop", "500ms", "--unpaced"]
                    + ["--record", set.directory, "--segment", "1MB"])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.finished.count >= 3)
            for path in set.finished { #expect(fileSize(path) <= 1_100_000, "\(path)") }
            let counters = try await set.counters()
            #expect(DecodedFrames.breaks(in: counters).isEmpty)
            #expect(counters.count == 240)
        }
    }
}
