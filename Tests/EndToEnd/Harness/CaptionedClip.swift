// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Makes a clip whose frames contain closed captions, and reads the captions of a file.
enum CaptionedClip {
    /// Makes `path`: H.264 at 320 by 180 and 25 frames per second without B-frames, and AAC. Frame n contains 2 bytes
    /// of CEA-608 that identify it, in an SEI message as ATSC A/53 (part 4, 6.2.3) requires.
    static func make(_ path: String, seconds: Int, in directory: TemporaryDirectory) async throws {
        let (plain, captioned) = (directory.file("plain.h264"), directory.file("captioned.h264"))
        try await Clip.make(
            plain,
            ["-f", "lavfi", "-i", "testsrc2=d=\(seconds):s=320x180:r=25", "-c:v", "libx264", "-bf", "0", "-g", "25"]
                + ["-pix_fmt", "yuv420p", "-x264-params", "slices=1:threads=1"])
        var (stream, number) = (Data(), 0)
        for unit in ParameterSetChange.units([UInt8](try Data(contentsOf: URL(fileURLWithPath: plain)))) {
            if [1, 5].contains(unit[0] & 0x1F) {
                stream += [0, 0, 0, 1, 6] + ParameterSetChange.escaped(information(number))
                number += 1
            }
            stream += [0, 0, 0, 1] + unit
        }
        try stream.write(to: URL(fileURLWithPath: captioned))
        try await Clip.make(
            path,
            ["-fflags", "+genpts", "-r", "25", "-i", captioned, "-f", "lavfi", "-i", "sine=d=\(seconds):r=48000"]
                + ["-map", "0:v", "-c:v", "copy", "-map", "1:a", "-c:a", "aac", "-ac", "2"])
    }

    /// Returns the caption of frame `number` in the form of `cc_data`.
    static func data(of number: Int) -> [UInt8] {
        func odd(_ value: Int) -> UInt8 { UInt8(value) | (value.nonzeroBitCount % 2 == 0 ? 0x80 : 0) }
        return [0xFC, odd(0x20 + number % 90), odd(0x21 + number / 90)]
    }

    private static func information(_ number: Int) -> [UInt8] {
        let payload: [UInt8] = [0xB5, 0, 0x31, 0x47, 0x41, 0x39, 0x34, 3, 0x41, 0xFF] + data(of: number) + [0xFF]
        return [4, UInt8(payload.count)] + payload + [0x80]
    }

    /// Returns the captions of the file at `path` in presentation order, as ffmpeg decodes them.
    static func captions(_ path: String) async throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let file = directory.file("captions")
        try await run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-f", "lavfi", "-i", "movie=\(path)[out0+subcc]", "-map", "0:1", "-c", "copy"]
                + ["-f", "data", file])
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
    }
}
