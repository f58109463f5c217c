// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension SerialPeers {
    /// Outputs that have a main address and a backup address.
    @Suite("Outputs with a backup address")
    struct BackupTests {
        @Test(
            "The backup server gets the stream while the primary is away, and the primary gets it back without a gap")
        func thereAndBack() async throws {
            let (primary, backup, other) = (
                try await RTMPServer.running(), try await RTMPServer.running(), try await RTMPServer.running()
            )
            let address = "\(primary.url())#backup=\(backup.url()),primary-check=1s,name=main"
            let relay = try RelayProcess(
                Shape.small + ["--duration", "60s", "--output", address, "--rtmp", other.url()])
            try await primary.hasReceived(within: .seconds(10))
            try await primary.kill()
            try await backup.hasReceived(within: .seconds(20))
            try await primary.start()
            try await primary.hasReceived(recording: 2, within: .seconds(20))
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")

            let before = try await DecodedFrames(try await backup.recording())
            let after = try await DecodedFrames(try #require(try await primary.finishedRecordings().last))
            #expect(DecodedFrames.breaks(in: before.counters + after.counters).isEmpty)
            #expect(after.counters.first == before.counters.last.map { $0.map { $0 + 1 } })
            let steady = try await DecodedFrames(try await other.recording())
            #expect(steady.breaks.isEmpty && steady.span?.lowerBound == 0)
        }

        @Test("An unreachable primary server does not keep the output from going on air at the backup")
        func neverThere() async throws {
            let backup = try await RTMPServer.running()
            let dead = "rtmp://127.0.0.1:\(try Ports.free())/live/secretkey"
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "8s", "--output", "\(dead)#backup=\(backup.url()),backup-after=1"])
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await backup.recording())
            #expect(frames.breaks.isEmpty && frames.span == 0...239)
            #expect(!result.log.contains("secretkey"))
        }

        @Test("An output that reaches its limit of connection attempts reports this, and other outputs continue")
        func givesUp() async throws {
            let server = try await RTMPServer.running()
            let dead = "rtmp://127.0.0.1:\(try Ports.free())/live/key#retry=1"
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "5s", "--output", dead, "--rtmp", server.url()])
            #expect(result.ending == .exited(0), "\(result.log)")
            let says = result.log.contains("given up; nothing is tried") && result.log.contains("attempts=2")
            #expect(says, "\(result.log)")
            #expect(try await DecodedFrames(try await server.recording()).span == 0...149)
        }
    }
}
