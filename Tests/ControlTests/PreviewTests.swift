// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import NIOCore
import PacketSamples
import TestSupport
import Testing

@testable import Control
@testable import MP4

/// Fragments for browsers, made from random streams of all kinds.
@Suite("Preview of the program on air")
struct PreviewTests {
    private final class NoKeyframes: KeyframeRequester {
        func requestKeyframe(at programTime: ProgramInstant?) {}
    }

    private func makeStream(_ seed: UInt64) -> GeneratedStream {
        var random = SeededRandom(seed: seed)
        let shape = GeneratedStream.Shape(using: &random)
        return GeneratedStream(shape, using: &random)
    }

    /// Returns a stream with video of 25 frames per second and audio.
    private func plainStream(_ seed: UInt64) -> GeneratedStream {
        var random = SeededRandom(seed: seed)
        return GeneratedStream(GeneratedStream.Shape(), using: &random)
    }

    /// Returns the types and contents of the boxes in `bytes`.
    private func split(_ bytes: [UInt8]) throws -> [(type: String, content: [UInt8])] {
        try BoxReader(bytes[...]).boxes().map { (type: $0.type, content: Array($0.body.rest)) }
    }

    @Test(
        "Each packet is in one preview fragment within 150 ms, in order, and each keyframe begins a fragment",
        arguments: UInt64(1)...40)
    func fragments(seed: UInt64) throws {
        let stream = makeStream(seed)
        let leading = stream.description.leadingKind
        var muxer = PreviewMuxer(stream.description)
        var waiting: [EncodedPacket] = []
        var count = 0
        for packet in stream.packets {
            let pieces = muxer.push([packet])
            #expect(pieces.count <= 1)
            if let piece = pieces.first {
                count += 1
                let boxes = try split(piece.bytes)
                #expect(boxes.map(\.type) == ["moof", "mdat"])
                let ordered = waiting.filter { $0.track == .video } + waiting.filter { $0.track == .audio }
                #expect(boxes.last?.content == Array(ordered.map(\.payload.array).joined()))
                let frames = waiting.filter { $0.track == leading }
                #expect(piece.beginsGOP == (frames.first?.isKeyframe ?? false))
                #expect(!frames.dropFirst().contains { $0.isKeyframe && $0.track == .video })
                if let first = frames.first, let last = frames.last {
                    #expect(last.programDts - first.programDts < .milliseconds(150))
                }
                waiting = []
            }
            waiting.append(packet)
        }
        #expect(count > 5)
    }

    @Test(
        "The preview's fragments do not depend on how many packets are passed to it at a time",
        arguments: UInt64(1)...10)
    func bundles(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let stream = makeStream(seed)
        var (one, other) = (PreviewMuxer(stream.description), PreviewMuxer(stream.description))
        var (expected, found): ([[UInt8]], [[UInt8]]) = ([], [])
        for packet in stream.packets { expected += one.push([packet]).map(\.bytes) }
        var rest = stream.packets[...]
        while !rest.isEmpty {
            let bundle = rest.prefix(Int.random(in: 1...20, using: &random))
            rest = rest.dropFirst(bundle.count)
            found += other.push(Array(bundle)).map(\.bytes)
        }
        #expect(found == expected && one.head == other.head)
    }

    @Test("When the coding changes, the preview sends a new header before the next fragment")
    func changes() throws {
        let (before, after) = (plainStream(3), plainStream(4))
        var muxer = PreviewMuxer(before.description)
        let hasHead = { (piece: PreviewMuxer.Piece) in piece.bytes.starts(with: MovieBox.openHead) }
        let earlier = muxer.push(before.packets)
        #expect(!earlier.contains(where: hasHead))
        let pieces = muxer.push(after.packets)
        #expect(pieces.contains(where: hasHead))
        for piece in pieces {
            let types = try split(piece.bytes).map(\.type)
            #expect(Array(types.suffix(2)) == ["moof", "mdat"] && types.contains("moov") == hasHead(piece))
        }
    }

    // Regression: only video frames ended a fragment. If the video of a stream stopped while its audio continued, the
    // memory grew without limit.
    @Test("While no frames arrive, the preview sends audio in fragments of two seconds")
    func audioAlone() throws {
        let stream = plainStream(5)
        let audio = try #require(stream.description.audio)
        var muxer = PreviewMuxer(stream.description)
        var sizes: [Int] = []
        for number in Int64(0)..<3000 {
            let packet = EncodedPacket(
                of: audio, pts: number * 1024, dts: number * 1024, duration: 1024, isKeyframe: true,
                payload: SharedBytes([UInt8](repeating: 7, count: 10)))
            for piece in muxer.push([packet]) {
                #expect(!piece.beginsGOP)
                sizes.append(try split(piece.bytes).last?.content.count ?? 0)
            }
        }
        // 3000 packets of 1024 samples last 64 s.
        #expect(sizes.count == 31 && sizes.allSatisfy { $0 == 940 })
    }

    @Test("A new preview client gets the current GOP; a slow one continues where it stopped or at a keyframe")
    func feed() throws {
        let stream = plainStream(7)
        let source = PacketStream()
        source.begin(stream.description, keyframes: NoKeyframes())
        let feed = PreviewFeed(of: source)
        #expect(feed.beginning == nil && feed.pieces(after: 0).isEmpty && feed.refusal == nil)
        var muxer = PreviewMuxer(stream.description)
        let expected = muxer.push(stream.packets)
        let newest = UInt64(expected.count - 1)

        feed.begin()
        feed.begin()
        #expect(!feed.end())
        var rest = stream.packets[...]
        while !rest.isEmpty {
            feed.accept(Array(rest.prefix(13)))
            rest = rest.dropFirst(13)
        }
        try eventually("all fragments are there") { feed.pieces(after: 0).last?.number == newest }

        let beginning = try #require(feed.beginning)
        #expect(Array(beginning.head.readableBytesView) == muxer.head)
        #expect(beginning.pieces.first?.beginsGOP == true && beginning.pieces.last?.number == newest)
        for last in 0..<newest {
            let pieces = feed.pieces(after: last)
            let numbers = pieces.map(\.number)
            #expect(numbers.last == newest)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
            #expect(numbers.first == last + 1 || pieces.first?.beginsGOP == true)
            for piece in pieces {
                #expect(Array(piece.bytes.readableBytesView) == expected[Int(piece.number)].bytes)
            }
        }
        #expect(feed.pieces(after: newest).isEmpty && feed.pieces(after: .max).isEmpty)
        #expect(feed.end())
        #expect(feed.beginning == nil && feed.pieces(after: 0).isEmpty)
    }

    @Test("A preview of a program without tracks is refused, because nothing is on air yet")
    func nothing() { #expect(PreviewFeed(of: PacketStream()).refusal == "Nothing is on air yet.") }

    @Test("A snapshot is made once for all requests during its lifetime, and again after it expired or failed")
    func snapshots() throws {
        let cache = SnapshotCache(for: .seconds(3600))
        var made = 0
        for _ in 0..<5 {
            let bytes = try cache.bytes(of: "a") { () throws(Refusal) -> [UInt8] in
                made += 1
                return [1]
            }
            #expect(bytes == [1])
        }
        #expect(made == 1)
        #expect(throws: Refusal.self) {
            try cache.bytes(of: "b") { () throws(Refusal) -> [UInt8] in
                throw Refusal(.unavailable, "There is no image.")
            }
        }
        let second = try cache.bytes(of: "b") { () throws(Refusal) -> [UInt8] in [2] }
        #expect(second == [2])
        let never = SnapshotCache(for: .zero)
        for number in UInt8(3)...5 {
            let bytes = try never.bytes(of: "a") { () throws(Refusal) -> [UInt8] in [number] }
            #expect(bytes == [number])
        }
    }
}
