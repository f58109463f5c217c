// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// A relay that an operator controls by HTTP while it is on air.
    @Suite("The HTTP API of a running relay")
    struct ControlAPITests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start(_ arguments: [String]) async throws -> (relay: RelayProcess, api: APIClient) {
            let port = try Ports.free()
            let relay = try RelayProcess(Shape.small + ["--http", "127.0.0.1:\(port)"] + arguments)
            try await relay.says("HTTP at 127.0.0.1:\(port)", within: .seconds(10))
            return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
        }

        private let outputs = "/v1/channels/relay/outputs"

        @Test(
            "Outputs are added, paused, resumed, changed, retried and removed by HTTP without affecting another output")
        func operating() async throws {
            let (first, second) = (try await RTMPServer.running(), try await RTMPServer.running())
            let (relay, api) = try await start(["--rtmp", first.url(), "--duration", "25s"])
            try await first.hasReceived(within: .seconds(5))

            let added = try await api.ask("POST", outputs, body: #"{"address":"\#(second.url())#name=guest"}"#)
            let origin = try added.json()["origin"] as? String
            #expect(added.status == 201 && origin == "api", "\(added)")
            #expect(
                try await api.ask("POST", outputs, body: #"{"address":"\#(second.url())#name=guest"}"#).status == 409)
            #expect(try await api.ask("POST", outputs, body: #"{"address":"bogus://x"}"#).status == 422)
            try await second.hasReceived(within: .seconds(10))

            let paused = try await api.ask("PATCH", outputs + "/guest", body: #"{"paused":true}"#)
            #expect(try paused.json()["state"] as? String == "paused", "\(paused)")
            _ = try await api.ask("PATCH", outputs + "/guest", body: #"{"paused":false}"#)
            try await eventually("it is on air again", within: .seconds(10)) {
                try await api.output("guest")["state"] as? String == "live"
            }

            let nowhere = "rtmp://127.0.0.1:\(try Ports.free())/live/key"
            let moved = try await api.ask("PATCH", outputs + "/guest", body: #"{"address":"\#(nowhere)"}"#)
            #expect(moved.status == 200, "\(moved)")
            try await eventually("it fails and waits", within: .seconds(10)) {
                let output = try await api.output("guest")
                return output["cause"] as? String == "unreachable" && output["nextAttemptSeconds"] != nil
            }
            #expect(try await api.ask("POST", outputs + "/guest/retry").status == 202)
            #expect(try await api.ask("DELETE", outputs + "/guest").status == 204)
            #expect(try await api.ask("GET", outputs + "/guest").status == 404)

            let result = try await relay.finished(within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await first.recording())
            #expect(frames.breaksBeforeEnd.isEmpty && frames.counters.count > 700, "\(frames.breaksBeforeEnd)")
        }

        @Test("Recordings that an operator stops, starts and splits by HTTP are verified as complete")
        func recording() async throws {
            let path = directory.file("recordings")
            let (relay, api) = try await start(["--record", path])
            let recording = "/v1/channels/relay/recording/"
            let state = { (wanted: Bool) in
                let report = try await api.ask("GET", "/v1/channels/relay").json()
                return report["isRecordingWanted"] as? Bool == wanted && report["isRecording"] as? Bool == wanted
            }
            let isUnderWay = { (finished: Int) in
                let report = try await api.ask("GET", "/v1/channels/relay").json()
                let recorder = report["recorder"] as? [String: Any]
                return recorder?["segmentsFinished"] as? Int == finished
                    && recorder?["segmentSeconds"] as? Double ?? 0 > 1
            }
            try await eventually("it records", within: .seconds(10)) { try await state(true) }
            #expect(try await api.ask("POST", recording + "start").status == 409)
            #expect(try await api.ask("POST", recording + "split").status == 202)
            try await eventually("the second file is under way", within: .seconds(10)) { try await isUnderWay(1) }
            #expect(try await api.ask("POST", recording + "stop").status == 202)
            try await eventually("it is stopped", within: .seconds(10)) { try await state(false) }
            #expect(try await api.ask("POST", recording + "stop").status == 409)
            #expect(try await api.ask("POST", recording + "start").status == 202)
            try await eventually("it records again", within: .seconds(10)) { try await state(true) }
            let marked = try await api.ask("POST", "/v1/channels/relay/markers", body: #"{"text":"goal"}"#)
            let moment = try marked.json()["programSeconds"] as? Double ?? 0
            #expect(marked.status == 201 && moment > 2, "\(marked)")
            try await eventually("the third file is under way", within: .seconds(10)) { try await isUnderWay(0) }
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
            let files = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".mp4") }
            #expect(files.count == 3, "\(files)")
            let verified = try await RelayProcess.run(["recordings", "verify", path])
            #expect(verified.ending == .exited(0), "\(verified)")
        }

        @Test(
            "Requests without a token are refused, a view token can change nothing, and the web page needs a session"
        )
        func roles() async throws {
            let (relay, api) = try await start([
                "--record", directory.file("recordings"), "--http-token", "view=looking-only-1234", "--http-token",
                "operate=everything-5678",
            ])
            let (viewer, operatorAPI) = (
                APIClient(base: api.base, token: "looking-only-1234"),
                APIClient(base: api.base, token: "everything-5678")
            )
            #expect(try await api.ask("GET", "/v1/channels").status == 401)
            #expect(try await api.ask("GET", "/healthz").status == 200)
            #expect(try await viewer.ask("GET", "/v1/channels").status == 200)
            for (method, path, body) in [
                ("POST", "/v1/channels/relay/recording/stop", nil), ("POST", "/v1/channels/relay/keyframe", nil),
                ("POST", outputs, #"{"address":"udp://127.0.0.1:9"}"#), ("DELETE", outputs + "/x", nil),
                ("POST", "/v1/reload", nil), ("POST", "/v1/check", #"{"address":"udp://127.0.0.1:9"}"#),
                ("POST", "/v1/channels/relay/markers", #"{"text":"x"}"#),
                ("POST", "/v1/channels/relay/recordings/make-room", #"{"bytes":1}"#),
            ] as [(String, String, String?)] {
                #expect(try await viewer.ask(method, path, body: body).status == 403, "\(method) \(path)")
            }
            #expect(try await operatorAPI.ask("POST", "/v1/channels/relay/keyframe").status == 202)

            let cookies = directory.file("cookies")
            let session = try await run(
                "curl",
                [
                    "-s", "-c", cookies, "-H", "Content-Type: application/json", "-d",
                    #"{"token":"everything-5678"}"#, api.base + "/v1/session",
                ])
            #expect(session.contains(#""role":"operate""#), "\(session)")
            let jar = try String(contentsOfFile: cookies, encoding: .utf8)
            #expect(jar.contains("#HttpOnly_127.0.0.1") && jar.contains("relay_session"))
            let shown = try await run("curl", ["-s", "-b", cookies, api.base + "/v1/channels"])
            #expect(shown.contains(#""name":"relay""#), "\(shown)")
            let foreign = try await run(
                "curl",
                [
                    "-s", "-b", cookies, "-X", "POST", "-H", "Origin: https://elsewhere.example", "-w", "%{http_code}",
                    api.base + "/v1/channels/relay/keyframe",
                ])
            #expect(foreign.hasSuffix("403"), "\(foreign)")

            let guesser = APIClient(base: api.base, token: "guess")
            for _ in 0..<10 { #expect(try await guesser.ask("GET", "/v1").status == 401) }
            #expect(try await guesser.ask("GET", "/v1").status == 429)
            #expect(try await operatorAPI.ask("GET", "/v1").status == 200)
            let result = try await relay.end(by: SIGTERM, within: .seconds(10))
            for secret in ["looking-only-1234", "everything-5678"] { #expect(!result.log.contains(secret)) }
        }

        @Test("Hostile HTTP requests are answered, and the program is not affected")
        func hostile() async throws {
            let server = try await RTMPServer.running()
            let (relay, api) = try await start(["--rtmp", server.url(), "--duration", "20s"])
            try await server.hasReceived(within: .seconds(5))
            #expect(try await api.ask("GET", "/v1", headers: ["Host: elsewhere.example"]).status == 403)
            #expect(try await api.ask("BREW", "/v1").status == 400)
            #expect(try await api.ask("PUT", "/v1/channels").status == 405)
            #expect(try await api.ask("GET", "/v1/channels/%2e%2e%2f%2e%2e%2fetc%2fpasswd").status == 404)
            #expect(try await api.ask("GET", "/page/../../../etc/passwd", headers: []).status == 404)
            #expect(try await api.ask("POST", outputs, body: "[").status == 400)
            #expect(try await api.ask("POST", outputs, body: #"{"address":7}"#).status == 400)
            let large = directory.file("large")
            try Data(repeating: 0x20, count: 1 << 20).write(to: URL(fileURLWithPath: large))
            let tooLarge = try await run(
                "curl",
                [
                    "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Content-Type: application/json",
                    "--data-binary",
                    "@\(large)", api.base + outputs,
                ])
            #expect(tooLarge == "413")
            let header = "X-Long: " + String(repeating: "x", count: 100_000)
            #expect(try await api.ask("GET", "/v1", headers: [header]).status == 400)
            #expect(try await api.ask("GET", "/v1").status == 200)
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(try await server.recording())
            #expect(frames.breaksBeforeEnd.isEmpty && frames.counters.count > 500)
        }

        @Test(
            "The preview begins at a keyframe for each of several clients; a client that does not read delays no other"
        )
        func preview() async throws {
            let (relay, api) = try await start(["--record", directory.file("recordings")])
            try await eventually("frames come", within: .seconds(10)) {
                try await api.ask("GET", "/readyz").status == 200
            }
            let deaf = try RawClient(port: Int(api.base.split(separator: ":").last ?? "") ?? 0)
            try await deaf.say(Array("GET /v1/channels/relay/preview.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8))
            let files = ["one.mp4", "two.mp4"].map(directory.file)
            for file in files {
                // The response has no end, so the client reads it for six seconds.
                _ = try await api.stream("/v1/channels/relay/preview.mp4", seconds: 6, to: file)
                let frames = try await DecodedFrames(file)
                #expect(frames.breaksBeforeEnd.isEmpty && frames.counters.count > 100, "\(frames.counters.count)")
            }
            let image = directory.file("snapshot.jpg")
            _ = try await run("curl", ["-sf", "-o", image, api.base + "/v1/channels/relay/snapshot.jpg?width=160"])
            let size = try await run(
                "ffprobe", ["-v", "error", "-show_entries", "stream=codec_name,width", "-of", "csv=p=0", image])
            #expect(size.hasPrefix("mjpeg,160"), "\(size)")
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
        }

        @Test("A client that reconnects to the event stream gets each event once, with statuses in between")
        func events() async throws {
            let (relay, api) = try await start(["--record", directory.file("recordings")])
            // The server can answer before the channel is on air.
            try await eventually("a moment is marked", within: .seconds(10)) {
                try await api.ask("POST", "/v1/channels/relay/markers", body: #"{"text":"first"}"#).status == 201
            }
            let streamed = try await api.stream("/v1/events", seconds: 3, headers: ["Last-Event-ID: 0"])
            let ids = streamed.matches(of: /(?m)^id: (\d+)$/).compactMap { Int($0.1) }
            #expect(zip(ids, ids.dropFirst()).allSatisfy { $1 == $0 + 1 } && ids.count > 2, "\(streamed)")
            #expect(streamed.contains("marked: first"))
            #expect(streamed.matches(of: /(?m)^event: status$/).count >= 2)
            let last = try #require(ids.last)
            let more = try await api.stream("/v1/events", seconds: 2, headers: ["Last-Event-ID: \(last)"])
            #expect(!more.contains("id: \(last)\n") && more.hasPrefix("event: hello"), "\(more)")
            _ = try await relay.end(by: SIGTERM, within: .seconds(10))
        }

        @Test("A client of the event stream that knows events of an earlier run gets all events of the next run")
        func restarted() async throws {
            var last = 0
            for text in ["first", "second"] {
                let (relay, api) = try await start(["--record", directory.file("recordings")])
                try await eventually("a moment is marked", within: .seconds(10)) {
                    try await api.ask("POST", "/v1/channels/relay/markers", body: #"{"text":"\#(text)"}"#).status == 201
                }
                let streamed = try await api.stream("/v1/events", seconds: 2, headers: ["Last-Event-ID: \(last)"])
                let ids = streamed.matches(of: /(?m)^id: (\d+)$/).compactMap { Int($0.1) }
                #expect(ids.first.map { $0 > last } == true && streamed.contains("marked: \(text)"), "\(streamed)")
                last = ids.last ?? last
                _ = try await relay.end(by: SIGTERM, within: .seconds(10))
            }
        }
    }
}
