// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// `relay stitch`: files that are not as simple as they look.
    @Suite("StitchInputs")
    struct StitchInputTests {
        private struct Plan: Decodable {
            struct Clip: Decodable {
                let copiedFrames: Int
                let encodedFrames: Int
                let reasons: [String]
                let notes: [String]
            }
            let clips: [Clip]
        }

        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// The test signal, 6 s long, once for all tests.
        private static let recorded = Task { try await SignalFile(seconds: 6) }

        private func signal() async throws -> String { try await Self.recorded.value.path }

        private func plan(_ clips: [String]) async throws -> Plan {
            let result = try await RelayProcess.run(["stitch"] + clips + ["--dry-run", "--json"])
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(Plan.self, from: Data(result.log.utf8))
        }

        private func stitch(_ clips: [String], _ flags: [String] = []) async throws -> (path: String, log: String) {
            let path = directory.file("out-\(UUID().uuidString).mp4")
            let result = try await RelayProcess.run(["stitch"] + clips + ["-o", path] + flags)
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            return (path, result.log)
        }

        private func variant(_ name: String, _ arguments: [String], seconds: Int = 3) async throws -> String {
            let path = directory.file(name)
            try await Clip.make(path, ["-t", "\(seconds)", "-i", try await signal()] + arguments)
            return path
        }

        private func numbers(_ path: String) async throws -> [Int?] {
            try await DecodedFrames(path).counters.map { $0.map(Int.init) }
        }

        @Test("High dynamic range beside other color is named, and mapped to what screens show")
        func dynamicRange() async throws {
            let usual = try await variant("usual.mp4", ["-c:v", "libx264", "-g", "30"])
            let bright = directory.file("bright.mp4")
            try await Clip.make(
                bright,
                ["-f", "lavfi", "-i", "color=c=gray:s=320x180:r=30:d=1,format=yuv420p,geq=lum=200:cb=128:cr=128"]
                    + ["-c:v", "libx264", "-color_primaries", "bt2020", "-color_trc", "arib-std-b67"]
                    + ["-colorspace", "bt2020nc", "-color_range", "tv"])
            let reasons = try await plan([bright, usual]).clips[0].reasons
            #expect(
                reasons.contains { $0.contains("HLG") } && reasons.contains { $0.contains("BT.2020") }, "\(reasons)")
            let (path, _) = try await stitch([bright, usual])
            #expect(try await Probe.complaints(path) == "")
            #expect(try await Probe.value(path, "v:0", "color_transfer") == "bt709")
            let level = directory.file("level")
            try await Clip.make(
                level, ["-i", path, "-frames:v", "1", "-vf", "scale=1:1", "-f", "rawvideo", "-pix_fmt", "gray"])
            // 200 of HLG is 219 then, which is 236 of 255; left alone it would be 214.
            let grey = Int(try Data(contentsOf: URL(fileURLWithPath: level)).first ?? 0)
            #expect(abs(grey - 236) <= 4, "\(grey)")
        }
    }
}
