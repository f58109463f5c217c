// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Media
import TestSupport
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Transport streams whose video and audio exchange their PIDs", .serialized)
struct ExchangedTracksTests {
    /// Eight seconds with video in PID 256 and audio in PID 257, and three seconds with the PIDs exchanged.
    private struct Parts {
        let before: [UInt8]
        let after: [UInt8]
        var whole: [UInt8] { before + after }

        init() throws {
            before = try Self.stream(seconds: 8, video: 256, audio: 257)
            after = Self.withVersion(1, try Self.stream(seconds: 3, video: 257, audio: 256))
        }

        private static func stream(seconds: Int, video: Int, audio: Int) throws -> [UInt8] {
            let clip = try Clip(
                "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=\(seconds)", "-f", "lavfi", "-i",
                "sine=d=\(seconds):r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "0",
                "-pix_fmt", "yuv420p", "-c:a", "aac", "-streamid", "0:\(video)", "-streamid", "1:\(audio)",
                suffix: ".ts")
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        }

        /// `stream` with this version of its program map table.
        private static func withVersion(_ version: UInt8, _ stream: [UInt8]) -> [UInt8] {
            var result = stream
            for start in Swift.stride(from: 0, to: result.count, by: 188) {
                // The first packet of a section of the map has this PID and a start indicator.
                guard result[start + 1] & 0x5F == 0x50, result[start + 2] == 0 else { continue }
                let begin = start + 5 + (result[start + 3] & 0x20 == 0 ? 0 : 1 + Int(result[start + 4]))
                let end = begin + 3 + (Int(result[begin + 1] & 15) << 8 | Int(result[begin + 2]))
                result[begin + 5] = result[begin + 5] & 0xC1 | version << 1
                result.replaceSubrange(begin..<end, with: SpliceSection.sealed(Array(result[begin..<end - 4])))
            }
            return result
        }
    }

    private static let parts = Result { try Parts() }

    private let directory: TemporaryDirectory
    private let path: String
    private let parts: Parts

    init() throws {
        (directory, parts) = (try TemporaryDirectory(), try Self.parts.get())
        path = directory.path("exchanged.ts")
        try directory.write(parts.whole, to: "exchanged.ts")
    }

    private func demuxer(_ bytes: any ByteStream) throws -> Demuxer {
        try Demuxer(
            reading: bytes, options: Demuxer.Options(format: "mpegts"), interrupter: Interrupter(), subject: "in")
    }

    /// The number of packets of video and audio up to the end.
    private func counts(_ demuxer: Demuxer) throws -> (video: Int, audio: Int) {
        let (video, audio) = (try #require(demuxer.bestVideo), try #require(demuxer.bestAudio))
        demuxer.select([video.index, audio.index])
        var counts = (video: 0, audio: 0)
        while let box = try demuxer.readPacket() {
            if box.streamIndex == video.index { counts.video += 1 } else { counts.audio += 1 }
        }
        return counts
    }

    @Test("A live stream ends where the PIDs are exchanged, and the next demuxer reads both tracks correctly")
    func live() throws {
        let bytes = TransportStreamBytes(Pieces(parts.whole))
        let first = try demuxer(bytes)
        #expect(try counts(first).video == 200 && bytes.isChanged)
        bytes.resume()
        let second = try demuxer(bytes)
        #expect(second.bestVideo?.id == 257 && second.bestAudio?.id == 256)
        #expect(try counts(second).video == 75 && !bytes.isChanged)
    }

    @Test("A file ends after the program map that exchanges the PIDs, and the next demuxer reads the rest")
    func file() throws {
        var options = Demuxer.Options()
        options.endsAtCodingChange = true
        let first = try Demuxer(url: "file:" + path, options: options, interrupter: Interrupter(), subject: "in")
        #expect(first.transportStream == nil)
        let before = try counts(first)
        // When the demuxer detects the change, it can already hold one packet of the next part, which it reads as
        // video.
        #expect((200...201).contains(before.video) && before.audio >= 370, "\(before)")
        let rest = try #require(first.transportStream)
        #expect(rest.isChanged)
        rest.resume()
        let second = try demuxer(rest)
        #expect(second.bestVideo?.id == 257 && second.bestAudio?.id == 256)
        let after = try counts(second)
        #expect((74...75).contains(after.video) && after.audio >= 138 && !rest.isChanged, "\(after)")
    }

    @Test("Unless an end at a coding change is requested, a file whose PIDs are exchanged is read to its end")
    func usual() throws {
        let demuxer = try Demuxer(
            url: "file:" + path, options: Demuxer.Options(), interrupter: Interrupter(), subject: "in")
        _ = try counts(demuxer)
        #expect(demuxer.transportStream == nil)
    }

    @Test("A change of coding is found only in bytes with the new program map, and only if it affects a selected PID")
    func change() throws {
        let (border, end) = (Int64(parts.before.count), Int64(parts.whole.count))
        let change = try #require(FileMapWatch.change(in: path, border - 1880..<border + 1880, following: [256]))
        // The next part begins with a service description, a program association and a program map.
        #expect((border + 188...border + 940).contains(change.offset) && (change.offset - border) % 188 == 0)
        #expect(change.tables.count == 2 * 188)
        #expect(FileMapWatch.change(in: path, border..<end, following: nil) == change)
        #expect(FileMapWatch.change(in: path, border..<end, following: [300]) == nil)
        #expect(FileMapWatch.change(in: path, 0..<border, following: nil) == nil)
        #expect(FileMapWatch.change(in: path + ".none", border..<end, following: nil) == nil)
    }

    @Test("A file whose PIDs are exchanged is played to its end without a gap, and a loop then plays it again")
    func played() throws {
        for isLoop in [false, true] {
            let sink = isLoop ? CollectingSink(frames: 400, audio: 700_000) : CollectingSink()
            let log = CollectedLog(from: .notice)
            let source = try SourceOpener.open(
                InputLocation(path), options: IngestOptions(loop: isLoop), logger: log.logger)
            source.start(into: sink, video: source.description.video, audio: .program)
            #expect(sink.waitUntilDone())
            source.stop()
            let frames = sink.taken.frames
            #expect(isLoop ? frames.count >= 400 : (272...276).contains(frames.count), "\(frames.count)")
            let gaps = zip(frames, frames.dropFirst()).map { $1.nanoseconds - $0.nanoseconds }
            #expect(gaps.allSatisfy { (1...200_000_000).contains($0) })
            #expect(log.lines(containing: "coded in another way").count >= (isLoop ? 2 : 1), "\(log.lines)")
            #expect(source.status.state != .failed && source.status.decodeErrors < 20)
        }
    }
}
