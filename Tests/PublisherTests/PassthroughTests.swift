// SPDX-License-Identifier: Apache-2.0

import FanOut
import Foundation
import HLS
import Media
import PacketSamples
import Testing

@testable import Publisher
@testable import RTMP

/// Tests how outputs carry copied streams.
@Suite struct PassthroughTests {
    private let path = NSTemporaryDirectory() + "relay-pass-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    /// Returns the hashes of the packets of `kind` in a file, from ffprobe.
    private func hashes(_ file: String, _ kind: String, _ filter: String) throws -> [String] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "ffmpeg", "-v", "error", "-nostdin", "-i", file, "-map", "0:\(kind)", "-c", "copy", "-bsf", filter, "-f",
            "framemd5", "-",
        ]
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            // The packet's hash may be followed by the hashes of its side data.
            .compactMap { $0.split(separator: ",").dropFirst(5).first.map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    private func write(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }

    @Test(
        "A transport stream carries each copied NAL unit and audio frame unchanged",
        arguments: [
            (["libx264", "aac"], [], "h264_mp4toannexb,filter_units=remove_types=7-9", "null"),
            (["libx264", "libmp3lame"], [], "h264_mp4toannexb,filter_units=remove_types=7-9", "null"),
            (
                ["libx265", "ac3"], ["-preset", "ultrafast", "-x265-params", "log-level=none"],
                "hevc_mp4toannexb,filter_units=remove_types=32-35", "null"
            ),
            (["libx264", "libopus"], [], "h264_mp4toannexb,filter_units=remove_types=7-9", "null"),
        ])
    func transportStream(codecs: [String], options: [String], units: String, audio: String) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clip = try CodedClip(video: codecs[0], audio: codecs[1], options: options, in: path)
        #expect(Carriage.transportStream.refusal(of: clip.description) == nil)
        let stream = try TransportStream(description: clip.description, messageBytes: 1316)
        var bytes: [UInt8] = []
        for packet in clip.packets {
            try stream.write(packet)
            stream.flush()
            while let message = stream.first {
                bytes += message
                stream.removeFirst()
            }
        }
        let file = try write(bytes, "out.ts")
        let before = try hashes("\(path)/clip.mp4", "v", units)
        #expect(try hashes(file, "v", units) == before)
        #expect(before.count == 50)
        // The headers of AAC (ADTS) and Opus belong to the container. The headers of AC-3 and MP3 belong to the frames.
        guard codecs[1] == "ac3" || codecs[1] == "libmp3lame" else { return }
        #expect(try hashes(file, "a", audio) == hashes("\(path)/clip.mp4", "a", audio))
    }

    @Test(
        "FLV data of copied H.264 with AAC or MP3 equals that of ffmpeg, and ffmpeg can read it",
        arguments: ["aac", "libmp3lame"])
    func flv(codec: String) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        // The times in an FLV file are whole milliseconds, as in RTMP.
        let clip = try CodedClip(
            video: "libx264", audio: codec, options: ["-ar", "44100"], name: "clip.flv", in: path)
        #expect(Carriage.rtmp.refusal(of: clip.description) == nil)
        var timeline = RTMPTimeline()
        var file = FLVBytes()
        for message in RTMPHeaders.messages(for: clip.description).dropFirst() { file.append(message) }
        for packet in clip.packets { file.append(timeline.message(for: packet)) }
        let copy = try write(file.bytes, "copy.flv")
        let read = try CodedClip(path: copy)
        let isSame = read.payloads(.video) == clip.payloads(.video) && read.payloads(.audio) == clip.payloads(.audio)
        #expect(isSame)
        #expect(read.packets.map(\.pts) == clip.packets.map(\.pts))
        let (before, after) = (clip.description, read.description)
        #expect(before.video?.decoderConfiguration.array == after.video?.decoderConfiguration.array)
        #expect(before.audio?.decoderConfiguration.array == after.audio?.decoderConfiguration.array)
    }

    @Test(
        "HLS segments contain the copied packets bit by bit",
        arguments: [
            (["libx264", "aac", "mp4"], []),
            (["libx265", "aac", "mp4"], ["-preset", "ultrafast", "-x265-params", "log-level=none"]),
            (["libsvtav1", "libopus", "mkv"], ["-preset", "12"]),
        ])
    func hls(coding: [String], options: [String]) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clip = try CodedClip(
            video: coding[0], audio: coding[1], options: options, name: "clip.\(coding[2])", in: path)
        #expect(Carriage.hls.refusal(of: clip.description) == nil)
        let writer = try HLSWriter("\(path)/live", HLSOptions(["segment": "1s"]), clip.description)
        for packet in clip.packets { try writer.write(packet) }
        try writer.finish(isProgramOver: true)
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(path)/live")
            .filter { $0.hasSuffix("-init.mp4") || $0.hasSuffix(".m4s") }
        let order = names.filter { $0.hasSuffix("-init.mp4") } + names.filter { $0.hasSuffix(".m4s") }.sorted()
        let bytes = try order.flatMap { [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/live/\($0)"))) }
        let read = try CodedClip(path: write(bytes, "whole.mp4"))
        let (heard, audio) = (read.payloads(.audio), clip.payloads(.audio))
        #expect(heard.count >= audio.count - 2)
        let isSame = read.payloads(.video) == clip.payloads(.video) && heard == audio.suffix(heard.count)
        #expect(isSame)
    }

    @Test("A codec that an output cannot carry is refused by its name, before going live and in mid-stream")
    func refuses() throws {
        let (hevc, opus) = (
            TrackDescription(
                video: .hevc, frames: FrameFormat(width: 16, height: 16), timeBase: .milliseconds,
                decoderConfiguration: SharedBytes([1])),
            TrackDescription(audio: .opus, format: .program, decoderConfiguration: SharedBytes([1]))
        )
        let stream = StreamDescription(video: hevc, audio: opus)
        let (url, pool) = (try RTMPURL("rtmp://h/live/abcdef"), RTMPWriterPool())
        #expect(
            RTMPTarget(url: url, name: "a", pool: pool).carriage.refusal(of: stream)
                == "HEVC and Opus cannot be carried by RTMP.")
        #expect(RTMPTarget(url: url, name: "a", pool: pool, isEnhanced: true).carriage.refusal(of: stream) == nil)
        #expect(Carriage.transportStream.refusal(of: stream) == nil)
        #expect(Carriage.hls.refusal(of: StreamDescription(audio: Samples.audioTrack)) == nil)
        // Timed data that the container cannot carry is dropped.
        let cues = TrackDescription(data: .scte35, timeBase: .mpegTS)
        #expect(Carriage.rtmp.refusal(of: StreamDescription(video: Samples.otherTrack, data: [cues])) == nil)
    }
}

/// An FLV file around the bodies of RTMP messages (Adobe FLV 10.1, annex E.3).
private struct FLVBytes {
    private(set) var bytes: [UInt8] = Array("FLV".utf8) + [1, 5, 0, 0, 0, 9, 0, 0, 0, 0]

    mutating func append(_ message: RTMPMessage) {
        var prefix = [UInt8](repeating: 0, count: message.prefix.count)
        prefix.withUnsafeMutableBytes { message.prefix.write(to: $0, at: 0) }
        let body = prefix + message.payload.array
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let time = Int(message.timestamp)
        bytes += [message.kind.rawValue] + number(body.count, 3) + number(time, 3) + number(time >> 24, 1) + [0, 0, 0]
        bytes += body + number(body.count + 11, 4)
    }
}
