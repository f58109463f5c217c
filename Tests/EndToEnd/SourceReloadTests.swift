// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// Sources that are added and removed by reloads of a configuration file.
    @Suite("Recordings of sources that a reload changes")
    struct SourceReloadTests {
        private static let channel = "/v1/channels/show"
        private let directory: TemporaryDirectory
        private let port: Int

        init() throws {
            directory = try TemporaryDirectory()
            port = try Ports.free()
        }

        private var path: String { directory.file("relay.yaml") }
        private var api: APIClient { APIClient(base: "http://127.0.0.1:\(port)") }

        private func write(_ cameras: [String]) throws {
            let inputs = cameras.map { "{address: \"test:\", name: \($0)}" }.joined(separator: ", ")
            let text = """
                http: {address: "127.0.0.1:\(port)"}
                channels:
                  - name: show
                    inputs: [\(inputs)]
                    encoder: {size: 320x180, preset: ultrafast, videoBitrate: 1M, frameRate: 30}
                    outputs: ["udp://127.0.0.1:\(port)"]
                    recording: {directory: \(directory.file("rec")), sources: true}

                """
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }

        private func recordings(of source: String) async throws -> APIClient.Answer {
            try await api.ask("GET", "\(Self.channel)/recordings?source=\(source)")
        }

        @Test("The API lists recordings of added and of removed sources, and a stopped recording stays stopped")
        func changed() async throws {
            try write(["cam1", "cam2"])
            let relay = try RelayProcess(["--config", path])
            try await relay.says("segment opened", within: .seconds(20))
            try write(["cam1", "cam3"])
            relay.process.signal(SIGHUP)
            for source in ["cam1", "cam2", "cam3"] {
                try await eventually("\(source) has recordings", within: .seconds(30)) {
                    try await recordings(of: source).json()["recordings"].flatMap { $0 as? [Any] }?.isEmpty == false
                }
            }
            try await eventually("the recording is stopped", within: .seconds(20)) {
                try await api.ask("POST", Self.channel + "/recording/stop").status == 202
            }
            try write(["cam1", "cam4"])
            relay.process.signal(SIGHUP)
            try await eventually("the channel is on air with another source", within: .seconds(30)) {
                let channel = try await api.ask("GET", Self.channel).json()
                let isKnown = try await recordings(of: "cam4").status == 200
                return isKnown && channel["state"] as? String == "on_air"
            }
            #expect(try await api.ask("GET", Self.channel).json()["isRecordingWanted"] as? Bool == false)
            #expect(try await recordings(of: "cam5").status == 404)
            let result = try await relay.end(by: SIGINT, within: .seconds(15))
            #expect(result.ending == .exited(0), "\(result.log)")
        }
    }
}
