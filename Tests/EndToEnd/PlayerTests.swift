// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Players that play the program from relay by RTMP. The players are ffmpeg, which stores what it receives.
    @Suite("Players that connect to relay")
    struct PlayerTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Starts a player that writes what it receives, unchanged, to the file `name`.
        private func play(_ url: String, into name: String) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg", ["-v", "error", "-nostdin", "-i", url, "-c", "copy", "-f", "flv", directory.file(name)])
        }

        /// Expects that `name` contains every frame once and in order, from a keyframe on, together with the audio.
        @discardableResult
        private func check(_ name: String, hasFlashes: Bool = true) async throws -> ClosedRange<UInt32> {
            let path = directory.file(name)
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty, "\(name): \(frames.breaks)")
            #expect(try await Probe.complaints(path).isEmpty, "\(name)")
            if hasFlashes {
                let offset = try await AVOffset(path, frames: frames)
                #expect(offset.milliseconds.count >= 2 && offset.worst <= 10, "\(name): \(offset.milliseconds)")
            }
            return try #require(frames.span, "\(name)")
        }

        @Test("RTMP players that start early or late get every frame, and one that pauses gets an undamaged stream")
        func program() async throws {
            let port = try Ports.free()
            let url = "rtmp://127.0.0.1:\(port)/live/program"
            let relay = try RelayProcess(
                Shape.small + ["--duration", "14s", "--gop", "2s", "--output"]
                    + ["rtmp-listen://127.0.0.1:\(port)/live/program?players=3"])
            try await relay.says("waiting for a caller at rtmp-listen://", within: .seconds(10))
            let (first, sleepy) = (try play(url, into: "first.flv"), try play(url, into: "sleepy.flv"))
            try await relay.says("player 2 at 127.0.0.1 joined", within: .seconds(10))
            for name in ["first.flv", "sleepy.flv"] {
                try await eventually("\(name) grows", within: .seconds(10)) { fileSize(directory.file(name)) > 40_000 }
            }
            sleepy.signal(SIGSTOP)
            try await eventually("the first goes on", within: .seconds(10)) {
                fileSize(directory.file("first.flv")) > 140_000
            }
            let late = try play(url, into: "late.flv")
            try await relay.says("player 3 at 127.0.0.1 joined", within: .seconds(10))
            let tooMany = try play(url, into: "fourth.flv")
            #expect(try await tooMany.ending(within: .seconds(20)) != .exited(0))
            sleepy.signal(SIGCONT)
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            for player in [first, sleepy, late] { try await player.ending(within: .seconds(20)) }
            let (whole, joined) = (try await check("first.flv"), try await check("late.flv"))
            // The files end with the program's last frame and begin with a keyframe; a GOP has 60 frames.
            #expect(whole.upperBound == 419 && joined.upperBound == 419)
            #expect(whole.lowerBound % 60 == 0 && joined.lowerBound % 60 == 0 && joined.lowerBound > whole.lowerBound)
            // A player that sleeps too long may miss the last frames of some GOPs, but gets no damaged or repeated
            // frame.
            let slept = try await DecodedFrames(directory.file("sleepy.flv")).counters.compactMap(\.self)
            #expect(slept.last == 419 && zip(slept, slept.dropFirst()).allSatisfy { $0 < $1 })
            #expect(try await Probe.complaints(directory.file("sleepy.flv")).isEmpty)
        }

        @Test("An RTMP player that does not read for long loses frames or its connection, and other players lose none")
        func sleeper() async throws {
            let clip = try await Clip.noisy(seconds: 20, in: directory)
            let port = try Ports.free()
            let url = "rtmp://127.0.0.1:\(port)/live/program"
            let relay = try RelayProcess(
                ["--input", clip, "--copy", "--output", "rtmp-listen://127.0.0.1:\(port)/live/program"])
            try await relay.says("waiting for a caller at rtmp-listen://", within: .seconds(10))
            let (quick, sleepy) = (try play(url, into: "quick.flv"), try play(url, into: "sleepy.flv"))
            try await relay.says("player 2 at 127.0.0.1 joined", within: .seconds(10))
            try await eventually("both play", within: .seconds(10)) {
                ["quick.flv", "sleepy.flv"].allSatisfy { fileSize(directory.file($0)) > 100_000 }
            }
            sleepy.signal(SIGSTOP)
            try await relay.says("takes less than the program makes", within: .seconds(20))
            let result = try await relay.finished(within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            sleepy.signal(SIGKILL)
            try await quick.ending(within: .seconds(20))
            let span = try await check("quick.flv", hasFlashes: false)
            #expect(span.upperBound == 599)
        }

        @Test(
            "A stream that is published to relay can be played from relay with the same NAL units, with TLS and a key")
        func samePort() async throws {
            let clip = try await Clip.noisy(seconds: 8, in: directory)
            let authority = try await Authority()
            let certificate = try await authority.issue("DNS:localhost,IP:127.0.0.1")
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "rtmps-listen://127.0.0.1:\(port)/live/secret-in", "--copy", "--output"]
                    + ["rtmps-listen://127.0.0.1:\(port)/live/program?key=secret-out"]
                    + ["--tls-cert", certificate.certificate, "--tls-key", certificate.key])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            let early = try play("rtmps://127.0.0.1:\(port)/live/program?key=secret-out", into: "early.flv")
            #expect(try await early.ending(within: .seconds(20)) != .exited(0))
            let publisher = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "flv"]
                    + ["rtmps://127.0.0.1:\(port)/live/secret-in"])
            try await relay.says("waiting for a caller at rtmps-listen://", within: .seconds(10))
            let wrong = try play("rtmps://127.0.0.1:\(port)/live/program?key=secret-no", into: "wrong.flv")
            #expect(try await wrong.ending(within: .seconds(20)) != .exited(0))
            let player = try play("rtmps://127.0.0.1:\(port)/live/program?key=secret-out", into: "player.flv")
            try await relay.says("player 1 at 127.0.0.1 joined", within: .seconds(10))
            try await publisher.ending(within: .seconds(30))
            try await relay.says("the publisher is gone", within: .seconds(10))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("secret-"), "\(result.log)")
            try await player.ending(within: .seconds(20))
            let (sent, got) = (
                try await CodedUnits(clip), try await CodedUnits(directory.file("player.flv"))
            )
            #expect(got.video.count > 60 && sent.video.suffix(got.video.count) == got.video[...])
            #expect(got.audio.count > 100 && sent.audio.contains(got.audio))
            // The authority's files are deleted when the authority is released.
            withExtendedLifetime(authority) {}
        }

        @Test("Programs that are run by --on-publish and --on-play accept or refuse clients by stream name and query")
        func commands() async throws {
            let clip = try await Clip.noisy(seconds: 6, in: directory)
            let script = directory.file("decide")
            try """
            #!/bin/sh
            [ "$RELAY_EVENT $RELAY_STREAM $RELAY_QUERY" = "publish secret-in token=good" ] && exit 0
            [ "$RELAY_EVENT $RELAY_STREAM $RELAY_QUERY" = "play program user=ann" ] && exit 0
            exit 1
            """.write(toFile: script, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
            let port = try Ports.free()
            let (target, url) = ("rtmp://127.0.0.1:\(port)/live/secret-in", "rtmp://127.0.0.1:\(port)/live/program")
            let relay = try RelayProcess(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/secret-in", "--copy", "--on-publish", script]
                    + ["--output", "rtmp-listen://127.0.0.1:\(port)/live/program", "--on-play", script])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            func publish(_ target: String) throws -> ChildProcess {
                try ChildProcess(
                    "ffmpeg", ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "flv", target])
            }
            #expect(try await publish("\(target)?token=bad").ending(within: .seconds(20)) != .exited(0))
            let publisher = try publish("\(target)?token=good")
            try await relay.says("waiting for a caller at rtmp-listen://", within: .seconds(10))
            let bob = try play("\(url)?user=bob", into: "bob.flv")
            #expect(try await bob.ending(within: .seconds(20)) != .exited(0))
            let ann = try play("\(url)?user=ann", into: "ann.flv")
            try await relay.says("player 1 at 127.0.0.1 joined", within: .seconds(10))
            try await publisher.ending(within: .seconds(30))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("may not publish: \(script) ended with status 1"), "\(result.log)")
            #expect(result.log.contains("may not play") && !result.log.contains("secret-in"), "\(result.log)")
            #expect(!result.log.contains("token=") && !result.log.contains("user="), "\(result.log)")
            try await ann.ending(within: .seconds(20))
            try await check("ann.flv", hasFlashes: false)
        }

        @Test("A port in use and an invalid certificate are reported before any output goes live")
        func wrong() async throws {
            let port = try Ports.free()
            let output = ["--output", "rtmp-listen://127.0.0.1:\(port)/live/program"]
            let first = try RelayProcess(Shape.small + output)
            try await first.says("waiting for a caller at rtmp-listen://", within: .seconds(10))
            let records = directory.file("records")
            let second = try await RelayProcess.run(Shape.small + output + ["--record", records])
            #expect(second.ending == .exited(69))
            #expect(second.log.contains("rtmp-listen-1 cannot be opened: 127.0.0.1:\(port): Address already in use"))
            #expect(fileNames(in: records).allSatisfy { !$0.hasSuffix(".part") })
            _ = try await first.end(by: SIGINT, within: .seconds(20))
            let secure = ["--output", "rtmps-listen://127.0.0.1:\(port)/live/program"]
            let missing = try await RelayProcess.run(Shape.small + secure)
            #expect(missing.ending == .exited(64) && missing.log.contains("needs --tls-cert and --tls-key"))
            let none = directory.file("none.pem")
            try "none".write(toFile: none, atomically: true, encoding: .utf8)
            let unusable = try await RelayProcess.run(Shape.small + secure + ["--tls-cert", none, "--tls-key", none])
            #expect(unusable.ending == .exited(64) && unusable.log.contains("The certificate cannot be used"))
        }
    }
}
