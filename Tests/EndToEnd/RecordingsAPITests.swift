// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Recordings that are read by HTTP while relay records.
    @Suite("Recordings over HTTP")
    struct RecordingsAPITests {
        private struct List: Decodable {
            struct Recording: Decodable {
                let id, name, start, end, state: String
                let durationSeconds: Double
                let bytes, frames: Int
                let isHeld: Bool
            }
            let recordings: [Recording]
        }

        private struct Marked: Decodable { let programSeconds: Double }
        private struct Plan: Decodable { let token: String }
        private struct Job: Decodable {
            let id, state: String
            let detail: String?
        }

        /// A relay that records files of 4 s and has an HTTP API.
        private struct Recorder {
            let relay: RelayProcess
            let directory: TemporaryDirectory
            let base: String
            var channel: String { base + "/v1/channels/relay" }
            var path: String { directory.file("recordings") }

            init() async throws {
                directory = try TemporaryDirectory()
                let port = try Ports.free()
                base = "http://127.0.0.1:\(port)"
                relay = try RelayProcess(
                    Shape.small + ["--segment", "4s", "--record", directory.file("recordings")]
                        + ["--http", "127.0.0.1:\(port)"])
                try await relay.says("HTTP at", within: .seconds(10))
            }

            func list() async throws -> [List.Recording] {
                let text = try await run("curl", ["-sf", channel + "/recordings"])
                return try JSONDecoder().decode(List.self, from: Data(text.utf8)).recordings
            }

            func curl(_ arguments: [String]) async throws -> String { try await run("curl", ["-s"] + arguments) }

            /// Sends a request, and returns the status and the body of the answer.
            func ask(_ method: String, _ path: String, body: String? = nil) async throws -> (Int, String) {
                let content = body.map { ["-H", "Content-Type: application/json", "-d", $0] } ?? []
                let text = try await curl(["-X", method, "-w", "\n%{http_code}", base + path] + content)
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
            }

            func end() async throws { _ = try await relay.end(by: SIGTERM, within: .seconds(10)) }
        }

        private func recorder(files: Int) async throws -> Recorder {
            let recorder = try await Recorder()
            try await eventually("\(files) files are finished", within: .seconds(40)) {
                try await recorder.list().count { $0.state == "finished" } >= files
            }
            return recorder
        }

        @Test("Recordings are served by HTTP completely and in byte ranges, and other files are not served")
        func ranges() async throws {
            let recorder = try await recorder(files: 1)
            let first = try #require(try await recorder.list().first)
            let url = recorder.channel + "/recordings/\(first.id)"
            let file = try Data(contentsOf: URL(fileURLWithPath: "\(recorder.path)/\(first.name)"))
            #expect(file.count == first.bytes)
            let target = recorder.directory.file("got")
            func get(_ range: String?) async throws -> (String, Data) {
                let status = try await recorder.curl(
                    ["-o", target, "-w", "%{http_code}", url] + (range.map { ["-H", "Range: \($0)"] } ?? []))
                return (status, try Data(contentsOf: URL(fileURLWithPath: target)))
            }
            #expect(try await get(nil) == ("200", file))
            #expect(try await get("bytes=-5") == ("206", file.suffix(5)))
            #expect(try await get("bytes=10-19") == ("206", Data(file[10..<20])))
            #expect(try await get("bytes=\(file.count)-").0 == "416")
            #expect(try await get("bytes=0-1,3-4") == ("200", file))
            for foreign in [".relay.sqlite", "../../../../etc/passwd", "nothing.mp4"] {
                let id = Data(foreign.utf8).base64EncodedString().replacing("=", with: "").replacing("/", with: "_")
                #expect(try await recorder.ask("GET", "/v1/channels/relay/recordings/\(id)").0 == 404)
            }
            try await recorder.end()
        }

        @Test("A recording's playlist contains each frame of a file once, and the files follow each other")
        func playlist() async throws {
            let recorder = try await recorder(files: 2)
            let files = try await recorder.list().filter { $0.state == "finished" }
            let playlist = recorder.channel + "/playlist.m3u8?from="
            for file in files {
                let shown = try await frames(of: playlist + "\(file.start)&to=\(file.end)")
                let recorded = try await frames(of: recorder.path + "/" + file.name)
                #expect(shown == recorded && shown.count == file.frames, "\(file.name)")
            }
            // The times start again with each file, so there is a discontinuity between two files.
            let (first, last) = (try #require(files.first), try #require(files.last))
            let text = try await recorder.curl([playlist + "\(first.start)&to=\(last.end)"])
            #expect(text.matches(of: /#EXT-X-DISCONTINUITY\n/).count == files.count - 1, "\(text)")
            let seconds = text.matches(of: /#EXTINF:([0-9.]+)/).reduce(0.0) { $0 + (Double($1.1) ?? 0) }
            let recorded = files.reduce(0.0) { $0 + $1.durationSeconds }
            #expect(abs(seconds - recorded) < 0.001 && text.contains("#EXT-X-ENDLIST"), "\(text)")
            try await recorder.end()
        }

        /// Returns a hash of each coded frame.
        private func frames(of path: String) async throws -> [String] {
            try await codedPackets(of: path).filter { $0.hasPrefix("0,") }
                .compactMap { $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } }
        }

        @Test(
            "A clip reaching into the open file has exactly the requested frames, and does not affect the recording")
        func clip() async throws {
            let recorder = try await recorder(files: 1)
            try await eventually("the open file holds something", within: .seconds(10)) {
                let last = try await recorder.list().last
                return last?.state == "recording" && last?.durationSeconds ?? 0 >= 1.5
            }
            let list = try await recorder.list()
            let (first, last) = (try #require(list.first), try #require(list.last))
            let formatter = ISO8601DateFormatter()
            formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            let start = try #require(formatter.date(from: first.start))
            let from = formatter.string(from: start.addingTimeInterval(1))
            let end = try #require(formatter.date(from: last.start)).addingTimeInterval(1.2)
            let (status, answer) = try await recorder.ask(
                "POST", "/v1/exports",
                body: #"{"channel":"relay","from":"\#(from)","to":"\#(formatter.string(from: end))"}"#)
            #expect(status == 202, "\(answer)")
            let id = try JSONDecoder().decode(Job.self, from: Data(answer.utf8)).id
            try await eventually("the clip is made", within: .seconds(30)) {
                let job = try JSONDecoder().decode(
                    Job.self, from: Data(try await recorder.ask("GET", "/v1/exports/\(id)").1.utf8))
                guard job.state != "failed" else { throw HarnessFailure(job.detail ?? answer) }
                return job.state == "done"
            }
            let clip = recorder.directory.file("clip.mp4")
            _ = try await recorder.curl(["-f", "-o", clip, "\(recorder.base)/v1/exports/\(id)/file"])
            #expect(try await Probe.complaints(clip) == "")
            let frames = try await DecodedFrames(clip)
            let wanted = Int((end.timeIntervalSince(start.addingTimeInterval(1)) * 30).rounded())
            #expect(frames.breaks.isEmpty && frames.counters.count == wanted, "\(frames.counters.count) of \(wanted)")
            #expect(try await AVOffset(clip, frames: frames).worst < 1)
            try await recorder.end()
            let verified = try await RelayProcess.run(["recordings", "verify", recorder.path])
            #expect(verified.ending == .exited(0) && verified.log.contains("no frame missing"), "\(verified.log)")
            // When the recordings are closed, the command makes the same file.
            let same = recorder.directory.file("same.mp4")
            let exported = try await RelayProcess.run(
                ["recordings", "export", recorder.path, "--from", from, "--to", formatter.string(from: end)]
                    + ["--exact", "-o", same])
            #expect(exported.ending == .exited(0), "\(exported.log)")
            #expect(FileManager.default.contentsEqual(atPath: clip, andPath: same))
        }

        @Test(
            "A held recording is not deleted; another one is deleted on a second request, and marked in the catalogue"
        )
        func keeping() async throws {
            let recorder = try await recorder(files: 2)
            let list = try await recorder.list()
            let path = { "/v1/channels/relay/recordings/\(list[$0].id)" }
            #expect(try await recorder.ask("PUT", path(0) + "/hold").0 == 204)
            #expect(try await recorder.ask("DELETE", path(0)).0 == 409)
            let (status, answer) = try await recorder.ask("DELETE", path(1))
            #expect(status == 202)
            let token = try JSONDecoder().decode(Plan.self, from: Data(answer.utf8)).token
            #expect(try await recorder.ask("DELETE", path(1) + "?token=\(token)").0 == 200)
            #expect(try await recorder.ask("DELETE", path(1) + "?token=\(token)").0 == 409)
            #expect(try await recorder.ask("DELETE", path(1)).0 == 404)
            try await recorder.end()
            let set = RecordingSet(directory: recorder.path)
            #expect(set.finished.contains { $0.hasSuffix(list[0].name) })
            #expect(!set.finished.contains { $0.hasSuffix(list[1].name) })
            let verified = try await RelayProcess.run(["recordings", "verify", recorder.path])
            #expect(verified.ending == .exited(0), "\(verified.log)")
        }

        @Test(
            "A recording's thumbnail is a JPEG of the requested size and frame, and a marker becomes a chapter"
        )
        func thumbnailsAndMarkers() async throws {
            let recorder = try await Recorder()
            try await eventually("something is recorded", within: .seconds(20)) {
                try await recorder.list().last?.durationSeconds ?? 0 >= 1
            }
            let (status, answer) = try await recorder.ask(
                "POST", "/v1/channels/relay/markers", body: #"{"text":"Tor"}"#)
            #expect(status == 201, "\(answer)")
            let asked = try JSONDecoder().decode(Marked.self, from: Data(answer.utf8)).programSeconds
            let first = try #require(try await recorder.list().first)
            try await eventually("the file is finished", within: .seconds(20)) {
                try await recorder.list().first?.state == "finished"
            }
            let frame = recorder.directory.file("frame.jpg")
            _ = try await recorder.curl(
                ["-f", "-o", frame, recorder.channel + "/recordings/\(first.id)/thumbnail.jpg?at=3&width=160"])
            let size = try await run(
                "ffprobe", ["-v", "error", "-show_entries", "stream=codec_name,width,height", "-of", "csv=p=0", frame])
            #expect(size.trimmingCharacters(in: .whitespacesAndNewlines) == "mjpeg,160,90")
            let name = try #require(try await recorder.list().first).name
            let recorded = try await DecodedFrames("\(recorder.path)/\(name)").counters
            for number in [31, 32] {
                let at = String(format: "%.3f", Double(number) / 30)
                let address = recorder.channel + "/recordings/\(first.id)/thumbnail.jpg?at=\(at)&width=320&exact=1"
                _ = try await recorder.curl(["-f", "-o", frame, address])
                #expect(try await DecodedFrames(frame).counters == [recorded[number]], "frame \(number)")
            }
            try await recorder.end()
            var (begin, moments): (Double, [(time: Double, isFirst: Bool)]) = (0, [])
            for file in RecordingSet(directory: recorder.path).finished {
                let text = try await run(
                    "ffprobe", ["-v", "error", "-show_chapters", "-show_entries", "chapter=start_time", file])
                for chapter in text.split(separator: "[/CHAPTER]") where chapter.contains("TAG:title=Tor") {
                    let start = chapter.firstMatch(of: /start_time=([0-9.]+)/).flatMap { Double($0.1) } ?? -1
                    moments.append((begin + start, start == 0))
                }
                begin += try await Double(DecodedFrames(file).counters.count) / 30
            }
            // A marker that arrives while its file is being closed is a chapter at the beginning of the next file.
            #expect(moments.count == 1)
            for moment in moments {
                #expect(
                    abs(moment.time - asked) < 0.002 || moment.isFirst && moment.time > asked,
                    "\(moment.time) s, asked for \(asked) s")
            }
        }
    }
}
