// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Control
import FanOut
import Foundation
import Media
import Program
import Status
import TestSupport
import Testing

@testable import Channel
@testable import Relay

extension Serial {
    /// An HLS player that continues to read across interruptions of the output.
    @Suite("HLS players during interruptions")
    struct HLSViewerTests {
        private let directory: TemporaryDirectory
        private let live: String
        private let followed: String
        /// Segments of one second, all of which stay in the playlist, so that the playlist shows what could be seen.
        private let options = ["segment": "1s", "list": "100"]

        init() throws {
            directory = try TemporaryDirectory()
            live = directory.file("live")
            followed = directory.file("followed.mkv")
            try FileManager.default.createDirectory(atPath: live, withIntermediateDirectories: true)
        }

        private var text: String { (try? String(contentsOfFile: "\(live)/index.m3u8", encoding: .utf8)) ?? "" }

        private var segments: Int { text.split(separator: "\n").count { $0.hasSuffix(".m4s") } }

        private func hasSegments(_ count: Int) async throws {
            try await eventually("\(count) segments", within: .seconds(20)) { segments >= count }
        }

        /// For each part of the playlist between two discontinuities, the number of its frames of 1/30 s.
        private var frames: [Int] {
            text.components(separatedBy: "#EXT-X-DISCONTINUITY\n").map { part in
                part.split(separator: "\n").filter { $0.hasPrefix("#EXTINF:") }
                    .reduce(0) { $0 + Int(((Double($1.dropFirst(8).dropLast()) ?? 0) * 30).rounded()) }
            }
        }

        /// Starts ffmpeg, which plays from `server` and writes to `followed`.
        private func player(_ server: WebServer) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-y", "-live_start_index", "0", "-i", server.url("index.m3u8")]
                    + ["-map", "0", "-c", "copy", followed])
        }

        /// Expects that the player ended normally, reported no error and found every file, and that it got every frame
        /// of the playlist, before and after one interruption.
        private func check(_ player: ChildProcess, _ server: WebServer, from first: UInt32?) async throws {
            #expect(try await player.ending(within: .seconds(30)) == .exited(0))
            #expect(player.errors.isEmpty, "\(player.errors)")
            #expect(server.missing.isEmpty, "\(server.missing)")
            #expect(text.hasSuffix("#EXT-X-ENDLIST\n") && frames.count == 2, "\(text)")
            let counters = try await DecodedFrames(followed).counters
            #expect(counters.count == frames.reduce(0, +))
            let (before, after) = (Array(counters.prefix(frames[0])), Array(counters.dropFirst(frames[0])))
            #expect(before.first == 0 && DecodedFrames.breaks(in: before).isEmpty)
            #expect(DecodedFrames.breaks(in: after).isEmpty && !after.isEmpty)
            if let first { #expect(after.first == first) }
        }

        @Test("An HLS player continues to play when relay is stopped and started again")
        func restart() async throws {
            let target = "hls:\(live)#" + options.map { "\($0)=\($1)" }.joined(separator: ",")
            let arguments = Shape.small + ["--gop", "1s", "--output", target]
            let first = try RelayProcess(arguments)
            try await hasSegments(1)
            let server = try await WebServer(live)
            let player = try player(server)
            try await hasSegments(3)
            let ended = try await first.end(by: SIGTERM, within: .seconds(10))
            #expect(ended.ending == .exited(0), "\(ended.log)")
            #expect(!text.contains("#EXT-X-ENDLIST"))
            let second = try await RelayProcess.run(arguments + ["--duration", "5s"])
            #expect(second.ending == .exited(0), "\(second.log)")
            try await check(player, server, from: 0)
            #expect(frames[1] == 150)
        }

        @Test("An HLS player continues to play when the output is paused and resumed")
        func pause() async throws {
            let target = "hls:\(live)#name=hls," + options.map { "\($0)=\($1)" }.joined(separator: ",")
            let configuration = try RunCommand.parse(
                Shape.small + ["--gop", "1s", "--duration", "14s", "--output", target]
            ).channelConfiguration()
            let server = try await WebServer(live)
            let status = try await runChannel(configuration) { channel in
                try await hasSegments(1)
                let player = try player(server)
                try await hasSegments(3)
                try channel.outputs.pause("hls")
                try await eventually("the output is off air", within: .seconds(5)) {
                    channel.outputs.statuses.first?.state == .paused
                }
                // Two seconds of the program are missing, so there is a gap that the player must pass.
                let frames = channel.status.program.frames + 60
                try await eventually("the program goes on", within: .seconds(10)) {
                    channel.status.program.frames >= frames
                }
                let count = segments
                try channel.outputs.resume("hls")
                try await hasSegments(count + 1)
                try await check(player, server, from: nil)
            }
            #expect(status == .done)
        }

        @Test("A player of the HLS backup continues when the output uses the backup again")
        func backup() async throws {
            let primary = try RTMPServer()
            let target = "\(primary.url())#name=main,backup=hls:\(live),backup-after=1,primary-check=1s"
            var configuration = try RunCommand.parse(
                Shape.small + ["--gop", "1s", "--duration", "25s", "--output", target]
            ).channelConfiguration()
            let list = options.map { "\($0)=\($1)" }.joined(separator: ",")
            configuration.outputs[0].backup = try OutputSpecification("hls:\(live)#\(list)").address
            let server = try await WebServer(live)
            let status = try await runChannel(configuration) { channel in
                try await hasSegments(1)
                let player = try player(server)
                try await hasSegments(3)
                try await primary.start()
                try await primary.hasReceived(within: .seconds(10))
                let count = segments
                try await primary.kill()
                try await hasSegments(count + 1)
                try await check(player, server, from: nil)
            }
            #expect(status == .done)
        }
    }
}
