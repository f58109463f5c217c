// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport

/// A program read from an FLV file (Adobe Flash Video File Format Specification 10.1, annex E), as `ffmpeg -c copy`
/// writes it: the first frame and the first sample have the same time, and the audio has one packet of priming.
struct FLVFile {
    let packets: [EncodedPacket]
    let description: StreamDescription

    init(path: String, rate: FrameRate) throws {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        var (video, audio) = (videoTrack(rate: rate), audioTrack)
        var packets: [EncodedPacket] = []
        var firstFrame: Int64?
        var audioCount: Int64 = -1
        var position = 13
        while position + 11 <= bytes.count {
            func number(_ offset: Int, _ count: Int) -> Int {
                bytes[position + offset..<position + offset + count].reduce(0) { $0 << 8 | Int($1) }
            }
            let size = number(1, 3)
            let dts = Int64(number(4, 3) | number(7, 1) << 24)
            let body = Array(bytes[position + 11..<position + 11 + size])
            if bytes[position] == 9, body[1] == 0 {
                video = videoTrack(rate: rate, avcC: Array(body[5...]))
            } else if bytes[position] == 9, body[1] == 1 {
                let offset = Int64(body[2]) << 16 | Int64(body[3]) << 8 | Int64(body[4])
                let first = firstFrame ?? dts + offset
                firstFrame = first
                func frame(_ time: Int64) -> Int64 { TimeBase.milliseconds.rescale(time - first, to: rate.timeBase) }
                packets.append(
                    EncodedPacket(
                        of: video, pts: frame(dts + offset), dts: frame(dts), duration: 1,
                        isKeyframe: body[0] >> 4 == 1, payload: SharedBytes(body[5...])))
            } else if bytes[position] == 8, body[1] == 0 {
                audio = aacTrack(asc: Array(body[2...]))
            } else if bytes[position] == 8 {
                packets.append(
                    EncodedPacket(
                        of: audio, pts: audioCount * 1024, dts: audioCount * 1024, duration: 1024, isKeyframe: true,
                        payload: SharedBytes(body[2...])))
                audioCount += 1
            }
            position += 11 + size + 4
        }
        self.packets = packets.sorted {
            ($0.programDts, $1.track.rawValue) < ($1.programDts, $0.track.rawValue)
        }
        self.description = StreamDescription(video: video, audio: audio)
    }

    /// Makes a test video with audio of `seconds` seconds, with an IDR every two seconds.
    static func generate(in directory: TemporaryDirectory, rate: FrameRate, seconds: Int) throws -> FLVFile {
        let path = directory.path("source-\(rate.numerator).flv")
        let gop = "expr:gte(t,n_forced*2)"
        let result = try run(
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc=size=320x180:rate=\(rate)", "-f", "lavfi",
            "-i",
            "anoisesrc=r=48000:a=0.2:seed=1,aformat=channel_layouts=stereo", "-t", "\(seconds)", "-c:v", "libx264",
            "-preset", "veryfast", "-bf", "2", "-g", "600", "-sc_threshold", "0", "-flags", "+cgop",
            "-force_key_frames",
            gop, "-pix_fmt", "yuv420p", "-b:v", "500k", "-c:a", "aac", "-b:a", "128k", "-f", "flv", path)
        guard result.status == 0 else { throw FFmpegFailure(text: result.output) }
        return try FLVFile(path: path, rate: rate)
    }
}

struct FFmpegFailure: Error {
    let text: String
}
