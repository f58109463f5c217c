// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest

/// The frames of a received or recorded file, as the ffmpeg program decodes them.
struct DecodedFrames {
    /// The machine-readable number of each frame; nil for a frame without a number.
    let counters: [UInt32?]
    /// For each frame, whether the flash of the test signal is on.
    let flashes: [Bool]

    /// Decodes `path`, whose frames have this size.
    init(_ path: String, width: Int = 320, height: Int = 180) async throws {
        let directory = try TemporaryDirectory()
        let raw = directory.file("frames")
        try await run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-i", path, "-an", "-vsync", "passthrough", "-f", "rawvideo"]
                + ["-pix_fmt", "gray", raw])
        let data = try Data(contentsOf: URL(fileURLWithPath: raw), options: .mappedIfSafe)
        let size = width * height
        guard let layout = FrameCounterCode.layout(width: width, height: height), data.count % size == 0 else {
            throw HarnessFailure("\(path) is not \(width) by \(height).")
        }
        let flash = Self.flashField(width: width, usableHeight: layout.top)
        var counters: [UInt32?] = []
        var flashes: [Bool] = []
        data.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: data.count, by: size) {
                let frame = UnsafeRawBufferPointer(rebasing: bytes[start..<start + size])
                counters.append(FrameCounterCode.decode(luma: frame, width: width, height: height, stride: width))
                flashes.append(frame[flash.y * width + flash.x] > 215)
            }
        }
        self.counters = counters
        self.flashes = flashes
    }

    /// The center of the field that flashes: below the bars and the moving square, in the right quarter.
    private static func flashField(width: Int, usableHeight: Int) -> (x: Int, y: Int) {
        let top = usableHeight * 6 / 10 + usableHeight / 8
        return (width * 7 / 8, (top + usableHeight) / 2)
    }

    /// Describes each place where the numbers do not increase by one; empty if every frame is there once and in order.
    var breaks: [String] { Self.breaks(in: counters) }

    /// The same as ``breaks``, without the last three frames. An interrupted file ends in decoding order: the frame
    /// after two B-frames precedes them.
    var breaksBeforeEnd: [String] { Self.breaks(in: counters.dropLast(3)) }

    /// Describes each place where `counters` does not increase by one, as ``breaks`` does for all frames.
    static func breaks(in counters: [UInt32?]) -> [String] {
        zip(counters, counters.dropFirst()).enumerated().compactMap { index, pair in
            guard let before = pair.0, let after = pair.1 else { return "no number at frame \(index) or behind it" }
            return after == before + 1 ? nil : "\(after) follows \(before) at frame \(index + 1)"
        }
    }

    /// The range from the first to the last number.
    var span: ClosedRange<UInt32>? {
        guard let first = counters.first ?? nil, let last = counters.last ?? nil, first <= last else { return nil }
        return first...last
    }
}

/// Reads properties of files with the ffprobe and ffmpeg programs.
enum Probe {
    /// Returns the presentation times, in seconds, of the frames (`v:0`) or audio packets (`a:0`).
    static func times(_ path: String, _ stream: String) async throws -> [Double] {
        let text = try await run(
            "ffprobe",
            ["-v", "error", "-select_streams", stream, "-show_entries", "frame=best_effort_timestamp_time"]
                + ["-of", "csv=p=0", path])
        return text.split(whereSeparator: \.isWhitespace).compactMap { Double($0.prefix { $0 != "," }) }
    }

    /// Returns the flags of the first packet; they begin with `K` if it is a keyframe.
    static func firstFlags(_ path: String) async throws -> String {
        let text = try await run(
            "ffprobe",
            ["-v", "error", "-select_streams", "v:0", "-show_entries", "packet=flags", "-read_intervals", "%+#1"]
                + ["-of", "csv=p=0", path])
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns one value of the stream `stream`, such as `width`.
    static func value(_ path: String, _ stream: String, _ entry: String) async throws -> String {
        let text = try await run(
            "ffprobe",
            ["-v", "error", "-select_streams", stream, "-show_entries", "stream=\(entry)", "-of", "csv=p=0", path])
        return text.split(whereSeparator: { $0.isNewline || $0 == "," }).first.map(String.init) ?? ""
    }

    /// Returns a hash of each decoded frame.
    static func frameHashes(_ path: String) async throws -> [String] {
        let text = try await run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-i", path, "-map", "0:v:0", "-vsync", "passthrough"]
                + ["-f", "framemd5", "-"])
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
            $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// Returns the presentation times and durations of the packets, in ticks of the stream.
    static func packetTicks(_ path: String, _ stream: String) async throws -> [(pts: Int64, duration: Int64)] {
        let text = try await run(
            "ffprobe",
            ["-v", "error", "-select_streams", stream, "-show_entries", "packet=pts,duration", "-of", "csv=p=0", path])
        return text.split(separator: "\n").compactMap { line in
            let numbers = line.split(separator: ",").compactMap { Int64($0) }
            return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
        }
    }

    /// Returns the errors that the decoder reports when the file is played; empty without errors.
    static func complaints(_ path: String) async throws -> String {
        let process = try ChildProcess("ffmpeg", ["-v", "error", "-nostdin", "-i", path, "-f", "null", "-"])
        let ending = try await process.ending(within: .seconds(60))
        return process.errors + (ending == .exited(0) ? "" : " (\(ending))")
    }
}
