// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// One track of an input is copied, and the other one is encoded.
    @Suite("Copying one track and encoding the other")
    struct CopyTrackTests {
        enum Way: String, CaseIterable { case file, rtmp }

        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Makes a clip of the test signal, with its frame numbers, flashes and beeps.
        private func clip(seconds: Int = 8) async throws -> String {
            let made = RecordingSet(directory: directory.file("made"))
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "\(seconds)s", "--record", made.directory])
            #expect(result.ending == .exited(0), "\(result.log)")
            return try #require(made.finished.first)
        }

        private func send(_ clip: String, by way: Way, _ flags: [String]) async throws {
            if way == .file {
                let result = try await RelayProcess.run(["--input", clip] + flags, within: .seconds(60))
                #expect(result.ending == .exited(0), "\(result.log)")
                return
            }
            let port = try Ports.free()
            let target = "rtmp://127.0.0.1:\(port)/live/key"
            let relay = try RelayProcess(["--input", "rtmp-listen://127.0.0.1:\(port)/live/key"] + flags)
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let sender = try ChildProcess(
                "ffmpeg", ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "flv", target])
            #expect(try await sender.ending(within: .seconds(40)) == .exited(0))
            try await relay.says("the publisher is gone", within: .seconds(10))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
        }

        /// Expects that audio and video are in sync in `file` as they are in `input`, except for rounding by the
        /// container.
        private func expectTogether(_ file: String, as input: String) async throws {
            let (frames, before) = (try await DecodedFrames(file), try await DecodedFrames(input))
            #expect(frames.breaks.isEmpty && frames.span == before.span, "\(file): \(frames.breaks)")
            let offset = try await AVOffset(file, frames: frames)
            let truth = try await AVOffset(input, frames: before)
            #expect(offset.milliseconds.count >= 5)
            let off = zip(offset.milliseconds, truth.milliseconds).map { abs($0 - $1) }
            #expect((off.max() ?? 9) <= 2, "\(offset.milliseconds) against \(truth.milliseconds)")
            #expect(try await Probe.complaints(file).isEmpty)
        }

        @Test("Copied video and encoded audio stay in sync within 2 ms", arguments: Way.allCases)
        func video(way: Way) async throws {
            let input = try await clip()
            let server = try await RTMPServer.running()
            try await send(
                input, by: way,
                ["--copy-video", "--audio-bitrate", "64k", "--rtmp", server.url(), "--record", set.directory])
            let sent = try await CodedUnits(input)
            for path in [try #require(set.finished.first), try await server.recording()] {
                let arrived = try await CodedUnits(path)
                #expect(arrived.video == sent.video, "\(path): \(arrived.video.count) of \(sent.video.count)")
                #expect(arrived.audio != sent.audio && arrived.audio.count > 300)
                try await expectTogether(path, as: input)
            }
        }

        @Test("Copied audio and encoded video stay in sync within 2 ms", arguments: Way.allCases)
        func audio(way: Way) async throws {
            let input = try await clip()
            let server = try await RTMPServer.running()
            try await send(
                input, by: way,
                ["--copy-audio", "--preset", "ultrafast", "--video-bitrate", "1M", "--gop", "1s"]
                    + ["--rtmp", server.url(), "--record", set.directory])
            let sent = try await CodedUnits(input)
            for path in [try #require(set.finished.first), try await server.recording()] {
                let arrived = try await CodedUnits(path)
                #expect(sent.audio.contains(arrived.audio) && arrived.audio.count > sent.audio.count - 3)
                #expect(arrived.video != sent.video)
                try await expectTogether(path, as: input)
            }
        }

        @Test(
            "A copied input without video is recorded without a gap, and its files verify as complete",
            arguments: Way.allCases)
        func radio(way: Way) async throws {
            let input = directory.file("radio.mp4")
            let clip = try await clip(seconds: way == .file ? 24 : 8)
            try await run("ffmpeg", ["-v", "error", "-nostdin", "-i", clip, "-vn", "-c", "copy", input])
            let flags = way == .file ? ["--unpaced", "--segment", "10s"] : []
            try await send(input, by: way, ["--copy", "--record", set.directory] + flags)
            #expect(set.finished.count == (way == .file ? 3 : 1))
            let verified = try await RelayProcess.run(["recordings", "verify", "--deep", set.directory])
            #expect(verified.ending == .exited(0), "\(verified.log)")
            var heard = 0
            for path in set.finished { heard += try await DecodedAudio(path).samples.count }
            // In a format without an edit list, the packet that an encoder puts before the audio is audible like any
            // other packet.
            let whole = try await DecodedAudio(input).samples.count
            #expect((0...1024).contains(heard - whole), "\(heard) of \(whole)")
        }

        @Test("If audio is copied and video is encoded at a variable frame rate, the frames keep their timestamps")
        func variableRate() async throws {
            let input = directory.file("variable.mp4")
            try await Clip.make(
                input,
                ["-f", "lavfi", "-i", "testsrc2=d=5:s=320x180:r=25", "-f", "lavfi", "-i", "sine=d=5:r=48000"]
                    + ["-vf", "setpts='(N+8*sin(N/5))/25/TB+0.4/TB',select='mod(n,7)'", "-vsync", "vfr"]
                    + ["-c:v", "libx264", "-bf", "2", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2"])
            try await send(input, by: .file, ["--copy-audio", "--unpaced", "--record", set.directory])
            let (before, after) = (
                try await Probe.times(input, "v:0"), try await Probe.times(try #require(set.finished.first), "v:0")
            )
            #expect(before.count == after.count && before.count > 50)
            let off = zip(before, after).map { abs(($0 - before[0]) - ($1 - after[0])) }
            #expect((off.max() ?? 1) < 0.0002, "\(off.max() ?? 1)")
        }

        @Test(
            "Flags that do not fit --copy-video or --copy-audio are refused with the reason",
            arguments: [
                (["--copy-video", "--preset", "fast"], "--preset is for the video encoder, and --copy-video has none"),
                (["--copy-video", "--fps", "25"], "--fps is for the video encoder"),
                (["--copy-audio", "--audio-bitrate", "96k"], "--audio-bitrate is for the audio encoder"),
                (["--copy-audio", "--fps", "25"], "leave --fps out"),
                (["--copy-audio", "--copy"], "exclude each other"),
                (["--copy-video", "--input", "test:"], "--copy-video needs an input that is encoded"),
            ])
        func contradictions(flags: [String], sentence: String) async throws {
            let input = flags.contains("--input") ? [] : ["--input", "/nonexistent.mp4"]
            let result = try await RelayProcess.run(input + ["--record", set.directory] + flags)
            #expect(result.ending == .exited(64), "\(result.log)")
            #expect(result.log.contains(sentence), "\(result.log)")
        }
    }
}
