// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("Reading of the selected streams of an input", .timeLimit(.minutes(1)))
struct StreamReaderTests {
    /// A stream that returns its bytes once and then ends.
    private final class Bytes: ByteStream {
        private let rest: Mutex<ArraySlice<UInt8>>

        init(_ bytes: [UInt8]) { rest = Mutex(bytes[...]) }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            rest.withLock { rest in
                let next = rest.prefix(buffer.count)
                buffer.copyBytes(from: next)
                rest = rest.dropFirst(next.count)
                return next.isEmpty ? nil : next.count
            }
        }
    }

    private let monitor = SourceMonitor()
    private let clock = ManualClock(now: 5_000_000_000)

    /// Four seconds of a transport stream with video and audio, whose first PID is `pid`.
    private func stream(pid: Int, video: String = "libx264", audio: String = "aac") throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=160x90:r=25:d=4", "-f", "lavfi", "-i", "sine=d=4:r=48000", "-c:v", video,
            "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", audio, "-mpegts_start_pid", "\(pid)",
            suffix: ".ts")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    private func demuxer(of bytes: [UInt8]) throws -> Demuxer {
        try Demuxer(
            reading: Bytes(bytes), options: .init(format: "mpegts", values: ["probesize": "60000"]),
            interrupter: monitor.interrupter, subject: "in")
    }

    private func reader(of demuxer: Demuxer, _ kinds: Set<TrackKind>, wanted: Set<TrackKind>) -> StreamReader {
        StreamReader(
            demuxer.streams.filter { kinds.contains($0.kind) }, of: demuxer, name: "in", options: TrackOptions(),
            wanted: wanted, lacksAudio: false, patience: .seconds(1), monitor: monitor, clock: clock)
    }

    // Packets of other streams that libavformat read while it looked for streams are returned, too.
    @Test("Each packet of the selected streams is read once, with the time of its read, until the input ends")
    func all() throws {
        let demuxer = try demuxer(of: try stream(pid: 256))
        var reader = reader(of: demuxer, [.video], wanted: [.video])
        var times: [MonotonicInstant] = []
        while let (packet, time) = try reader.next() {
            guard packet.streamIndex == demuxer.bestVideo?.index else { continue }
            times.append(time)
            clock.advance(by: .milliseconds(40))
        }
        #expect(times == (0..<100).map { 5_000_000_000 + .milliseconds(40 * $0) })
        #expect(try reader.next() == nil)
    }

    @Test("A read that its caller has cancelled, and a read of a stopped source, return nothing")
    func cancelled() throws {
        let demuxer = try demuxer(of: try stream(pid: 256))
        var reader = reader(of: demuxer, [.video, .audio], wanted: [.video, .audio])
        #expect(try reader.next(isEnding: { true }) == nil)
        #expect(try reader.next(isEnding: { false }) != nil)
        monitor.stop()
        #expect(try reader.next() == nil)
        #expect(monitor.status.packetsRead == 1)
    }

    @Test("An input ends with an error after a wanted track has come only in a new stream for 3 s, and not before")
    func moved() throws {
        let bytes = try stream(pid: 256) + stream(pid: 512, video: "mpeg2video", audio: "mp2")
        let demuxer = try demuxer(of: bytes)
        var reader = reader(of: demuxer, [.video, .audio], wanted: [.video, .audio])
        var (late, failure): ([MonotonicInstant], IngestError?) = ([], nil)
        while failure == nil, let arrival = try reader.next() {
            if demuxer.kindOfLateStream(arrival.packet.streamIndex, beside: [0, 1]) != nil {
                late.append(arrival.time)
            }
            do {
                try reader.follow(arrival)
            } catch {
                failure = error
            }
            clock.advance(by: .milliseconds(40))
        }
        let (first, last) = (try #require(late.first), try #require(late.last))
        #expect(failure?.description.contains("comes in a stream that was not there") == true)
        #expect(last - first >= .seconds(3) && last - first < .seconds(4), "\(last - first)")
    }

    @Test("A track that is not wanted can move to a new stream without ending the input")
    func unwanted() throws {
        let bytes = try stream(pid: 256) + stream(pid: 512, video: "mpeg2video", audio: "mp2")
        var reader = reader(of: try demuxer(of: bytes), [.video, .audio], wanted: [])
        var count = 0
        while let arrival = try reader.next() {
            try reader.follow(arrival)
            count += 1
            clock.advance(by: .milliseconds(40))
        }
        #expect(count > 2 * 187)
    }
}
