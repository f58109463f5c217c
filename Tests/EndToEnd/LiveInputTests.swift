// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Recordings of live inputs: they contain every frame from the first visible one on, and audio that is as much in
    /// sync as what was sent.
    @Suite("Live inputs")
    struct LiveInputTests {
        /// How far audio may be shifted against the video, compared with what was sent, in milliseconds.
        private static let tolerance = 2.0
        private static let duration = 8

        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Returns a file that relay has recorded: the test signal.
        private func signal(seconds: Int = 24) async throws -> String {
            let own = directory.file("signal")
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "\(seconds)s", "--record", own])
            #expect(result.ending == .exited(0), "\(result.log)")
            return try #require(RecordingSet(directory: own).finished.first)
        }

        /// Records ``duration`` seconds of `input`, while `send` sends it.
        private func record(_ input: String, while send: () async throws -> [ChildProcess]) async throws -> String {
            let relay = try RelayProcess(
                ["--input", input, "--preset", "ultrafast", "--duration", "\(Self.duration)s", "--record"]
                    + [set.directory])
            let senders = try await send()
            let result = try await relay.finished(within: .seconds(60))
            for sender in senders { sender.signal(SIGTERM) }
            #expect(result.ending == .exited(0), "\(result.log)")
            return try #require(set.finished.first, "\(result.log)")
        }

        /// Sends `clip` in real time, without re-encoding.
        private func send(_ clip: String, _ format: [String], to address: String) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg", ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy"] + format + [address])
        }

        private func check(_ recording: String, against source: String) async throws {
            let frames = try await DecodedFrames(recording)
            #expect(frames.breaks.isEmpty, "\(frames.breaks)")
            #expect(frames.counters.count == Self.duration * 30)
            let own = try await AVOffset(source, frames: try await DecodedFrames(source))
            let found = try await AVOffset(recording, frames: frames)
            let expected = own.milliseconds.sorted()[own.milliseconds.count / 2]
            #expect(found.milliseconds.count >= Self.duration - 1, "\(found.milliseconds)")
            for offset in found.milliseconds {
                #expect(abs(offset - expected) <= Self.tolerance, "\(found.milliseconds) against \(expected)")
            }
            let audio = try await DecodedAudio(recording)
            var (quiet, longest, end) = (0, 0, 0)
            for (index, sample) in audio.samples.enumerated() {
                quiet = abs(sample) < 0.001 ? quiet + 1 : 0
                if quiet > longest { (longest, end) = (quiet, index) }
            }
            #expect(longest < 480, "silence of \(longest) samples up to sample \(end)")
        }

        @Test("A transport stream received over UDP loses no frame, and its audio stays in sync")
        func udp() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let recording = try await record("udp://127.0.0.1:\(port)") {
                try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
                return [try send(clip, ["-f", "mpegts"], to: "udp://127.0.0.1:\(port)?pkt_size=1316")]
            }
            try await check(recording, against: clip)
        }

        @Test("A transport stream received over SRT loses no frame, and its audio stays in sync")
        func srt() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let recording = try await record("srt://127.0.0.1:\(port)?mode=listener") {
                try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
                return [try send(clip, ["-f", "mpegts"], to: "srt://127.0.0.1:\(port)?mode=caller")]
            }
            try await check(recording, against: clip)
        }

        @Test("A stream pulled from an RTMP server loses no frame, and its audio stays in sync")
        func rtmp() async throws {
            let clip = try await signal()
            let server = try await RTMPServer.running()
            let sender = try send(clip, ["-f", "flv"], to: server.url(key: "in"))
            try await server.hasReceived(within: .seconds(10))
            let recording = try await record(server.url(key: "in")) { [sender] }
            try await check(recording, against: clip)
        }

        @Test("A stream that is published to relay by RTMP loses no frame, and its audio stays in sync")
        func published() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let recording = try await record("rtmp-listen://127.0.0.1:\(port)/live/key") {
                try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "tcp") }
                return [try send(clip, ["-f", "flv"], to: "rtmp://127.0.0.1:\(port)/live/key")]
            }
            try await check(recording, against: clip)
        }

        @Test("relay's RTMP server receives and decodes every HEVC frame that relay's Enhanced RTMP output sends")
        func enhanced() async throws {
            let clip = try await signal()
            let hevc = directory.file("hevc.mp4")
            try await Clip.make(
                hevc,
                ["-i", clip, "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error"]
                    + ["-tag:v", "hvc1", "-c:a", "copy"])
            let port = try Ports.free()
            let recording = try await record("rtmp-listen://127.0.0.1:\(port)/live/key") {
                try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "tcp") }
                let target = "rtmp://127.0.0.1:\(port)/live/key#enhanced=yes"
                return [try RelayProcess(["--input", hevc, "--copy", "--output", target]).process]
            }
            try await check(recording, against: clip)
        }

        @Test(
            "If a publisher is killed, another one with a new frame size continues the program, at outputs and in files"
        )
        func publishersChange() async throws {
            let clip = try await signal()
            let large = directory.file("large.mp4")
            try await Clip.make(
                large,
                ["-i", clip, "-vf", "scale=640:360:flags=neighbor", "-c:v", "libx264", "-preset", "ultrafast"]
                    + ["-profile:v", "baseline", "-c:a", "copy"])
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let target = "rtmp://127.0.0.1:\(port)/live/key"
            let relay = try RelayProcess(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/key", "--preset", "ultrafast", "--rtmp"]
                    + [server.url(), "--record", set.directory])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let first = try send(clip, ["-f", "flv"], to: target)
            try await server.receives(.seconds(4))
            first.signal(SIGKILL)
            try await relay.says("the publisher is gone", within: .seconds(20))
            let second = try send(large, ["-f", "flv"], to: target)
            try await server.receives(.seconds(5))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            second.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("reconnects") && !result.log.contains("attempt=2"), "\(result.log)")
            let path = try #require(set.finished.first)
            #expect(set.finished.count == 1)
            for file in [path, try await server.recording()] {
                let times = try await Probe.times(file, "v:0")
                #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 1.0 / 30) < 0.002 }, "\(times)")
                #expect(try await Probe.complaints(file).isEmpty)
            }
            // The counters are those of one publisher, then a held frame, then those of the other publisher. Where a
            // publisher ends, the last but one frame may be missing. All other frames are there.
            let counters = try await DecodedFrames(path).counters.compactMap(\.self)
            let change = try #require(counters.indices.dropFirst().first { counters[$0] < counters[$0 - 1] })
            #expect(counters[change] < 30)
            for run in [counters[..<change], counters[change...]] {
                var shown: [UInt32] = []
                for counter in run where counter != shown.last { shown.append(counter) }
                let isWhole = zip(shown, shown.dropFirst()).dropLast(3).allSatisfy { $1 == $0 + 1 }
                #expect(isWhole, "\(shown)\n\(result.log)")
            }
        }

        @Test("A first publisher that sends only audio does not end relay, and the next publisher goes on air")
        func audioAloneFirst() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let target = "rtmp://127.0.0.1:\(port)/live/key"
            let relay = try RelayProcess([
                "--input", "rtmp-listen://127.0.0.1:\(port)/live/key", "--preset", "ultrafast", "--duration", "3s",
                "--record", set.directory,
            ])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let first = try send(clip, ["-vn", "-f", "flv"], to: target)
            try await relay.says("the publisher lacks a track that this input needs", within: .seconds(20))
            first.signal(SIGKILL)
            try await relay.says("the publisher is gone", within: .seconds(20))
            let second = try send(clip, ["-f", "flv"], to: target)
            let result = try await relay.finished(within: .seconds(60))
            second.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            let times = try await Probe.times(try #require(set.finished.first, "\(result.log)"), "v:0")
            #expect(times.count > 80, "\(result.log)")
        }

        @Test("With several sources a second publisher's audio is audible even if the first publisher sent none")
        func audioComesLater() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let target = "rtmp://127.0.0.1:\(port)/live/key"
            let relay = try RelayProcess([
                "--input", "rtmp-listen://127.0.0.1:\(port)/live/key#name=published", "--input", "test:#name=pattern",
                "--preset", "ultrafast", "--duration", "15s", "--record", set.directory,
            ])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let first = try send(clip, ["-an", "-f", "flv"], to: target)
            try await relay.says("segment opened", within: .seconds(20))
            first.signal(SIGKILL)
            try await relay.says("the publisher is gone", within: .seconds(20))
            let second = try send(clip, ["-f", "flv"], to: target)
            let result = try await relay.finished(within: .seconds(60))
            second.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            let audio = try await DecodedAudio(try #require(set.finished.first, "\(result.log)"))
            #expect(audio.beeps.count > 3, "\(audio.beeps)\n\(result.log)")
        }

        @Test("A live HLS playlist is played at its own frame rate, with every frame")
        func playlist() async throws {
            let clip = try await signal(seconds: 40)
            let served = directory.file("served")
            try FileManager.default.createDirectory(atPath: served, withIntermediateDirectories: true)
            let server = try await WebServer(served)
            let sender = try send(
                clip, ["-f", "hls", "-hls_time", "2", "-hls_list_size", "6", "-hls_flags", "delete_segments"],
                to: served + "/live.m3u8")
            try await eventually("there are three segments", within: .seconds(20)) {
                fileNames(in: served).filter { $0.hasSuffix(".ts") }.count > 3
            }
            let recording = try await record(server.url("live.m3u8")) { [sender] }
            try await check(recording, against: clip)
        }

        @Test("Audio that is multiplexed 800 ms behind its video is complete, because the program waits for it")
        func lateAudio() async throws {
            let clip = try await signal()
            let stream = directory.file("stream.ts")
            try await Clip.make(stream, ["-i", clip, "-c", "copy", "-pcr_period", "20"])
            let port = try Ports.free()
            let recording = try await record("udp://127.0.0.1:\(port)") {
                try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
                return [try TransportStreamSender.start(stream, to: port, audioLater: 0.8)]
            }
            try await check(recording, against: clip)
        }
    }
}
