// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Archive
@testable import MP4
@testable import Segmenter

/// Returns the hashes of stored frames, as `framemd5` prints them.
private func hashes(_ path: String, _ stream: String) throws -> [String] {
    let result = try run(
        "ffmpeg", "-v", "error", "-i", path, "-map", "0:\(stream)", "-c", "copy", "-f", "framemd5", "-")
    return result.output.split(separator: "\n").filter { !$0.hasPrefix("#") }
        .compactMap { $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } }
}

/// Returns the decoded audio as a player would output it, as 16-bit stereo.
private func audio(_ path: String, _ directory: TemporaryDirectory) throws -> Data {
    let output = directory.path("audio.raw")
    let result = try run(
        "ffmpeg", "-v", "error", "-y", "-i", path, "-map", "0:a", "-f", "s16le", "-bitexact", "-c:a", "pcm_s16le",
        output)
    #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    return try Data(contentsOf: URL(fileURLWithPath: output))
}

private func probe(_ path: String, _ entries: String, _ stream: String = "v") throws -> [String] {
    try run(
        "ffprobe", "-v", "error", "-select_streams", stream, "-count_packets", "-show_entries", entries, "-of",
        "default=nw=1:nk=1", path
    ).output.split(separator: "\n").map(String.init)
}

@Suite struct MediaFileTests {
    @Test(arguments: [FrameRate(30000, 1001), FrameRate(25), FrameRate(30)])
    func `If real media is cut into several files, every packet and every sample is kept`(rate: FrameRate) throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let source = try FLVFile.generate(in: work, rate: rate, seconds: 11)
        let whole = try Recording(
            source.description, length: .duration(.seconds(3600)), directory: try TemporaryDirectory())
        let parts = try Recording(source.description, length: .duration(.seconds(2)), directory: directory)
        for recording in [whole, parts] {
            recording.feed(source.packets)
            recording.finish()
        }
        let files = parts.finished
        #expect(files.count == 6)
        #expect(directory.files.allSatisfy { $0.hasSuffix(".mp4") })
        let original = try #require(whole.finished.first)

        #expect(try files.flatMap { try hashes($0, "v") } == hashes(original, "v"))
        let frames = source.packets.count { $0.track == .video }
        #expect(try files.reduce(0) { try $0 + (Int(probe($1, "stream=nb_read_packets")[0]) ?? 0) } == frames)
        #expect(parts.recorder.status.framesWritten == frames)
        for file in files {
            #expect(try probe(file, "format=start_time") == ["0.000000"])
            #expect(try probe(file, "stream=start_pts")[0] == "0")
            let decoded = try run("ffmpeg", "-v", "error", "-i", file, "-f", "null", "-")
            #expect(decoded.status == 0 && decoded.output.isEmpty, "\(decoded.output)")
        }
        let joined = try files.map { try audio($0, work) }
        let samples = joined.reduce(0) { $0 + $1.count } / 4
        #expect(try samples == audio(original, work).count / 4)
        #expect(samples == source.packets.count { $0.track == .audio } * 1024 - 1024)
    }

    @Test func `An open file can be played, and recovery makes it a plain MP4 without losing a fragment`() throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let source = try FLVFile.generate(in: work, rate: FrameRate(30), seconds: 5)
        let recording = try Recording(source.description, length: .duration(.seconds(3600)), directory: directory)
        recording.feed(source.packets)
        recording.finish()
        let closed = try #require(recording.finished.first)

        // The same bytes as on the disk before the close, with half a fragment after the last whole one.
        let open = try crashed(closed, cutBy: 1000)
        let name = (closed as NSString).lastPathComponent + ".part"
        let second = try TemporaryDirectory()
        try open.write(to: URL(fileURLWithPath: second.path(name)))
        let played = try probe(second.path(name), "stream=nb_read_packets")
        #expect((Int(played.first ?? "") ?? 0) >= 135)

        let outcome = try SegmentRecovery.run(in: .prepare(second.path), channel: "test").first?.outcome
        guard case .completed(let fileName, let frames, let dropped) = outcome else {
            Issue.record("not completed: \(String(describing: outcome))")
            return
        }
        #expect(frames >= 135 && dropped > 0)
        let recovered = try hashes(second.path(fileName), "v")
        #expect(recovered.count == frames)
        #expect(try recovered == Array(hashes(closed, "v").prefix(frames)))
        let decoded = try run("ffmpeg", "-v", "error", "-i", second.path(fileName), "-f", "null", "-")
        #expect(decoded.output.isEmpty, "\(decoded.output)")
    }

    /// Returns the closed file `path` as it was before its close, without its last `count` bytes of media.
    private func crashed(_ path: String, cutBy count: Int) throws -> Data {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let size = data[40..<48].reduce(0) { $0 << 8 | Int($1) }
        return Data(MovieBox.openHead) + data[48..<32 + size - count]
    }
}
