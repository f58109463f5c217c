// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// A marked moment of the program, in everything that can contain it.
    @Suite("Markers")
    struct MarkerTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private static let words = #"Goal! "3:1" ⚽️"#

        /// Expects that the words are in the stream once, between the right frames, and at `moment` of the program if
        /// that is known.
        private func expectText(_ path: String, at moment: Double?) throws {
            let tags = try FLVStream(path).tags
            let places = tags.indices.filter { tags[$0].body.starts(with: Data([2, 0, 10]) + Data("onTextData".utf8)) }
            #expect(places.count == 1, "\(path)")
            let place = try #require(places.first)
            let words = Data(Self.words.utf8)
            let ending = Data("text".utf8) + [2, 0, UInt8(words.count)] + words + [0, 0, 9]
            #expect(tags[place].kind == .data && tags[place].body.suffix(ending.count) == ending, "\(path)")
            // Counts frames and not configurations; the second byte of the body distinguishes them.
            let frames = tags.indices.filter { tags[$0].kind == .video && tags[$0].body.dropFirst().first == 1 }
            let (before, after) = (frames.filter { $0 < place }, frames.filter { $0 > place })
            #expect(!before.isEmpty && before.allSatisfy { tags[$0].time <= tags[place].time }, "\(path)")
            #expect(!after.isEmpty && after.allSatisfy { tags[$0].time >= tags[place].time }, "\(path)")
            guard let moment else { return }
            // The first frame is the program's first frame, and is shown at its composition time.
            let first = tags[try #require(frames.first)]
            let start = first.time + first.body.dropFirst(2).prefix(3).reduce(0) { $0 << 8 | Int($1) }
            let distance = Double(tags[place].time - start) / 1000
            #expect(abs(distance - moment) < 0.003, "\(path): \(distance) is not \(moment)")
        }

        /// Returns the date in a line, which follows the name of its tag or attribute.
        private func date(_ line: Substring?, behind prefix: String) throws -> Double {
            let line = try #require(line)
            let start = try #require(line.range(of: prefix)?.upperBound)
            let text = String(line[start...].prefix(24))
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            return try Date(text, strategy: format).timeIntervalSince1970
        }

        private func expectRange(_ path: String, at moment: Double) throws {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            let places = lines.indices.filter { lines[$0].hasPrefix("#EXT-X-DATERANGE:") }
            #expect(places.count == 1)
            let place = try #require(places.first)
            #expect(lines[place].hasSuffix(#",X-TEXT="Goal! '3:1' ⚽️""#), "\(lines[place])")
            let start = try date(lines[place], behind: #"START-DATE=""#)
            let tag = "#EXT-X-PROGRAM-DATE-TIME:"
            let first = try date(lines.first { $0.hasPrefix(tag) }, behind: tag)
            #expect(abs(start - first - moment) < 0.003, "\(start) - \(first) is not \(moment)")
            // The marker is in front of the segment that contains it.
            let own = try date(lines[..<place].last { $0.hasPrefix(tag) }, behind: tag)
            let length = try #require(Double(lines[place + 1].dropFirst("#EXTINF:".count).dropLast()))
            #expect(own - 0.002 <= start && start < own + length + 0.002)
        }

        @Test("A marker reaches RTMP servers, players and the live playlist at its time, and disturbs no output")
        func outputs() async throws {
            let (sink, port, http) = (try Ports.free(), try Ports.free(), try Ports.free())
            let server = try await RTMPServer.running()
            let (receiver, live) = (try await SRTReceiver(), directory.file("live"))
            let target = "rtmp://127.0.0.1:\(sink)/live/program"
            let (published, played) = (directory.file("published.flv"), directory.file("played.flv"))
            let listening = try FLVStream.keep(target, asServer: true, in: published)
            try await eventually("ffmpeg listens", within: .seconds(10)) { Ports.isUsed(sink, by: "tcp") }
            let relay = try RelayProcess(
                Shape.small + ["--gop", "1s", "--duration", "9s", "--http", "127.0.0.1:\(http)"]
                    + ["--rtmp", target, "--rtmp", server.url(), "--srt", receiver.url()]
                    + ["--output", "hls:\(live)#segment=1s,list=20"]
                    + ["--output", "rtmp-listen://127.0.0.1:\(port)/live/program"])
            try await relay.says("waiting for a caller at rtmp-listen://", within: .seconds(10))
            let player = try FLVStream.keep("rtmp://127.0.0.1:\(port)/live/program", asServer: false, in: played)
            try await relay.says("player 1 at 127.0.0.1 joined", within: .seconds(10))
            try await server.receives(.milliseconds(1500))

            let api = APIClient(base: "http://127.0.0.1:\(http)")
            let body = String(decoding: try JSONEncoder().encode(["text": Self.words]), as: UTF8.self)
            let answer = try await api.ask("POST", "/v1/channels/relay/markers", body: body)
            let moment = try #require(try answer.json()["programSeconds"] as? Double)
            #expect(answer.status == 201 && moment > 1, "\(answer)")

            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            for process in [listening, player] { try await process.ending(within: .seconds(20)) }
            try expectText(published, at: moment)
            try expectText(played, at: nil)
            try expectRange("\(live)/index.m3u8", at: moment)
            for path in [try await server.recording(), try await receiver.recording(), "\(live)/index.m3u8"] {
                #expect(try await Probe.complaints(path).isEmpty, "\(path)")
                let frames = try await DecodedFrames(path)
                #expect(frames.breaks.isEmpty && frames.span?.upperBound == 269, "\(path): \(frames.breaks)")
            }
        }

        @Test("The markers of a recording are chapters in its files, and more than 60 markers a minute are refused")
        func recorded() async throws {
            let http = try Ports.free()
            let relay = try RelayProcess(
                Shape.small + ["--gop", "1s", "--http", "127.0.0.1:\(http)"]
                    + ["--record", directory.file("recordings")])
            try await relay.says("HTTP at 127.0.0.1:\(http)", within: .seconds(10))
            let api = APIClient(base: "http://127.0.0.1:\(http)")
            try await eventually("it records for a while", within: .seconds(20)) {
                let report = try await api.ask("GET", "/v1/channels/relay").json()
                return report["isRecording"] as? Bool == true && report["programSeconds"] as? Double ?? 0 > 2
            }
            let answer = try await api.ask("POST", "/v1/channels/relay/markers", body: #"{"text":"kept"}"#)
            #expect(answer.status == 201)
            let marked = try #require(try answer.json()["time"] as? String)
            let path = "/v1/channels/relay/playlist.m3u8?from=2020-01-01T00:00:00Z"
            var text = ""
            try await eventually("the playlist has it", within: .seconds(20)) {
                text = try await api.ask("GET", path).body
                return text.contains("#EXT-X-DATERANGE:")
            }
            let line = text.split(separator: "\n").first { $0.hasPrefix("#EXT-X-DATERANGE:") }
            let (start, wanted) = (try date(line, behind: #"START-DATE=""#), try date("@\(marked)", behind: "@"))
            #expect(abs(start - wanted) < 0.5 && line?.hasSuffix(#"X-TEXT="kept""#) == true)
            var refused: APIClient.Answer?
            for number in 1...60 where refused == nil {
                let answer = try await api.ask("POST", "/v1/channels/relay/markers", body: #"{"text":"\#(number)"}"#)
                if answer.status != 201 { refused = answer }
            }
            #expect(refused?.status == 429 && refused?.body.contains("60 markers a minute") == true)
            let result = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
        }
    }
}
