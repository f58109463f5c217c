// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Transport streams whose video and audio get other PIDs or exchange them", .serialized)
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

        /// A stream whose times begin after `offset` seconds.
        static func stream(
            seconds: Int, video: Int, audio: Int, offset: Int = 0, program: Int = 1, map: Int = 0x1000
        ) throws -> [UInt8] {
            let clip = try Clip(
                "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=\(seconds)", "-f", "lavfi", "-i",
                "sine=d=\(seconds):r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "0",
                "-pix_fmt", "yuv420p", "-c:a", "aac", "-streamid", "0:\(video)", "-streamid", "1:\(audio)",
                "-output_ts_offset", "\(offset)", "-mpegts_service_id", "\(program)", "-mpegts_pmt_start_pid", "\(map)",
                suffix: ".ts")
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        }

        /// Three seconds of only this track, in the PID `pid`.
        static func stream(of track: TrackKind, in pid: Int) throws -> [UInt8] {
            let clip =
                try track == .video
                ? Clip(
                    "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=3", "-c:v", "libx264", "-preset", "ultrafast", "-g",
                    "25", "-bf", "0", "-pix_fmt", "yuv420p", "-streamid", "0:\(pid)", suffix: ".ts")
                : Clip(
                    "-f", "lavfi", "-i", "sine=d=3:r=48000", "-c:a", "aac", "-streamid", "0:\(pid)", suffix: ".ts")
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        }

        /// The offsets of the packets in which the sections of the map begin.
        static func maps(in stream: [UInt8]) -> [Int] {
            Swift.stride(from: 0, to: stream.count, by: 188).filter {
                stream[$0 + 1] & 0x5F == 0x50 && stream[$0 + 2] == 0
            }
        }

        /// The transport packets of `stream` that contain its tables: those of PID 0 and of PID 0x1000.
        static func tables(in stream: [UInt8]) -> [UInt8] {
            Swift.stride(from: 0, to: stream.count, by: 188).flatMap { place -> ArraySlice<UInt8> in
                let pid = Int(stream[place + 1] & 0x1F) << 8 | Int(stream[place + 2])
                return pid == 0 || pid == 0x1000 ? stream[place..<place + 188] : []
            }
        }

        /// `stream` with this version of its program map table, and of this type if one is given.
        static func withVersion(_ version: UInt8, type: UInt8? = nil, _ stream: [UInt8]) -> [UInt8] {
            var result = stream
            for start in maps(in: stream) {
                let begin = start + 5 + (result[start + 3] & 0x20 == 0 ? 0 : 1 + Int(result[start + 4]))
                let end = begin + 3 + (Int(result[begin + 1] & 15) << 8 | Int(result[begin + 2]))
                result[begin + 5] = result[begin + 5] & 0xC1 | version << 1
                var entry = begin + 12 + (Int(result[begin + 10] & 15) << 8 | Int(result[begin + 11]))
                while let type, entry < end - 4 {
                    result[entry] = type
                    entry += 5 + (Int(result[entry + 3] & 15) << 8 | Int(result[entry + 4]))
                }
                result.replaceSubrange(begin..<end, with: SpliceSection.sealed(Array(result[begin..<end - 4])))
            }
            return result
        }

        /// More null packets than libavformat reads to find out the streams of a file.
        static let padding: [UInt8] = Array(
            repeatElement([0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184), count: 28_000).joined())
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

    @Test("A file also ends after a program map that lists new PIDs")
    func moved() throws {
        try directory.write(
            parts.before + Parts.withVersion(1, try Parts.stream(seconds: 3, video: 300, audio: 301)), to: "moved.ts")
        var options = Demuxer.Options()
        options.endsAtCodingChange = true
        let url = "file:" + directory.path("moved.ts")
        let first = try Demuxer(url: url, options: options, interrupter: Interrupter(), subject: "in")
        #expect(first.bestVideo?.id == 256)
        #expect((199...200).contains(try counts(first).video))
        let rest = try #require(first.transportStream)
        rest.resume()
        let second = try demuxer(rest)
        #expect(second.bestVideo?.id == 300 && second.bestAudio?.id == 301)
        #expect((74...75).contains(try counts(second).video) && !rest.isChanged)
    }

    @Test("A file whose PIDs change is not read to its end to find the change, and its long rest is not lost")
    func movedFarFromTheEnd() throws {
        let next = { try Parts.withVersion(1, Parts.stream(seconds: 3, video: 300, audio: 301, offset: $0)) }
        var bytes = parts.before + Parts.padding
        bytes += try next(8)
        let soon = Int64(bytes.count)
        for _ in 0..<4 { bytes += Parts.padding }
        bytes += try next(11)
        try directory.write(bytes, to: "far.ts")
        var options = Demuxer.Options()
        options.endsAtCodingChange = true
        let url = "file:" + directory.path("far.ts")
        let first = try Demuxer(url: url, options: options, interrupter: Interrupter(), subject: "in")
        #expect((199...200).contains(try counts(first).video))
        #expect(first.position < soon)
        let rest = try #require(first.transportStream)
        rest.resume()
        #expect((148...150).contains(try counts(try demuxer(rest)).video) && !rest.isChanged)
    }

    @Test("A second change of PIDs soon after the first is found at the first program map that contains it")
    func second() throws {
        // The middle part has only three maps. On a connection these would be too few to count as a change, because
        // another sender could have sent them.
        let short = parts.after.prefix(Parts.maps(in: parts.after)[3])
        try directory.write(parts.before + short + Parts.withVersion(2, parts.before), to: "twice.ts")
        var options = Demuxer.Options()
        options.endsAtCodingChange = true
        let url = "file:" + directory.path("twice.ts")
        let first = try Demuxer(url: url, options: options, interrupter: Interrupter(), subject: "in")
        _ = try counts(first)
        let rest = try #require(first.transportStream)
        rest.resume()
        let second = try demuxer(rest)
        while try second.readPacket() != nil {}
        #expect(rest.isChanged)
        rest.resume()
        let third = try demuxer(rest)
        #expect(third.bestVideo?.id == 256)
        #expect((199...200).contains(try counts(third).video) && !rest.isChanged)
    }

    @Test("The next program map after a position decides whether the coding at that position has changed")
    func place() throws {
        let border = Int64(parts.before.count)
        #expect(FileMapWatch.change(in: path, behind: border - 18_800, following: [256]) == nil)
        let change = try #require(FileMapWatch.change(in: path, behind: border + 18_800, following: [256]))
        #expect(change.offset > border + 18_800)
        #expect(FileMapWatch.change(in: path, behind: border + 18_800, following: [300]) == nil)
    }

    /// Files of 11 s whose coding or PIDs change.
    enum Change: CaseIterable {
        /// Video and audio exchange their PIDs where libavformat looks for streams when it opens the file.
        case exchange
        /// Video and audio exchange their PIDs after the part that libavformat reads when it opens the file.
        case lateExchange
        /// Video and audio get new PIDs after 3 s.
        case move
        /// Video and audio get new PIDs after the part that libavformat reads when it opens the file.
        case lateMove
        /// After 3 s, video and audio get new PIDs in a program of another number.
        case program
        /// Video and audio get new PIDs in a program of another number after the part that libavformat reads when it
        /// opens the file.
        case lateProgram
        /// Video and audio get new PIDs after the part that libavformat reads when it opens the file, in a program map
        /// of the same version.
        case lateJoin
    }

    private func file(_ change: Change) throws -> String {
        let begin = { try Parts.stream(seconds: 3, video: 256, audio: 257) }
        let move = { try Parts.withVersion(1, Parts.stream(seconds: 8, video: 300, audio: 301)) }
        let other = { try Parts.stream(seconds: 8, video: 300, audio: 301, program: 7, map: 0x1100) }
        let bytes =
            switch change {
            case .exchange: parts.whole
            case .lateExchange: parts.before + Parts.padding + parts.after
            case .move: try begin() + move()
            case .lateMove: try begin() + Parts.padding + move()
            case .program: try begin() + other()
            case .lateProgram: try begin() + Parts.padding + other()
            case .lateJoin:
                try begin() + Parts.padding + Parts.stream(seconds: 8, video: 300, audio: 301)
            }
        try directory.write(bytes, to: "file.ts")
        return directory.path("file.ts")
    }

    @Test(
        "A file whose coding changes is played to its end, without a gap, and in a loop from its beginning again",
        arguments: Change.allCases)
    func played(change: Change) throws {
        let path = try file(change)
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

    @Test(
        "A track that one part of a file lacks does not end there, and is played in the next part",
        arguments: [TrackKind.video, .audio])
    func lacking(track: TrackKind) throws {
        let middle = try Parts.stream(of: track == .video ? .audio : .video, in: 300)
        let last = try Parts.stream(seconds: 3, video: 310, audio: 311)
        try directory.write(
            parts.before + Parts.withVersion(1, middle) + Parts.withVersion(2, last), to: "file.ts")
        let sink = CollectingSink()
        let source = try SourceOpener.open(
            InputLocation(directory.path("file.ts")), options: IngestOptions(), logger: Logger(label: "test"))
        source.start(into: sink, video: source.description.video, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        let taken = sink.taken
        #expect(taken.late.isEmpty && taken.starved.contains(track) && taken.ended == [.video, .audio])
        // The first and the last part have 275 frames. All parts together last 14 s.
        #expect(taken.frames.count >= (track == .video ? 272 : 346), "\(taken.frames.count)")
        #expect(taken.audio.count >= 13 * 48_000, "\(taken.audio.count)")
    }

    @Test(
        "Playback that begins before or after a change of PIDs reads both tracks correctly", arguments: [false, true],
        [256, 300])
    func started(isLong: Bool, audio: Int) throws {
        // With 256, video and audio exchange their PIDs after 8 s; with 300, both get new ones.
        let after = try Parts.stream(seconds: 12, video: audio + 1, audio: audio, offset: 8)
        try directory.write(
            parts.before + (isLong ? Parts.padding : []) + Parts.withVersion(1, after), to: "file.ts")
        for (start, frames) in [(16, 100), (9, 275), (3, 425)] {
            var options = IngestOptions()
            options.start = .seconds(start)
            let sink = CollectingSink()
            let log = CollectedLog()
            let source = try SourceOpener.open(
                InputLocation(directory.path("file.ts")), options: options, logger: log.logger)
            source.start(into: sink, video: source.description.video, audio: .program)
            #expect(sink.waitUntilDone())
            source.stop()
            let count = sink.taken.frames.count
            #expect((frames - 3...frames + 1).contains(count), "\(count) frames from \(start) s on")
            #expect(sink.taken.frames.first?.nanoseconds == 0)
        }
    }

    /// Counts the packets of video that it takes, separately for each time between two restarts.
    private final class Rounds: PacketSourceSink {
        private let state = Mutex<(video: [Int], isOver: Bool)>(([0], false))
        var video: [Int] { state.withLock { $0.video } }
        var isOver: Bool { state.withLock { $0.isOver } }

        func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
            if packet.track == .video { state.withLock { $0.video[$0.video.count - 1] += 1 } }
        }

        func restart() { state.withLock { $0.video.append(0) } }
        func end(failure: String?) { state.withLock { $0.isOver = true } }
    }

    @Test("A copied loop begins again if nothing that follows a change of coding can be used")
    func useless() throws {
        // Only tables follow, and they announce no video or audio. Type 11 is DSM-CC (ISO/IEC 13818-6).
        let useless = Parts.withVersion(1, type: 11, Parts.tables(in: parts.after))
        try directory.write(parts.before + useless, to: "file.ts")
        let log = CollectedLog(from: .warning)
        let source = LibAVPacketSource(InputLocation(directory.path("file.ts")), loops: true, logger: log.logger)
        _ = try source.open()
        let sink = Rounds()
        source.start(into: sink)
        defer { source.stop() }
        try eventually("the file is read again") { sink.isOver || sink.video.count > 3 }
        #expect(!sink.isOver && sink.video.prefix(3).allSatisfy { (199...200).contains($0) }, "\(sink.video)")
        #expect(log.lines(containing: "the loop begins again").count == 1, "\(log.lines)")
    }
}
