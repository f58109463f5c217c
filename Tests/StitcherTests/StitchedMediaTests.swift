// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import LibAV
import MP4
import Media
import TestSupport
import Testing

@testable import Stitcher

/// Inspects, reads, copies and encodes real frames. All luma samples of frame n have the value 32 + 8n.
@Suite struct StitchedMediaTests {
    private static let count = 24
    private static let side = 64

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A file with uncompressed frames at 25 a second.
    private func raw() throws -> String {
        var bytes = Array("YUV4MPEG2 W\(Self.side) H\(Self.side) F25:1 Ip A1:1 C420mpeg2\n".utf8)
        let samples = Self.side * Self.side
        for number in 0..<Self.count {
            bytes += Array("FRAME\n".utf8) + [UInt8](repeating: UInt8(32 + 8 * number), count: samples)
            bytes += [UInt8](repeating: 128, count: samples / 2)
        }
        try directory.write(bytes, to: "raw.y4m")
        return directory.path("raw.y4m")
    }

    private func stitch(_ clips: [StitchClip], to name: String) throws -> StitchReport {
        let request = StitchRequest(clips: clips, output: directory.path(name), replaces: false, version: "9.9")
        let job = try StitchJob(request, isCancelled: { false })
        return try job.run(progress: { _, _ in }, isCancelled: { false })
    }

    /// An MP4 with these frames.
    private func coded() throws -> StitchSource {
        let report = try stitch([StitchClip(path: try raw())], to: "coded.mp4")
        #expect(report.encodedFrames == Self.count && report.copiedFrames == 0 && report.milliseconds == 960)
        return try StitchInspector.read(report.output, isCancelled: { false })
    }

    private func reader(_ source: StitchSource, _ damage: DamageLog = DamageLog()) throws -> FrameReader {
        let format = VideoFormat(width: Self.side, height: Self.side, frameRate: FrameRate(25), color: source.color)
        return try FrameReader(source, target: format, fitting: .contain, damage: damage)
    }

    /// The number of a frame, computed from the luma in its middle.
    private func number(_ frame: VideoFrame) -> Int {
        let luma = frame.storage.withPlanes { planes in
            planes.y.bytes.load(fromByteOffset: Self.side / 2 * (planes.y.stride + 1), as: UInt8.self)
        }
        return Int(((Double(luma) - 32) / 8).rounded())
    }

    @Test func `Uncompressed frames are not copied, and the MP4 made of them has all of them`() throws {
        let uncompressed = try StitchInspector.read(try raw(), isCancelled: { false })
        #expect(uncompressed.video.obstacle != nil && uncompressed.video.isConstant && uncompressed.audio == nil)
        #expect(uncompressed.video.times.count == Self.count && uncompressed.video.rate == FrameRate(25))
        let coded = try coded()
        #expect(coded.video.obstacle == nil && coded.video.codec == "h264" && !coded.video.configuration.isEmpty)
        #expect(coded.video.isConstant && coded.video.rate == FrameRate(25) && coded.duration == .milliseconds(960))
        #expect(coded.video.samples.map(\.pts).sorted() == (0..<Int64(Self.count)).map { $0 })
        #expect(coded.video.samples.first?.isSync == true)
    }

    @Test func `A file that is no video and a missing file are refused with their names`() throws {
        try directory.write(Array("no film".utf8), to: "text.mp4")
        for name in ["text.mp4", "missing.mp4"] {
            let path = directory.path(name)
            let failure = #expect(throws: ClipFailure.self) { try StitchInspector.read(path, isCancelled: { false }) }
            #expect(failure?.description.contains(name) == true)
        }
        let path = try raw()
        #expect(throws: ClipFailure.cancelled) { try StitchInspector.read(path, isCancelled: { true }) }
    }

    @Test func `Frames are read by their numbers, forwards and backwards`() throws {
        let damage = DamageLog()
        let reader = try reader(try coded(), damage)
        for wanted in [0, 1, 2, 23, 5, 5, 22] { #expect(number(try reader.frame(wanted)) == wanted) }
        #expect(damage.sentences.isEmpty)
        // For a number after the last frame, the last frame is returned.
        #expect(number(try reader.frame(Self.count)) == Self.count - 1)
        #expect(damage.sentences.count == 1)
    }

    @Test func `A clip that begins between keyframes is encoded behind a clip that is copied`() throws {
        let source = try coded()
        let clips = [StitchClip(path: source.path), StitchClip(path: source.path, from: .milliseconds(160))]
        let report = try stitch(clips, to: "joined.mp4")
        let total = 2 * Self.count - 4
        #expect(report.copiedFrames + report.encodedFrames == total && report.copiedFrames >= Self.count)
        #expect(report.encodedFrames > 0 && report.warnings.isEmpty)
        let joined = try StitchInspector.read(report.output, isCancelled: { false })
        #expect(joined.video.times.count == total)
        let reader = try reader(joined)
        let shown = try (0..<total).map { number(try reader.frame($0)) }
        #expect(shown == Array(0..<Self.count) + Array(4..<Self.count))
        #expect(directory.all.filter { $0.hasPrefix(".") }.isEmpty, "no work file is left")
    }

    @Test func `Frames of a recording are re-encoded only if the recording says how it was encoded`() throws {
        var source = try coded()
        #expect(PieceRender(source) == nil, "it was not read as a recording")
        let file = try FileDescriptor.open(readOnly: source.path)
        source.recording = StitchSource.Recording(
            file: file, tracks: try MovieFile.read(file).layout.tracks, samples: source.video.samples,
            encoderSettings: "", channel: "test")
        let render = try #require(PieceRender(source))
        #expect(try render.render(3..<3, isCancelled: { false }).isEmpty)
        let failure = #expect(throws: (any Error).self) { try render.render(3..<5, isCancelled: { false }) }
        #expect(failure.map { "\($0)".contains("does not say how it was encoded") } == true)
    }

    @Test func `Frames that a demuxer reads have the bytes that the file has at their positions`() throws {
        var source = try coded()
        let bytes = try directory.bytes("coded.mp4")
        var copier = try PacketCopier(source)
        var copied: [[UInt8]] = []
        try copier.copy(0..<Self.count) { number, content in
            #expect(number == copied.count)
            copied.append(content.array)
        }
        #expect(copied == source.video.samples.map { Array(bytes[Int($0.offset)..<Int($0.offset + $0.size)]) })
        // If the size of a frame has changed, the file was replaced.
        source.video.samples[3].size += 1
        var another = try PacketCopier(source)
        #expect(throws: ClipFailure.self) { try another.copy(0..<Self.count) { _, _ in } }
    }
}

/// Reads and writes real packets of AAC.
@Suite struct StitchedAudioTests {
    private static let format = AudioFormat(sampleRate: 48_000, channels: 2)
    private static let length = 48_000

    private let directory: TemporaryDirectory
    private let tone: [Float]
    private let source: StitchSource

    /// Makes a file of a second that contains only packets.
    init() throws {
        directory = try TemporaryDirectory()
        tone = (0..<Self.length).map { Float(0.5 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        let encoder = try AACEncoder(format: Self.format, bitrate: 160_000)
        let audio = AudioBuffer(position: 0, format: Self.format, channels: [tone, tone])
        var (bytes, packets): ([UInt8], [IndexedSample]) = ([], [])
        for packet in try encoder.encode(audio) + encoder.finish() {
            packets.append(
                IndexedSample(
                    pts: packet.pts, duration: 1024, offset: Int64(bytes.count), size: Int64(packet.payload.count),
                    isSync: true))
            bytes += packet.payload.array
        }
        try directory.write(bytes, to: "a.mp4")
        let path = directory.path("a.mp4")
        source = SampleInput.source("a.mp4", count: 30) { [packets] source in
            source.path = path
            source.audio?.configuration = encoder.description.decoderConfiguration.array
            source.audio?.packets = packets
        }
    }

    private func plan(_ mode: StitchAudio) throws -> AudioPlan {
        let clips = [StitchClip(path: "a.mp4")]
        let plan = try StitchPlan(clips, of: [source], StitchSettings())
        return try #require(
            AudioPlan(plan, clips, [source], mode) { _, _ in AACWindow([0x21, 0x10, 0]) })
    }

    /// Writes the audio to a file, and returns its track and the bytes of its packets.
    private func write(_ plan: AudioPlan) throws -> (samples: [IndexedSample], packets: [[UInt8]]) {
        let file = try ClipFile(directory.path("b.mp4"), replaces: false)
        let writer = AudioWriter(plan, Self.format, [source], bitrate: 160_000, file: file, joint: [])
        let samples = try writer.finish().samples
        let hidden = try #require(directory.all.first { $0.hasPrefix(".") && $0.contains("b.mp4") })
        let bytes = try directory.bytes(hidden)
        return withExtendedLifetime(file) {
            (samples, samples.map { Array(bytes[Int($0.offset)..<Int($0.offset + $0.size)]) })
        }
    }

    @Test func `Decoded audio keeps its position, and is silent where the file has no audio`() throws {
        let audio = try #require(source.audio)
        let reader = try AudioReader(source, audio, format: Self.format, from: 0)
        let first = try reader.read(0..<20_000)
        let second = try reader.read(20_000..<Int64(Self.length))
        for (channel, other) in zip(first.channels, second.channels) {
            let found = channel + other
            try #require(found.count == Self.length)
            // The encoder's start and end are left out.
            let errors = zip(found, tone).map { abs($0 - $1) }[2048..<Self.length - 2048]
            #expect((errors.max() ?? 1) < 0.1)
        }
        let silent = try reader.read(60_000..<61_000)
        #expect(silent.count == 1000 && silent.channels.allSatisfy { $0.allSatisfy { $0 == 0 } })
    }

    @Test func `Copied packets keep their bytes and their times, and the last one ends with the clip`() throws {
        let plan = try plan(.automatic)
        let packets = try #require(source.audio?.packets)
        let wanted = packets.prefix { $0.pts < Self.length }
        #expect(plan.spans == [.copied(clip: 0, packets: 0..<wanted.count)])
        let (samples, written) = try write(plan)
        let bytes = try directory.bytes("a.mp4")
        #expect(written == wanted.map { Array(bytes[Int($0.offset)..<Int($0.offset + $0.size)]) })
        #expect(samples.map(\.pts) == wanted.map(\.pts))
        #expect(samples.last.map { $0.pts + $0.duration } == Int64(Self.length))
    }

    @Test func `Encoded packets follow each other and end with the clip, and decode to the same tone`() throws {
        let plan = try plan(.encode)
        let (samples, written) = try write(plan)
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 })
        #expect(try #require(samples.first).pts <= 0)
        #expect(samples.last.map { $0.pts + $0.duration } == Int64(Self.length))
        try directory.write(written.joined(), to: "c.mp4")
        var offset: Int64 = 0
        var again = source
        again.path = directory.path("c.mp4")
        again.audio?.packets = samples.map { sample in
            defer { offset += sample.size }
            return IndexedSample(pts: sample.pts, duration: 1024, offset: offset, size: sample.size, isSync: true)
        }
        let audio = try #require(again.audio)
        let found = try AudioReader(again, audio, format: Self.format, from: 0).read(0..<Int64(Self.length))
        let errors = zip(found.channels[0], tone).map { abs($0 - $1) }[4096..<Self.length - 4096]
        #expect((errors.max() ?? 1) < 0.15)
    }
}
