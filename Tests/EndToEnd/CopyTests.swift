// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Inputs whose packets are passed through unchanged.
    @Suite("Inputs that are passed through with --copy")
    struct CopyTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// A clip of another encoder, with B-frames, access unit delimiters, and an SEI message in each frame.
        private func clip(
            seconds: Int = 6, size: String = "320x180", profile: String = "high", name: String = "clip.mp4"
        ) async throws -> String {
            let path = directory.file(name)
            let frames = profile == "high" ? ["-bf", "2"] : ["-bf", "0"]
            try await Clip.make(
                path,
                ["-f", "lavfi", "-i", "testsrc2=d=\(seconds):s=\(size):r=25"]
                    + ["-f", "lavfi", "-i", "sine=d=\(seconds):r=48000", "-c:v", "libx264", "-profile:v", profile]
                    + frames + ["-pix_fmt", "yuv420p", "-g", "25", "-b:v", "1M", "-maxrate", "1M", "-bufsize", "1M"]
                    + ["-x264-params", "nal-hrd=cbr:aud=1", "-c:a", "aac", "-b:a", "96k", "-ac", "2"])
            return path
        }

        /// Sends `path` to `target` in real time, and repeats it `rounds` times.
        private func play(_ path: String, to target: String, format: String, rounds: Int = 0) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-stream_loop", "\(rounds)", "-i", path, "-c", "copy", "-f", format]
                    + [target])
        }

        /// The path of the only recorded file.
        private var recorded: String {
            get throws {
                #expect(set.finished.count == 1)
                return try #require(set.finished.first)
            }
        }

        /// Returns what a server and a receiver got and what was recorded, each with the path of its file.
        private func arrived(
            at server: RTMPServer, _ receiver: SRTReceiver
        ) async throws -> [(path: String, units: CodedUnits)] {
            var all: [(String, CodedUnits)] = []
            for path in [try await server.recording(), try await receiver.recording(), try recorded] {
                all.append((path, try await CodedUnits(path)))
            }
            return all
        }

        /// Expects that a server, a receiver and the recording got exactly what was sent.
        private func expectEqual(
            _ sent: CodedUnits, at server: RTMPServer, _ receiver: SRTReceiver
        ) async throws {
            for (path, arrived) in try await arrived(at: server, receiver) {
                #expect(arrived.video == sent.video, "\(path): \(arrived.video.count) of \(sent.video.count)")
                #expect(arrived.audio == sent.audio, "\(path): \(arrived.audio.count) of \(sent.audio.count)")
            }
        }

        @Test("Each NAL unit and each AAC frame of a copied file reaches RTMP, SRT and the recording unchanged")
        func file() async throws {
            let input = try await clip()
            let server = try await RTMPServer.running()
            let receiver = try await SRTReceiver()
            let result = try await RelayProcess.run(
                [
                    "--input", input, "--copy", "--rtmp", server.url(), "--srt", receiver.url(), "--record",
                    set.directory,
                ])
            #expect(result.ending == .exited(0), "\(result.log)")
            let sent = try await CodedUnits(input)
            #expect(sent.video.count >= 300 && sent.audio.count > 280)
            try await expectEqual(sent, at: server, receiver)
            let (before, after) = (try await Probe.times(input, "v:0"), try await Probe.times(recorded, "v:0"))
            #expect(before.count == after.count && zip(before, after).allSatisfy { abs($0 - $1) < 0.0011 })
        }

        @Test("Each NAL unit and each AAC frame from an RTMP publisher reaches every output unchanged")
        func published() async throws {
            let input = try await clip()
            let server = try await RTMPServer.running()
            let receiver = try await SRTReceiver()
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/secret-key", "--copy", "--rtmp", server.url()]
                    + ["--srt", receiver.url(), "--record", set.directory])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let publisher = try play(input, to: "rtmp://127.0.0.1:\(port)/live/secret-key", format: "flv")
            try await publisher.ending(within: .seconds(30))
            try await relay.says("the publisher is gone", within: .seconds(10))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("secret-key"))
            let sent = try await CodedUnits(input)
            try await expectEqual(sent, at: server, receiver)
        }

        @Test("Each NAL unit and each AAC frame received by UDP reaches every output, from the first keyframe on")
        func transportStream() async throws {
            let input = try await clip()
            let server = try await RTMPServer.running()
            let receiver = try await SRTReceiver()
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "udp://127.0.0.1:\(port)", "--copy", "--rtmp", server.url(), "--srt", receiver.url()]
                    + ["--record", set.directory])
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            let sender = try play(input, to: "udp://127.0.0.1:\(port)?pkt_size=1316", format: "mpegts")
            try await sender.ending(within: .seconds(30))
            // Only at the interruption the demuxer outputs the frames that it has held back.
            try await relay.says("input is interrupted", within: .seconds(30))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            let sent = try await CodedUnits(input)
            for (path, arrived) in try await arrived(at: server, receiver) {
                // The demuxer cannot know that the last frame, and the audio after it, is complete.
                let (video, audio) = (arrived.video, arrived.audio)
                #expect(video.count >= sent.video.count - 4, "\(path): \(video.count) of \(sent.video.count)")
                #expect(audio.count >= sent.audio.count - 24, "\(path): \(audio.count) of \(sent.audio.count)")
                #expect(Array(sent.video.prefix(video.count)) == video, "\(path)")
                #expect(sent.audio.contains(audio), "\(path)")
            }
        }

        @Test("Outputs stay connected and the recording continues when the publisher is killed and reconnects")
        func publisherReturns() async throws {
            let input = try await clip(seconds: 20)
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let target = "rtmp://127.0.0.1:\(port)/live/key"
            let relay = try RelayProcess(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/key", "--copy", "--rtmp", server.url()]
                    + ["--record", set.directory])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let first = try play(input, to: target, format: "flv")
            try await server.receives(.seconds(3))
            first.signal(SIGKILL)
            try await relay.says("the publisher is gone", within: .seconds(20))
            let second = try play(input, to: target, format: "flv")
            try await server.receives(.seconds(4))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            second.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("reconnects") && !result.log.contains("attempt=2"), "\(result.log)")
            // There is one file, because the coding did not change.
            let path = try recorded
            for file in [path, try await server.recording()] {
                let times = try await Probe.times(file, "v:0")
                #expect(times.count > 150, "\(times.count)")
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
                #expect(try await Probe.complaints(file).isEmpty)
            }
        }

        @Test(
            "If a copied input changes size and profile, a new file begins, and outputs continue without reconnecting")
        func changes() async throws {
            let (small, large) = (
                try await clip(seconds: 4),
                try await clip(seconds: 4, size: "640x360", profile: "baseline", name: "large.mp4")
            )
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let target = "rtmp://127.0.0.1:\(port)/live/key"
            let relay = try RelayProcess(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/key", "--copy", "--rtmp", server.url()]
                    + ["--record", set.directory])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            for input in [small, large] {
                try await play(input, to: target, format: "flv").ending(within: .seconds(30))
            }
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.finished.count == 2)
            for (path, (input, width)) in zip(set.finished, [(small, "320"), (large, "640")]) {
                #expect(try await Probe.value(path, "v:0", "width") == width)
                #expect(try await CodedUnits(path).video == CodedUnits(input).video)
            }
            let sent = try await CodedUnits(small).video + CodedUnits(large).video
            #expect(try await CodedUnits(try await server.recording()).video == sent)
        }

        @Test("A publisher with a wrong key and a second publisher are refused, and the first publisher continues")
        func refusals() async throws {
            let input = try await clip()
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/right", "--copy", "--record", set.directory])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let wrong = try play(input, to: "rtmp://127.0.0.1:\(port)/live/wrong", format: "flv")
            #expect(try await wrong.ending(within: .seconds(20)) != .exited(0))
            let first = try play(input, to: "rtmp://127.0.0.1:\(port)/live/right", format: "flv")
            try await relay.says("a publisher is here", within: .seconds(10))
            let second = try play(input, to: "rtmp://127.0.0.1:\(port)/live/right", format: "flv")
            #expect(try await second.ending(within: .seconds(20)) != .exited(0))
            try await first.ending(within: .seconds(30))
            try await relay.says("the publisher is gone", within: .seconds(10))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await CodedUnits(try recorded) == CodedUnits(input))
        }

        @Test("A copied file that is looped continues exactly where its last packet ended")
        func loop() async throws {
            let input = try await clip(seconds: 2)
            let result = try await RelayProcess.run(
                ["--input", input, "--copy", "--loop", "--unpaced", "--duration", "7s", "--record", set.directory])
            #expect(result.ending == .exited(0), "\(result.log)")
            let times = try await Probe.times(recorded, "v:0").sorted()
            #expect(times.count >= 174)
            #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 0.04) < 0.001 })
            #expect(try await Probe.complaints(recorded).isEmpty)
        }

        @Test(
            "Flags and inputs that do not fit --copy are refused with the reason",
            arguments: [
                (["--preset", "fast"], "--preset is for the encoder"), (["--gop", "1s"], "--gop is for the encoder"),
                (["--input", "test:"], "test: is not"), (["--audio-input", "alsa:default"], "leave --audio-input out"),
                (["--tls-cert", "a.pem"], "--tls-cert is for"),
                (["--loudness", "-23"], "--loudness is for what is encoded"),
                (["--input", "rtmps-listen://127.0.0.1/live/key"], "needs --tls-cert and --tls-key"),
            ])
        func contradictions(flags: [String], sentence: String) async throws {
            let input = flags.contains("--input") ? [] : ["--input", "/nonexistent.mp4"]
            let result = try await RelayProcess.run(input + ["--copy", "--record", set.directory] + flags)
            #expect(result.ending == .exited(64), "\(result.log)")
            #expect(result.log.contains(sentence), "\(result.log)")
        }

        @Test("If an RTMP output would have to carry copied HEVC, it is refused, and the message names HEVC")
        func refusedCodec() async throws {
            let input = directory.file("hevc.mp4")
            try await Clip.make(
                input,
                ["-f", "lavfi", "-i", "testsrc2=d=1:s=320x180:r=25", "-c:v", "libx265", "-preset", "ultrafast"]
                    + ["-x265-params", "log-level=none"])
            let result = try await RelayProcess.run(
                ["--input", input, "--copy", "--rtmp", "rtmp://127.0.0.1:1/live/key"])
            #expect(result.ending == .exited(64), "\(result.log)")
            #expect(result.log.contains("HEVC cannot be carried by RTMP"), "\(result.log)")
        }
    }
}
