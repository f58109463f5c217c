// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Monitoring of the program: its loudness, silence, and black or frozen video.
    @Suite("Monitoring of the program")
    struct MonitorTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        private func record(_ flags: [String]) async throws -> String {
            let result = try await RelayProcess.run(
                ["--preset", "ultrafast", "--unpaced", "--record", set.directory] + flags, within: .seconds(120))
            #expect(result.ending == .exited(0), "\(result.log)")
            return result.log
        }

        /// The integrated loudness of `path` from `second` on, in LUFS, as the ffmpeg program measures it.
        private func loudness(_ path: String, from second: Int) async throws -> Double {
            let process = try ChildProcess(
                "ffmpeg",
                ["-nostdin", "-hide_banner", "-nostats", "-ss", "\(second)", "-i", path, "-vn", "-af"]
                    + ["ebur128=framelog=verbose", "-f", "null", "-"])
            try await process.ending(within: .seconds(60))
            let lines = process.errors.split(separator: "\n").filter { $0.contains("I:") && $0.contains("LUFS") }
            return try #require(lines.last.flatMap { Double($0.split(separator: " ").dropFirst().first ?? "") })
        }

        @Test("Audio of -35 LUFS and of -16 LUFS is sent at -23 LUFS, in sync with its video", arguments: [-35.0, -16])
        func leveled(input: Double) async throws {
            // The test signal is the input, at another level.
            let plain = directory.file("plain")
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "40s", "--record", plain])
            #expect(result.ending == .exited(0), "\(result.log)")
            let signal = try #require(RecordingSet(directory: plain).finished.first)
            let gain = input - (try await loudness(signal, from: 0))
            let clip = directory.file("clip.mkv")
            try await Clip.make(
                clip, ["-i", signal, "-c:v", "copy", "-af", "volume=\(gain)dB", "-c:a", "pcm_f32le"])
            #expect(abs(try await loudness(clip, from: 0) - input) < 0.3)
            let log = try await record(["--input", clip, "--loudness", "-23"])
            #expect(!log.contains("warning"), "\(log)")
            let recording = try #require(set.finished.first)
            let level = try await loudness(recording, from: 20)
            #expect(abs(level + 23) <= 1, "\(level)")
            let own = try await AVOffset(signal, frames: try await DecodedFrames(signal)).milliseconds.sorted()
            let frames = try await DecodedFrames(recording)
            #expect(frames.breaks.isEmpty)
            // At -23 LUFS the beeps are too quiet to be found, so they are amplified here. Before the loudness reaches
            // its target, beeps are too loud or too quiet.
            let louder = directory.file("louder.mkv")
            try await Clip.make(louder, ["-i", recording, "-c:v", "copy", "-af", "volume=6dB", "-c:a", "pcm_f32le"])
            let found = try await AVOffset(louder, frames: frames).milliseconds.suffix(15)
            #expect(found.count == 15)
            for offset in found { #expect(abs(offset - own[own.count / 2]) <= 2, "\(found)") }
        }

        @Test("Silence, black video and frozen video of an input are reported with their beginning and duration")
        func alarms() async throws {
            let clip = directory.file("clip.mkv")
            try await Clip.make(
                clip,
                ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=20", "-f", "lavfi", "-i", "sine=1000:r=48000:d=20"]
                    + [
                        "-vf",
                        "drawbox=t=fill:color=black:enable='between(t,2,6.99)',"
                            + "split[a][b];[a][b]freezeframes=first=250:last=399:replace=250",
                    ]
                    + ["-af", "volume=0:enable='between(t,3,8)'", "-c:v", "libx264", "-preset", "ultrafast"]
                    + ["-c:a", "pcm_s16le"])
            let log = try await record([
                "--input", clip, "--silence-alarm", "2s", "--black-alarm", "2s", "--frozen-alarm", "2s",
            ])
            let told = log.split(separator: "\n").filter { $0.contains("the program's") }
            for (text, key, expected) in [
                ("audio is silent", "since_s", 3.0), ("audio is not silent any more", "lasted_s", 5.0),
                ("video is black", "since_s", 2), ("video is not black any more", "lasted_s", 5),
                ("video is frozen", "since_s", 10), ("video moves again", "lasted_s", 6),
            ] {
                let line = try #require(told.first { $0.contains(text) }, "\(log)")
                let value = try #require(line.firstRange(of: "\(key)=").map { line[$0.upperBound...] })
                let seconds = try #require(Double(value.prefix { $0.isNumber || $0 == "." }), "\(line)")
                #expect(abs(seconds - expected) <= 0.4, "\(line)")
            }
            #expect(told.count == 6, "\(told)")
        }
    }
}
