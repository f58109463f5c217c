// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Shows that relay plays by itself.
    @Suite("Run-downs")
    struct RunDownTests {
        private let directory: TemporaryDirectory
        private let rundown = "/v1/channels/relay/rundown"

        private let files: ShowFiles

        init() throws {
            directory = try TemporaryDirectory()
            files = ShowFiles(directory: directory)
        }

        private func recorded() async throws -> [String] { try await files.seen(in: files.recorded()) }

        private func start(_ arguments: [String]) async throws -> (relay: RelayProcess, api: APIClient) {
            let port = try Ports.free()
            let relay = try RelayProcess(
                Shape.small + ["--http", "127.0.0.1:\(port)", "--record", directory.file("rec")] + arguments)
            try await relay.says("segment opened", within: .seconds(20))
            return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
        }

        @Test(
            "In each pass of a looped run-down, each cut to a source or to a file is on its exact frame"
        )
        func frames() async throws {
            try await files.ramp()
            let path = try files.show(
                """
                loop: true
                segments:
                  - {source: white, frames: 20}
                  - {source: black, duration: 1.5s}
                  - {file: ramp.mp4, in: 0.5s, frames: 10}
                """)
            let result = try await RelayProcess.run(
                Shape.small + ["--record", directory.file("rec"), "--duration", "6s", "--rundown", path]
                    + (try await files.sources()))
            #expect(result.ending == .exited(0), "\(result.log)")
            let seen = try await recorded()
            let expected = (0..<180).map { frame in
                let place = frame % 75
                return place < 20 ? "white" : place < 65 ? "black" : "\(place - 65 + 15)"
            }
            #expect(seen == expected, "\(zip(seen, expected).enumerated().filter { $1.0 != $1.1 })")
        }

        @Test(
            "A run-down with only files lasts from the first frame of the first to the last frame of the last file"
        )
        func filesAlone() async throws {
            try await files.ramp()
            let path = try files.show("segments: [{file: ramp.mp4}, {file: ramp.mp4, in: 0.5}]")
            let result = try await RelayProcess.run(["--record", directory.file("rec"), "--rundown", path])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await recorded() == (Array(0..<30) + Array(15..<30)).map { "\($0)" })
        }

        @Test(
            "On air a file's last frame fills a segment of fixed length, even one that begins after the file's end"
        )
        func behindTheEnd() async throws {
            try await files.ramp()
            let path = try files.show(
                "segments: [{file: ramp.mp4, frames: 10}, {file: ramp.mp4, in: 10s, frames: 20}, {file: ramp.mp4, frames: 30}]"
            )
            let result = try await RelayProcess.run(
                Shape.small + ["--record", directory.file("rec"), "--rundown", path])
            #expect(result.ending == .exited(0), "\(result.log)")
            let expected = Array(0..<10) + Array(repeating: 29, count: 20) + Array(0..<30)
            #expect(try await recorded() == expected.map { "\($0)" })
        }

        @Test("A segment that an operator cuts away from is resumed with its remaining time, which the status shows")
        func operated() async throws {
            let path = try files.show(
                """
                segments:
                  - {source: white, duration: take}
                  - {name: dark, source: black, frames: 90}
                  - {source: white, duration: take}
                """)
            let (relay, api) = try await start(["--rundown", path] + (try await files.sources()))
            let status = { try await api.ask("GET", rundown).json() }
            #expect(try await status()["state"] as? String == "running")
            #expect((try await status()["next"] as? [String: Any])?["name"] as? String == "dark")
            let frame = { (answer: APIClient.Answer) in
                #expect(answer.status == 200, "\(answer)")
                return try answer.json()["frame"] as? Int ?? -1
            }
            let next = try frame(try await api.ask("POST", rundown + "/next"))
            let cut = try frame(
                try await api.ask(
                    "PUT", "/v1/channels/relay/program", body: #"{"scene":"white","at":\#(next + 30)}"#))
            #expect(cut == next + 30)
            try await eventually("it is held", within: .seconds(10)) {
                try await status()["state"] as? String == "held"
            }
            let held = try await status()
            #expect(held["isCutAway"] as? Bool == true)
            #expect((held["current"] as? [String: Any])?["remainingSeconds"] as? Double == 2)
            let resumed = try frame(try await api.ask("POST", rundown + "/resume"))
            try await eventually("it goes on", within: .seconds(10)) {
                (try await status()["current"] as? [String: Any])?["index"] as? Int == 2
            }
            #expect(try await api.ask("POST", rundown + "/resume").status == 409)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            let seen = try await recorded()
            var expected = Array(repeating: "white", count: seen.count)
            for index in Array(next..<cut) + Array(resumed..<resumed + 60) { expected[index] = "black" }
            #expect(seen == expected, "\(next) \(cut) \(resumed)")
        }

        @Test("A segment that cannot be played is refused with its position and name, before the start and on air")
        func refused() async throws {
            let path = try files.show("segments:\n  - source: white\n  - file: gone.mp4\n")
            let arguments = try await files.sources()
            let result = try await RelayProcess.run(["--record", directory.file("rec"), "--rundown", path] + arguments)
            #expect(
                result.ending == .exited(64) && result.log.contains("show.yaml:3:11: segments[1].file"), "\(result)")
            #expect(result.log.contains("There is no file gone.mp4 that can be read."), "\(result)")

            let (relay, api) = try await start(["--rundown", directory.file("")] + arguments)
            #expect(try await api.ask("GET", rundown).status == 404)
            #expect(try await api.ask("POST", rundown + "/start").status == 404)
            let yaml = ["Content-Type: application/yaml"]
            let wrong = try await api.ask("PUT", rundown, body: "segments:\n  - sorce: white\n", headers: yaml)
            #expect(wrong.status == 422 || wrong.status == 400, "\(wrong)")
            // A run-down with the maximum number of segments is longer than other requests may be.
            let segment = #"{"source":"white","duration":"90s","name":"A name that says what is to be seen"}"#
            let long = try await api.ask(
                "PUT", rundown,
                body: #"{"segments":[\#(Array(repeating: segment, count: 1000).joined(separator: ","))]}"#)
            #expect(long.status == 200, "\(long)")
            let outside = try await api.ask("PUT", rundown, body: #"{"segments":[{"file":"/etc/passwd"}]}"#)
            #expect(outside.status == 422 && outside.body.contains("is not in the directory"), "\(outside)")
            let loaded = try await api.ask(
                "PUT", rundown, body: #"{"segments":[{"file":"black.mp4","duration":"take"},{"source":"white"}]}"#)
            #expect(loaded.status == 200 && loaded.body.contains(#""state":"idle""#), "\(loaded)")
            #expect(try await api.ask("POST", rundown + "/next").status == 409)
            #expect(try await api.ask("POST", rundown + "/start?segment=7").status == 422)
            #expect(try await api.ask("POST", rundown + "/start").status == 200)
            try await eventually("the file is on air", within: .seconds(10)) {
                let scene = try await api.ask("GET", "/v1/channels/relay/program").json()["scene"] as? [String: Any]
                return scene?["sources"] as? [String] == ["file"]
            }
            // The file of the segment cannot be put on air by a name. So after a take, the preview stays in the
            // preview, and only a resume brings the segment back.
            for _ in 0..<2 {
                #expect(try await api.ask("POST", "/v1/channels/relay/take").status == 200)
                try await eventually("the preview is on air", within: .seconds(10)) {
                    let report = try await api.ask("GET", "/v1/channels/relay/program").json()
                    return ["scene", "preview"].allSatisfy { key in
                        (report[key] as? [String: Any])?["sources"] as? [String] == ["black"]
                    }
                }
            }
            #expect(try await api.ask("POST", rundown + "/resume").status == 200)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
        }
    }
}
