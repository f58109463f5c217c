// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// Copied packets, by each input protocol and to each output.
    @Suite("Copying from each input protocol to each output")
    struct CopyCarriageTests {
        enum Coding: String, CaseIterable { case avc, hevc }
        enum Way: String, CaseIterable { case file, udp, srt, rtmp }

        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// A clip of another encoder, with B-frames, access unit delimiters, and an SEI message in each frame.
        private func clip(_ coding: Coding, filter: String = "null", options: [String] = []) async throws -> String {
            let path = directory.file("clip.mp4")
            let encoder =
                coding == .avc
                ? ["-c:v", "libx264", "-x264-params", "nal-hrd=cbr:aud=1"]
                : [
                    "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:hash=1:aud=1", "-tag:v",
                    "hvc1",
                ]
            try await Clip.make(
                path,
                ["-f", "lavfi", "-i", "testsrc2=d=5:s=320x180:r=25", "-f", "lavfi", "-i", "sine=d=5:r=48000"]
                    + ["-vf", filter] + encoder
                    + ["-bf", "2", "-pix_fmt", "yuv420p", "-g", "25", "-b:v", "1M", "-maxrate", "1M", "-bufsize", "1M"]
                    + ["-c:a", "aac", "-b:a", "96k", "-ac", "2"] + options)
            return path
        }

        /// Sends `path` in real time.
        private func play(_ path: String, to target: String, format: String) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-i", path, "-map", "0", "-c", "copy", "-f", format, target])
        }

        /// Starts ffmpeg as a receiver that ends when no packet has arrived for 9 s.
        private func receiver(port: Int, _ file: String) async throws -> ChildProcess {
            let process = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-y", "-i", "udp://127.0.0.1:\(port)?timeout=9000000&buffer_size=2000000"]
                    + ["-map", "0", "-c", "copy", directory.file(file)])
            try await eventually("ffmpeg listens", within: .seconds(5)) { Ports.isUsed(port, by: "udp") }
            return process
        }

        /// Sends `clip` by `way` to its own relay process with these outputs. Returns when relay has passed on the
        /// whole clip.
        private func send(_ clip: String, _ coding: Coding, by way: Way, to outputs: [String]) async throws {
            let port = try Ports.free()
            let address =
                switch way {
                case .file: clip
                case .udp: "udp://127.0.0.1:\(port)"
                case .srt: "srt://127.0.0.1:\(port)?mode=listener"
                case .rtmp: "rtmp-listen://127.0.0.1:\(port)/live/key"
                }
            let relay = try RelayProcess(["--input", address, "--copy"] + outputs)
            if way == .file {
                let result = try await relay.finished(within: .seconds(40))
                #expect(result.ending == .exited(0), "\(result.log)")
                return
            }
            if way == .rtmp {
                try await relay.says("waiting for a publisher", within: .seconds(10))
            } else {
                try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            }
            let target = "rtmp://127.0.0.1:\(port)/live/key"
            let sender =
                switch way {
                case .rtmp where coding == .hevc:
                    // ffmpeg 5.1 does not support Enhanced RTMP.
                    try RelayProcess(["--input", clip, "--copy", "--output", "\(target)#enhanced=yes"]).process
                case .rtmp: try play(clip, to: target, format: "flv")
                case .srt: try play(clip, to: "srt://127.0.0.1:\(port)?linger=2", format: "mpegts")
                default: try play(clip, to: "udp://127.0.0.1:\(port)?pkt_size=1316", format: "mpegts")
                }
            #expect(try await sender.ending(within: .seconds(40)) == .exited(0), "\(sender.errors)")
            switch way {
            case .rtmp: try await relay.says("the publisher is gone", within: .seconds(10))
            case .srt: try await relay.says("input is interrupted", within: .seconds(10))
            case .udp: try await recordingRests()
            case .file: break
            }
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
        }

        /// Waits until the recording has not grown for a second. relay does not notice when a sender of datagrams has
        /// ended.
        private func recordingRests() async throws {
            var (bytes, since) = (0, ContinuousClock.now)
            try await eventually("the recording grows no more", within: .seconds(20)) {
                let names = try FileManager.default.contentsOfDirectory(atPath: set.directory)
                let sizes = try names.map { name in
                    try FileManager.default.attributesOfItem(atPath: "\(set.directory)/\(name)")[.size] as? Int ?? 0
                }
                if sizes.reduce(0, +) != bytes { (bytes, since) = (sizes.reduce(0, +), .now) }
                return bytes > 0 && .now - since > .seconds(1)
            }
        }

        @Test(
            "Each slice, each SEI message and each AAC frame of a copied input reaches every output unchanged",
            arguments: Coding.allCases, Way.allCases)
        func carried(coding: Coding, way: Way) async throws {
            let input = try await clip(coding)
            let receiver = try await SRTReceiver()
            let port = try Ports.free()
            let datagrams = try await self.receiver(port: port, "udp.ts")
            var outputs = ["--srt", receiver.url(), "--output", "udp://127.0.0.1:\(port)", "--record", set.directory]
            outputs += ["--output", "hls:\(directory.file("live"))#endlist=always"]
            var server: RTMPServer?
            if coding == .avc {
                let running = try await RTMPServer.running()
                outputs += ["--rtmp", running.url()]
                server = running
            }
            try await send(input, coding, by: way, to: outputs)
            try await datagrams.ending(within: .seconds(20))
            let sent = try await CodedUnits(input, isHEVC: coding == .hevc)
            #expect(sent.video.count >= 250 && sent.audio.count > 230)
            #expect(set.finished.count == 1)
            var paths = [
                try await receiver.recording(), directory.file("udp.ts"), "\(directory.file("live"))/index.m3u8",
            ]
            paths += set.finished
            if let server { paths.append(try await server.recording()) }
            for path in paths {
                let arrived = try await CodedUnits(path, isHEVC: coding == .hevc)
                let (video, audio) = (arrived.video, arrived.audio)
                // A demuxer of transport streams cannot know that the last frame, and the audio after it, is complete.
                let mayEndEarly = way == .udp || way == .srt
                let counts = "\(path): \(video.count) of \(sent.video.count), \(audio.count) of \(sent.audio.count)"
                #expect(video.count >= sent.video.count - (mayEndEarly ? 12 : 0), "\(counts)")
                #expect(audio.count >= sent.audio.count - (mayEndEarly ? 24 : 0), "\(counts)")
                let isPrefix = Array(sent.video.prefix(video.count)) == video
                #expect(isPrefix, "\(counts), from unit \(zip(sent.video, video).prefix { $0 == $1 }.count) on")
                #expect(sent.audio.contains(audio), "\(counts)")
            }
        }

        @Test(
            "Transport stream recordings of a copied input contain the same slices, SEI messages and AAC frames",
            arguments: Coding.allCases)
        func transportStreams(coding: Coding) async throws {
            let input = try await clip(coding)
            let result = try await RelayProcess.run(
                ["--input", input, "--copy", "--unpaced", "--record", set.directory, "--record-format", "ts"])
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = fileNames(in: set.directory).filter { $0.hasSuffix(".ts") }
            #expect(files.count == 1)
            let file = "\(set.directory)/\(try #require(files.first))"
            #expect(
                try await CodedUnits(file, isHEVC: coding == .hevc).video
                    == CodedUnits(input, isHEVC: coding == .hevc).video)
            #expect(
                try await CodedUnits(input, isHEVC: coding == .hevc).audio.contains(
                    try await CodedUnits(file, isHEVC: coding == .hevc).audio))
        }

        @Test(
            "A copied input with a variable frame rate, or with timestamps in milliseconds, keeps its timestamps",
            arguments: [Way.file, .rtmp])
        func variableRate(way: Way) async throws {
            let input = try await clip(
                .avc, filter: "setpts='(N+8*sin(N/5))/25/TB+0.4/TB',select='mod(n,7)'", options: ["-vsync", "vfr"])
            try await send(input, .avc, by: way, to: ["--record", set.directory])
            let (before, after) = (
                try await Probe.times(input, "v:0"), try await Probe.times(try #require(set.finished.first), "v:0")
            )
            #expect(before.count == after.count && before.count > 50)
            let off = zip(before, after).map { abs(($0 - before[0]) - ($1 - after[0])) }
            #expect((off.max() ?? 1) < (way == .rtmp ? 0.0011 : 0.0002), "\(off.max() ?? 1)")
            // Regression: a frame with a longer duration than the others was counted as a gap with missing frames.
            let verified = try await RelayProcess.run(["recordings", "verify", set.directory])
            #expect(verified.ending == .exited(0), "\(verified.log)")
        }

        @Test("Audio with timestamps in milliseconds is recorded with timestamps that are exact to the sample")
        func exactAudio() async throws {
            let input = try await clip(.avc)
            try await send(input, .avc, by: .rtmp, to: ["--record", set.directory])
            let ticks = try await Probe.packetTicks(try #require(set.finished.first), "a:0")
            // The timestamps of the first packets determine step by step where the samples begin.
            let exact = ticks.dropFirst(20)
            #expect(exact.count > 180 && exact.dropLast().allSatisfy { $0.duration == 1024 })
            let steps = zip(exact, exact.dropFirst()).map { $1.pts - $0.pts }
            #expect(steps.allSatisfy { $0 == 1024 }, "\(steps)")
        }

        @Test(
            "A parameter set in the middle of a copied GOP takes effect at the same frame at every output",
            arguments: [Way.file, .udp])
        func parameterSets(way: Way) async throws {
            let (plain, changed, input) = (
                directory.file("plain.h264"), directory.file("changed.h264"), directory.file("input.ts")
            )
            try await Clip.make(
                plain,
                ["-f", "lavfi", "-i", "testsrc2=d=4:s=320x180:r=25", "-c:v", "libx264", "-profile:v", "baseline"]
                    + ["-g", "25", "-pix_fmt", "yuv420p", "-x264-params", "aud=1:threads=1:slices=1"])
            let stream = try ParameterSetChange.apply(
                to: Data(contentsOf: URL(fileURLWithPath: plain)), frames: 36..<50)
            try stream.write(to: URL(fileURLWithPath: changed))
            try await Clip.make(
                input,
                [
                    "-fflags", "+genpts", "-r", "25", "-f", "h264", "-i", changed, "-f", "lavfi", "-i",
                    "sine=d=4:r=48000",
                ]
                    + ["-map", "0:v", "-c:v", "copy", "-map", "1:a", "-c:a", "aac", "-ac", "2", "-f", "mpegts"])
            let sent = try await Probe.frameHashes(input)
            #expect(try await sent == Probe.frameHashes(plain))
            let (server, receiver) = (try await RTMPServer.running(), try await SRTReceiver())
            try await send(
                input, .avc, by: way, to: ["--rtmp", server.url(), "--srt", receiver.url(), "--record", set.directory])
            var paths = [try await server.recording(), try await receiver.recording()]
            paths += set.finished
            for path in paths {
                #expect(try await Probe.complaints(path).isEmpty, "\(path)")
            }
            // With datagrams, the last two frames can be missing: the demuxer does not know whether the last frame is
            // complete, and its parser does not know this about the last but one.
            let held = way == .udp ? 2 : 1
            // The parameter set becomes part of the codec configuration at the next keyframe, which also begins a new
            // file.
            var recorded: [String] = []
            for path in set.finished { recorded += try await Probe.frameHashes(path) }
            #expect(
                recorded.count >= sent.count - held && recorded == Array(sent.prefix(recorded.count)),
                "\(recorded.count)")
            for path in paths.prefix(2) {
                let hashes = try await Probe.frameHashes(path)
                #expect(hashes.count >= sent.count - held && hashes == Array(sent.prefix(hashes.count)), "\(path)")
            }
        }
    }
}
