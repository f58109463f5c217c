// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// Live sources of a program whose packets are recorded, without re-encoding, together with the program.
    @Suite("Recordings that copy sources")
    struct SourceCopyTests {
        private struct Listing: Decodable {
            struct Segment: Decodable {
                let name: String
                let channel: String
                let frames: Int
                let programStart: Int64
                let duration: Int64

                enum CodingKeys: String, CodingKey {
                    case name, channel, frames, duration
                    case programStart = "program_start"
                }
            }
            let segments: [Segment]
        }

        /// A stream that a test sends. Its frames are the same at every rate: a cycle of 25 frames, each of which is
        /// one step lighter than the previous one.
        private struct Camera {
            let name: String
            let rate: Int
            let first: Int
            let step: Int
            let port: Int
            let file: String

            func numbers(_ lumas: [Int]) -> [Int] {
                lumas.map { Int((Double($0 - first) / Double(step)).rounded()) }
            }
        }

        private let directory: TemporaryDirectory
        private let shows: ShowFiles

        init() throws {
            directory = try TemporaryDirectory()
            shows = ShowFiles(directory: directory)
        }

        private func camera(
            _ name: String, rate: Int, first: Int, step: Int, seconds: Int = 20
        ) async throws -> Camera {
            let path = directory.file("\(name).ts")
            let luma = "\(first)+\(step)*mod(N\\,25)"
            try await run(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi"]
                    + ["-i", "color=gray:size=320x180:rate=\(rate),geq=lum='\(luma)':cb=128:cr=128", "-f", "lavfi"]
                    + [
                        "-i", "sine=440:sample_rate=48000", "-t", "\(seconds)", "-c:v", "libx264", "-preset",
                        "veryfast",
                    ]
                    + ["-crf", "4", "-g", "\(rate * 7 / 5)", "-bf", "2", "-c:a", "aac", path])
            return Camera(name: name, rate: rate, first: first, step: step, port: try Ports.free(), file: path)
        }

        private func send(_ camera: Camera) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-re", "-i", camera.file, "-map", "0", "-c", "copy", "-f", "mpegts"]
                    + ["udp://127.0.0.1:\(camera.port)?pkt_size=1316"])
        }

        private func start(_ cameras: [Camera], _ arguments: [String]) async throws -> RelayProcess {
            try RelayProcess(
                Shape.small + ["--record", directory.file("rec"), "--record-sources", "--segment", "2s"] + arguments
                    + cameras.flatMap { ["--input", "udp://127.0.0.1:\($0.port)#name=\($0.name)"] })
        }

        private func listed() async throws -> [String: [Listing.Segment]] {
            let relay = try RelayProcess(["recordings", "list", directory.file("rec"), "--json"])
            #expect(try await relay.finished(within: .seconds(60)).ending == .exited(0))
            let listing = try JSONDecoder().decode(Listing.self, from: Data(relay.process.output.utf8))
            return Dictionary(grouping: listing.segments, by: \.channel).mapValues {
                $0.sorted { $0.programStart < $1.programStart }
            }
        }

        private func path(_ file: Listing.Segment) -> String { directory.file("rec/\(file.name)") }

        private func verify() async throws {
            let result = try await RelayProcess.run(["recordings", "verify", directory.file("rec"), "--deep"])
            #expect(result.ending == .exited(0), "\(result.log)")
        }

        /// Expects that each file contains a piece of what was sent, that the pieces are in order, and that there is no
        /// gap between them.
        private func compare(_ files: [Listing.Segment], with camera: Camera) async throws {
            let sent = try await CodedUnits(camera.file)
            var (video, audio): ([Range<Int>], [Range<Int>]) = ([], [])
            for file in files {
                let units = try await CodedUnits(path(file))
                video.append(try #require(place(of: units.video, in: sent.video), "frames of \(file.name)"))
                audio.append(try #require(place(of: units.audio, in: sent.audio), "audio of \(file.name)"))
            }
            for ranges in [video, audio] {
                for (before, after) in zip(ranges, ranges.dropFirst()) {
                    #expect(before.lowerBound < after.lowerBound && after.lowerBound <= before.upperBound, "\(ranges)")
                }
            }
        }

        private func place(of piece: [[UInt8]], in whole: [[UInt8]]) -> Range<Int>? {
            guard let first = piece.first else { return nil }
            return whole.indices.lazy.filter { whole[$0] == first }.map { $0..<$0 + piece.count }.first {
                $0.upperBound <= whole.count && whole[$0].elementsEqual(piece)
            }
        }

        /// Decodes the files as a player does. Expects that each frame is shown by exactly one file, and that the
        /// frames are consecutive. Returns the frames of each file.
        private func shown(_ files: [Listing.Segment], _ camera: Camera) async throws -> [[Int]] {
            var shown: [[Int]] = []
            for file in files {
                let numbers = camera.numbers(try await shows.lumas(of: path(file)))
                #expect(numbers.count == file.frames, "\(file.name)")
                shown.append(numbers)
            }
            let all = shown.flatMap(\.self)
            for index in all.indices.dropLast() {
                #expect(all[index + 1] == (all[index] + 1) % 25, "\(camera.name): frame \(index)")
            }
            return shown
        }

        @Test(
            "Each copied file has its source's packets, begins with the program's file and has every frame once")
        func whole() async throws {
            let cameras = [
                try await camera("fast", rate: 30, first: 40, step: 4),
                try await camera("slow", rate: 25, first: 148, step: 3),
            ]
            let relay = try await start(cameras, ["--duration", "9s"])
            let senders = try cameras.map(send)
            let result = try await relay.finished(within: .seconds(60))
            for sender in senders { sender.signal(SIGKILL) }
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = try await listed()
            #expect(Set(files.keys) == ["relay", "relay-fast", "relay-slow"] && files["relay"]?.count == 5)
            let program = files["relay"] ?? []
            for camera in cameras {
                let own = files["relay-\(camera.name)"] ?? []
                #expect(own.count == program.count)
                try await compare(own, with: camera)
                let shown = try await shown(own, camera)
                for (file, whole) in zip(own, program) where whole.programStart > 0 {
                    let off = abs(file.programStart - whole.programStart)
                    #expect(off <= 500_000_000 / Int64(camera.rate) + 1_000_000, "\(file.name)")
                }
                guard camera.name == "fast" else { continue }
                // This source is on air, so each of its files begins with the same frame as the program's file.
                for (index, whole) in program.enumerated() where index > 0 && index < shown.count {
                    let seen = camera.numbers(try await shows.lumas(of: path(whole)))
                    #expect(seen.first == shown[index].first, "file \(index)")
                }
            }
            try await verify()
            try await export(files["relay-slow"] ?? [], cameras[1])
        }

        /// Exports all files in one clip, and expects that it contains each frame once.
        private func export(_ files: [Listing.Segment], _ camera: Camera) async throws {
            let result = try await RelayProcess.run(
                ["recordings", "export", directory.file("rec"), "--channel", "relay-slow"]
                    + ["--from", "2000-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z"]
                    + ["-o", directory.file("clip.mp4")])
            #expect(result.ending == .exited(0), "\(result.log)")
            let numbers = camera.numbers(try await shows.lumas(of: directory.file("clip.mp4")))
            #expect(numbers.count >= files.reduce(0) { $0 + $1.frames })
            for index in numbers.indices.dropLast() {
                #expect(numbers[index + 1] == (numbers[index] + 1) % 25, "frame \(index) of the clip")
            }
        }

        @Test(
            "A source that connects late and reconnects is copied while it is connected, at the right program times")
        func absent() async throws {
            let cameras = [
                try await camera("fast", rate: 30, first: 40, step: 4, seconds: 40),
                try await camera("late", rate: 25, first: 148, step: 3, seconds: 6),
            ]
            let relay = try await start(cameras, ["--slate", "bars"])
            let sender = try send(cameras[0])
            try await relay.says("segment opened", within: .seconds(20))
            for _ in 0..<2 {
                let before = opened(relay)
                let late = try send(cameras[1])
                try await eventually("the source is recorded", within: .seconds(20)) { opened(relay) > before }
                _ = try await late.ending(within: .seconds(30))
                try await eventually("its file is closed", within: .seconds(20)) {
                    !RecordingSet(directory: directory.file("rec")).open.contains { $0.contains("late") }
                }
            }
            #expect(try await relay.end(by: SIGTERM, within: .seconds(20)).ending == .exited(0))
            sender.signal(SIGKILL)
            let files = try await listed()
            let late = files["relay-late"] ?? []
            #expect(late.count >= 4, "\(late)")
            // Six seconds are sent twice. The frames that are collected before the source is shown can be missing.
            let frames = late.reduce(0) { $0 + $1.frames }
            #expect((240...300).contains(frames), "\(frames)")
            for (before, after) in zip(late, late.dropFirst()) {
                #expect(after.programStart - before.programStart > before.duration - 30_000_000)
            }
            try await verify()
        }

        @Test("Sources that a reload adds are copied; their files begin with the program's when recordings restart")
        func reloaded() async throws {
            let cameras = [
                try await camera("fast", rate: 30, first: 40, step: 4, seconds: 30),
                try await camera("late", rate: 25, first: 148, step: 3, seconds: 30),
            ]
            let path = directory.file("relay.yaml")
            let write = { (recording: String) in
                let inputs = cameras.map { "{address: \"udp://127.0.0.1:\($0.port)\", name: \($0.name)}" }
                let text = """
                    channels:
                      - name: relay
                        inputs: [\(inputs.joined(separator: ", "))]
                        encoder: {size: 320x180, frameRate: 30, preset: ultrafast, videoBitrate: 1M}
                        recording: {directory: \(directory.file("rec")), \(recording)}

                    """
                try text.write(toFile: path, atomically: true, encoding: .utf8)
            }
            try write("segment: 1h")
            let relay = try RelayProcess(["--config", path])
            let senders = try cameras.map(send)
            try await relay.says("segment opened", within: .seconds(20))
            for (number, length) in ["2h", "3h"].enumerated() {
                try write("segment: \(length), sources: true")
                relay.process.signal(SIGHUP)
                try await eventually("the sources are recorded", within: .seconds(20)) { opened(relay) > number }
                let files = RecordingSet(directory: directory.file("rec"))
                try await eventually("each has one open file", within: .seconds(20)) { files.open.count == 3 }
            }
            let result = try await relay.end(by: SIGTERM, within: .seconds(20))
            for sender in senders { sender.signal(SIGKILL) }
            #expect(
                result.ending == .exited(0) && !result.log.contains("is encoded for its recording"), "\(result.log)")
            let files = try await listed()
            let program = try #require(files["relay"]?.last)
            for camera in cameras {
                let own = files["relay-\(camera.name)"] ?? []
                #expect(own.count == 2)
                for file in own { try await compare([file], with: camera) }
                let off = abs((own.last?.programStart ?? 0) - program.programStart)
                #expect(off <= 500_000_000 / Int64(camera.rate) + 1_000_000, "\(camera.name)")
            }
            try await verify()
        }

        private func opened(_ relay: RelayProcess) -> Int {
            relay.process.errors.split(separator: "\n").count {
                $0.contains("segment opened") && $0.contains("source=late")
            }
        }
    }
}
