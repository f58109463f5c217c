// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Logins to RTMP servers in the ways of Adobe and of Limelight.
    @Suite("RTMP logins")
    struct LoginTests {
        @Test(
            "An RTMP login with the right password is accepted within three connections",
            arguments: LoginServer.Scheme.allCases)
        func rightPassword(scheme: LoginServer.Scheme) async throws {
            let server = try await LoginServer(scheme)
            let result = try await RelayProcess.run(
                Shape.small
                    + ["--duration", "4s", "--rtmp", "rtmp://bob:correct-horse@127.0.0.1:\(server.port)/live/program"])
            #expect(result.ending == .exited(0), "\(result.log)")
            try await eventually("the server has seen the end", within: .seconds(5)) { server.lines.count >= 3 }
            #expect(server.lines.count == 3)
            // The number includes all frames and the decoder configuration.
            #expect(server.lines.last == "frames 121")
            #expect(!result.log.contains("horse") && !result.log.contains("bob"))
        }

        @Test(
            "A wrong password, an unknown user and a missing user are refused, each with its own message",
            arguments: LoginServer.Scheme.allCases)
        func wrongPassword(scheme: LoginServer.Scheme) async throws {
            let server = try await LoginServer(scheme)
            for (login, reason) in [
                ("bob:wrong-pony@", "the password is wrong"), ("eve:wrong-pony@", "does not know the user"),
                ("", "wants a user and a password"),
            ] {
                let relay = try RelayProcess(
                    Shape.small + ["--rtmp", "rtmp://\(login)127.0.0.1:\(server.port)/live/program"])
                try await relay.says(reason, within: .seconds(10))
                let result = try await relay.end(by: SIGTERM, within: .seconds(10))
                #expect(result.log.contains("cause=refused"))
                #expect(!result.log.contains("pony"))
            }
        }

        @Test(
            "FFmpeg can log in to the RTMP server that the login tests use", arguments: LoginServer.Scheme.allCases)
        func ffmpeg(scheme: LoginServer.Scheme) async throws {
            let server = try await LoginServer(scheme)
            try await run(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=10:duration=2"]
                    + ["-c:v", "flv", "-f", "flv"]
                    + ["rtmp://bob:correct-horse@127.0.0.1:\(server.port)/live/program"])
            try await eventually("the server has seen the end", within: .seconds(5)) {
                server.lines.contains { $0.hasPrefix("frames") }
            }
            #expect(server.lines.last == "frames 20")
        }
    }
}
