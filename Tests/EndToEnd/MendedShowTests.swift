// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// What was on air, made again from the recordings of its sources.
    @Suite("Mended shows")
    struct MendedShowTests {
        private struct Listing: Decodable {
            struct Segment: Decodable {
                let name: String
                let channel: String
                let start: Int64
            }
            let segments: [Segment]
        }

        private let directory: TemporaryDirectory
        private let shows: ShowFiles

        init() throws {
            directory = try TemporaryDirectory()
            shows = ShowFiles(directory: directory)
        }

        @Test("A show is rendered again from the recordings of its sources, each cut and transition on its frame")
        func again() async throws {
            try await record()
            let aired = try await aired()
            let whole = try await remade("whole", [])
            #expect(aired.lumas.count == 240 && whole.count == 240)
            let other = zip(whole, aired.lumas).enumerated().filter { abs($1.0 - $1.1) > 2 }
            #expect(other.isEmpty, "\(other)")
            // From the middle of a scene on, in the second half of frame 45 and in the first of frame 200.
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

        /// A show of 8 s with two cuts and a transition, of two sources whose frames can be told from each other.
        private func record() async throws {
            let port = try Ports.free()
            let relay = try RelayProcess(
                Shape.small + ["--http", "127.0.0.1:\(port)", "--record", directory.file("rec"), "--record-sources"]
                    + ["--segment", "2s", "--duration", "8s", "--loop"]
                    + ["--input", "\(try await shows.clip("low", luma: "40+4*mod(N\\,25)", frames: 50))#name=low"]
                    + ["--input", "\(try await shows.clip("high", luma: "148+3*mod(N\\,25)", frames: 50))#name=high"])
            try await relay.says("segment opened", within: .seconds(20))
            let api = APIClient(base: "http://127.0.0.1:\(port)")
            var frame = 60
            for (scene, more, distance) in [
                ("high", "", 25), ("low", "", 40), ("high", #","transition":{"type":"fade","seconds":0.5}"#, 0),
            ] {
                let answer = try await api.ask(
                    "PUT", "/v1/channels/relay/program", body: #"{"scene":"\#(scene)","at":\#(frame)\#(more)}"#)
                frame = try #require(try answer.json()["frame"] as? Int, "\(answer)") + distance
            }
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            try #require(frame < 200, "the machine stood still for seconds")
        }

        /// Each frame of the program, and when it began, in milliseconds since 1970.
        private func aired() async throws -> (lumas: [Int], start: Int64) {
            let relay = try RelayProcess(["recordings", "list", directory.file("rec"), "--json"])
            #expect(try await relay.finished(within: .seconds(60)).ending == .exited(0))
            let listing = try JSONDecoder().decode(Listing.self, from: Data(relay.process.output.utf8))
            let files = listing.segments.filter { $0.channel == "relay" }.sorted { $0.start < $1.start }
            var lumas: [Int] = []
            for file in files { lumas += try await shows.lumas(of: directory.file("rec/\(file.name)")) }
            return (lumas, try #require(files.first).start)
        }

        /// Each frame of a show that is made as the first lines of its run-down say.
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
                    // What it makes lies beside it.
                    return word.contains(".mp4") ? directory.file("\(name)-\(word)") : String(word)
                }
                let result = try await RelayProcess.run(words)
                #expect(result.ending == .exited(0), "\(command) \(result.log)")
            }
            return try await shows.lumas(of: directory.file("\(name)-show.mp4"))
        }
    }
}
