// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension SerialPeers {
    /// RTMP over TLS, through proxies and with logins.
    @Suite("RTMPS outputs")
    struct RTMPSTests {
        private let directory: TemporaryDirectory
        private let authority: Authority

        init() async throws {
            directory = try TemporaryDirectory()
            authority = try await Authority()
        }

        private static let localhost = "DNS:localhost,IP:127.0.0.1"

        private func output(_ host: String, _ port: Int, _ options: String) -> [String] {
            ["--output", "rtmps://\(host):\(port)/live/program#\(options)"]
        }

        /// Expects that the server got a complete program of `count` frames.
        private func check(_ server: RTMPServer, frames count: UInt32) async throws {
            let path = try await server.recording()
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty)
            #expect(frames.span == 0...count - 1)
            #expect(try await Probe.complaints(path).isEmpty)
        }

        @Test(
            "An RTMPS server gets every frame with TLS 1.2 and 1.3, by its host name and by its IP address",
            arguments: [("TLSv1.3", "localhost"), ("TLSv1.3", "127.0.0.1"), ("TLSv1.2", "localhost")])
        func whole(protocols: String, host: String) async throws {
            let server = try await RTMPServer.running()
            let front = try await TLSFront(
                try await authority.issue(Self.localhost), protocols: protocols, target: server.port)
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "4s"] + output(host, front.port, "tls-ca=\(authority.path)"))
            #expect(result.ending == .exited(0), "\(result.log)")
            try await check(server, frames: 120)
        }

        @Test(
            "An invalid certificate of an RTMPS server is refused, with the reason",
            arguments: [
                ("DNS:other.example", 2, "localhost", "not valid for the host localhost"),
                ("DNS:localhost", 2, "127.0.0.1", "not valid for the address 127.0.0.1"),
                (localhost, -1, "localhost", "has expired"),
            ])
        func badCertificate(names: String, days: Int, host: String, reason: String) async throws {
            let server = try await RTMPServer.running()
            let front = try await TLSFront(
                try await authority.issue(names, days: days), target: server.port)
            let relay = try RelayProcess(
                Shape.small + ["--duration", "60s"] + output(host, front.port, "tls-ca=\(authority.path)"))
            try await relay.says(reason, within: .seconds(10))
            let result = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(result.log.contains("cause=refused"))
            #expect(server.recordings.isEmpty)
        }

        @Test("A certificate of an unknown authority is refused, unless certificate checks are off")
        func unknownAuthority() async throws {
            let server = try await RTMPServer.running()
            let front = try await TLSFront(try await authority.issue("DNS:other.example"), target: server.port)
            let relay = try RelayProcess(
                Shape.small + ["--duration", "60s", "--output", "rtmps://localhost:\(front.port)/live/program"])
            try await relay.says("unknown authority", within: .seconds(10))
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(server.recordings.isEmpty)
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "4s"] + output("localhost", front.port, "tls=insecure"))
            #expect(result.ending == .exited(0), "\(result.log)")
            try await check(server, frames: 120)
        }

        @Test("An RTMPS handshake that never ends is reported with its step, and affects no other output")
        func silent() async throws {
            let (healthy, silent) = (try await RTMPServer.running(), try SilentServer())
            let set = RecordingSet(directory: directory.file("recordings"))
            let relay = try RelayProcess(
                Shape.small + ["--record", set.directory, "--rtmp", healthy.url()]
                    + output("localhost", silent.port, "tls=insecure"))
            try await relay.says("tls: localhost: the handshake was not over within 5000 ms", within: .seconds(15))
            try await healthy.hasReceived(within: .seconds(5))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            print("ended \(result.duration) after the signal, beside an endless handshake")
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await healthy.recording())
            let recorded = try await set.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty)
            #expect(frames.breaks.isEmpty && frames.counters.first == 0 && frames.counters.last == recorded.last)
        }

        @Test("A frozen RTMPS server is detected, does not affect the recording, and gets the program again")
        func frozen() async throws {
            let server = try await RTMPServer.running()
            let front = try await TLSFront(try await authority.issue(Self.localhost), target: server.port)
            defer { front.thaw() }
            let clip = try await Clip.noisy(seconds: 60, in: directory)
            let set = RecordingSet(directory: directory.file("recordings"))
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "4M", "--record", set.directory]
                    + output("localhost", front.port, "tls-ca=\(authority.path)"))
            try await server.hasReceived(bytes: 500_000, within: .seconds(10))
            let before = try relay.process.memory("VmRSS")
            front.freeze()
            // The failure is detected by the kernel (TCP_USER_TIMEOUT) or by the writer, whichever is first.
            try await relay.says("cause=lost", within: .seconds(40))
            #expect(["Connection timed out", "stopped reading"].contains { relay.process.errors.contains($0) })
            let after = try relay.process.memory("VmHWM")
            #expect(after - before < 64 << 10, "\(before) KiB, then \(after) KiB")
            let count = server.recordings.count
            front.thaw()
            try await server.hasReceived(recording: count + 1, bytes: 500_000, within: .seconds(30))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(DecodedFrames.breaks(in: try await set.counters()).isEmpty)
            let last = try #require(try await server.finishedRecordings().last)
            #expect(try await Probe.firstFlags(last).hasPrefix("K"))
            #expect(try await Probe.complaints(last).isEmpty)
        }

        @Test("An RTMPS output reaches its server through an HTTP proxy and through a SOCKS proxy")
        func proxied() async throws {
            let certificate = try await authority.issue(Self.localhost)
            for kind in ["http", "socks5"] {
                let server = try await RTMPServer.running()
                let front = try await TLSFront(certificate, target: server.port)
                let proxy = try await kind == "http" ? TestProxy.http(target: front.port) : TestProxy.socks()
                let address = "\(kind)://bob:correct-horse@127.0.0.1:\(proxy.port)"
                let result = try await RelayProcess.run(
                    Shape.small + ["--duration", "4s"]
                        + output("127.0.0.1", front.port, "tls-ca=\(authority.path),proxy=\(address)"))
                #expect(result.ending == .exited(0), "\(result.log)")
                try await check(server, frames: 120)
                #expect(!result.log.contains("correct-horse"))
            }
        }

        @Test("A proxy that refuses a connection causes another error than a proxy that cannot reach the server")
        func proxyRefusals() async throws {
            let server = try await RTMPServer.running()
            let (http, socks) = (try await TestProxy.http(target: server.port), try await TestProxy.socks())
            let unused = try Ports.free()
            for (port, proxy, reason) in [
                (server.port, "http://bob:wrong-pony@127.0.0.1:\(http.port)", "does not accept the user"),
                (unused, "http://bob:correct-horse@127.0.0.1:\(http.port)", "does not allow 127.0.0.1"),
                (server.port, "socks5://bob:wrong-pony@127.0.0.1:\(socks.port)", "does not accept the user"),
                (unused, "socks5://bob:correct-horse@127.0.0.1:\(socks.port)", "connection refused"),
            ] {
                let relay = try RelayProcess(
                    Shape.small + ["--output", "rtmp://127.0.0.1:\(port)/live/program#proxy=\(proxy)"])
                try await relay.says(reason, within: .seconds(10))
                let result = try await relay.end(by: SIGTERM, within: .seconds(10))
                #expect(result.log.contains(reason == "connection refused" ? "cause=unreachable" : "cause=refused"))
                #expect(!result.log.contains("pony") && !result.log.contains("horse"))
            }
            #expect(server.recordings.isEmpty)
        }
    }
}
