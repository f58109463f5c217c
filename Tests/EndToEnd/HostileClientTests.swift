// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Hostile clients of a listener at which a publisher is being recorded.
    @Suite("Hostile RTMP clients")
    struct HostileClientTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        // MARK: What they write

        private static let handshake = [3] + [UInt8](repeating: 0, count: 2 * 1536)

        private static func big(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
        }

        /// Returns the header, of type 0, of a message with `length` bytes (Adobe RTMP 1.0, 5.3.1).
        private static func header(_ type: UInt8, length: Int, stream: UInt8 = 0, chunkStream: Int = 3) -> [UInt8] {
            let basic =
                switch chunkStream {
                case ..<64: [UInt8(chunkStream)]
                case ..<320: [0, UInt8(chunkStream - 64)]
                default: [1, UInt8((chunkStream - 64) & 0xFF), UInt8((chunkStream - 64) >> 8)]
                }
            return basic + [0, 0, 0] + big(length, 3) + [type, stream, 0, 0, 0]
        }

        /// Returns a message in chunks of `chunk` bytes.
        private static func message(_ type: UInt8, _ body: [UInt8], stream: UInt8 = 0, chunk: Int = 128) -> [UInt8] {
            var bytes = header(type, length: body.count, stream: stream)
            for start in stride(from: 0, to: body.count, by: chunk) {
                bytes += (start > 0 ? [0xC3] : []) + body[start..<min(start + chunk, body.count)]
            }
            return bytes
        }

        private static func text(_ text: String) -> [UInt8] { [2] + big(text.utf8.count, 2) + Array(text.utf8) }
        private static let number: [UInt8] = [0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0]
        private static let connect =
            text("connect") + number + [3, 0, 3] + Array("app".utf8) + text("live") + [0, 0, 9]
        private static func publish(_ key: String) -> [UInt8] {
            text("publish") + number + [5] + text(key) + text("live")
        }
        private static func chunkSize(_ size: Int) -> [UInt8] { message(1, big(size, 4)) }

        /// The handshake, `connect` and the request to publish `key`.
        private static func publishing(_ key: String) -> [UInt8] {
            handshake + message(20, connect) + message(20, publish(key), stream: 1)
        }

        /// The name of each attack, the bytes that the client sends, and the answer that it must get before it is
        /// disconnected.
        private static let attacks: [(name: String, bytes: [UInt8], answer: String?)] = [
            ("wrong key", publishing("wrong"), "NetStream.Publish.Denied"),
            ("second publisher", publishing("right"), "NetStream.Publish.BadName"),
            ("publish before connect", handshake + message(20, publish("right")), "NetConnection.Call.Failed"),
            ("chunk size 0", handshake + chunkSize(0), nil),
            ("chunk size 2^31", handshake + chunkSize(1 << 31), nil),
            (
                "chunk size 1",
                handshake + chunkSize(1) + message(20, connect, chunk: 1)
                    + message(20, publish("wrong"), stream: 1, chunk: 1), "NetStream.Publish.Denied"
            ),
            (
                "a message of 16 MiB - 1",
                handshake + message(20, connect) + chunkSize(1 << 24) + header(9, length: 0xFF_FFFF)
                    + [UInt8](repeating: 7, count: 0xFF_FFFF), nil
            ),
            (
                "65599 chunk streams",
                handshake
                    + (2..<65_600).flatMap {
                        header(9, length: 0xFF_FFFF, chunkStream: $0) + [UInt8](repeating: 7, count: 128)
                    }, nil
            ),
            (
                "objects in objects, 10000 deep",
                handshake
                    + message(
                        20, text("connect") + number + [[UInt8]](repeating: [3, 0, 1, 97], count: 10_000).joined()),
                "NetConnection.Connect.InvalidApp"
            ),
            ("noise", (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }, nil),
        ]

        // MARK: The tests

        /// The limit for the growth of relay's memory, in KiB, whatever a client without the key does.
        private static let mostGrowth = 24 << 10
        /// The limit for a client with the key, in KiB: a message of 16 MiB, its copy, and the part of the next message
        /// that was read.
        private static let mostGrowthByPublisher = 64 << 10

        /// Returns relay's present memory in KiB, and resets its peak.
        private func memory(of relay: RelayProcess) throws -> Int {
            // The kernel resets the peak when 5 is written to this file (proc(5)).
            try "5".write(toFile: "/proc/\(relay.process.pid)/clear_refs", atomically: false, encoding: .utf8)
            return try relay.process.memory("VmRSS")
        }

        private func expectBounded(
            _ what: String, _ relay: RelayProcess, since before: Int, by most: Int = mostGrowth
        ) throws {
            let growth = try relay.process.memory("VmHWM") - before
            print("\(what): \(before) KiB before, \(growth) KiB more at most")
            #expect(growth < most, "\(what): \(growth) KiB")
        }

        private func start(_ port: Int) async throws -> RelayProcess {
            let relay = try RelayProcess(
                ["--input", "rtmp-listen://127.0.0.1:\(port)/live/right", "--copy", "--record", set.directory])
            try await relay.says("waiting for a publisher", within: .seconds(10))
            return relay
        }

        /// Makes the clip that is published.
        private func clip(seconds: Int) async throws -> String {
            let path = directory.file("clip.mp4")
            try await Clip.make(
                path,
                ["-f", "lavfi", "-i", "testsrc2=d=\(seconds):s=320x180:r=25"]
                    + ["-f", "lavfi", "-i", "sine=d=\(seconds):r=48000", "-c:v", "libx264", "-bf", "2"]
                    + ["-pix_fmt", "yuv420p", "-g", "25", "-c:a", "aac", "-ac", "2"])
            return path
        }

        private func publisher(_ input: String, at port: Int) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-i", input, "-c", "copy", "-f", "flv"]
                    + ["rtmp://127.0.0.1:\(port)/live/right"])
        }

        /// Calls `body` with a client that publishes. Closes the client's connection afterwards.
        private func publish(at port: Int, _ body: (RawClient) async throws -> Void) async throws {
            let client = try RawClient(port: port)
            try await client.say(Self.publishing("right"))
            try await eventually("the stream is published") {
                client.listen()
                return client.wasTold("NetStream.Publish.Start")
            }
            try await body(client)
        }

        private func hasLost(publishers count: Int, _ relay: RelayProcess) async throws {
            try await eventually("\(count) publishers are gone", within: .seconds(20)) {
                relay.process.errors.components(separatedBy: "the publisher is gone").count == count + 1
            }
        }

        /// Ends relay, and expects that the only recording contains everything that was published.
        private func expectRecorded(_ input: String, by relay: RelayProcess) async throws {
            try await relay.says("the publisher is gone", within: .seconds(60))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("live/right"))
            #expect(set.finished.count == 1)
            #expect(try await CodedUnits(try #require(set.finished.first)) == CodedUnits(input))
        }

        @Test("Hostile RTMP clients are disconnected, relay's memory is bounded, and the publisher loses no frame")
        func besidePublisher() async throws {
            // After ten clients with a wrong key, each further one waits for 5 s.
            let (input, port) = (try await clip(seconds: 35), try Ports.free())
            let relay = try await start(port)
            let publisher = try publisher(input, at: port)
            try await relay.says("a publisher is here", within: .seconds(20))
            for attack in Self.attacks {
                let before = try memory(of: relay)
                let clients = try (0..<8).map { _ in try RawClient(port: port) }
                for client in clients { try await client.say(attack.bytes) }
                for client in clients {
                    try await client.beClosed()
                    if let answer = attack.answer { #expect(client.wasTold(answer), "\(attack.name)") }
                }
                try expectBounded(attack.name, relay, since: before)
            }
            let before = try memory(of: relay)
            let crowd = try (0..<1000).map { _ in try RawClient(port: port) }
            for client in crowd { try await client.beClosed() }
            try expectBounded("1000 silent connections", relay, since: before)
            #expect(publisher.isRunning, "all of that was beside the publisher")
            try await publisher.ending(within: .seconds(60))
            try await expectRecorded(input, by: relay)
        }

        @Test("If a client with a valid key sends garbage, memory stays bounded, and the next publisher is recorded")
        func withKey() async throws {
            let (input, port) = (try await clip(seconds: 3), try Ports.free())
            let relay = try await start(port)
            let size = Self.chunkSize(1 << 24)
            let large = Self.header(9, length: 0xFF_FFFF, stream: 1) + [UInt8](repeating: 0x17, count: 0xFF_FFFF)
            let streams = (2..<65_600).flatMap {
                Self.header(9, length: 0xFF_FFFF, stream: 1, chunkStream: $0) + [UInt8](repeating: 7, count: 128)
            }
            // Three messages that are never complete; the second one already exceeds the limit.
            let incomplete = (4..<7).flatMap {
                Self.header(9, length: 0xFF_FFFF, stream: 1, chunkStream: $0) + [UInt8](repeating: 7, count: 9 << 20)
            }
            let attacks = [
                ("messages of 16 MiB - 1", size + large + large + large + large, false),
                ("65599 chunk streams", streams, true),
                ("incomplete messages", Self.chunkSize(9 << 20) + incomplete, true),
            ]
            for (index, (name, bytes, isRefused)) in attacks.enumerated() {
                let before = try memory(of: relay)
                try await publish(at: port) { client in
                    let isTaken = try await client.say(bytes)
                    if isRefused { try await client.beClosed() } else { #expect(isTaken, "\(name)") }
                }
                try await hasLost(publishers: index + 1, relay)
                try expectBounded(name, relay, since: before, by: Self.mostGrowthByPublisher)
            }
            let publisher = try publisher(input, at: port)
            try await publisher.ending(within: .seconds(60))
            try await hasLost(publishers: attacks.count + 1, relay)
            try await expectRecorded(input, by: relay)
        }
    }
}
