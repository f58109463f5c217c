// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// What the three kinds of output contain at the end.
    @Suite("Outputs")
    struct OutputTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        @Test(
            "RTMP, SRT and MP4 outputs get every frame once and in order, with audio and video in sync",
            arguments: [("30", 12, 360), ("29.97", 7, 210), ("25", 6, 150)])
        func completeAndInSync(fps: String, seconds: Int, frames: Int) async throws {
            let server = try await RTMPServer.running()
            let receiver = try await SRTReceiver()
            let set = RecordingSet(directory: directory.file("recordings"))
            let result = try await RelayProcess.run(
                Shape.size + ["--fps", fps, "--duration", "\(seconds)s", "--record", set.directory]
                    + ["--rtmp", server.url(), "--srt", receiver.url()])
            #expect(result.ending == .exited(0), "\(result.log)")
            let file = try #require(set.finished.first)
            #expect(set.finished.count == 1 && set.open.isEmpty)
            try await check(file, frames: frames, seconds: seconds, tolerance: 5)
            try await check(try await server.recording(), frames: frames, seconds: seconds, tolerance: 10)
            try await check(try await receiver.recording(), frames: frames, seconds: seconds, tolerance: 10)
        }

        private func check(_ path: String, frames count: Int, seconds: Int, tolerance: Double) async throws {
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty, "\(path)")
            #expect(frames.span == 0...UInt32(count - 1), "\(path)")
            let offset = try await AVOffset(path, frames: frames)
            #expect(offset.milliseconds.count >= seconds - 1, "\(path): \(offset.milliseconds)")
            #expect(offset.worst <= tolerance, "\(path): \(offset.milliseconds)")
            #expect(try await Probe.complaints(path).isEmpty, "\(path)")
        }

        @Test("An RTMP output whose server starts late sends the program from its first frame")
        func lateServer() async throws {
            let server = try RTMPServer()
            // On a busy machine, the server takes seconds to start. The output's queue must hold all frames until then.
            let relay = try RelayProcess(Shape.small + ["--duration", "6s", "--rtmp", server.url() + "#queue=10s"])
            try await relay.says("Connection refused", within: .seconds(5))
            try await server.start()
            let result = try await relay.finished(within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await server.recording())
            #expect(frames.breaks.isEmpty)
            #expect(frames.span == 0...179)
        }

        @Test("A receiver that connects to relay's listening output gets every frame from a keyframe on")
        func listener() async throws {
            let port = try Ports.free()
            let relay = try RelayProcess(
                Shape.small + ["--duration", "6s", "--srt", "srt://127.0.0.1:\(port)?mode=listener&latency=200"])
            try await eventually("relay listens", within: .seconds(5)) { Ports.isUsed(port, by: "udp") }
            let receiver = try await SRTReceiver(.caller, port: port)
            let result = try await relay.finished(within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await receiver.recording())
            #expect(frames.breaks.isEmpty)
            #expect(frames.span?.upperBound == 179)
            #expect(frames.counters.count >= 90)
        }

        @Test("An encrypted SRT output delivers every frame")
        func encrypted() async throws {
            let receiver = try await SRTReceiver(options: "passphrase=correct-horse&pbkeylen=16")
            let result = try await RelayProcess.run(
                Shape.small + [
                    "--duration", "4s", "--srt", receiver.url(options: "passphrase=correct-horse&pbkeylen=16"),
                ]
            )
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await receiver.recording())
            #expect(frames.breaks.isEmpty)
            #expect(frames.span == 0...119)
        }

        /// Whether a socket can be bound to the IPv6 loopback address, which many containers lack.
        private static let hasIPv6: Bool = {
            let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
                }
            }
        }()

        @Test("An RTMP output works over IPv6", .needs(hasIPv6, "this system has no IPv6"))
        func overIPv6() async throws {
            let server = try await RTMPServer.running(host: "[::1]")
            let result = try await RelayProcess.run(Shape.small + ["--duration", "4s", "--rtmp", server.url()])
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await server.recording())
            #expect(frames.breaks.isEmpty)
            #expect(frames.span == 0...119)
        }
    }
}
