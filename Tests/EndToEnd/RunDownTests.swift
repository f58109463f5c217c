// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Shows that are played by themselves.
    @Suite("Run-downs")
    struct RunDownTests {
        private let directory: TemporaryDirectory
        private let rundown = "/v1/channels/relay/rundown"

        init() throws { directory = try TemporaryDirectory() }

        /// A file of 30 frames a second, whose luma is `luma` of the frame's number N.
        private func clip(_ name: String, luma: String, frames: Int) async throws -> String {
            let path = directory.file("\(name).mp4")
            try await run(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "color=gray:size=320x180:rate=30,geq=lum='\(luma)':cb=128:cr=128"]
                    + ["-f", "lavfi", "-i", "sine=440:sample_rate=48000", "-frames:v", "\(frames)", "-shortest"]
                    + ["-c:v", "libx264", "-preset", "veryfast", "-crf", "4", "-g", "12", "-c:a", "aac", path])
            return path
        }

        /// Thirty frames, each lighter than the one before.
        private func ramp() async throws -> String { try await clip("ramp", luma: "60+4*N", frames: 30) }

        private func show(_ text: String) throws -> String {
            let path = directory.file("show.yaml")
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return path
        }

        /// What each recorded frame shows: `white`, `black`, or the number of a frame of the ramp.
        private func recorded() async throws -> [String] {
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.file("rec"))
            let name = try #require(names.first { $0.hasSuffix(".mp4") })
            let raw = directory.file("raw")
            try await run(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-i", directory.file("rec/\(name)"), "-an", "-vsync", "passthrough"]
                    + ["-vf", "scale=2:2:flags=area", "-f", "rawvideo", "-pix_fmt", "yuv420p", raw])
            let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)))
            return stride(from: 0, to: data.count - 5, by: 6).map { index in
                let luma = Int(data[index])
                return luma > 220 ? "white" : luma < 30 ? "black" : "\((luma - 58) / 4)"
            }
        }

        private func sources() async throws -> [String] {
            [
                "--input", "\(try await clip("white", luma: "235", frames: 300))#name=white",
                "--input", "\(try await clip("black", luma: "16", frames: 300))#name=black", "--loop",
            ]
        }

        private func start(_ arguments: [String]) async throws -> (relay: RelayProcess, api: APIClient) {
            let port = try Ports.free()
            let relay = try RelayProcess(
                Shape.small + ["--http", "127.0.0.1:\(port)", "--record", directory.file("rec")] + arguments)
            try await relay.says("segment opened", within: .seconds(20))
            return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
        }

        @Test("Each cut between two sources and a file with an in point is on its frame, round after round")
        func frames() async throws {
            _ = try await ramp()
            let path = try show(
                """
                loop: true
                segments:
                  - {source: white, frames: 20}
                  - {source: black, duration: 1.5s}
                  - {file: ramp.mp4, in: 0.5s, frames: 10}
                """)
            let result = try await RelayProcess.run(
                Shape.small + ["--record", directory.file("rec"), "--duration", "6s", "--rundown", path]
                    + (try await sources()))
            #expect(result.ending == .exited(0), "\(result.log)")
            let seen = try await recorded()
            let expected = (0..<180).map { frame in
                let place = frame % 75
                return place < 20 ? "white" : place < 65 ? "black" : "\(place - 65 + 15)"
            }
            #expect(seen == expected, "\(zip(seen, expected).enumerated().filter { $1.0 != $1.1 })")
        }

        @Test(
            "Files alone are a program that begins with the first frame of the first and ends with the last of the last"
        )
        func filesAlone() async throws {
            _ = try await ramp()
            let path = try show("segments: [{file: ramp.mp4}, {file: ramp.mp4, in: 0.5}]")
            let result = try await RelayProcess.run(["--record", directory.file("rec"), "--rundown", path])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await recorded() == (Array(0..<30) + Array(15..<30)).map { "\($0)" })
        }

        @Test("What an operator cuts away from is resumed with what was left, and the status says where it is")
        func operated() async throws {
            let path = try show(
                """
                segments:
                  - {source: white, duration: take}
                  - {name: dark, source: black, frames: 90}
                  - {source: white, duration: take}
                """)
            let (relay, api) = try await start(["--rundown", path] + (try await sources()))
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

        @Test("What cannot be played is refused with its place and its name, before the start and on air")
        func refused() async throws {
            let path = try show("segments:\n  - source: white\n  - file: gone.mp4\n")
            let arguments = try await sources()
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
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
        }
    }
}
