// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FanOut
import Foundation
import Media
import TestSupport
import Testing

@testable import Channel
@testable import Relay

extension SerialPeers {
    /// Outputs that are added and removed while the program runs, by the interface that the API uses.
    @Suite("Outputs at run time")
    struct OutputSetTests {
        /// Returns what a server receives in 8 s while other outputs are changed by `changes`.
        private func received(
            _ changes: @escaping @Sendable (Channel) async throws -> Void
        ) async throws -> [String] {
            let server = try await RTMPServer.running()
            let configuration = try RunCommand.parse(Shape.small + ["--duration", "8s", "--rtmp", server.url()])
                .channelConfiguration()
            let status = try await runChannel(configuration) { channel in
                try await server.hasReceived(within: .seconds(5))
                try await changes(channel)
            }
            #expect(status == .done)
            return try await codedPackets(of: try await server.recording())
        }

        @Test("Outputs are added, paused, resumed, retried and removed without changing a byte of another output")
        func changesAreNotFelt() async throws {
            let guest = try await RTMPServer.running()
            let undisturbed = try await received { _ in }
            let disturbed = try await received { channel in
                let name = try channel.add(address: "\(guest.url())#name=guest")
                let dead = try channel.add(address: "rtmp://127.0.0.1:\(try Ports.free())/live/dead")
                try await guest.hasReceived(within: .seconds(5))
                try channel.outputs.pause(name)
                try await eventually("the guest is off air", within: .seconds(3)) { guest.recordings.count == 1 }
                try channel.outputs.resume(name)
                try channel.outputs.retryNow(dead)
                try await guest.hasReceived(recording: 2, within: .seconds(5))
                try channel.outputs.remove(name)
                try channel.outputs.remove(dead)
                #expect(channel.outputs.statuses.map(\.name) == ["rtmp-1"])
            }
            #expect(undisturbed.count > 500)
            #expect(disturbed == undisturbed)
            for recording in try await guest.finishedRecordings() {
                let frames = try await DecodedFrames(recording)
                #expect(frames.breaksBeforeEnd.isEmpty && !frames.counters.isEmpty, "\(recording)")
            }
        }

        @Test("24 simultaneous outputs carry the same packets as a single output")
        func sharedBytes() async throws {
            let alone = try await received { _ in }
            let server = try await RTMPServer.running()
            let keys = (0..<24).map { "many-\($0)" }
            let run = try await RelayProcess.run(
                Shape.small + ["--duration", "8s"] + keys.flatMap { ["--rtmp", server.url(key: $0)] })
            #expect(run.ending == .exited(0), "\(run.log)")
            let recordings = try await server.finishedRecordings()
            #expect(recordings.count == keys.count)
            for recording in recordings { #expect(try await codedPackets(of: recording) == alone, "\(recording)") }
        }
    }
}
