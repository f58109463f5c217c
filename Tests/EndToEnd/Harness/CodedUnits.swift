// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The coded data of a file: the NAL units of H.264 or HEVC except parameter sets and access unit delimiters, and the
/// frames of AAC.
struct CodedUnits: Equatable {
    /// Slices and SEI messages, in decoding order.
    var video: [[UInt8]] = []
    /// AAC access units without ADTS headers.
    var audio: [[UInt8]] = []

    /// Reads the units of the file at `path`, which must be readable by ffmpeg and contain H.264 or HEVC.
    init(_ path: String, isHEVC: Bool = false) async throws {
        let directory = try TemporaryDirectory()
        let (video, audio) = (directory.file("video.h264"), directory.file("audio.aac"))
        // Edit lists would hide audio that a decoder needs.
        let input = path.hasSuffix(".mp4") ? ["-ignore_editlist", "1", "-i", path] : ["-i", path]
        try await run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-y"] + input
                + [
                    "-map", "0:v:0", "-c", "copy", "-f", isHEVC ? "hevc" : "h264", video, "-map", "0:a:0", "-c", "copy",
                    "-f", "adts",
                    audio,
                ])
        self.video = Self.units(try Data(contentsOf: URL(fileURLWithPath: video)), isHEVC: isHEVC)
        self.audio = Self.frames(try Data(contentsOf: URL(fileURLWithPath: audio)))
    }

    /// Whether a NAL unit with this header is a slice or an SEI message (ITU-T H.264, table 7-1; H.265, table 7-1).
    private static func isKept(_ header: UInt8, isHEVC: Bool) -> Bool {
        isHEVC ? header >> 1 & 0x3F < 32 || [39, 40].contains(header >> 1 & 0x3F) : (1...6).contains(header & 0x1F)
    }

    private static func units(_ data: Data, isHEVC: Bool) -> [[UInt8]] {
        let bytes = [UInt8](data)
        var (units, start, index): ([[UInt8]], Int?, Int) = ([], nil, 0)
        func close(_ end: Int) {
            guard let start else { return }
            var end = end
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            if end > start, isKept(bytes[start], isHEVC: isHEVC) { units.append(Array(bytes[start..<end])) }
        }
        while index + 2 < bytes.count {
            if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
                close(index)
                start = index + 3
                index += 3
            } else {
                index += 1
            }
        }
        close(bytes.count)
        return units
    }

    private static func frames(_ data: Data) -> [[UInt8]] {
        let bytes = [UInt8](data)
        var (frames, place): ([[UInt8]], Int) = ([], 0)
        while place + 7 < bytes.count, bytes[place] == 0xFF {
            let length = Int(bytes[place + 3] & 3) << 11 | Int(bytes[place + 4]) << 3 | Int(bytes[place + 5] >> 5)
            guard length > 7, place + length <= bytes.count else { break }
            frames.append(Array(bytes[place + (bytes[place + 1] & 1 == 1 ? 7 : 9)..<place + length]))
            place += length
        }
        return frames
    }
}
