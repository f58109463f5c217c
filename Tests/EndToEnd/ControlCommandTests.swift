// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Programs that work together with a running relay: commands, and servers to which relay sends events and
    /// questions.
    @Suite("relay ctl, diagnose, webhooks and decisions by HTTP")
    struct ControlCommandTests {
        private let directory: TemporaryDirectory
        private var socket: String { directory.file("relay.sock") }

        init() throws { directory = try TemporaryDirectory() }

        private func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
            let path = directory.file(name)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return path
        }

        /// Starts a relay with the test pattern, a recording and the control socket.
        private func started(_ more: [String]) async throws -> RelayProcess {
            let relay = try RelayProcess(
                Shape.small + ["--record", directory.file("records"), "--http-socket", socket] + more)
            try await relay.says("segment opened", within: .seconds(20))
            return relay
        }

        private func ctl(_ arguments: [String], environment: [String: String] = [:]) async throws -> (
            code: ChildProcess.Ending, output: String, errors: String
        ) {
            let process = try ChildProcess(Tools.relay(), ["ctl"] + arguments, environment: environment)
            let ending = try await process.ending(within: .seconds(30))
            return (ending, process.output, process.errors)
        }

        @Test(
            "After initial failures a webhook gets signed events over verified TLS, in order and once each"
        )
        func webhook() async throws {
            let authority = try await Authority()
            let certificate = try await authority.issue("IP:127.0.0.1")
            let server = try await HookServer(secret: "hook-secret-1234", failures: 2, certificate: certificate)
            let secret = try write("hook-secret-1234\n", to: "secret")
            let hook =
                "https://127.0.0.1:\(server.port)/hook#secret=${file:\(secret)},events=recorder+output,"
                + "tls-ca=\(authority.path)"
            let relay = try await started(["--output", "udp://127.0.0.1:\(try Ports.free())", "--webhook", hook])
            try await relay.says("the webhook takes events again", within: .seconds(30))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            let requests = server.requests
            let taken = requests.filter { $0.status == 204 }
            let ids = taken.compactMap { $0.body["id"].flatMap { UInt64($0.text) } }
            #expect(requests.prefix(2).map(\.status) == [503, 503] && requests.allSatisfy(\.isSigned))
            #expect(ids.count > 2 && ids == Array(Set(ids)).sorted(), "\(ids)")
            #expect(taken.allSatisfy { ["recorder", "output"].contains($0.body["kind"]?.text) })
            #expect(taken.allSatisfy { $0.body["source"]?.text == "relay" && $0.body["host"]?.text.isEmpty == false })
            // Events at the end of the program are sent, too.
            #expect(taken.contains { $0.body["text"]?.text.hasPrefix("segment finished") == true })
            #expect(result.log.contains("a webhook failed and is tried again"), "\(result.log)")
            #expect(!result.log.contains("hook-secret"))
            withExtendedLifetime(authority) {}
        }

        @Test(
            "If a webhook's receiver is absent or has an untrusted certificate, it gets no event, and relay continues")
        func deadWebhook() async throws {
            let authority = try await Authority()
            let certificate = try await authority.issue("IP:127.0.0.1")
            let server = try await HookServer(certificate: certificate)
            let result = try await RelayProcess.run(
                Shape.small + ["--record", directory.file("records"), "--duration", "3s"]
                    + ["--webhook", "https://127.0.0.1:\(server.port)/hook"]
                    + ["--webhook", "http://127.0.0.1:\(try Ports.free())/topsecret"])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(server.requests.isEmpty)
            #expect(result.log.contains("the certificate is of an unknown authority"), "\(result.log)")
            #expect(result.log.contains("Connection refused") && !result.log.contains("topsecret"), "\(result.log)")
            #expect(result.log.contains("90 frames"), "\(result.log)")
            withExtendedLifetime(authority) {}
        }

        @Test(
            "An HTTP server decides which publishers are accepted; while it is unreachable every publisher is refused")
        func decision() async throws {
            let clip = try await Clip.noisy(seconds: 4, in: directory)
            let server = try await HookServer()
            let port = try Ports.free()
            let target = "rtmp://127.0.0.1:\(port)/live/secret-in"
            func relay(_ hook: Int) throws -> RelayProcess {
                try RelayProcess([
                    "--input", "rtmp-listen://127.0.0.1:\(port)/live/secret-in", "--copy", "--on-publish",
                    "http://127.0.0.1:\(hook)/may", "--record", directory.file("records"),
                ])
            }
            func publish(_ query: String) async throws -> ChildProcess.Ending {
                try await ChildProcess(
                    "ffmpeg",
                    ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", "flv", "\(target)?\(query)"]
                ).ending(within: .seconds(30))
            }
            let first = try relay(server.port)
            try await first.says("waiting for a publisher", within: .seconds(10))
            #expect(try await publish("token=bad") != .exited(0))
            #expect(try await publish("token=good") == .exited(0))
            let result = try await first.end(by: SIGINT, within: .seconds(20))
            #expect(result.log.contains("may not publish: 127.0.0.1:\(server.port) answers with 403"), "\(result.log)")
            #expect(!result.log.contains("secret-in") && !result.log.contains("token="), "\(result.log)")
            let asked = server.requests.map { $0.body.mapValues(\.text) }
            #expect(asked.map { $0["query"] } == ["token=bad", "token=good"])
            #expect(asked.last?["event"] == "publish" && asked.last?["stream"] == "secret-in")
            #expect(asked.last?["channel"] == "relay" && asked.last?["app"] == "live")
            let second = try relay(try Ports.free())
            try await second.says("waiting for a publisher", within: .seconds(10))
            #expect(try await publish("token=good") != .exited(0))
            try await second.says("may not publish: 127.0.0.1", within: .seconds(10))
            _ = try await second.end(by: SIGINT, within: .seconds(20))
        }

        @Test("The commands of relay ctl show and change a running relay, and their exit status gives the result")
        func commands() async throws {
            let port = try Ports.free()
            let token = try write("a-token-of-the-operator\n", to: "token")
            let relay = try await started([
                "--output", "udp://127.0.0.1:\(try Ports.free())#name=first", "--http", "127.0.0.1:\(port)",
                "--http-token", "operate=${file:\(token)}",
            ])
            let here = ["--socket", socket]
            let status = try await ctl(["status"] + here)
            #expect(status.code == .exited(0) && status.output.contains("output  first"), "\(status)")
            let json = try await ctl(["status", "--json"] + here)
            #expect(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) is [String: Any])
            let target = "udp://127.0.0.1:\(try Ports.free())#name=second"
            #expect(try await ctl(["output", "add", target] + here).code == .exited(0))
            let twice = try await ctl(["output", "add", target] + here)
            #expect(twice.code == .exited(1) && twice.errors.contains("second"), "\(twice)")
            #expect(try await ctl(["output", "pause", "second"] + here).code == .exited(0))
            // The answer to a pause arrives when the pause has taken effect.
            #expect(try await ctl(["status"] + here).output.contains(/second +paused/))
            #expect(try await ctl(["output", "remove", "second"] + here).code == .exited(0))
            for action in [["split"], ["stop"], ["start"]] {
                let done = try await ctl(["recording"] + action + here)
                #expect(done.code == .exited(0), "\(action) \(done)")
            }
            let file = try #require(fileNames(in: directory.file("records")).first { $0.hasSuffix(".mp4") })
            #expect(try await ctl(["recording", "hold", file] + here).code == .exited(0))
            #expect(try await ctl(["recording", "list"] + here).output.contains("held"))
            #expect(try await ctl(["recording", "release", file] + here).code == .exited(0))
            #expect(try await ctl(["recording", "hold", "none.mp4"] + here).code == .exited(1))
            #expect(try await ctl(["mark", "a goal"] + here).code == .exited(0))
            #expect(try await ctl(["keyframe"] + here).code == .exited(0))
            #expect(try await ctl(["reload"] + here).code == .exited(1))
            let events = try await ctl(["events"] + here)
            #expect(events.output.contains("on air at udp://"), "\(events)")
            let dead = "rtmp://127.0.0.1:\(try Ports.free())/live/topsecretkey"
            let check = try await ctl(["check", dead] + here)
            #expect(check.code == .exited(1) && check.output.contains("Connection refused"), "\(check)")
            #expect(!(check.output + check.errors).contains("topsecret"))

            let there = ["--url", "http://127.0.0.1:\(port)"]
            let stranger = try await ctl(["status"] + there)
            #expect(stranger.code == .exited(1) && stranger.errors.contains("Show a token"), "\(stranger)")
            #expect(try await ctl(["status", "--token", "${file:\(token)}"] + there).code == .exited(0))
            let named = try await ctl(["status"] + there, environment: ["RELAY_TOKEN": "a-token-of-the-operator"])
            #expect(named.code == .exited(0))
            #expect(try await ctl(["status", "nobody"] + here).code == .exited(1))
            #expect(try await ctl(["status"] + here + there).code == .exited(64))
            #expect(try await relay.end(by: SIGINT, within: .seconds(20)).ending == .exited(0))
            let over = try await ctl(["status"] + here)
            #expect(over.code == .exited(69) && over.errors.contains("No relay answers"), "\(over)")
        }

        @Test("A diagnostic report contains none of the secrets in the test's configuration and environment")
        func diagnose() async throws {
            let token = try write("planted-file-token\n", to: "token")
            let config = try write(
                """
                # planted-comment
                channels:
                  - name: one
                    encoder: {size: 320x180, preset: ultrafast, videoBitrate: 1M, frameRate: 30}
                    outputs:
                      - "udp://127.0.0.1:\(try Ports.free())#name=first"
                      - rtmp://127.0.0.1:\(try Ports.free())/live/planted-key#name=dead,retry=1
                      - rtmp://bob:planted-login@127.0.0.1:\(try Ports.free())/live/${PLANTED}
                      - "srt://127.0.0.1:\(try Ports.free())?passphrase=planted-passphrase&streamid=planted-stream"
                    recording: {directory: \(directory.file("records"))}
                http:
                  socket: \(socket)
                  tokens: [{role: view, token: "${file:\(token)}"}, {role: operate, token: planted-literal-token}]
                  webhooks: [{url: "http://127.0.0.1:\(try Ports.free())/planted-path", secret: planted-hook-secret}]

                """, to: "relay.yaml")
            let planted = ["PLANTED": "planted-environment"]
            let relay = try RelayProcess(["--config", config], environment: planted)
            try await relay.says("segment opened", within: .seconds(20))
            _ = try await ctl(["output", "add", "rtmp://127.0.0.1:1/live/planted-added#name=more", "--socket", socket])
            let archive = directory.file("report.tar.gz")
            let gather = ["diagnose", "--socket", socket, "--config", config, "-o", archive, "--check"]
            let result = try await RelayProcess.run(gather, environment: planted, within: .seconds(120))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await RelayProcess.run(gather).ending == .exited(73))
            try await run("tar", ["-xzf", archive, "-C", directory.path])
            let folder = try #require(fileNames(in: directory.path).first { $0.hasPrefix("relay-diagnose-") })
            let files = fileNames(in: directory.file(folder))
            for name in [
                "system.txt", "process.txt", "disks.txt", "configuration.yaml", "channel-1.json", "events.json",
                "metrics.txt", "check.json",
            ] { #expect(files.contains(name), "\(name) in \(files)") }
            for name in files {
                let text = try String(contentsOfFile: directory.file("\(folder)/\(name)"), encoding: .utf8)
                #expect(!text.contains("planted"), "\(name): \(text)")
            }
            let mode = try FileManager.default.attributesOfItem(atPath: archive)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(try await relay.end(by: SIGINT, within: .seconds(20)).ending == .exited(0))
        }
    }
}
