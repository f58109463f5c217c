// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Splice information (SCTE 35) of a copied input.
    @Suite("Splice points (SCTE 35)")
    struct SpliceTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        /// A Python program that writes received datagrams to a file. Its arguments are the port and the file.
        private static let receiver = """
            import socket, sys
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            receiver.bind(("127.0.0.1", int(sys.argv[1])))
            with open(sys.argv[2], "wb", buffering=0) as file:
                while True:
                    file.write(receiver.recv(65536))
            """

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Returns the times of the frames in presentation order, in units of 90 kHz.
        private func times(_ path: String) async throws -> [Int64] {
            try await Probe.packetTicks(path, "v:0").map(\.pts).sorted()
        }

        /// Makes a stream of 5 s that announces two breaks. Also returns the frames at which the breaks begin.
        private func input() async throws -> (path: String, frames: [Int]) {
            let (plain, path) = (directory.file("plain.ts"), directory.file("spliced.ts"))
            try await Clip.make(
                plain,
                ["-f", "lavfi", "-i", "testsrc2=d=5:s=320x180:r=25", "-f", "lavfi", "-i", "sine=d=5:r=48000"]
                    + ["-c:v", "libx264", "-bf", "2", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2"])
            let (frames, times) = ([50, 100], try await times(plain))
            let stream = SplicedStream.make(
                try Data(contentsOf: URL(fileURLWithPath: plain)),
                [
                    (0.25, .init(event: 7, time: times[frames[0]])),
                    (0.6, .init(event: 8, time: times[frames[1]])),
                ])
            try stream.write(to: URL(fileURLWithPath: path))
            #expect(try SplicedStream.splices(path).map(\.time) == frames.map { times[$0] })
            return (path, frames)
        }

        /// Expects both breaks at the times of their frames in this stream, which may lack the first frames.
        private func expectSplices(_ path: String, at frames: [Int]) async throws {
            let times = try await times(path)
            let splices = try SplicedStream.splices(path)
            #expect(splices.map(\.event) == [7, 8], "\(path)")
            #expect(splices.map(\.time) == frames.map { times[$0] }, "\(path)")
            #expect(try await Probe.complaints(path).isEmpty, "\(path)")
        }

        @Test("Splice points in a file are announced at the same frames in transport stream recordings")
        func recorded() async throws {
            let (input, frames) = try await input()
            let result = try await RelayProcess.run(
                ["--input", input, "--copy", "--unpaced", "--record", set.directory, "--record-format", "ts"])
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = fileNames(in: set.directory).filter { $0.hasSuffix(".ts") }
            try await expectSplices("\(set.directory)/\(try #require(files.first))", at: frames)
        }

        @Test("Splice points in a live stream are sent at the same frames by SRT and UDP, and affect no other output")
        func live() async throws {
            let (input, frames) = try await input()
            let (server, receiver) = (try await RTMPServer.running(), try await SRTReceiver())
            let (port, listening) = (try Ports.free(), try Ports.free())
            let received = directory.file("received.ts")
            let receiving = try ChildProcess("python3", ["-c", Self.receiver, "\(listening)", received])
            defer { receiving.signal(SIGTERM) }
            try await eventually("the receiver listens", within: .seconds(5)) { Ports.isUsed(listening, by: "udp") }
            let relay = try RelayProcess(
                ["--input", "udp://127.0.0.1:\(port)", "--copy", "--rtmp", server.url(), "--srt", receiver.url()]
                    + [
                        "--output", "udp://127.0.0.1:\(listening)", "--output",
                        "hls:\(directory.file("live"))#endlist=always",
                    ]
                    + ["--record", set.directory])
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            // The stream is sent byte by byte as it is, because ffmpeg cannot write splice information.
            let sender = try TransportStreamSender.start(input, to: port, audioLater: 0)
            try await sender.ending(within: .seconds(20))
            // Only at the interruption the demuxer knows that the last two frames are complete.
            try await relay.says("input is interrupted", within: .seconds(30))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            try await expectSplices(try await receiver.recording(), at: frames)
            try await expectSplices(received, at: frames)
            var paths = [try await server.recording(), "\(directory.file("live"))/index.m3u8"]
            paths += set.finished
            for path in paths {
                #expect(try await Probe.complaints(path).isEmpty, "\(path)")
            }
        }
    }
}
