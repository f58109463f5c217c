// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// A program of several sources, which is switched by HTTP while it is on air.
    @Suite("A program of several sources")
    struct SourcesTests {
        private let studio: Studio

        init() throws { studio = try Studio() }

        @Test("Each cut between sources with different rates is on the frame that the API has announced")
        func cuts() async throws {
            let (relay, api) = try await studio.start([
                "--input", "test:#name=pattern",
                "--input", "\(try await studio.clip("white", rate: "25", tone: 880))#name=white",
                "--input", "\(try await studio.clip("black", rate: "30000/1001", tone: 440))#name=black",
            ])
            var named: [(frame: Int, source: String)] = []
            var random = SystemRandomNumberGenerator()
            for index in 0..<20 {
                let source = ["white", "black", "pattern"][index % 3]
                named.append((try await studio.put(api, #"{"scene":"\#(source)"}"#), source))
                let frames = Int.random(in: 4..<16, using: &random)
                try await eventually("\(frames) frames later", within: .seconds(10)) {
                    try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0 > (named.last?.frame ?? 0)
                        + frames
                }
            }
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            let frames = try await studio.recorded()
            var expected = Array(repeating: "pattern", count: frames.count)
            for cut in named {
                for index in cut.frame..<max(cut.frame, frames.count) { expected[index] = cut.source }
            }
            let seen = frames.map { $0.left > 220 ? "white" : $0.left < 30 ? "black" : "pattern" }
            #expect(
                seen == expected, "\(zip(seen, expected).enumerated().filter { $1.0 != $1.1 }.map(\.offset)) \(named)")
            let verified = try await RelayProcess.run(["recordings", "verify", studio.directory.file("rec")])
            #expect(verified.ending == .exited(0), "\(verified)")
        }

        @Test("A transition is interrupted by another one, and the commands take and auto put the preview on air")
        func scenes() async throws {
            let (relay, api) = try await studio.start([
                "--input", "\(try await studio.clip("white", rate: "30", tone: 880))#name=white",
                "--input", "\(try await studio.clip("black", rate: "30", tone: 440))#name=black",
                "--scene", "both=split-horizontal:black,white",
            ])
            let split = try await studio.put(api, #"{"scene":"both"}"#)
            let fade = try await studio.put(
                api, #"{"scene":"white","transition":{"type":"fade","seconds":2},"at":\#(split + 10)}"#)
            #expect(fade == split + 10)
            // The fade must have advanced so far that an encoder that saves bits cannot hide it.
            try await eventually("the fade is under way", within: .seconds(10)) {
                try await api.ask("GET", Studio.program).json()["progress"] as? Double ?? 0 > 0.3
            }
            let cut = try await studio.put(api, #"{"scene":"black"}"#)
            let ready = try await api.ask(
                "PUT", "/v1/channels/relay/preview",
                body: #"{"scene":"white","transition":{"type":"push","seconds":0.5}}"#)
            #expect(ready.status == 200, "\(ready)")
            let auto = try await api.ask("POST", "/v1/channels/relay/auto").json()["frame"] as? Int ?? 0
            try await eventually("it is over", within: .seconds(10)) {
                let report = try await api.ask("GET", Studio.program).json()
                return report["progress"] == nil && report["frame"] as? Int ?? 0 > auto + 20
            }
            let report = try await api.ask("GET", Studio.program).json()
            let preview = (report["preview"] as? [String: Any])?["sources"] as? [String]
            #expect(preview == ["black"])
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))

            let frames = try await studio.recorded()
            #expect(frames[split - 1].left > 220 && frames[split].left < 30 && frames[split].right > 220)
            #expect(cut > fade && cut < fade + 60, "the fade was cut off")
            let before = frames[cut - 1]
            #expect(before.left > 30 && before.left < 220 && before.right > 220, "\(before), \(cut - fade) frames in")
            #expect(frames[cut..<auto].allSatisfy { $0.left < 30 && $0.right < 30 })
            #expect(frames[auto + 7].left < 60 && frames[auto + 7].right > 150, "pushed in from the right")
            #expect(frames[auto + 15].left > 220 && frames[auto + 15].right > 220)
        }

        @Test(
            "A scheduled scene change is listed, and cancelled before its frame; the catalogue lists the scenes on air")
        func withdrawn() async throws {
            let (relay, api) = try await studio.start(["--input", "test:#name=one", "--input", "test:#name=two"])
            let now = try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0
            let far = try await studio.put(api, #"{"scene":"two","at":\#(now + 3000)}"#)
            let near = try await studio.put(api, #"{"scene":"two","at":\#(now + 20)}"#)
            let waiting = try await api.ask("GET", Studio.program).json()["changes"] as? [[String: Any]]
            #expect(waiting?.compactMap { $0["frame"] as? Int }.contains(far) == true)
            #expect(try await api.ask("DELETE", "\(Studio.program)/changes/\(far)").status == 204)
            #expect(try await api.ask("DELETE", "\(Studio.program)/changes/\(far)").status == 404)
            try await eventually("the near one is on air", within: .seconds(10)) {
                try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0 > near
            }
            #expect(try await api.ask("DELETE", "\(Studio.program)/changes/\(near)").status == 404)
            let metrics = try await api.ask("GET", "/metrics").body
            #expect(metrics.contains(#"relay_source_on_air{channel="relay",source="two"} 1"#))
            #expect(metrics.contains(#"relay_source_on_air{channel="relay",source="one"} 0"#))
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            let list = try await RelayProcess.run(["recordings", "list", studio.directory.file("rec")]).log
            #expect(list.contains("two from frame \(near) of ") && !list.contains("frame \(far)"), "\(list)")
        }

        @Test("An impossible request is refused and changes nothing; an unknown name is refused with the known ones")
        func refused() async throws {
            let (relay, api) = try await studio.start(["--input", "test:#name=one", "--input", "test:#name=two"])
            let wrong = [
                #"{"scene":"three"}"#, #"{"scene":{"layout":"pip","sources":["one"]}}"#,
                #"{"scene":{"layout":"pip","sources":["one","three"]}}"#,
                #"{"scene":{"layout":"grid","sources":["one","one"]}}"#,
                #"{"scene":"two","transition":{"type":"fade","seconds":5.1}}"#, #"{"scene":"two","at":-1}"#,
            ]
            for body in wrong {
                let answer = try await api.ask("PUT", Studio.program, body: body)
                #expect(answer.status == 422, "\(body): \(answer)")
            }
            let unknown = try await api.ask("PUT", Studio.program, body: #"{"scene":"three"}"#)
            #expect(unknown.body.contains("one, two"))
            let other = #"{"scene":"two","transition":{"type":"x"}}"#
            let transition = try await api.ask("PUT", Studio.program, body: other)
            #expect(transition.status == 422 && transition.body.contains("fade, dissolve"), "\(transition)")
            #expect(try await api.ask("PATCH", "/v1/channels/relay/sources/x", body: #"{"gain":1}"#).status == 404)
            #expect(
                try await api.ask("GET", "/v1/channels/relay/sources/two/snapshot.jpg?width=64", limit: 10).status
                    == 200)
            let scene = try await api.ask("GET", Studio.program).json()["scene"] as? [String: Any]
            #expect(scene?["sources"] as? [String] == ["one"])
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
        }

        /// Starts a sender of white frames, with a keyframe every 2 s.
        private func camera(_ port: Int) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-re", "-f", "lavfi", "-i", "color=white:size=320x180:rate=30", "-c:v", "libx264"]
                    + ["-preset", "veryfast", "-bf", "2", "-b_strategy", "0", "-g", "60", "-f", "mpegts"]
                    + ["udp://127.0.0.1:\(port)?pkt_size=1316"])
        }

        @Test("A source that is not visible is decoded at keyframes only, or closed, until a scene shows it")
        func standby() async throws {
            let ports = (try Ports.free(), try Ports.free())
            let cameras = [try camera(ports.0), try camera(ports.1)]
            defer { for camera in cameras { camera.signal(SIGKILL) } }
            let (relay, api) = try await studio.start([
                "--input", "\(try await studio.clip("black", rate: "30", tone: 440))#name=black",
                "--input", "udp://127.0.0.1:\(ports.0)#name=keys,standby=keyframes",
                "--input", "udp://127.0.0.1:\(ports.1)#name=cold,standby=cold",
            ])
            let closed = #"relay_source_state{channel="relay",source="cold",state="closed"}"#
            let running = #"relay_source_state{channel="relay",source="cold",state="running"}"#
            let skipped = #"relay_source_skipped_frames_total{channel="relay",source="keys"}"#
            let metric = { (name: String) in
                let lines = try await api.ask("GET", "/metrics").body.split(separator: "\n")
                return lines.first { $0.hasPrefix(name) }.flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0
            }
            // A source in the preview counts as wanted, so black is put there.
            let preview = try await api.ask("PUT", "/v1/channels/relay/preview", body: #"{"scene":"black"}"#)
            #expect(preview.status == 200)
            try await eventually("frames are left out", within: .seconds(20)) { try await metric(skipped) > 20 }
            // Frames of the source are skipped even before it has a frame to show.
            try await eventually("it has video", within: .seconds(20)) {
                let sources = try await api.ask("GET", Studio.program).json()["sources"] as? [[String: Any]]
                return sources?.contains { $0["input"] as? String == "keys" } == true
            }
            try await eventually("the other is closed", within: .seconds(20)) { try await metric(closed) == 1 }

            let cut = try await studio.put(api, #"{"scene":"keys"}"#)
            try await eventually("all frames are decoded", within: .seconds(20)) {
                let before = try await metric(skipped)
                let now = try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0
                try await studio.pass(now + 10, api)
                return try await metric(skipped) == before
            }
            // On a busy machine a source can take seconds to open.
            let next = try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0
            let opened = try await studio.put(api, #"{"scene":"cold","at":\#(next + 600)}"#)
            try await eventually("it is open ahead", within: .seconds(20)) { try await metric(running) == 1 }
            let frame = try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? .max
            #expect(frame < opened, "\(relay.process.errors)")
            try await studio.pass(opened, api)
            let back = try await studio.put(api, #"{"scene":"black"}"#)
            try await eventually("it is closed again", within: .seconds(20)) { try await metric(closed) == 1 }
            try await studio.pass(back + 5, api)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            let frames = try await studio.recorded()
            try #require(frames.count > back)
            #expect(frames[cut - 1].left < 30 && frames[back].left < 30)
            #expect(frames[cut..<back].allSatisfy { $0.left > 220 }, "\(frames[cut..<back])")
        }

        @Test("A source that is absent at the start delays nothing: the next source determines the format")
        func absent() async throws {
            let (camera, audio, http) = (try Ports.free(), try Ports.free(), try Ports.free())
            let relay = try RelayProcess([
                "--http", "127.0.0.1:\(http)",
                "--input", "rtsp://127.0.0.1:\(camera)/a#name=camera", "--preset", "ultrafast", "--loop",
                "--input", "\(try await studio.clip("black", rate: "25", tone: 440))#name=file",
                "--audio-input", "srt://127.0.0.1:\(audio)?mode=listener", "--record", studio.directory.file("rec"),
            ])
            try await relay.says("segment opened", within: .seconds(20))
            try await relay.says("input cannot be opened and will be tried again", within: .seconds(20))
            let report = try await APIClient(base: "http://127.0.0.1:\(http)").ask("GET", Studio.program)
            let heard = try #require((try report.json()["sources"] as? [[String: Any]])?.last, "\(report)")
            #expect(heard["name"] as? String == "audio" && heard["hasVideo"] as? Bool == false, "\(report)")
            #expect(heard["input"] == nil, "\(report)")
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            let names = try FileManager.default.contentsOfDirectory(atPath: studio.directory.file("rec"))
            let name = try #require(names.first { $0.hasSuffix(".mp4") })
            let shape = try await run(
                "ffprobe",
                ["-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height,r_frame_rate"]
                    + ["-of", "csv=p=0", studio.directory.file("rec/\(name)")])
            #expect(shape.contains("320,180,25/1"), "\(shape)")
        }

        @Test("A source that disconnects is replaced by its slate, and the other sources continue")
        func lost() async throws {
            let port = try Ports.free()
            let sender = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-re", "-f", "lavfi", "-i", "color=white:size=320x180:rate=30", "-f", "lavfi", "-i"]
                    + [
                        "sine=440:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast", "-g", "30", "-c:a",
                        "aac",
                    ]
                    + ["-f", "mpegts", "udp://127.0.0.1:\(port)?pkt_size=1316"])
            let (relay, api) = try await studio.start([
                "--input", "\(try await studio.clip("black", rate: "30", tone: 440))#name=file",
                "--input", "udp://127.0.0.1:\(port)#name=camera",
            ])
            let input = {
                let sources = try await api.ask("GET", Studio.program).json()["sources"] as? [[String: Any]]
                return sources?.last?["input"] as? String
            }
            try await eventually("the camera is there", within: .seconds(20)) { try await input() == "camera" }
            let split = try await studio.put(api, #"{"scene":{"layout":"split-vertical","sources":["camera","file"]}}"#)
            sender.signal(SIGKILL)
            try await eventually("its slate is there", within: .seconds(10)) { try await input() == "slate" }
            let back = try await studio.put(api, #"{"scene":"file"}"#)
            try await eventually("the file is on air", within: .seconds(10)) {
                try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0 > back + 2
            }
            let result = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(result.ending == .exited(0) && result.log.contains("0 frames in 0 gaps"), "\(result.log)")
            let frames = try await studio.recorded()
            try #require(frames.count > back)
            #expect(frames[split].left > 90 && frames[back].left < 30)
        }
    }
}
