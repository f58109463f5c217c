// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// The sources of a program, each of which is recorded in addition to the program.
    @Suite("Recordings of sources")
    struct SourceRecordingTests {
        private struct Listing: Decodable {
            struct Segment: Decodable {
                let name: String
                let channel: String
                let run: String
                let start: Int64
                let frames: Int
                let audioSamples: Int64
                let programStart: Int64

                enum CodingKeys: String, CodingKey {
                    case name, channel, run, start, frames
                    case audioSamples = "audio_samples"
                    case programStart = "program_start"
                }
            }
            let segments: [Segment]
        }

        private let directory: TemporaryDirectory
        private let program = "/v1/channels/relay/program"
        private let recording = "/v1/channels/relay/recording"

        private let shows: ShowFiles

        init() throws {
            directory = try TemporaryDirectory()
            shows = ShowFiles(directory: directory)
        }

        /// Returns two sources whose frames can be distinguished: the luma values of the first begin at 40, those of
        /// the second at 148.
        private func sources() async throws -> [String] {
            [
                "--input", "\(try await shows.clip("low", luma: "40+4*mod(N\\,25)", frames: 50))#name=low", "--loop",
                "--input",
                "\(try await shows.clip("high", luma: "148+3*mod(N\\,25)", tone: 880, frames: 50))#name=high",
            ]
        }

        private func start(_ arguments: [String], until text: String) async throws -> (RelayProcess, APIClient) {
            let port = try Ports.free()
            let relay = try RelayProcess(Shape.small + ["--http", "127.0.0.1:\(port)"] + arguments)
            try await relay.says(text, within: .seconds(20))
            return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
        }

        private func frame(_ api: APIClient, reaches number: Int) async throws {
            try await eventually("frame \(number)", within: .seconds(30)) {
                try await api.ask("GET", program).json()["frame"] as? Int ?? 0 >= number
            }
        }

        /// Puts a scene on air at a frame, or at the next frame if that one has passed. Returns the frame at which the
        /// scene went on air.
        private func put(_ api: APIClient, _ scene: String, at frame: Int) async throws -> Int {
            let answer = try await api.ask("PUT", program, body: #"{"scene":"\#(scene)","at":\#(frame)}"#)
            let taken = try #require(try answer.json()["frame"] as? Int, "\(answer)")
            #expect(taken >= frame, "\(answer)")
            return taken
        }

        private func listed() async throws -> [String: [Listing.Segment]] {
            let relay = try RelayProcess(["recordings", "list", directory.file("rec"), "--json"])
            #expect(try await relay.finished(within: .seconds(60)).ending == .exited(0))
            let listing = try JSONDecoder().decode(Listing.self, from: Data(relay.process.output.utf8))
            return Dictionary(grouping: listing.segments, by: \.channel).mapValues {
                $0.sorted { $0.programStart < $1.programStart }
            }
        }

        private func verify() async throws {
            let result = try await RelayProcess.run(["recordings", "verify", directory.file("rec")])
            #expect(result.ending == .exited(0), "\(result.log)")
        }

        /// Expects that file n of each channel begins at the same program time and has the same length.
        private func compare(_ files: [String: [Listing.Segment]]) throws {
            let whole = try #require(files["relay"])
            for (channel, files) in files where channel != "relay" {
                #expect(files.map(\.programStart) == whole.map(\.programStart), "\(channel)")
                #expect(files.map(\.frames) == whole.map(\.frames), "\(channel)")
                #expect(files.map(\.start) == whole.map(\.start), "\(channel)")
                #expect(files.allSatisfy { $0.run.hasPrefix((whole.first?.run ?? "") + ".") }, "\(channel)")
            }
        }

        @Test("Each source is recorded completely across cuts, and its files begin and end with the program's files")
        func whole() async throws {
            let (relay, api) = try await start(
                ["--record", directory.file("rec"), "--record-sources", "--segment", "2s", "--duration", "11s"]
                    + (try await sources()), until: "segment opened")
            var cuts: [(frame: Int, scene: String)] = []
            for (distance, scene) in [(70, "high"), (25, "low"), (35, "high"), (71, "low")] {
                let frame = try await put(api, scene, at: (cuts.last?.frame ?? 0) + distance)
                cuts.append((frame, scene))
            }
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = try await listed()
            #expect(Set(files.keys) == ["relay", "relay-low", "relay-high"] && files["relay"]?.count == 6)
            try compare(files)
            var seen: [String: [Int]] = [:]
            for (channel, files) in files {
                for file in files {
                    seen[channel, default: []] += try await shows.lumas(of: "\(directory.file("rec"))/\(file.name)")
                }
            }
            let (whole, low, high) = (seen["relay"] ?? [], seen["relay-low"] ?? [], seen["relay-high"] ?? [])
            #expect(whole.count == 330 && low.count == 330 && high.count == 330)
            for index in 0..<min(whole.count, low.count, high.count) {
                let scene = cuts.last { $0.frame <= index }?.scene ?? "low"
                #expect(abs(whole[index] - (scene == "low" ? low : high)[index]) <= 1, "frame \(index)")
            }
            // Each frame of a source is recorded once. Until the source's file is open, its slate or its first frame is
            // shown.
            for (lumas, first, step) in [(low, 40, 4), (high, 148, 3)] {
                let numbers = lumas.map { Int((Double($0 - first) / Double(step)).rounded()) }
                let begun = numbers.firstIndex { $0 > 0 } ?? 0
                for index in begun..<numbers.count - 1 {
                    #expect(numbers[index + 1] == (numbers[index] + 1) % 25, "frame \(index)")
                }
            }
            try await verify()
            try #require(cuts[3].frame <= min(low.count, high.count), "the machine stood still for seconds")
            try await export([cuts[0].frame..<cuts[1].frame, cuts[2].frame..<cuts[3].frame], low: low, high: high)
        }

        /// Exports the times at which a source was on air, by the source's name, from the program and from the
        /// recording of another source.
        private func export(_ ranges: [Range<Int>], low: [Int], high: [Int]) async throws {
            let export = { (arguments: [String]) in
                try await RelayProcess.run(
                    ["recordings", "export", directory.file("rec"), "--scene", "high", "--exact"] + arguments)
            }
            let result = try await export(["-o", directory.file("clip.mp4")])
            #expect(result.ending == .exited(0), "\(result.log)")
            for (number, range) in ranges.enumerated() {
                let seen = try await shows.lumas(of: directory.file("clip-\(number + 1).mp4"))
                #expect(seen.count == range.count && zip(seen, high[range]).allSatisfy { abs($0 - $1) <= 2 }, "\(seen)")
            }
            let other = try await export(["--channel", "relay-low", "-o", directory.file("low.mp4")])
            #expect(other.ending == .exited(0), "\(other.log)")
            let seen = try await shows.lumas(of: directory.file("low-1.mp4"))
            let range = ranges[0]
            #expect(seen.count == range.count && zip(seen, low[range]).allSatisfy { abs($0 - $1) <= 2 }, "\(seen)")
        }

        @Test("Recordings of sources are started, split and stopped together on air; the API lists all their files")
        func onAir() async throws {
            let (relay, api) = try await start(
                ["--record", directory.file("rec"), "--record-sources"] + (try await sources()),
                until: "segment opened")
            try await frame(api, reaches: 20)
            #expect(try await api.ask("POST", recording + "/split").status == 202)
            try await frame(api, reaches: 60)
            #expect(try await api.ask("POST", recording + "/stop").status == 202)
            try await eventually("the files are closed", within: .seconds(20)) {
                RecordingSet(directory: directory.file("rec")).open.isEmpty
            }
            let stopped = try await api.ask("GET", program).json()["frame"] as? Int ?? 0
            #expect(try await api.ask("POST", recording + "/start").status == 202)
            try await frame(api, reaches: stopped + 45)
            let metrics = try await api.ask("GET", "/metrics").body
            #expect(metrics.contains(#"relay_source_recorder_state{channel="relay",source="low",state="recording"} 1"#))
            let list = try await api.ask("GET", "/v1/channels/relay/recordings?source=high").json()
            let ofSource = list["recordings"] as? [[String: Any]] ?? []
            #expect(ofSource.count == 3 && ofSource.allSatisfy { $0["source"] as? String == "high" }, "\(list)")
            let id = try #require(ofSource.first?["id"] as? String)
            #expect(try await api.ask("GET", "/v1/channels/relay/recordings/\(id)").status == 404)
            for place in ["", "/thumbnail.jpg", "/init.mp4"] {
                let address = "\(api.base)/v1/channels/relay/recordings/\(id)\(place)?source=high"
                #expect(try await run("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", address]) == "200")
            }
            #expect(try await api.ask("GET", "/v1/channels/relay/recordings?source=none").status == 404)
            try await export(try #require(ofSource.compactMap { $0["start"] as? String }.min()), api)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(15)).ending == .exited(0))
            let files = try await listed()
            let starts = files["relay"]?.map(\.programStart)
            #expect(starts?.count == 3)
            for (channel, files) in files { #expect(files.map(\.programStart) == starts, "\(channel)") }
            try await verify()
        }

        /// Exports the first half second of a source by the API.
        private func export(_ first: String, _ api: APIClient) async throws {
            let formatter = ISO8601DateFormatter()
            formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            let end = try #require(formatter.date(from: first)).addingTimeInterval(0.5)
            let body = { (source: String) in
                #"{"channel":"relay","source":"\#(source)","from":"\#(first)","to":"\#(formatter.string(from: end))"}"#
            }
            #expect(try await api.ask("POST", "/v1/exports", body: body("none")).status == 404)
            let job = try await api.ask("POST", "/v1/exports", body: body("high"))
            let id = try #require(try job.json()["id"] as? String, "\(job)")
            try await eventually("the clip is made", within: .seconds(30)) {
                let now = try await api.ask("GET", "/v1/exports/\(id)").json()
                guard now["state"] as? String != "failed" else { throw HarnessFailure("\(now)") }
                return now["state"] as? String == "done"
            }
            let clip = directory.file("source.mp4")
            _ = try await run("curl", ["-s", "-f", "-o", clip, "\(api.base)/v1/exports/\(id)/file"])
            let lumas = try await shows.lumas(of: clip)
            #expect((14...16).contains(lumas.count) && (lumas.last ?? 0) >= 146, "\(lumas)")
        }

        @Test("A separate audio input is recorded to files without video, which begin and end with the program's audio")
        func separateAudio() async throws {
            let sound = try await shows.clip("sound", luma: "128", tone: 660, frames: 300)
            let (relay, _) = try await start(
                ["--record", directory.file("rec"), "--record-sources", "--segment", "2s", "--duration", "5s"]
                    + (try await sources()) + ["--audio-input", sound], until: "segment opened")
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = try await listed()
            let whole = try #require(files["relay"])
            let audio = try #require(files["relay-audio"], "\(files.keys)")
            #expect(Set(files.keys) == ["relay", "relay-low", "relay-high", "relay-audio"] && whole.count == 3)
            #expect(audio.map(\.audioSamples) == whole.map(\.audioSamples))
            #expect(audio.allSatisfy { $0.frames == 0 && $0.run.hasPrefix((whole.first?.run ?? "") + ".") })
            // An audio packet lasts 21.3 ms, and is in one file only.
            for (file, whole) in zip(audio, whole) {
                #expect((0...21_400_000).contains(file.programStart - whole.programStart), "\(file.name)")
            }
            try await verify()
        }

        @Test("A source that connects late and leaves again is recorded with its slate before and after its frames")
        func absent() async throws {
            let port = try Ports.free()
            let (relay, api) = try await start(
                ["--record", directory.file("rec"), "--record-sources", "--source-coding", "encode", "--segment", "2s"]
                    + [
                        "--slate", "bars",
                        "--input", "\(try await shows.clip("low", luma: "40+4*mod(N\\,25)", frames: 50))#name=low",
                        "--loop",
                    ]
                    + ["--input", "udp://127.0.0.1:\(port)#name=camera"], until: "segment opened")
            try await frame(api, reaches: 45)
            let sender = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-re", "-f", "lavfi", "-i", "color=white:size=320x180:rate=30", "-f", "lavfi", "-i"]
                    + ["sine=440:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast", "-g", "15"]
                    + ["-c:a", "aac", "-f", "mpegts", "udp://127.0.0.1:\(port)?pkt_size=1316"])
            let input = {
                let sources = try await api.ask("GET", program).json()["sources"] as? [[String: Any]]
                return sources?.last?["input"] as? String
            }
            try await eventually("the camera is there", within: .seconds(20)) { try await input() == "camera" }
            let came = try await api.ask("GET", program).json()["frame"] as? Int ?? 0
            try await frame(api, reaches: came + 30)
            sender.signal(SIGKILL)
            try await eventually("its slate is there", within: .seconds(10)) { try await input() == "slate" }
            let gone = try await api.ask("GET", program).json()["frame"] as? Int ?? 0
            try await frame(api, reaches: gone + 30)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(15)).ending == .exited(0))
            let files = try await listed()
            try compare(files)
            var seen: [Int] = []
            for file in files["relay-camera"] ?? [] {
                seen += try await shows.lumas(of: "\(directory.file("rec"))/\(file.name)")
            }
            #expect(seen.count == files["relay"]?.reduce(0) { $0 + $1.frames })
            #expect(seen[0] < 200 && seen[came + 20] > 220 && (seen.last ?? 255) < 200, "\(seen)")
            try await verify()
        }
    }
}

extension SerialRecordings {
    /// Recordings of sources on a disk that becomes full.
    @Suite("Recordings of sources on a full disk", .needs(SmallDisk.isPossible, "only root can mount a small disk"))
    struct SourceStorageTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        @Test("On a full disk the recordings of sources stop first, and the program's recording has no gap")
        func full() async throws {
            let disk = try await SmallDisk(megabytes: 60)
            let clip = try await Clip.noisy(seconds: 30, in: directory)
            let relay = try RelayProcess(
                ["--preset", "ultrafast", "--video-bitrate", "4M", "--size", "320x180", "--fps", "30"]
                    + [
                        "--segment", "2s", "--expect", "2s", "--disk-reserve", "15MB", "--record", disk.path + "/rec",
                        "--record-sources",
                    ]
                    + ["--input", "\(clip)#name=one", "--input", "\(clip)#name=two", "--loop"])
            try await eventually("both sources are stopped", within: .seconds(60)) {
                relay.process.errors.split(separator: "\n").count { $0.contains("storage stopped the recording") } == 2
            }
            let frames = { (log: String) in log.split(separator: "\n").count { $0.contains("segment opened") } }
            let before = frames(relay.process.errors)
            try await eventually("the program is recorded further", within: .seconds(15)) {
                frames(relay.process.errors) > before
            }
            let result = try await relay.end(by: SIGTERM, within: .seconds(15))
            #expect(result.ending == .exited(0), "\(result.log)")
            let stopped = result.log.split(separator: "\n").filter { $0.contains("storage stopped the recording") }
            #expect(stopped.allSatisfy { $0.contains("source=") }, "\(stopped)")
            #expect(result.log.contains("0 frames in 0 gaps"), "\(result.log)")
        }
    }
}
