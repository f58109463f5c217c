// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import Synchronization
import TestSupport
import Testing

@testable import LibAV

@Suite("Reading of bytes that do not come from a URL")
struct ByteReaderTests {
    /// Has no bytes, and calls `onRead` at each read with the number of reads so far.
    private final class Silence: ByteStream {
        private let reads = Atomic(0)
        private let onRead: @Sendable (Int) -> Void

        init(_ onRead: @escaping @Sendable (Int) -> Void) { self.onRead = onRead }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            onRead(reads.add(1, ordering: .relaxed).newValue)
            return 0
        }

        var count: Int { reads.load(ordering: .relaxed) }
    }

    /// Delivers nothing at every other read, and otherwise up to `most` bytes.
    private final class Drops: ByteStream {
        private let state: Mutex<(rest: ArraySlice<UInt8>, isDry: Bool)>
        private let most: Int

        init(_ bytes: [UInt8], most: Int) {
            state = Mutex((bytes[...], false))
            self.most = most
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            state.withLock { state in
                state.isDry.toggle()
                if state.rest.isEmpty { return nil }
                if state.isDry { return 0 }
                let next = state.rest.prefix(min(buffer.count, most))
                buffer.copyBytes(from: next)
                state.rest = state.rest.dropFirst(next.count)
                return next.count
            }
        }
    }

    private func open(
        _ stream: any ByteStream, as format: String = "mpegts", _ interrupter: Interrupter
    ) throws(AVFailure) -> Demuxer {
        try Demuxer(
            reading: stream, options: .init(format: format, openTimeout: .seconds(5), readTimeout: .seconds(5)),
            interrupter: interrupter, subject: "bytes")
    }

    @Test("All bytes are read in order, whatever the sizes of the pieces", arguments: [1, 100, 1316, 100_000])
    func pieces(most: Int) throws {
        let directory = try TemporaryDirectory()
        let clip = try CodedClip(video: "libx264", audio: "aac", name: "clip.flv", in: directory.path)
        let demuxer = try open(Drops(try directory.bytes("clip.flv"), most: most), as: "flv", Interrupter())
        let video = try #require(demuxer.bestVideo)
        var contents: [[UInt8]] = []
        while let box = try demuxer.readPacket() {
            if box.streamIndex == video.index { contents.append(box.content) }
        }
        #expect(contents == clip.payloads(.video))
    }

    @Test("A wait for bytes ends when it is interrupted, and no further read is made")
    func interrupted() {
        let interrupter = Interrupter(clock: ManualClock())
        let stream = Silence { if $0 == 3 { interrupter.interrupt() } }
        let failure = #expect(throws: AVFailure.self) { _ = try open(stream, interrupter) }
        #expect(failure?.isInterrupted == true && stream.count == 3, "\(stream.count)")
    }

    @Test("A wait for bytes ends at the deadline, and not before")
    func deadline() {
        let clock = ManualClock()
        // The deadline has passed after the sixth read.
        let stream = Silence { _ in clock.advance(by: .seconds(1)) }
        let failure = #expect(throws: AVFailure.self) { _ = try open(stream, Interrupter(clock: clock)) }
        #expect(failure?.isTimedOut == true && failure?.isInterrupted == false && stream.count == 6, "\(stream.count)")
    }

    @Test("A reader keeps its stream as long as it lives, and not longer")
    func ownership() throws {
        weak var stream: Drops?
        do {
            let drops = Drops([], most: 1)
            stream = drops
            let reader = try ByteReader(drops, interrupter: Interrupter(), subject: "bytes")
            #expect(reader.stream === drops)
        }
        #expect(stream == nil)
    }
}
