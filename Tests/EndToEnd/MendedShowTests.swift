// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// A show that was on air and is rendered again from the recordings of its sources.
    @Suite("Rendering a recorded show")
    struct MendedShowTests {
        private struct Listing: Decodable {
            struct Segment: Decodable {
                let name: String
                let channel: String
                let start: Int64
                let duration: Int64
            }
            let segments: [Segment]
        }

        private let directory: TemporaryDirectory
        private let program = "/v1/channels/relay/program"
        private let shows: ShowFiles

        init() throws {
            directory = try TemporaryDirectory()
            shows = ShowFiles(directory: directory)
        }

        @Test("A show rendered from its sources' recordings has each cut and transition on the same frame as on air")
        func again() async throws {
            try await record()
            let aired = try await aired()
            let whole = try await remade("whole", [])
            #expect(aired.lumas.count == 240 && whole.count == 240)
            let other = zip(whole, aired.lumas).enumerated().filter { abs($1.0 - $1.1) > 2 }
            #expect(other.isEmpty, "\(other)")
            // This part begins in the middle of a scene, in the second half of frame 45, and ends in the first half of
            // frame 200.
            let formatter = ISO8601DateFormatter()
            formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            let time = { (milliseconds: Int64) in
                formatter.string(from: Date(timeIntervalSince1970: Double(aired.start + milliseconds) / 1000))
            }
            let part = try await remade("part", ["--from", time(1525), "--to", time(6675)])
            let seen = Array(aired.lumas.dropFirst(45).prefix(156))
            #expect(part.count == 156)
            let others = zip(part, seen).enumerated().filter { abs($1.0 - $1.1) > 2 }
            #expect(others.isEmpty, "\(others)")
        }

        @Test("A rendered show is in sync after a copied source was away: its cuts are on the same frames as on air")
        func away() async throws {
            let camera = Camera(address: "udp://127.0.0.1:\(try Ports.free())", file: directory.file("cam.ts"))
            try await camera.make()
            let low = try await shows.clip("low", luma: "40", frames: 60)
            let (relay, api) = try start(["\(low)#name=low", "\(camera.address)#name=cam"])
            for _ in 0..<2 {
                let before = opened(relay)
                let sender = try camera.send()
                try await eventually("the camera is there, and recorded", within: .seconds(30)) {
                    guard opened(relay) > before else { return false }
                    let sources = try await api.ask("GET", program).json()["sources"] as? [[String: Any]]
                    return sources?.last?["input"] as? String == "cam"
                }
                let first = try await put("cam", api)
                for (scene, distance) in [("low", 20), ("cam", 35), ("low", 70)] {
                    _ = try await put(scene, at: first + distance, api)
                }
                try await sender.ending(within: .seconds(30))
                try await eventually("its file is closed", within: .seconds(20)) {
                    !RecordingSet(directory: directory.file("rec")).open.contains { $0.contains("cam") }
                }
            }
            #expect(try await relay.end(by: SIGTERM, within: .seconds(20)).ending == .exited(0))
            let files = try await listed("relay-cam")
            let holes = zip(files, files.dropFirst()).filter { $1.start - $0.start > $0.duration / 1_000_000 + 1000 }
            try #require(holes.count == 1, "\(files)")
            let aired = try await aired().lumas
            let mended = try await remade("away", [])
            #expect(mended.count == aired.count)
            let frames = zip(mended, aired).enumerated()
            let cuts = frames.filter { Camera.shows($1.0) != Camera.shows($1.1) }
            #expect(aired.contains(where: Camera.shows) && cuts.isEmpty, "\(cuts)")
            // If a gap were left out, frames would be wrong by two seconds, which are thirty steps of luma.
            let others = frames.filter { Camera.shows($1.1) && abs($1.0 - $1.1) > 6 }
            #expect(others.isEmpty, "\(others)")
        }

        /// A stream of six seconds. Each frame is half a step of luma lighter than the previous one.
        private struct Camera {
            let address: String
            let file: String

            func make() async throws {
                let frames = "color=gray:size=320x180:rate=30,geq=lum='130+N/2':cb=128:cr=128"
                try await run(
                    "ffmpeg",
                    ["-v", "error", "-f", "lavfi", "-i", frames, "-f", "lavfi", "-i", "sine=440:sample_rate=48000"]
                        + ["-t", "6", "-c:v", "libx264", "-preset", "veryfast", "-crf", "4", "-g", "30", "-bf", "2"]
                        + ["-c:a", "aac", file])
            }

            func send() throws -> ChildProcess {
                try ChildProcess(
                    "ffmpeg",
                    ["-v", "error", "-re", "-i", file, "-map", "0", "-c", "copy", "-f", "mpegts"]
                        + ["\(address)?pkt_size=1316"])
            }

            /// Whether a frame with this luma belongs to the camera.
            static func shows(_ luma: Int) -> Bool { luma > 100 }
        }

        /// Starts a program of `inputs` that is recorded, together with a recording of each input.
        private func start(
            _ inputs: [String], _ arguments: [String] = []
        ) throws -> (relay: RelayProcess, api: APIClient) {
            let port = try Ports.free()
            let relay = try RelayProcess(
                Shape.small + ["--http", "127.0.0.1:\(port)", "--record", directory.file("rec"), "--record-sources"]
                    + ["--segment", "2s", "--loop"] + arguments + inputs.flatMap { ["--input", $0] })
            return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
        }

        /// Puts a scene on air at a frame, or at once. Returns the frame at which the scene went on air.
        private func put(
            _ scene: String, at frame: Int? = nil, _ api: APIClient, _ more: String = ""
        ) async throws -> Int {
            let place = frame.map { #","at":\#($0)"# } ?? ""
            let answer = try await api.ask("PUT", program, body: #"{"scene":"\#(scene)"\#(place)\#(more)}"#)
            return try #require(try answer.json()["frame"] as? Int, "\(answer)")
        }

        /// How many files of the camera were begun.
        private func opened(_ relay: RelayProcess) -> Int {
            relay.process.errors.split(separator: "\n").count {
                $0.contains("segment opened") && $0.contains("source=cam")
            }
        }

        /// Records a show of 8 s with two cuts and a transition between two sources whose frames can be distinguished.
        private func record() async throws {
            let low = try await shows.clip("low", luma: "40+4*mod(N\\,25)", frames: 50)
            let high = try await shows.clip("high", luma: "148+3*mod(N\\,25)", frames: 50)
            let (relay, api) = try start(["\(low)#name=low", "\(high)#name=high"], ["--duration", "8s"])
            try await relay.says("segment opened", within: .seconds(20))
            var frame = 60
            for (scene, more, distance) in [
                ("high", "", 25), ("low", "", 40), ("high", #","transition":{"type":"fade","seconds":0.5}"#, 0),
            ] {
                frame = try await put(scene, at: frame, api, more) + distance
            }
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            try #require(frame < 200, "the machine stood still for seconds")
        }

        /// Returns the files of a channel, in order.
        private func listed(_ channel: String) async throws -> [Listing.Segment] {
            let relay = try RelayProcess(["recordings", "list", directory.file("rec"), "--json"])
            #expect(try await relay.finished(within: .seconds(60)).ending == .exited(0))
            let listing = try JSONDecoder().decode(Listing.self, from: Data(relay.process.output.utf8))
            return listing.segments.filter { $0.channel == channel }.sorted { $0.start < $1.start }
        }

        /// Returns each frame of the program, and when the program began, in milliseconds since 1970.
        private func aired() async throws -> (lumas: [Int], start: Int64) {
            let files = try await listed("relay")
            var lumas: [Int] = []
            for file in files { lumas += try await shows.lumas(of: directory.file("rec/\(file.name)")) }
            return (lumas, try #require(files.first).start)
        }

        /// Returns each frame of a show that is rendered by the commands in the first lines of its run-down.
        private func remade(_ name: String, _ limits: [String]) async throws -> [Int] {
            let path = directory.file("\(name).yaml")
            let written = try await RelayProcess.run(
                ["recordings", "rundown", directory.file("rec"), "-o", path] + limits)
            #expect(written.ending == .exited(0), "\(written.log)")
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            let commands = lines.filter { $0.hasPrefix("#   relay ") }
            #expect(commands.count == 3, "\(lines)")
            for command in commands {
                let words = command.split(separator: " ").dropFirst(2).map { word in
                    if word == "show.yaml" { return path }
                    // The output files are put into the test's directory.
                    return word.contains(".mp4") ? directory.file("\(name)-\(word)") : String(word)
                }
                let result = try await RelayProcess.run(words)
                #expect(result.ending == .exited(0), "\(command) \(result.log)")
            }
            return try await shows.lumas(of: directory.file("\(name)-show.mp4"))
        }
    }
}
