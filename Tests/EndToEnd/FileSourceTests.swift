// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Files among several sources: what they do off air, and at which position they continue.
    @Suite("File sources that are off air")
    struct FileSourceTests {
        private let studio: Studio

        init() throws { studio = try Studio() }

        /// A file of 3 s whose luma decreases by two with each frame. It does not become dark, because dark frames are
        /// coded coarsely beside black.
        private func ramp() async throws -> String {
            try await studio.make(
                "ramp.mp4",
                "color=black:size=320x180:rate=30:duration=3,format=yuv420p,geq=lum='220-2*N':cb=128:cr=128",
                ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "4", "-g", "30"])
        }

        /// Returns, for each frame in `range`, which frame of the ramp it shows.
        private func places(_ frames: [(left: Int, right: Int)], _ range: Range<Int>) -> [Double] {
            // The frames are decoded with full range.
            frames[range].map { (204 - Double($0.left) * 219 / 255) / 2 }
        }

        /// Shows the file for about 12 frames, twice, with black before and after it. Returns the frames at which it
        /// appeared and disappeared.
        private func visits(_ whenOff: String, between: (APIClient) async throws -> Void = { _ in }) async throws
            -> (frames: [(left: Int, right: Int)], starts: [Int], ends: [Int])
        {
            let (relay, api) = try await studio.start([
                "--input", "\(try await studio.clip("black", rate: "30", tone: 440))#name=black",
                "--input", "\(try await ramp())#name=ramp,when-off=\(whenOff)",
            ])
            // A source in the preview counts as wanted, so black is put there instead of the file.
            let preview = try await api.ask("PUT", "/v1/channels/relay/preview", body: #"{"scene":"black"}"#)
            #expect(preview.status == 200)
            var (starts, ends): ([Int], [Int]) = ([], [])
            for _ in 0..<2 {
                let now = try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0
                starts.append(try await studio.put(api, #"{"scene":"ramp","at":\#(now + 30)}"#))
                ends.append(try await studio.put(api, #"{"scene":"black","at":\#(now + 42)}"#))
                try await studio.pass(now + 60, api)
                try await between(api)
            }
            #expect(try await relay.end(by: SIGTERM, within: .seconds(10)).ending == .exited(0))
            return (try await studio.recorded(), starts, ends)
        }

        @Test("With when-off=pause a file continues on air at the position where it went off air")
        func pauses() async throws {
            let (frames, starts, ends) = try await visits("pause")
            let (first, second) = (places(frames, starts[0]..<ends[0]), places(frames, starts[1]..<ends[1]))
            for (index, place) in first.enumerated() { #expect(abs(place - Double(index)) <= 1.5, "\(first)") }
            // The file continued to play, unseen, during the frame in which its audio faded out.
            for (index, place) in second.enumerated() { #expect(abs(place - Double(index + 13)) <= 1.5, "\(second)") }
        }

        @Test("With when-off=close a file plays from its first frame each time its scheduled scene goes on air")
        func closes() async throws {
            let (frames, starts, ends) = try await visits("close")
            for (start, end) in zip(starts, ends) {
                let places = places(frames, start..<end)
                for (index, place) in places.enumerated() { #expect(abs(place - Double(index)) <= 1.5, "\(places)") }
            }
        }

        @Test("The API moves a file that is off air to another position, and refuses an impossible position")
        func seeks() async throws {
            let source = "/v1/channels/relay/sources/ramp"
            let (frames, starts, ends) = try await visits("pause") { api in
                #expect(try await api.ask("PATCH", source, body: #"{"seek":1}"#).status == 200)
                let beyond = try await api.ask("PATCH", source, body: #"{"seek":10}"#)
                #expect(beyond.status == 422 && beyond.body.contains("3s"), "\(beyond)")
                for body in [#"{"seek":-1}"#, #"{"audioOffset":2.5}"#, #"{"audioOffset":-0.6}"#] {
                    #expect(try await api.ask("PATCH", source, body: body).status == 422)
                }
                for offset in [0.25, -0.25] {
                    let body = #"{"audioOffset":\#(offset)}"#
                    let moved = try await api.ask("PATCH", source, body: body).json()["sources"]
                    #expect((moved as? [[String: Any]])?.last?["audioOffset"] as? Double == offset)
                }
            }
            let places = places(frames, starts[1]..<ends[1])
            for (index, place) in places.enumerated() { #expect(abs(place - Double(index + 30)) <= 1.5, "\(places)") }
        }

        @Test("The option when-off= is refused unless the file is one of several sources")
        func refused() async throws {
            let file = try await ramp()
            for (inputs, text) in [
                (["--input", "\(file)#when-off=pause"], "several"),
                (["--input", "test:", "--input", "srt://127.0.0.1:1#when-off=pause"], "files"),
                (["--input", "test:", "--input", "\(file)#when-off=stop"], "keep, pause or close"),
            ] {
                let result = try await RelayProcess.run(inputs + ["--rtmp", "rtmp://127.0.0.1:1/a/b"])
                #expect(result.ending == .exited(64) && result.log.contains(text), "\(result)")
            }
        }
    }
}
