// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// The options after the `#` of an input: its tracks, and the offset of its audio.
    @Suite("Selection and offset of an input's tracks")
    struct TrackTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Returns a file that relay has recorded: the test signal.
        private func signal(seconds: Int) async throws -> String {
            let own = directory.file("signal")
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "\(seconds)s", "--record", own])
            #expect(result.ending == .exited(0), "\(result.log)")
            return try #require(RecordingSet(directory: own).finished.first)
        }

        /// Returns, for each second, by how many milliseconds the audio of the recording is later than that of
        /// `source`.
        private func moved(from source: String) async throws -> [Double] {
            let recording = try #require(set.finished.first)
            let own = try await AVOffset(source, frames: try await DecodedFrames(source)).milliseconds.sorted()
            let found = try await AVOffset(recording, frames: try await DecodedFrames(recording)).milliseconds
            return found.map { $0 - own[own.count / 2] }
        }

        @Test(
            "A file's audio offset moves the audio by the requested time, whether it is encoded or copied",
            arguments: [(120, false), (-80, false), (120, true), (-80, true)])
        func file(milliseconds: Int, copies: Bool) async throws {
            let clip = try await signal(seconds: 8)
            let flags = copies ? ["--copy"] : ["--preset", "ultrafast"]
            let result = try await RelayProcess.run(
                ["--input", "\(clip)#audio-offset=\(milliseconds)ms", "--unpaced", "--record", set.directory] + flags)
            #expect(result.ending == .exited(0), "\(result.log)")
            let offsets = try await moved(from: clip)
            #expect(offsets.count >= 6)
            for offset in offsets { #expect(abs(offset - Double(milliseconds)) <= 2, "\(offsets)") }
        }

        @Test("A live input's audio offset moves the audio by the requested time", arguments: [100, -100])
        func live(milliseconds: Int) async throws {
            let clip = try await signal(seconds: 20)
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "udp://127.0.0.1:\(port)#audio-offset=\(milliseconds)ms", "--preset", "ultrafast"]
                    + ["--duration", "8s", "--record", set.directory])
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            let sender = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "mpegts"]
                    + ["udp://127.0.0.1:\(port)?pkt_size=1316"])
            let result = try await relay.finished(within: .seconds(60))
            sender.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try #require(set.finished.first))
            #expect(frames.breaks.isEmpty, "\(frames.breaks)")
            let offsets = try await moved(from: clip)
            #expect(offsets.count >= 6)
            for offset in offsets { #expect(abs(offset - Double(milliseconds)) <= 2, "\(offsets)") }
        }

        @Test("A track option that selects a missing track is reported with the existing tracks")
        func missing() async throws {
            let clip = try await signal(seconds: 1)
            for (options, status, sentence) in [
                ("#audio-track=2", Int32(66), "there is no audio track 2 in it; there is 1 ("),
                ("#program=5", 66, "there is no program 5 in it; it has no programs"),
                ("#channels=3+4", 66, "there is no channel 4 in its audio, which has 2 channels"),
                ("#audio-track=e1", 64, "audio-track"),
            ] {
                let result = try await RelayProcess.run(
                    ["--input", clip + options, "--unpaced", "--record", set.directory])
                #expect(result.ending == .exited(status) && result.log.contains(sentence), "\(result.log)")
            }
            let result = try await RelayProcess.run(
                ["--input", clip + "#channels=1", "--copy", "--record", set.directory])
            #expect(result.ending == .exited(64) && result.log.contains("#channels= is for audio that is decoded"))
        }
    }
}
