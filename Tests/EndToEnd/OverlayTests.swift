// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Overlays in front of a program, and stingers over its changes, as they were recorded.
    @Suite("Overlays")
    struct OverlayTests {
        private let studio: Studio
        private let overlays = "/v1/channels/relay/overlays"

        init() throws { studio = try Studio() }

        /// Makes an image that covers the left half of the frame, with half opacity.
        private func logo() async throws -> String {
            try await studio.make(
                "logo.png", "color=white:size=160x180,format=rgba,colorchannelmixer=aa=0.5", ["-frames:v", "1"])
        }

        @Test("An image overlay appears with its scene, disappears on command, and fades in at the commanded frame")
        func image() async throws {
            let (relay, api) = try await studio.start([
                "--input", "\(try await studio.clip("black", rate: "30", tone: 440))#name=black",
                "--overlay", "logo=image:\(try await logo())#x=0,y=0,width=0.5",
                "--scene", "bug=single:black#overlays=logo",
            ])
            let scene = try await studio.put(api, #"{"scene":"bug"}"#)
            try await studio.pass(scene + 10, api)
            let hidden = try await studio.put(api, #"{"visible":false}"#, to: "\(overlays)/logo")
            let shown = try await studio.put(
                api, #"{"visible":true,"seconds":1,"at":\#(hidden + 20)}"#, to: "\(overlays)/logo")
            #expect(shown == hidden + 20)
            try await studio.pass(shown + 40, api)
            let report = try await api.ask("GET", Studio.program).json()["overlays"] as? [[String: Any]]
            #expect(report?.first?["isSeen"] as? Bool == true && report?.first?["visible"] as? Bool == true)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))

            let frames = try await studio.recorded()
            #expect(frames[..<scene].allSatisfy { $0.left < 20 })
            #expect(frames[scene..<hidden].allSatisfy { abs($0.left - 125) <= 5 && $0.right < 20 }, "\(frames[scene])")
            #expect(frames[hidden..<shown].allSatisfy { $0.left < 20 })
            let fade = frames[shown..<shown + 30].map(\.left)
            let rises = zip(fade, fade.dropFirst()).allSatisfy { $0 <= $1 + 1 }
            #expect(rises && fade[0] < 30 && fade[29] > 115, "\(fade)")
            #expect(abs(frames[shown + 31].left - 125) <= 5)
        }

        @Test("A text overlay with a running clock is drawn over a single input, and its text is changed on air")
        func text() async throws {
            let (relay, api) = try await studio.start([
                "--input", "\(try await studio.clip("black", rate: "30", tone: 440))#name=black",
                "--overlay", "clock=text:{timecode}#x=0,y=0.3,height=0.25,visible=yes",
            ])
            try await studio.pass(60, api)
            let changed = try await studio.put(api, #"{"text":"I"}"#, to: "\(overlays)/clock")
            try await studio.pass(changed + 30, api)
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            let frames = try await studio.recorded()
            // The frame number is on the right, where the short text draws nothing.
            let clock = frames[..<changed].map(\.right)
            #expect(clock.allSatisfy { $0 >= 3 } && Set(clock).count > 1, "\(clock)")
            #expect(frames[changed + 5..<changed + 20].allSatisfy { $0.right <= 1 && $0.left > 0 })
        }

        @Test("An invalid overlay is refused, and an unknown one is refused with a list of the known ones")
        func refused() async throws {
            let (relay, api) = try await studio.start([
                "--input", "test:#name=one", "--input", "test:#name=two",
                "--overlay", "logo=image:\(try await logo())#x=0,y=0,width=0.5", "--overlay", "line=text:one",
            ])
            let long = String(repeating: "a", count: 201)
            for (path, body, status) in [
                ("logo", #"{"text":"x"}"#, 422), ("line", #"{"text":"\#(long)"}"#, 422), ("line", "{}", 422),
                ("line", #"{"text":"{clock}"}"#, 422), ("line", #"{"visible":true,"seconds":11}"#, 422),
                ("none", #"{"visible":true}"#, 404), ("line", #"{"visible":null}"#, 200),
            ] {
                let answer = try await api.ask("PUT", "\(overlays)/\(path)", body: body)
                #expect(answer.status == status, "\(path) \(body): \(answer)")
            }
            let unknown = try await api.ask(
                "PUT", Studio.program, body: #"{"scene":{"layout":"single","sources":["one"],"overlays":["x"]}}"#)
            #expect(unknown.status == 422 && unknown.body.contains("logo, line"), "\(unknown)")
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            for wrong in [
                "logo=image:/no/such.png", "logo=picture:x", "a=text:{clock}", "a=text:b#x=2", "a=text:b#y=abc",
            ] {
                let result = try await RelayProcess.run(["--overlay", wrong, "--rtmp", "rtmp://127.0.0.1:1/a/b"])
                #expect(result.ending == .exited(64) && result.log.contains("--overlay"), "\(wrong): \(result)")
            }
            let noImage = try await RelayProcess.run(
                ["--overlay", "a=image:\(#filePath)", "--rtmp", "rtmp://127.0.0.1:1/a/b"])
            #expect(noImage.ending == .exited(66) && noImage.log.contains("overlay a cannot be shown"), "\(noImage)")
        }

        @Test("A stinger covers the cut, which is on the exact frame, and can be used again at once")
        func stinger() async throws {
            let filter = "color=gray:size=320x180:rate=30:duration=1,format=rgba,geq=r=128:g=128:b=128:a="
            let card = try await studio.make("card.mov", filter + "'255*between(N,10,19)'", ["-c:v", "qtrle"])
            let clear = try await studio.make("clear.mov", filter + "'0'", ["-c:v", "png"])
            let (relay, api) = try await studio.start([
                "--input", "\(try await studio.clip("white", rate: "30", tone: 880))#name=white",
                "--input", "\(try await studio.clip("black", rate: "30", tone: 440))#name=black",
                "--stinger", "card=\(card)#cut=0.5", "--stinger", "clear=\(clear)#cut=0.5",
            ])
            var starts: [Int] = []
            for (scene, name) in [("black", "card"), ("white", "clear"), ("black", "card")] {
                let body = #"{"scene":"\#(scene)","transition":{"type":"stinger","name":"\#(name)"}}"#
                let start = try await studio.put(api, body)
                starts.append(start)
                try await studio.pass(start + 40, api)
            }
            let unknown = try await api.ask(
                "PUT", Studio.program, body: #"{"scene":"white","transition":{"type":"stinger","name":"x"}}"#)
            #expect(unknown.status == 422 && unknown.body.contains("card, clear"), "\(unknown)")
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))

            let frames = try await studio.recorded().map(\.left)
            for start in [starts[0], starts[2]] {
                #expect(frames[start - 1..<start + 10].allSatisfy { $0 > 220 }, "\(frames[start - 1..<start + 30])")
                #expect(frames[start + 10..<start + 20].allSatisfy { abs($0 - 126) < 12 })
                #expect(frames[start + 20..<start + 30].allSatisfy { $0 < 30 })
            }
            let seen = frames[starts[1]..<starts[1] + 30].map { $0 > 126 }
            #expect(seen == (0..<30).map { $0 >= 15 }, "\(seen)")
            let opaque = try await studio.clip("gray", rate: "30", tone: 440, seconds: 1)
            for (file, cut, text) in [(opaque, "0.5", "alpha"), (card, "1.5", "lasts")] {
                let result = try await RelayProcess.run(
                    ["--input", "test:#name=one", "--input", "test:#name=two", "--rtmp", "rtmp://127.0.0.1:1/a/b"]
                        + ["--stinger", "wrong=\(file)#cut=\(cut)"])
                #expect(result.ending != .exited(0) && result.log.contains(text), "\(result)")
            }
        }
    }
}
