// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// SRT inputs that get their streams from FFmpeg and from srt-live-transmit.
    @Suite("SRT inputs")
    struct SRTInputTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Makes a transport stream of another encoder, with B-frames.
        private func clip(seconds: Int = 8) async throws -> String {
            let path = directory.file("clip\(seconds).ts")
            try await Clip.make(
                path,
                ["-f", "lavfi", "-i", "testsrc2=d=\(seconds):s=320x180:r=25"]
                    + ["-f", "lavfi", "-i", "sine=d=\(seconds):r=48000", "-c:v", "libx264", "-preset", "ultrafast"]
                    + ["-bf", "2", "-pix_fmt", "yuv420p", "-g", "25", "-b:v", "1M", "-c:a", "aac", "-ac", "2"])
            return path
        }

        /// Sends `clip` in real time to `address` with FFmpeg, whose SRT options are in microseconds.
        private func play(_ clip: String, to address: String) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "mpegts"]
                    + ["\(address)&linger=3&latency=200000"])
        }

        private func listens(at port: Int) async throws {
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
        }

        private func copy(_ address: String, _ more: [String] = []) throws -> RelayProcess {
            try RelayProcess(["--input", address, "--copy", "--record", set.directory] + more)
        }

        /// Expects that every NAL unit and every AAC frame of `clip` is recorded, from the first keyframe on. The last
        /// frame may be missing, because a demuxer cannot know that it is complete.
        private func checkCopied(_ clip: String) async throws {
            #expect(set.finished.count == 1)
            let (sent, arrived) = (try await CodedUnits(clip), try await CodedUnits(try #require(set.finished.first)))
            let (video, audio) = (arrived.video, arrived.audio)
            #expect(video.count >= sent.video.count - 4, "\(video.count) of \(sent.video.count)")
            #expect(audio.count >= sent.audio.count - 24, "\(audio.count) of \(sent.audio.count)")
            #expect(Array(sent.video.prefix(video.count)) == video)
            #expect(sent.audio.contains(audio))
        }

        @Test(
            "An encrypted SRT stream is copied unchanged, and wrong passphrases and stream IDs are refused"
        )
        func encrypted() async throws {
            let clip = try await clip()
            let port = try Ports.free()
            let place = "srt://127.0.0.1:\(port)?mode="
            let relay = try copy("\(place)listener&streamid=camera-one&passphrase=correct-horse&pbkeylen=32")
            try await listens(at: port)
            let right = "\(place)caller&streamid=#!::r=camera-one,m=publish&passphrase=correct-horse&pbkeylen=32"
            let sender = try play(clip, to: right)
            try await relay.says("connected by SRT, encrypted", within: .seconds(10))
            let strangers = try [
                "streamid=camera-one&passphrase=wrong-battery", "streamid=camera-two&passphrase=correct-horse",
                "streamid=camera-one&passphrase=correct-horse",
            ].map { try play(clip, to: "\(place)caller&\($0)") }
            for stranger in strangers { #expect(try await stranger.ending(within: .seconds(20)) != .exited(0)) }
            #expect(try await sender.ending(within: .seconds(30)) == .exited(0))
            try await relay.says("input is interrupted", within: .seconds(10))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("1404") && result.log.contains("1409"), "\(result.log)")
            #expect(!result.log.contains("battery") && !result.log.contains("horse"), "\(result.log)")
            #expect(!result.log.contains("camera"), "\(result.log)")
            try await checkCopied(clip)
        }

        @Test("relay as SRT caller, as listener and in rendezvous mode receives all that srt-live-transmit sends")
        func modes() async throws {
            let clip = try await clip()
            for mode in ["caller", "listener", "rendezvous"] {
                let (ours, theirs) = (try Ports.free(), try Ports.free())
                let (sending, receiving) =
                    switch mode {
                    case "caller":
                        ("srt://127.0.0.1:\(theirs)?mode=listener", "srt://127.0.0.1:\(theirs)?mode=caller")
                    case "listener": ("srt://127.0.0.1:\(ours)?mode=caller", "srt://127.0.0.1:\(ours)?mode=listener")
                    default:
                        (
                            "srt://127.0.0.1:\(ours)?mode=rendezvous&port=\(theirs)",
                            "srt://127.0.0.1:\(theirs)?mode=rendezvous&localaddr=127.0.0.1&localport=\(ours)"
                        )
                    }
                // FFmpeg does not buffer what it sends by UDP, so srt-live-transmit passes on each packet at its time.
                let udp = try Ports.free()
                let gateway = try ChildProcess(
                    "srt-live-transmit", ["-q", "udp://127.0.0.1:\(udp)", sending + "&latency=200"])
                try await listens(at: udp)
                let relay = try RelayProcess(
                    ["--input", receiving + "&latency=200", "--copy", "--record", directory.file(mode)])
                let sender = try ChildProcess(
                    "ffmpeg",
                    ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "mpegts"]
                        + ["udp://127.0.0.1:\(udp)?pkt_size=1316"])
                try await relay.says("connected by SRT, in clear", within: .seconds(20))
                try await sender.ending(within: .seconds(30))
                let recordings = RecordingSet(directory: directory.file(mode))
                let result = try await relay.end(by: SIGINT, within: .seconds(20))
                gateway.signal(SIGKILL)
                #expect(result.ending == .exited(0), "\(mode): \(result.log)")
                #expect(!result.log.contains("missing"), "\(mode): \(result.log)")
                let path = try #require(recordings.finished.first, "\(mode): \(result.log)")
                let (sent, arrived) = (try await CodedUnits(clip).video, try await CodedUnits(path).video)
                // Data from before the connection is lost, and SRT still holds the last 200 ms at the end.
                let begin = try #require(arrived.first.flatMap(sent.firstIndex), "\(mode)")
                #expect(arrived.count > 50 && Array(sent[begin...].prefix(arrived.count)) == arrived, "\(mode)")
            }
        }

        @Test("An SRT sender that is killed and reconnects continues the program, and outputs are not affected")
        func comesBack() async throws {
            let clip = try await clip(seconds: 20)
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "srt://127.0.0.1:\(port)?mode=listener&takeover=yes", "--preset", "ultrafast"]
                    + ["--rtmp", server.url(), "--record", set.directory])
            try await listens(at: port)
            let first = try play(clip, to: "srt://127.0.0.1:\(port)?mode=caller")
            try await server.receives(.seconds(3))
            first.signal(SIGKILL)
            let second = try play(clip, to: "srt://127.0.0.1:\(port)?mode=caller")
            try await relay.says("input is open again", within: .seconds(20))
            try await server.receives(.seconds(3))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            second.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("reconnects") && !result.log.contains("attempt=2"), "\(result.log)")
            #expect(set.finished.count == 1)
            #expect(try await Probe.complaints(try #require(set.finished.first)).isEmpty)
        }

        @Test("Two SRT senders, of video and of audio, share a port and are distinguished by their stream IDs")
        func sharedPort() async throws {
            let clip = try await clip(seconds: 20)
            let port = try Ports.free()
            let listening = "srt://127.0.0.1:\(port)?mode=listener&streamid="
            let relay = try RelayProcess(
                ["--input", listening + "video", "--audio-input", listening + "audio", "--preset", "ultrafast"]
                    + ["--duration", "3s", "--record", set.directory])
            try await listens(at: port)
            let video = try play(clip, to: "srt://127.0.0.1:\(port)?mode=caller&streamid=video")
            try await relay.says("connected by SRT", within: .seconds(10))
            // relay opens the second input only when the first one is known.
            var audio = try play(clip, to: "srt://127.0.0.1:\(port)?mode=caller&streamid=audio")
            try await eventually("the second sender is let in", within: .seconds(20)) {
                if relay.process.errors.components(separatedBy: "connected by SRT").count > 2 { return true }
                if !audio.isRunning {
                    audio = try play(clip, to: "srt://127.0.0.1:\(port)?mode=caller&streamid=audio")
                }
                return false
            }
            let result = try await relay.finished(within: .seconds(30))
            for sender in [video, audio] { sender.signal(SIGTERM) }
            #expect(result.ending == .exited(0), "\(result.log)")
            let audioSamples = try await DecodedAudio(try #require(set.finished.first)).samples
            #expect(audioSamples.count { abs($0) > 0.01 } > audioSamples.count / 2)
        }

        @Test("SRT data that is not a transport stream is reported, and an impossible address is refused at the start")
        func refusals() async throws {
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "srt://127.0.0.1:\(port)?mode=caller&latency=100", "--copy", "--record", set.directory])
            let sender = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=s=320x180", "-c:v", "libx264"]
                    + ["-preset", "ultrafast", "-f", "matroska", "srt://127.0.0.1:\(port)?mode=listener&pkt_size=1316"])
            let result = try await relay.finished(within: .seconds(30))
            sender.signal(SIGKILL)
            #expect(result.ending == .exited(66), "\(result.log)")
            #expect(result.log.contains("not an MPEG transport stream"), "\(result.log)")
            for (address, sentence) in [
                ("srt://127.0.0.1:9000?callers=2", "unknown to SRT"), ("srt://127.0.0.1", "no port"),
                ("srt://127.0.0.1:9000?passphrase=secret", "10 to 79"),
            ] {
                let refused = try await RelayProcess.run(["--input", address, "--record", set.directory])
                #expect(refused.ending == .exited(64), "\(refused.log)")
                #expect(refused.log.contains(sentence) && !refused.log.contains("secret"), "\(refused.log)")
            }
        }
    }
}
