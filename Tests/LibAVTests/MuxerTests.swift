// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import Synchronization
import TestSupport
import Testing

@testable import LibAV

/// Delivers bytes in pieces of up to 1000 bytes.
final class Pieces: ByteStream {
    private let rest: Mutex<ArraySlice<UInt8>>

    init(_ bytes: [UInt8]) { rest = Mutex(bytes[...]) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        rest.withLock { rest in
            let next = rest.prefix(min(buffer.count, 1000))
            buffer.copyBytes(from: next)
            rest = rest.dropFirst(next.count)
            return next.isEmpty ? nil : next.count
        }
    }
}

@Suite("Writing of containers")
struct MuxerTests {
    /// The bytes that a muxer has passed on.
    private final class Bytes {
        var pieces: [Int] = []
        var all: [UInt8] = []
    }

    private let clip: CodedClip
    private let bytes = Bytes()

    init() throws {
        let directory = try TemporaryDirectory()
        clip = try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "2"], in: directory.path)
    }

    private func muxer(
        _ options: Muxer.Options, _ description: StreamDescription? = nil
    ) throws(AVFailure) -> Muxer {
        try Muxer(options, description: description ?? clip.description) { [bytes] piece in
            bytes.pieces.append(piece.count)
            bytes.all += piece
        }
    }

    @Test("Packets are read back from the container unchanged, with their times moved by the shift")
    func roundTrip() throws {
        let muxer = try muxer(.init(format: "flv", values: ["flvflags": "no_duration_filesize"], bufferBytes: 4096))
        #expect(muxer.timeBase(of: .video) == .milliseconds && muxer.timeBase(of: .audio) == .milliseconds)
        for packet in clip.packets { try muxer.write(packet, shift: 5000) }
        try muxer.finish()
        #expect(bytes.pieces.allSatisfy { (1...4096).contains($0) } && bytes.pieces.reduce(0, +) == bytes.all.count)
        let demuxer = try Demuxer(
            reading: Pieces(bytes.all), options: .init(format: "flv"), interrupter: Interrupter(), subject: "flv")
        var found: [TrackKind: [PacketBox]] = [:]
        while let box = try demuxer.readPacket() {
            let kind = try #require(demuxer.streams.first { $0.index == box.streamIndex }).kind
            found[kind, default: []].append(box)
        }
        for kind in [TrackKind.video, .audio] {
            let (sent, read) = (clip.packets.filter { $0.track == kind }, found[kind] ?? [])
            #expect(read.map(\.content) == sent.map(\.payload.array), "\(kind)")
            #expect(read.map(\.isKeyframe) == sent.map(\.isKeyframe), "\(kind)")
            let times = { (ticks: Int64, base: TimeBase) in base.rescale(ticks, to: .milliseconds) + 5000 }
            #expect(read.map(\.pts) == sent.map { times($0.pts, $0.timeBase) }, "\(kind)")
            #expect(read.map(\.dts) == sent.map { times($0.dts, $0.timeBase) }, "\(kind)")
        }
    }

    @Test("Packets of a track that the container does not have are ignored, and a container ends only once")
    func missingTrack() throws {
        let video = StreamDescription(video: clip.description.video, audio: nil)
        let muxer = try muxer(.init(format: "flv", values: ["flvflags": "no_duration_filesize"]), video)
        muxer.flush()
        let header = bytes.all.count
        #expect(header > 0)
        for packet in clip.packets where packet.track == .audio { try muxer.write(packet) }
        muxer.flush()
        #expect(bytes.all.count == header)
        try muxer.write(try #require(clip.packets.first { $0.track == .video }))
        try muxer.finish()
        let end = bytes.all.count
        #expect(end > header)
        try muxer.finish()
        #expect(bytes.all.count == end)
    }

    @Test("A container of an unknown format, or one that cannot have a track, is refused with the format's name")
    func refused() throws {
        for format in ["no-such-format", "adts"] {
            let failure = #expect(throws: AVFailure.self) { _ = try muxer(.init(format: format)) }
            #expect(failure?.description.contains(format) == true, "\(String(describing: failure))")
        }
        #expect(bytes.all.isEmpty)
    }
}
