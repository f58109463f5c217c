// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A program of several sources that is recorded, and switched by HTTP while it is on air.
struct Studio {
    static let program = "/v1/channels/relay/program"

    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Makes a file of one gray and one tone, with `rate` frames per second.
    func clip(_ color: String, rate: String, tone: Int, seconds: Int = 60) async throws -> String {
        let path = directory.file("\(color).mp4")
        try await run(
            "ffmpeg",
            ["-v", "error", "-f", "lavfi", "-i", "color=\(color):size=320x180:rate=\(rate):duration=\(seconds)"]
                + ["-f", "lavfi", "-i", "sine=\(tone):sample_rate=48000:duration=\(seconds)"]
                + ["-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", path])
        return path
    }

    /// Makes the file `name` from an ffmpeg filter.
    func make(_ name: String, _ filter: String, _ arguments: [String]) async throws -> String {
        let path = directory.file(name)
        try await run("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", filter] + arguments + [path])
        return path
    }

    func start(_ arguments: [String]) async throws -> (relay: RelayProcess, api: APIClient) {
        let port = try Ports.free()
        let relay = try RelayProcess(
            Shape.small + ["--http", "127.0.0.1:\(port)", "--record", directory.file("rec"), "--loop"] + arguments)
        try await relay.says("segment opened", within: .seconds(20))
        return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
    }

    /// Returns the mean luma of the left and of the right half of each recorded frame.
    func recorded() async throws -> [(left: Int, right: Int)] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.file("rec"))
        let name = try #require(names.first { $0.hasSuffix(".mp4") })
        let raw = directory.file("raw")
        try await run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-i", directory.file("rec/\(name)"), "-an", "-vsync", "passthrough"]
                + ["-vf", "scale=2:1:flags=area", "-f", "rawvideo", "-pix_fmt", "gray", raw])
        let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)))
        return stride(from: 0, to: data.count - 1, by: 2).map { (Int(data[$0]), Int(data[$0 + 1])) }
    }

    /// Puts something on air, and returns the frame in the answer.
    func put(_ api: APIClient, _ body: String, to path: String = Studio.program) async throws -> Int {
        let answer = try await api.ask("PUT", path, body: body)
        #expect(answer.status == 200, "\(answer)")
        return try answer.json()["frame"] as? Int ?? -1
    }

    /// Waits until the program has passed `frame`.
    func pass(_ frame: Int, _ api: APIClient) async throws {
        try await eventually("frame \(frame) is on air", within: .seconds(20)) {
            try await api.ask("GET", Studio.program).json()["frame"] as? Int ?? 0 > frame + 1
        }
    }
}
