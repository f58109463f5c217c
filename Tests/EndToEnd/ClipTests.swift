// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Clips that are taken by the API while relay records; their frames are compared exactly.
    @Suite("Clips that are recorded on air")
    struct ClipTests {
        private struct Listed: Decodable {
            struct Clip: Decodable {
                let id, state, start: String
                let programSeconds, durationSeconds: Double
                let frames: Int
                let isHeld: Bool
                let lackingSeconds, audioOffsetSeconds: Double?

                var first: Int { Int((programSeconds * 30).rounded()) }
            }
            let clips: [Clip]
        }
        private struct Job: Decodable {
            let id, state: String
            let detail: String?
        }

        private static let clips = "/v1/channels/relay/clips"
        private let directory: TemporaryDirectory
        private var recordings: RecordingSet { RecordingSet(directory: directory.file("recordings")) }

        init() throws { directory = try TemporaryDirectory() }

        private func start(
            _ more: [String] = [], segment: String = "4s"
        ) async throws -> (relay: RelayProcess, api: APIClient) {
            let port = try Ports.free()
            let relay = try RelayProcess(
                Shape.small + ["--segment", segment, "--record", recordings.directory]
                    + ["--http", "127.0.0.1:\(port)"] + more)
            try await relay.says("HTTP at", within: .seconds(10))
            return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
        }

        private func programSeconds(_ api: APIClient) async throws -> Double {
            try await api.ask("GET", "/v1/channels/relay").json()["programSeconds"] as? Double ?? 0
        }

        private func waitUntil(_ seconds: Double, _ api: APIClient, isRecording: Bool = true) async throws {
            try await eventually("the program is at \(seconds) s", within: .seconds(30)) {
                let report = try await api.ask("GET", "/v1/channels/relay").json()
                return report["isRecording"] as? Bool == isRecording
                    && report["programSeconds"] as? Double ?? 0 >= seconds
            }
        }

        private func list(_ api: APIClient) async throws -> [Listed.Clip] {
            let answer = try await api.ask("GET", Self.clips)
            return try JSONDecoder().decode(Listed.self, from: Data(answer.body.utf8)).clips
        }

        /// Exports the clip to a file, and downloads this file.
        private func export(_ id: String, _ api: APIClient) async throws -> String {
            try await made("\(id).mp4", by: try await api.ask("POST", Self.clips + "/\(id)/export"), api)
        }

        /// Joins several clips in one file, and downloads this file.
        private func stitch(_ name: String, _ body: String, _ api: APIClient) async throws -> String {
            try await made("\(name).mp4", by: try await api.ask("POST", Self.clips + "/stitch", body: body), api)
        }

        private func made(_ name: String, by asked: APIClient.Answer, _ api: APIClient) async throws -> String {
            #expect(asked.status == 202, "\(asked)")
            var job = try JSONDecoder().decode(Job.self, from: Data(asked.body.utf8))
            try await eventually("\(name) is made", within: .seconds(60)) {
                let answer = try await api.ask("GET", "/v1/exports/\(job.id)")
                job = try JSONDecoder().decode(Job.self, from: Data(answer.body.utf8))
                return !["queued", "running"].contains(job.state)
            }
            #expect(job.state == "done" && job.detail == nil, "\(job)")
            let path = directory.file(name)
            try await run("curl", ["-sf", "-o", path, api.base + "/v1/exports/\(job.id)/file"])
            return path
        }

        @Test("In a burst of commands, each clip has exactly its frames, whichever of its start and stop arrives first")
        func burst() async throws {
            let (relay, api) = try await start()
            try await waitUntil(3, api)
            var wanted: [String: Range<Int>] = [:]
            for number in 0..<30 {
                let seconds = try await programSeconds(api)
                let first = Int(seconds * 30) - 20
                let length = Int.random(in: 0...60)
                let id = "burst-\(number)"
                wanted[id] = first..<first + max(3, min(length, 40))
                let end = Double(first + min(length, 40)) / 30
                let press = #"{"id":"\#(id)","at":\#(Double(first) / 30)}"#
                // The start and the stop are sent at the same time, so either can arrive first.
                async let answer = api.ask("POST", Self.clips, body: press)
                let released = try await api.ask("POST", Self.clips + "/\(id)/stop", body: #"{"at":\#(end)}"#)
                let pressed = try await answer
                #expect(pressed.status == 201 && [200, 202].contains(released.status), "\(pressed) \(released)")
            }
            try await eventually("all of them are recorded", within: .seconds(10)) {
                try await list(api).allSatisfy { $0.state == "done" }
            }
            let found = try await list(api)
            #expect(Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0.first..<$0.first + $0.frames) }) == wanted)
            var files: [(path: String, frames: Range<Int>)] = []
            for clip in found.shuffled().prefix(6) {
                files.append((try await export(clip.id, api), clip.first..<clip.first + clip.frames))
            }
            #expect(try await list(api).count { !$0.isHeld && $0.audioOffsetSeconds ?? 1 <= 0 } == files.count)
            let project = try await api.ask("GET", Self.clips + "/project.yaml")
            #expect(project.body.split(separator: "\n").count { $0.hasPrefix("    in: ") } >= found.count, "\(project)")
            #expect(try await api.ask("DELETE", Self.clips + "/burst-0").status == 204)
            #expect(try await api.ask("GET", Self.clips + "/burst-0").status == 404)
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
            let recorded = try await recordings.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty)
            for file in files {
                #expect(try await Probe.complaints(file.path) == "")
                let frames = try await DecodedFrames(file.path)
                #expect(frames.counters == Array(recorded[file.frames]), "\(file.frames)")
            }
        }

        @Test("Clips from closed files and the open file are joined into one file with exactly the selected frames")
        func stitched() async throws {
            let (relay, api) = try await start()
            try await waitUntil(9.5, api)
            // The clips are in the first file; in the first and the second file; and in the file that is being written.
            let ranges = ["first": 30..<75, "both": 100..<140, "open": 250..<280]
            for (id, frames) in ranges {
                let press = #"{"id":"\#(id)","at":\#(Double(frames.lowerBound) / 30)}"#
                #expect(try await api.ask("POST", Self.clips, body: press).status == 201)
                let release = #"{"at":\#(Double(frames.upperBound) / 30)}"#
                #expect(try await api.ask("POST", Self.clips + "/\(id)/stop", body: release).status == 200)
            }
            let order = #"[{"id":"open"},{"id":"first","skipStart":5,"skipEnd":10},{"id":"both"},{"id":"open"}]"#
            let trial = try await stitch("trial", #"{"clips":\#(order),"hold":true}"#, api)
            #expect(try await list(api).allSatisfy(\.isHeld))
            let project = try await api.ask("POST", Self.clips + "/project.yaml", body: #"{"clips":\#(order)}"#)
            #expect(project.status == 200, "\(project)")
            let plan = try await api.ask("POST", Self.clips + "/plan", body: #"{"clips":\#(order)}"#)
            let planned = try plan.json()
            let numbers = ["copiedFrames", "encodedFrames"].compactMap { planned[$0] as? Int }
            #expect(plan.status == 200 && numbers.count == 2 && numbers.reduce(0, +) == 130, "\(plan)")
            let faded = #"[{"id":"first"},{"id":"both","transition":{"type":"fade","seconds":0.5}}]"#
            let fade = try await stitch("fade", #"{"clips":\#(faded),"name":"A fade"}"#, api)
            #expect(try await list(api).filter(\.isHeld).map(\.id) == ["open"])
            for (body, reason) in [
                (#"{"clips":[]}"#, "1 to 1000"), (#"{"clips":[{"id":"first","skipStart":45}]}"#, "Nothing is left"),
                (#"{"clips":[{"id":"first","skipEnd":-1}]}"#, "numbers of frames"),
                (#"{"clips":[{"id":"first","audioOffset":11}]}"#, "audioOffset"),
                (#"{"clips":[{"id":"first","transition":{"type":"fade","seconds":6}}]}"#, "5 seconds"),
                (#"{"clips":[{"id":"first","transition":{"type":"melt"}}]}"#, "There are"),
            ] {
                let answer = try await api.ask("POST", Self.clips + "/stitch", body: body)
                #expect(answer.status == 422 && answer.body.contains(reason), "\(body): \(answer)")
            }
            #expect(try await api.ask("POST", Self.clips + "/stitch", body: #"{"clips":[{"id":"x"}]}"#).status == 404)
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
            let recorded = try await recordings.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty)
            let frames = [250..<280, 35..<65, 100..<140, 250..<280].flatMap { recorded[$0] }
            #expect(try await DecodedFrames(trial).counters == frames)
            for path in [trial, fade] { #expect(try await Probe.complaints(path) == "") }
            // The downloaded project gives the same result if it is stitched by the command.
            let text = recordings.directory + "/show.yaml"
            try project.body.write(toFile: text, atomically: true, encoding: .utf8)
            let stitched = directory.file("stitched.mp4")
            let result = try await RelayProcess.run(["stitch", text, "-o", stitched])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await DecodedFrames(stitched).counters == frames)
            // A transition does not shorten the clips: the last frame of the outgoing clip is held, or the clip
            // continues if there are more frames.
            #expect(try await DecodedFrames(fade).counters.count == 45 + 40)
        }

        @Test("While no recording is running, clips get their own files, which begin before the clips do")
        func replay() async throws {
            let (relay, api) = try await start(["--clips-only", "--replay", "4s"], segment: "1m")
            try await waitUntil(6, api, isRecording: false)
            #expect(fileNames(in: recordings.directory).allSatisfy { !$0.contains(".mp4") })
            // A burst of clips, each of which is stopped before it is started. The first of them must begin a file for
            // all.
            let now = Int(try await programSeconds(api) * 30)
            var wanted: [String: Range<Int>] = [:]
            for (number, back) in [15, 100, 60].enumerated() {
                let (id, first) = ("early-\(number)", now - back)
                wanted[id] = first..<first + 20
                let release = #"{"at":\#(Double(first + 20) / 30)}"#
                #expect(try await api.ask("POST", Self.clips + "/\(id)/stop", body: release).status == 202)
            }
            for (id, frames) in wanted.sorted(by: { $0.key < $1.key }) {
                let press = #"{"id":"\#(id)","at":\#(Double(frames.lowerBound + 10) / 30),"before":\#(10.0 / 30)}"#
                let pressed = try await api.ask("POST", Self.clips, body: press)
                #expect(pressed.status == 201, "\(pressed)")
            }
            // A later clip is recorded in the same file.
            let held = try await api.ask("POST", Self.clips, body: #"{"id":"held"}"#)
            #expect(held.status == 201, "\(held)")
            let first = Int((try held.json()["programSeconds"] as? Double ?? 0) * 30 + 0.5)
            try await waitUntil(Double(first + 60) / 30, api, isRecording: false)
            let release = #"{"at":\#(Double(first + 50) / 30)}"#
            #expect(try await api.ask("POST", Self.clips + "/held/stop", body: release).status == 200)
            wanted["held"] = first..<first + 50
            try await eventually("what is recorded for clips ends with them", within: .seconds(10)) {
                recordings.finished.count == 1 && recordings.open.isEmpty
            }
            try await wholeClips(wanted, api)

            // A start at a time that is not kept in memory any more begins a file, which is then not needed.
            let refused = try await api.ask("POST", Self.clips, body: #"{"at":0}"#)
            #expect(refused.status == 422, "\(refused)")
            try await relay.says("no clip needs it", within: .seconds(15))
            #expect(recordings.finished.count == 1 && recordings.open.isEmpty)

            // A clip during an operator's recording is part of that recording. After it, clips get files of their own
            // again.
            #expect(try await api.ask("POST", "/v1/channels/relay/recording/start").status == 202)
            try await waitUntil(try await programSeconds(api) + 1, api)
            #expect(try await api.ask("POST", Self.clips, body: #"{"id":"part"}"#).status == 201)
            try await waitUntil(try await programSeconds(api) + 1, api)
            #expect(try await api.ask("POST", Self.clips + "/part/stop").status == 200)
            try await waitUntil(try await programSeconds(api) + 2, api)
            #expect(try await api.ask("POST", "/v1/channels/relay/recording/stop").status == 202)
            try await eventually("the recording ends", within: .seconds(10)) { recordings.open.isEmpty }
            #expect(recordings.finished.count == 2)
            #expect(try await api.ask("POST", Self.clips, body: #"{"id":"again","before":3}"#).status == 201)
            #expect(try await api.ask("POST", Self.clips + "/again/stop").status == 200)
            let last = try #require(try await list(api).first { $0.id == "again" })
            #expect(last.lackingSeconds == nil && last.frames >= 90, "\(last)")
            try await wholeClips(["again": last.first..<last.first + last.frames], api)
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(recordings.finished.count == 3)
            for file in try await recordings.frames() { #expect(DecodedFrames.breaks(in: file.counters).isEmpty) }
            let verified = try await RelayProcess.run(["recordings", "verify", recordings.directory])
            #expect(verified.ending == .exited(0), "\(verified.log)")
        }

        /// Waits until the clips are recorded, exports each to a file, and checks its frames.
        private func wholeClips(_ wanted: [String: Range<Int>], _ api: APIClient) async throws {
            try await eventually("they are recorded", within: .seconds(10)) {
                try await list(api).filter { wanted[$0.id] != nil }.allSatisfy { $0.state == "done" }
            }
            for clip in try await list(api) {
                guard let frames = wanted[clip.id] else { continue }
                #expect(clip.first..<clip.first + clip.frames == frames && clip.lackingSeconds == nil, "\(clip)")
                let path = try await export(clip.id, api)
                #expect(try await DecodedFrames(path).counters == frames.map { UInt32($0) }, "\(clip.id)")
                #expect(try await Probe.complaints(path) == "")
            }
        }

        @Test("A clip of a copied input has exactly the frames from its start to its end")
        func passedOn() async throws {
            let (signal, input) = (try await SignalFile(seconds: 14), directory.file("others.mp4"))
            // The input has a keyframe every 3 s, B-frames, and no data that tells how it was encoded.
            try await Clip.make(input, ["-i", signal.path, "-c:v", "libx264", "-g", "90", "-bf", "2", "-c:a", "copy"])
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", input, "--loop", "--copy", "--segment", "6s", "--record", recordings.directory]
                    + ["--http", "127.0.0.1:\(port)"])
            try await relay.says("HTTP at", within: .seconds(10))
            let api = APIClient(base: "http://127.0.0.1:\(port)")
            try await waitUntil(8.5, api)
            // The clips are within a GOP, across a keyframe, and across two files.
            let ranges = ["within": 100..<150, "over": 60..<125, "files": 170..<200]
            for (id, frames) in ranges {
                let press = #"{"id":"\#(id)","at":\#(Double(frames.lowerBound) / 30)}"#
                #expect(try await api.ask("POST", Self.clips, body: press).status == 201)
                let release = #"{"at":\#(Double(frames.upperBound) / 30)}"#
                #expect(try await api.ask("POST", Self.clips + "/\(id)/stop", body: release).status == 200)
            }
            let listed = try await list(api)
            for clip in listed {
                let frames = try #require(ranges[clip.id])
                #expect(clip.first..<clip.first + clip.frames == frames, "\(clip)")
                // Only a few frames are re-encoded for an exact clip, so the client need not request one.
                let path = try await export(clip.id, api)
                #expect(try await DecodedFrames(path).counters == frames.map { UInt32($0) }, "\(clip.id)")
                #expect(try await Probe.complaints(path) == "")
            }
            // Without re-encoded frames, the clip begins with the keyframe before its start.
            let loose = try await api.ask("POST", Self.clips + "/within/export", body: #"{"exact":false}"#)
            #expect(loose.status == 202)
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
            // The command makes the same clip.
            let within = try #require(listed.first { $0.id == "within" })
            let made = directory.file("made.mp4")
            let result = try await RelayProcess.run(
                ["recordings", "export", recordings.directory, "--exact", "-o", made]
                    + ["--from", within.start, "--to", "+1s"])
            #expect(result.ending == .exited(0) && result.log.contains("stitched"), "\(result.log)")
            #expect(try await DecodedFrames(made).counters == (100..<130).map { UInt32($0) })
        }

        @Test("A clip that is running when relay is killed ends with the last recorded frame, and its file is kept")
        func crash() async throws {
            let (relay, api) = try await start()
            try await waitUntil(2, api)
            let pressed = try await api.ask("POST", Self.clips, body: #"{"id":"last","before":600}"#)
            let lacking = try pressed.json()["lackingSeconds"] as? Double ?? 0
            #expect(pressed.status == 201 && lacking > 590, "\(pressed)")
            #expect(try await api.ask("POST", Self.clips + "/last/export").status == 409)
            try await waitUntil(4.5, api)
            _ = try await relay.end(by: SIGKILL, within: .seconds(10))

            let (next, again) = try await start(["--keep", "72h"])
            try await eventually("the clip is whole", within: .seconds(20)) {
                try await list(again).first?.state == "done"
            }
            let clip = try #require(try await list(again).first)
            #expect(clip.first == 0 && clip.frames > 60 && clip.isHeld, "\(clip)")
            try await eventually("the file is completed", within: .seconds(20)) { recordings.finished.count >= 2 }
            let listed = try await again.ask("GET", "/v1/channels/relay/recordings").json()
            let id = try #require((listed["recordings"] as? [[String: Any]])?.first?["id"] as? String)
            let kept = try await again.ask("DELETE", "/v1/channels/relay/recordings/\(id)")
            #expect(kept.status == 409 && kept.body.contains("clip"), "\(kept)")
            let path = try await export("last", again)
            #expect(try await again.ask("DELETE", "/v1/channels/relay/recordings/\(id)").status == 202)
            #expect(try await DecodedFrames(path).counters.count == clip.frames)
            _ = try await next.end(by: SIGTERM, within: .seconds(10))

            let (last, later) = try await start(["--keep", "72h"])
            try await eventually("the export is known again", within: .seconds(10)) {
                let jobs = try await later.ask("GET", "/v1/exports").json()["exports"] as? [[String: Any]] ?? []
                guard let id = jobs.first?["id"] as? String else { return false }
                return try await later.ask("GET", "/v1/exports/\(id)").json()["state"] as? String == "done"
            }
            _ = try await last.end(by: SIGTERM, within: .seconds(10))
        }

        @Test("relay ctl starts and stops clips; clips need a recording, and end when the recording ends")
        func commands() async throws {
            let (relay, api) = try await start()
            try await waitUntil(2, api)
            func ctl(_ arguments: [String]) async throws -> RelayProcess.Finished {
                try await RelayProcess.run(["ctl", "clip"] + arguments + ["--url", api.base])
            }
            let begun = try await ctl(["start", "--before", "1s", "goal"])
            #expect(begun.ending == .exited(0) && begun.log.contains("running"), "\(begun.log)")
            try await waitUntil(4, api)
            let ended = try await ctl(["stop"])
            #expect(ended.ending == .exited(0), "\(ended.log)")
            #expect(try await ctl(["stop"]).log.contains("No clip is running."))
            let path = directory.file("goal.mp4")
            let made = try await ctl(["export", "goal", "-o", path])
            #expect(made.ending == .exited(0), "\(made.log)")
            let clip = try #require(try await list(api).first)
            #expect(try await DecodedFrames(path).counters.count == clip.frames && clip.frames > 30)
            #expect(try await ctl(["project"]).log.contains("  - name: \"goal\"\n"))
            let named = try await api.ask("PATCH", Self.clips + "/\(clip.id)", body: #"{"name":"The goal"}"#)
            #expect(named.status == 200 && named.body.contains(#""name":"The goal""#), "\(named)")
            #expect(try await ctl(["project"]).log.contains("  - name: \"The goal\"\n"))
            let none = try await api.ask("PATCH", Self.clips + "/none", body: #"{"name":"a"}"#)
            let misspelt = try await api.ask("PATCH", Self.clips + "/\(clip.id)", body: #"{"nmae":"a"}"#)
            #expect((none.status, misspelt.status) == (404, 422))
            #expect(try await ctl(["delete", "The goal"]).ending == .exited(0))
            #expect(try await ctl(["list"]).log == "there are no clips\n")

            #expect(try await ctl(["start", "until the end"]).ending == .exited(0))
            // Frames that are still inside the encoder when the recording stops are in no file.
            try await waitUntil(try await programSeconds(api) + 1, api)
            #expect(try await api.ask("POST", "/v1/channels/relay/recording/stop").status == 202)
            try await eventually("the clip ended, too", within: .seconds(10)) {
                try await list(api).first?.state == "done"
            }
            let refused = try await api.ask("POST", Self.clips)
            #expect(refused.status == 409 && refused.body.contains("recording"), "\(refused)")
            for body in [#"{"at":1e9}"#, #"{"before":601}"#, #"{"id":"a/b"}"#, #"{"name":""}"#] {
                #expect(try await api.ask("POST", Self.clips, body: body).status == 422, "\(body)")
            }
            #expect(try await api.ask("POST", Self.clips, body: "{").status == 400)
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
        }
    }
}
