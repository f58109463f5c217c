// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// MPEG-TS over UDP, which ffmpeg receives.
    @Suite("UDP outputs")
    struct UDPTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Starts a receiver that ends when no packet has arrived for 8 s. relay may take as long to begin.
        private func receiver(_ address: String, port: Int, _ file: String) async throws -> ChildProcess {
            let separator = address.contains("?") ? "&" : "?"
            let process = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-y", "-i", "\(address)\(separator)timeout=8000000&buffer_size=2000000"]
                    + ["-map", "0", "-c", "copy", directory.file(file)])
            try await eventually("ffmpeg listens", within: .seconds(5)) { Ports.isUsed(port, by: "udp") }
            return process
        }

        @Test(
            "A UDP receiver gets every frame once and in order, by unicast and multicast, with audio in sync",
            arguments: [("127.0.0.1", ""), ("239.255.77.61", "?localaddr=127.0.0.1")])
        func complete(host: String, query: String) async throws {
            let port = try Ports.free()
            let address = "udp://\(host):\(port)\(query)"
            let receiver = try await receiver(address, port: port, "received.ts")
            let result = try await RelayProcess.run(Shape.small + ["--duration", "6s", "--output", address])
            #expect(result.ending == .exited(0), "\(result.log)")
            try await receiver.ending(within: .seconds(15))

            let file = directory.file("received.ts")
            let frames = try await DecodedFrames(file)
            #expect(frames.breaks.isEmpty)
            #expect(frames.span == 0...179)
            let offset = try await AVOffset(file, frames: frames)
            #expect(offset.milliseconds.count >= 5 && offset.worst <= 10, "\(offset.milliseconds)")
            #expect(try await Probe.complaints(file).isEmpty)
        }

        @Test("A UDP stream of high bitrate is paced, so that a receiver with a default buffer loses no packet")
        func large() async throws {
            let clip = try await Clip.noisy(seconds: 8, in: directory)
            let port = try Ports.free()
            let address = "udp://127.0.0.1:\(port)"
            let receiver = try await receiver(address, port: port, "received.ts")
            let result = try await RelayProcess.run(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--output", address])
            #expect(result.ending == .exited(0), "\(result.log)")
            try await receiver.ending(within: .seconds(15))
            let frames = try await DecodedFrames(directory.file("received.ts"))
            #expect(frames.breaks.isEmpty)
            #expect(frames.span == 0...239)
        }

        @Test("A UDP output without a receiver stays live, and a later receiver gets the stream from a keyframe on")
        func lateReceiver() async throws {
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let address = "udp://127.0.0.1:\(port)"
            let relay = try RelayProcess(
                Shape.small + ["--duration", "12s", "--rtmp", server.url(), "--output", address])
            try await relay.says("Connection refused; the stream is sent all the same", within: .seconds(5))
            let receiver = try await receiver(address, port: port, "received.ts")
            let result = try await relay.finished(within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("attempt=2"), "\(result.log)")
            try await receiver.ending(within: .seconds(15))

            let late = try await DecodedFrames(directory.file("received.ts"))
            #expect(late.span?.upperBound == 359)
            #expect(late.counters.count >= 90)
            let other = try await DecodedFrames(try await server.recording())
            #expect(other.breaks.isEmpty && other.span == 0...359)
        }

        @Test("If the local address of a UDP output cannot be used, this is reported, and the output tries again")
        func unreachable() async throws {
            // Failures of one kind are logged once as a warning; with --verbose, each of them is logged.
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "3s", "--verbose", "--output", "udp://127.0.0.1:9?localaddr=203.0.113.7"])
            #expect(result.log.contains("localaddr: Cannot assign requested address"), "\(result.log)")
            #expect(result.log.contains("attempt=2"), "\(result.log)")
        }
    }
}
