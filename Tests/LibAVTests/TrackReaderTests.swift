// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import PacketSamples
import TestSupport
import Testing

@testable import LibAV

/// A demuxer's packets, converted for outputs.
@Suite struct TrackReaderTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// All packets of the file `name`, and the reader of each track at the end.
    private func read(
        _ name: String, decodesOtherAudio: Bool = false
    ) throws -> (packets: [EncodedPacket], readers: [TrackReader]) {
        let demuxer = try Demuxer(
            url: directory.path(name), options: .init(), interrupter: Interrupter(), subject: name)
        let streams = [demuxer.bestVideo, demuxer.bestAudio].compactMap(\.self)
        let readers = streams.compactMap {
            TrackReader($0, subject: name, decodesOtherAudio: decodesOtherAudio)
        }
        var packets: [EncodedPacket] = []
        while let box = try demuxer.readPacket() {
            if let packet = try readers.first(where: { $0.stream.index == box.streamIndex })?.read(box) {
                packets.append(packet)
            }
        }
        return (packets, readers)
    }

    private func make(_ name: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-v", "error", "-nostdin", "-y"] + arguments + [directory.path(name)]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    private static let flvHeader: [UInt8] = Array("FLV".utf8) + [1, 1, 0, 0, 0, 9, 0, 0, 0, 0]

    private func big(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
    }

    /// A tag of FLV video.
    private func tag(_ time: Int64, _ body: [UInt8]) -> [UInt8] {
        [9] + big(body.count, 3) + big(Int(time), 3) + [0, 0, 0, 0] + body + big(body.count + 11, 4)
    }

    @Test("Frames of FLV with presentation times before their decoding times keep their presentation times")
    func negativeOffsets() throws {
        let clip = try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "2"], in: directory.path)
        let frames = clip.packets.filter { $0.track == .video }
        let start = try #require(frames.first).pts
        let record = try #require(clip.description.video).decoderConfiguration.array
        var file = Self.flvHeader + tag(0, [0x17, 0, 0, 0, 0] + record)
        var shown: [Int64] = []
        for (index, frame) in frames.enumerated() {
            let time = 1000 + index * 40
            shown.append(1000 + frame.timeBase.rescale(frame.pts - start, to: .milliseconds))
            let head: [UInt8] = [frame.isKeyframe ? 0x17 : 0x27, 1] + big(Int(shown[index]) - time, 3)
            file += tag(Int64(time), head + frame.payload.array)
        }
        try Data(file).write(to: URL(fileURLWithPath: directory.path("negative.flv")))
        let packets = try read("negative.flv").packets
        #expect(packets.map(\.pts) == shown && packets.allSatisfy { $0.dts <= $0.pts })
    }

    @Test("Video with NAL unit lengths of 2 bytes is read as the same video with lengths of 4 bytes")
    func narrowLengths() throws {
        let clip = try CodedClip(video: "libx264", audio: "aac", in: directory.path)
        let frames = clip.packets.filter { $0.track == .video }
        let record = try #require(clip.description.video).decoderConfiguration.array
        var narrow = record
        narrow[4] = narrow[4] & 0xFC | 1
        var file = Self.flvHeader + tag(0, [0x17, 0, 0, 0, 0] + narrow)
        for (index, frame) in frames.enumerated() {
            let head: [UInt8] = [frame.isKeyframe ? 0x17 : 0x27, 1, 0, 0, 80]
            file += tag(Int64(index) * 40, head + frame.payload.array.shortLengths)
        }
        try Data(file).write(to: URL(fileURLWithPath: directory.path("narrow.flv")))
        let (packets, readers) = try read("narrow.flv")
        #expect(packets.map(\.payload.array) == frames.map(\.payload.array))
        #expect(packets.map(\.isKeyframe) == frames.map(\.isKeyframe))
        #expect(readers.first?.track?.decoderConfiguration.array == record)
    }

    @Test("Frames without decoding times are passed on from the first keyframe on, and keep their presentation times")
    func missingDecodingTimes() throws {
        let clip = try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "2"], in: directory.path)
        let demuxer = try Demuxer(
            url: directory.path("clip.mp4"), options: .init(), interrupter: Interrupter(), subject: "clip.mp4")
        let reader = try #require(demuxer.bestVideo.flatMap { TrackReader($0, subject: "clip.mp4") })
        var frames: [EncodedPacket] = []
        while let box = try demuxer.readPacket() {
            guard box.streamIndex == reader.stream.index else { continue }
            // This is libav's value for "no timestamp".
            if frames.count < 2, let pts = box.pts { box.stamp(pts: pts, dts: .min) }
            frames.append(try #require(try reader.read(box)))
        }
        let sent = clip.packets.filter { $0.track == .video }
        #expect(frames.map(\.pts) == sent.map(\.pts) && frames.map(\.isKeyframe) == sent.map(\.isKeyframe))
        #expect(frames.allSatisfy { $0.dts <= $0.pts })
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.dts < $1.dts })
    }

    @Test("H.264 and AAC from a transport stream equal those of the MP4 from which it was made")
    func transportStream() throws {
        let clip = try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "2"], in: directory.path)
        try make("clip.ts", ["-i", directory.path("clip.mp4"), "-c", "copy"])
        let (packets, readers) = try read("clip.ts")
        for kind in [TrackKind.video, .audio] {
            let found = packets.filter { $0.track == kind }
            #expect(found.map(\.payload.array) == clip.payloads(kind), "\(kind)")
            let sent = clip.packets.filter { $0.track == kind }
            #expect(found.map(\.isKeyframe) == sent.map(\.isKeyframe))
            #expect(found.map(\.isDisposable) == sent.map(\.isDisposable))
            #expect(Set(found.map { ObjectIdentifier($0.description) }).count == 1)
        }
        let tracks = readers.compactMap(\.track)
        try #require(tracks.count == 2)
        #expect(tracks[0].decoderConfiguration.array == clip.description.video?.decoderConfiguration.array)
        // ffmpeg adds to the MP4's configuration that there is no spectral band replication, which ADTS cannot express.
        #expect(
            clip.description.audio?.decoderConfiguration.array.starts(with: tracks[1].decoderConfiguration.array)
                == true)
        #expect(tracks.first?.frameFormat?.width == 320 && tracks.last?.audioFormat?.sampleRate == 48_000)
    }

    @Test("A new frame size in mid-stream gives a new track description from its keyframe on")
    func change() throws {
        for (name, size) in [("small.ts", "320x180"), ("large.ts", "640x360")] {
            try make(
                name,
                ["-f", "lavfi", "-i", "testsrc=s=\(size):r=25:d=2", "-pix_fmt", "yuv420p", "-g", "25"]
                    + ["-c:v", "libx264"])
        }
        try directory.write(try directory.bytes("small.ts") + directory.bytes("large.ts"), to: "both.ts")
        let frames = try read("both.ts").packets.filter { $0.track == .video }
        let widths = frames.compactMap(\.description.frameFormat?.width)
        let change = try #require(widths.firstIndex(of: 640))
        #expect(widths == [Int](repeating: 320, count: change) + [Int](repeating: 640, count: widths.count - change))
        #expect(change >= 49 && frames[change].isKeyframe && widths.count - change >= 49)
        #expect(Set(frames.map { ObjectIdentifier($0.description) }).count == 2)
    }

    @Test(
        "An AC-3 track is fully described by its first frame, and an MP3 track has no configuration",
        arguments: ["ac3", "mp3"])
    func framed(codec: String) throws {
        let encoder = codec == "mp3" ? "libmp3lame" : codec
        try make("tone.ts", ["-f", "lavfi", "-i", "sine=d=1:r=48000", "-ac", "2", "-c:a", encoder])
        let (packets, readers) = try read("tone.ts")
        let track = try #require(readers.first?.track)
        #expect(track.codec == (codec == "mp3" ? .mp3 : .ac3) && packets.count > 25)
        #expect(track.decoderConfiguration.array.count == (codec == "mp3" ? 0 : 3))
        #expect(packets.allSatisfy { $0.description === track && $0.isKeyframe })
    }

    @Test("A track whose codec no output carries is not read")
    func unknown() throws {
        try make("film.ts", ["-f", "lavfi", "-i", "testsrc=d=1", "-c:v", "mpeg2video"])
        #expect(try read("film.ts").readers.isEmpty)
    }

    @Test(
        "Packets of another codec than when the stream was opened are no frames, and are noticed",
        arguments: [("libx264", "libx265"), ("libx265", "libx264")])
    func foreign(first: String, second: String) throws {
        var whole = Data()
        for (name, codec, offset) in [("one.ts", first, 0), ("two.ts", second, 3)] {
            try make(
                name,
                ["-f", "lavfi", "-i", "testsrc2=d=3:s=160x90:r=25", "-c:v", codec, "-preset", "ultrafast", "-g", "25"]
                    + ["-bf", "2", "-pix_fmt", "yuv420p", "-output_ts_offset", "\(offset)"])
            whole += try Data(contentsOf: URL(fileURLWithPath: directory.path(name)))
        }
        try whole.write(to: URL(fileURLWithPath: directory.path("both.ts")))
        let (alone, both) = (try read("one.ts"), try read("both.ts"))
        #expect(alone.packets.count == 75 && alone.readers.map(\.isForeign) == [false])
        #expect(both.readers.map(\.isForeign) == [true])
        // A packet at the joint has the end of the one stream and the beginning of the other.
        #expect((73...77).contains(both.packets.count), "\(both.packets.count)")
    }

    @Test(
        "Audio in a codec that no output carries is decoded to samples, if the program encodes its audio",
        arguments: [
            ("mp2", "ts", 48_000), ("eac3", "ts", 48_000), ("pcm_s16le", "mov", 48_000), ("pcm_alaw", "wav", 8000),
        ])
    func decoded(encoder: String, suffix: String, rate: Int) throws {
        let name = "tone.\(suffix)"
        try make(name, ["-f", "lavfi", "-i", "sine=d=1:r=\(rate)", "-ac", "2", "-c:a", encoder])
        #expect(try read(name).readers.isEmpty)
        let (packets, readers) = try read(name, decodesOtherAudio: true)
        let track = try #require(readers.first?.track)
        #expect(track.codec == .pcm && track.audioFormat == AudioFormat(sampleRate: Int32(rate), channels: 2))
        let samples = packets.reduce(0) { $0 + $1.payload.count / 8 }
        #expect(abs(samples - rate) <= 2 * 1536, "\(samples) samples")
        #expect(packets.allSatisfy { $0.description === track && $0.isKeyframe })
        for (packet, next) in zip(packets, packets.dropFirst()) {
            #expect(abs(next.pts - packet.pts - packet.duration) <= 1)
        }
        let middle = packets[packets.count / 2].payload.array
        let values = stride(from: 0, to: middle.count, by: 4).map { place in
            let bits = (0..<4).reduce(UInt32(0)) { $0 | UInt32(middle[place + $1]) << UInt32(8 * $1) }
            return abs(Float(bitPattern: bits))
        }
        let loudest = try #require(values.max())
        #expect(loudest > 0.05 && loudest < 0.2, "\(loudest)")
    }
}
