// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// The transport streams that relay sends by UDP, and by SRT as a caller and as a listener, and those that it
    /// records to `.ts` files. They are checked in the same way as by the monitors of broadcasters.
    @Suite("Broadcast checks of transport streams")
    struct TransportStreamTests {
        /// The latency of the SRT connections, in milliseconds.
        private static let latency = 1000

        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Runs relay with `arguments` and with each kind of output of a transport stream, and checks what each output
        /// sent. `feed` runs in the meantime. relay ends when `feed` has returned; without `feed`, it ends by itself.
        private func judge(
            _ arguments: [String], ignoring ignored: Set<BroadcastCheck.Fault> = [],
            _ feed: ((RelayProcess) async throws -> Void)? = nil
        ) async throws {
            // A receiver drops data that is later than its latency, for example if this machine is busy for a moment,
            // so the latency is long.
            let (capture, called) = (try UDPCapture(), try await SRTReceiver(latency: Self.latency))
            let port = try Ports.free()
            let records = directory.file("recordings")
            let relay = try RelayProcess(
                arguments + [
                    "--output", capture.url, "--srt", called.url(), "--srt",
                    "srt://127.0.0.1:\(port)?mode=listener&latency=\(Self.latency)", "--record", records,
                    "--record-format", "ts",
                ])
            // A listening output opens its port only when the tracks of the input are known.
            async let caller = Self.caller(of: port, relay)
            try await feed?(relay)
            let calling = try await caller
            if feed != nil { relay.process.signal(SIGTERM) }
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            let recording = try #require(fileNames(in: records).first { $0.hasSuffix(".ts") })
            let streams = [
                ("udp", await capture.bytes()), ("srt called", try Self.bytes(await called.recording())),
                ("srt calling", try Self.bytes(await calling.recording())),
                ("recording", try Self.bytes("\(records)/\(recording)")),
            ]
            for (name, bytes) in streams {
                let check = BroadcastCheck(bytes, ignoring: ignored)
                let fault = check.findings.isEmpty ? nil : "\(name): \(check.counts), \(check.findings.prefix(4))"
                #expect(fault == nil, "\(check.clocks) clocks, relay's log: \(result.log)")
                #expect(check.clocks > 50, "\(name)")
                #expect(check.announcedJumps == 0, "\(name): \(check.announcedJumps)")
            }
        }

        /// Returns a receiver that calls relay as soon as relay listens.
        private static func caller(of port: Int, _ relay: RelayProcess) async throws -> SRTReceiver {
            try await eventually("relay listens", within: .seconds(20)) {
                guard relay.process.isRunning else { throw HarnessFailure("relay ended: \(relay.process.errors)") }
                return Ports.isUsed(port, by: "udp")
            }
            return try await SRTReceiver(.caller, port: port, latency: latency)
        }

        private static func bytes(_ path: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        }

        /// Makes a clip of five seconds with B-frames and a tone, with `rate` frames per second.
        private func clip(_ name: String, rate: String = "25", filter: String = "null") async throws -> String {
            let path = directory.file(name)
            try await Clip.make(
                path,
                [
                    "-f", "lavfi", "-i", "testsrc2=d=5:s=160x90:r=\(rate)", "-f", "lavfi", "-i", "sine=d=5:r=48000",
                    "-vf", filter, "-fps_mode", "vfr", "-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-g", "25",
                    "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "96k", "-ac", "2",
                ])
            return path
        }

        @Test(
            "relay's encoded transport stream keeps the limits of TR 101 290 at each frame rate",
            arguments: ["15", "30000/1001"])
        func encoded(rate: String) async throws {
            try await judge(["--size", "160x90", "--preset", "ultrafast", "--fps", rate, "--duration", "4s"])
        }

        @Test("The transport stream copied from a file whose audio arrives in bursts keeps the limits of TR 101 290")
        func bundles() async throws {
            try await judge(["--input", try await clip("clip.ts", rate: "24"), "--copy"])
        }

        @Test("The transport stream copied from an HLS playlist keeps the limits of TR 101 290")
        func playlist() async throws {
            let clip = try await clip("clip.ts")
            let served = directory.file("served")
            try FileManager.default.createDirectory(atPath: served, withIntermediateDirectories: true)
            try await Clip.make(
                "\(served)/list.m3u8",
                ["-i", clip, "-c", "copy", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0"])
            let server = try await WebServer(served)
            try await judge(["--input", server.url("list.m3u8"), "--copy"])
        }

        @Test(
            "The transport stream copied from RTMP keeps the limits of TR 101 290 even if frames are missing or far apart",
            arguments: ["select='not(between(t,2,3.2))'", "select='not(mod(floor(t),2))+not(mod(n,12))'"])
        func published(filter: String) async throws {
            let clip = try await clip("clip.mp4", filter: filter)
            let port = try Ports.free()
            try await judge(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/key", "--copy"], ignoring: [.presentationInterval]
            ) { relay in
                try await relay.says("waiting for a publisher", within: .seconds(10))
                let sender = try ChildProcess(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "flv",
                        "rtmp://127.0.0.1:\(port)/live/key",
                    ])
                #expect(try await sender.ending(within: .seconds(30)) == .exited(0), "\(sender.errors)")
                try await relay.says("the publisher is gone", within: .seconds(10))
            }
        }
    }
}
