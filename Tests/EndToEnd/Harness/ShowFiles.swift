// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Files for shows. Each frame of these files can be recognized by its luma.
struct ShowFiles {
    let directory: TemporaryDirectory

    /// Makes a file with 30 frames per second and a tone. The luma of each frame is the expression `luma` of its number
    /// N.
    @discardableResult
    func clip(_ name: String, luma: String, tone: Int = 440, frames: Int) async throws -> String {
        let path = directory.file("\(name).mp4")
        try await run(
            "ffmpeg",
            ["-v", "error", "-f", "lavfi", "-i", "color=gray:size=320x180:rate=30,geq=lum='\(luma)':cb=128:cr=128"]
                + ["-f", "lavfi", "-i", "sine=\(tone):sample_rate=48000", "-frames:v", "\(frames)", "-shortest"]
                + ["-c:v", "libx264", "-preset", "veryfast", "-crf", "4", "-g", "12", "-c:a", "aac", path])
        return path
    }

    /// Makes `ramp.mp4`, with thirty frames, each of which is lighter than the previous one.
    func ramp() async throws { try await clip("ramp", luma: "60+4*N", frames: 30) }

    /// Returns two looped inputs of 10 s, one white and one black.
    func sources() async throws -> [String] {
        [
            "--input", "\(try await clip("white", luma: "235", frames: 300))#name=white",
            "--input", "\(try await clip("black", luma: "16", frames: 300))#name=black", "--loop",
        ]
    }

    /// Writes `text` to `show.yaml`, and returns its path.
    func show(_ text: String) throws -> String {
        let path = directory.file("show.yaml")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Returns the mean luma of each frame of a file.
    func lumas(of path: String) async throws -> [Int] {
        let raw = directory.file("raw")
        try await run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-y", "-i", path, "-an", "-vsync", "passthrough"]
                + ["-vf", "scale=2:2:flags=area", "-f", "rawvideo", "-pix_fmt", "yuv420p", raw])
        let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)))
        return stride(from: 0, to: data.count - 5, by: 6).map { Int(data[$0]) }
    }

    /// Returns what each recorded frame shows: `white`, `black`, or the number of a frame of the ramp.
    func seen(in path: String) async throws -> [String] {
        try await lumas(of: path).map { $0 > 220 ? "white" : $0 < 30 ? "black" : "\(($0 - 58) / 4)" }
    }

    /// Returns the only file in the directory `rec`.
    func recorded() throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.file("rec"))
        return directory.file("rec/\(try #require(names.first { $0.hasSuffix(".mp4") }))")
    }
}
