// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import LibAV

/// Returns bytes in pieces of varying length with pauses between them, like a network connection.
final class Pieces: ByteStream {
    private let bytes: [UInt8]
    private let place = Mutex((offset: 0, turn: 0))
    /// The result of ``read(into:)`` after the last byte: 0 means that no byte is ready yet, nil means the end.
    private let last: Int?

    init(_ bytes: [UInt8], last: Int? = nil) { (self.bytes, self.last) = (bytes, last) }

    /// Number of bytes that were read.
    var consumed: Int { place.withLock { $0.offset } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        place.withLock { place in
            place.turn += 1
            if place.turn % 3 == 0 { return 0 }
            guard place.offset < bytes.count else { return last }
            let count = min(buffer.count, bytes.count - place.offset, 1 + place.turn % 1316)
            buffer.copyBytes(from: bytes[place.offset..<place.offset + count])
            place.offset += count
            return count
        }
    }
}

@Suite("Demuxing a stream of bytes")
struct ByteStreamTests {
    private let options = Demuxer.Options(format: "mpegts")

    private func stamps(_ demuxer: Demuxer) throws -> [String] {
        var stamps: [String] = []
        while let box = try demuxer.readPacket() {
            stamps.append("\(box.streamIndex) \(box.pts ?? -1) \(box.size)")
        }
        return stamps
    }

    @Test("A stream that arrives piece by piece yields the same packets as a file, up to its end")
    func pieces() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=d=2:s=320x180:r=25", "-f", "lavfi", "-i", burst, "-c:v", "libx264", "-c:a",
            "aac", suffix: ".ts")
        let file = try Demuxer(url: clip.path, options: options, interrupter: Interrupter(), subject: "file")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        let stream = try Demuxer(
            reading: Pieces(bytes), options: options, interrupter: Interrupter(), subject: "stream")
        #expect(stream.formatName == "mpegts" && stream.bestVideo != nil)
        let (expected, found) = (try stamps(file), try stamps(stream))
        #expect(expected.count > 40 && expected == found)
    }

    @Test("With brief probing, less of an FLV stream with one track is read before it is open")
    func oneTrack() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=d=12:s=640x360:r=25", "-c:v", "libx264", "-g", "25", "-pix_fmt", "yuv420p",
            suffix: ".flv")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        func consumed(briefly: Bool) throws -> Int {
            let stream = Pieces(bytes)
            var options = Demuxer.Options(format: "flv")
            options.probesFLVBriefly = briefly
            let demuxer = try Demuxer(reading: stream, options: options, interrupter: Interrupter(), subject: "flv")
            let consumed = stream.consumed
            #expect(demuxer.bestVideo?.video?.width == 640)
            #expect(try stamps(demuxer).count == 300)
            return consumed
        }
        let (brief, usual) = (try consumed(briefly: true), try consumed(briefly: false))
        #expect(brief * 3 < usual * 2, "\(brief) and \(usual) of \(bytes.count) bytes")
    }

    @Test("Brief probing also applies to an FLV stream whose server says that it can be sought in")
    func oneTrackFromServer() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=d=12:s=640x360:r=25", "-c:v", "libx264", "-g", "25", "-pix_fmt", "yuv420p",
            suffix: ".flv")
        let content = try Data(contentsOf: URL(fileURLWithPath: clip.path))
        let server = try LoopbackServer(answering: [UInt8](content), headers: "Accept-Ranges: bytes\r\n")
        defer { withExtendedLifetime(server) {} }
        var options = Demuxer.Options()
        options.probesFLVBriefly = true
        let demuxer = try Demuxer(
            url: "http://127.0.0.1:\(server.port)/live.flv", options: options, interrupter: Interrupter(),
            subject: "flv")
        #expect(demuxer.bestVideo?.video?.width == 640)
        let consumed = Int(demuxer.position)
        #expect(consumed * 3 < content.count * 2, "\(consumed) of \(content.count) bytes")
    }

    @Test("An input that is opened again with the same tracks is probed briefly, and with other tracks completely")
    func knownTracks() throws {
        func bytes(_ codec: String, rate: Int = 25) throws -> [UInt8] {
            let clip = try Clip(
                "-f", "lavfi", "-i", "testsrc2=d=8:s=320x180:r=\(rate)", "-f", "lavfi", "-i", "sine=d=8:r=48000",
                "-c:v",
                "libx264", "-g", "50", "-c:a", codec, suffix: ".ts")
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        }
        func open(_ bytes: [UInt8], _ known: KnownTracks?) throws -> (demuxer: Demuxer, consumed: Int) {
            var options = self.options
            options.known = known
            let pieces = Pieces(bytes)
            let demuxer = try Demuxer(reading: pieces, options: options, interrupter: Interrupter(), subject: "stream")
            return (demuxer, pieces.consumed)
        }
        let (whole, other) = (try bytes("aac"), try bytes("mp2"))
        let first = try open(whole, nil)
        let known = KnownTracks(of: first.demuxer)
        let again = try open(whole, known)
        #expect(again.demuxer.bestVideo?.index == first.demuxer.bestVideo?.index)
        #expect(again.demuxer.bestAudio?.sampleRate == 48_000 && again.demuxer.bestVideo?.video?.width == 320)
        #expect(again.demuxer.bestVideo?.video?.averageRate == first.demuxer.bestVideo?.video?.averageRate)
        // Here the stream is joined after its first keyframe, so its frame size becomes known only 2 s later.
        let rest = Array(whole[(whole.count / 16 / 188 * 188)...])
        let (joined, unaware) = (try open(rest, known), try open(rest, nil))
        #expect(joined.demuxer.bestVideo?.video?.width == 320)
        #expect(joined.consumed < unaware.consumed, "\(joined.consumed) of \(unaware.consumed) bytes")
        let (changed, unknown) = (try open(other, known), try open(other, nil))
        #expect(changed.consumed == unknown.consumed)
        #expect(changed.demuxer.bestAudio?.codecName == "mp2")
        // A sender with the same tracks may have another frame rate.
        let faster = try open(bytes("aac", rate: 50), known)
        #expect(faster.demuxer.bestVideo?.video?.averageRate == FrameRate(50))
        #expect(faster.demuxer.bestVideo?.video?.baseRate == FrameRate(50))
    }

    /// A clock that advances by 0.1 s each time that it is read.
    private final class SteppingClock: MonotonicClock {
        private let time = Mutex<MonotonicInstant>(5_000_000_000)

        var now: MonotonicInstant {
            time.withLock { time in
                time += .milliseconds(100)
                return time
            }
        }

        func sleep(until deadline: MonotonicInstant) {}
    }

    @Test(
        "Motion JPEG, which has no timestamps, is stamped with the times at which it is read",
        arguments: ["mpjpeg", "mjpeg"])
    func arrivals(format: String) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=d=1:s=160x90:r=10", "-c:v", "mjpeg", "-f", format, suffix: ".\(format)")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        var options = Demuxer.Options(format: format)
        options.arrivalClock = SteppingClock()
        let demuxer = try Demuxer(
            reading: Pieces(bytes), options: options, interrupter: Interrupter(), subject: "camera")
        #expect(demuxer.bestVideo?.timeBase == .mpegTS)
        var times: [Int64?] = []
        // libavformat reports the end of some of these formats as an error.
        while let box = try? demuxer.readPacket() {
            #expect(box.pts == box.dts)
            times.append(box.dts)
        }
        #expect(times.compactMap(\.self) == (0..<10).map { Int64($0) * 9000 })
        options.arrivalClock = nil
        let invented = try Demuxer(
            reading: Pieces(bytes), options: options, interrupter: Interrupter(), subject: "camera")
        #expect(invented.bestVideo?.timeBase != .mpegTS)
    }

    @Test("A packet that a parser returns after a read has timed out does not restart the time limit")
    func heldPacket() {
        let clock = ManualClock()
        let interrupter = Interrupter(clock: clock)
        let (again, end) = (-EAGAIN, Int32(-541_478_725))  // AVERROR_EOF
        interrupter.allow(.seconds(10))
        clock.advance(by: .seconds(9))
        #expect(!Demuxer.keepsDeadline(after: 0, interrupter) && Demuxer.keepsDeadline(after: again, interrupter))
        #expect(!Demuxer.keepsDeadline(after: end, interrupter))
        clock.advance(by: .seconds(2))
        #expect(Demuxer.keepsDeadline(after: 0, interrupter) && !Demuxer.keepsDeadline(after: again, interrupter))
        interrupter.allow(nil)
        #expect(!Demuxer.keepsDeadline(after: 0, interrupter))
    }

    @Test("If a stream delivers no bytes, opening it fails at a deadline, or when it is interrupted")
    func silence() {
        let brief = Demuxer.Options(format: "mpegts", openTimeout: .milliseconds(50))
        let late = #expect(throws: AVFailure.self) {
            try Demuxer(reading: Pieces([], last: 0), options: brief, interrupter: Interrupter(), subject: "stream")
        }
        #expect(late?.isInterrupted == false)
        let interrupter = Interrupter()
        interrupter.interrupt()
        let interrupted = #expect(throws: AVFailure.self) {
            try Demuxer(reading: Pieces([], last: 0), options: options, interrupter: interrupter, subject: "stream")
        }
        #expect(interrupted?.isInterrupted == true)
    }
}
