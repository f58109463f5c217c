// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Logging
import Media
import SourceClock
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("Playback of live inputs", .serialized)
struct LiveTests {
    /// Sends `clip` in real time to a UDP port, with all timestamps moved by `offset` seconds and PIDs from `firstPID`
    /// on.
    private func send(_ clip: Clip, to port: Int, offset: Int, firstPID: Int = 256) throws {
        try Clip.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-re", "-i", clip.path, "-c", "copy", "-output_ts_offset", "\(offset)", "-f",
                "mpegts", "-mpegts_start_pid", "\(firstPID)", "udp://127.0.0.1:\(port)?pkt_size=1316",
            ])
    }

    /// Blocks until a socket is bound to a UDP port of this machine: earlier datagrams would be lost.
    private func waitForReceiver(at port: Int) throws {
        let end = String(port, radix: 16, uppercase: true)
        let local = ":" + String(repeating: "0", count: 4 - end.count) + end
        try eventually("somebody receives at port \(port)") {
            let sockets = try String(contentsOfFile: "/proc/net/udp", encoding: .ascii)
            return sockets.split(separator: "\n").dropFirst().contains {
                $0.split(separator: " ").dropFirst().first?.hasSuffix(local) == true
            }
        }
    }

    /// Opens the live input at `port` on a thread of its own and plays it into `sink`, while `feed` sends.
    private func receive(at port: Int, into sink: CollectingSink, while feed: () throws -> Void) throws
        -> any MediaSource
    {
        let opened = Mutex<(any MediaSource)?>(nil)
        let isOpen = DispatchSemaphore(value: 0)
        DispatchQueue(label: "open").async {
            let source = try? SourceOpener.open(
                InputLocation("udp://127.0.0.1:\(port)"), options: IngestOptions(), logger: Logger(label: "test"))
            source?.start(into: sink, video: source?.description.video, audio: .program)
            opened.withLock { $0 = source }
            isOpen.signal()
        }
        try waitForReceiver(at: port)
        try feed()
        #expect(isOpen.wait(timeout: .now() + 20) == .success)
        return try #require(opened.withLock { $0 })
    }

    @Test("A live transport stream is decoded completely, and its audio is in sync")
    func startToEnd() throws {
        // From 1 s to 1.5 s the picture is white, and a tone is audible.
        let clip = try Clip(
            "-f", "lavfi", "-i",
            "color=black:s=320x180:r=25:d=6,drawbox=t=fill:color=white:enable='between(t,1,1.49)'", "-f", "lavfi", "-i",
            "aevalsrc='if(gte(t,1)*lt(t,1.5),0.8*sin(2*PI*1000*t),0)':s=48000:d=6", "-c:v", "libx264", "-preset",
            "ultrafast", "-bf", "0", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".ts")
        let port = Int(try LoopbackSocket.freePort())
        // The demuxer retains the last frame, and its parser the frame before, because neither can know that it is
        // complete.
        let frames = 148
        let sink = CollectingSink(frames: frames, audio: 4 * 48_000)
        let source = try receive(at: port, into: sink) { try send(clip, to: port, offset: 0) }
        #expect(sink.waitUntilDone())
        #expect(source.status.state == .running)
        source.stop()
        let taken = sink.taken
        let first = try #require(taken.frames.first)
        #expect(taken.frames.map { $0.nanoseconds - first.nanoseconds } == (0..<Int64(frames)).map { $0 * 40_000_000 })
        let white = taken.frames.indices.filter { taken.frames[$0].luma[4] > 128 }
        #expect(white == Array(25...37))
        #expect(taken.jumps.isEmpty)
        let flash = try #require(taken.frames[25].position)
        let beginning = try #require(onset(taken.audio))
        #expect(abs(Int64(beginning) - AudioFormat.program.timeBase.ticks(flash - .zero)) < 96)
        #expect(taken.moves == 0 && source.status.decodeErrors == 0)
        let clock = try #require(source.status.clock)
        #expect(clock.jumps == 0 && clock.steps == 0)
    }

    @Test("A jump of a live stream's clock causes no gap, and stopping the source ends a read that blocks")
    func jumpAndStop() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=3", "-f", "lavfi", "-i", "sine=440:d=3:r=48000", "-c:v",
            "libx264", "-preset", "ultrafast", "-g", "10", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".ts")
        let port = Int(try LoopbackSocket.freePort())
        let sink = CollectingSink()
        let source = try receive(at: port, into: sink) {
            try send(clip, to: port, offset: 0)
            try send(clip, to: port, offset: 1000)
        }
        #expect(source.description.isLive)
        source.stop()
        source.stop()
        #expect(sink.waitUntilDone())
        let taken = sink.taken
        #expect(taken.frames.count > 75)
        let steps = zip(taken.frames, taken.frames.dropFirst()).map { $1.nanoseconds - $0.nanoseconds }
        #expect(steps.allSatisfy { $0 > 0 && $0 < 5_000_000_000 })
        #expect(source.status.clock?.jumps == 1)
        #expect(source.status.state == .ended)
    }

    /// Video and a tone of this duration.
    private func clip(seconds: Int) throws -> Clip {
        try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=\(seconds)", "-f", "lavfi", "-i",
            "sine=440:d=\(seconds):r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-pix_fmt",
            "yuv420p", "-c:a", "aac", suffix: ".ts")
    }

    @Test("If a sender continues under other PIDs, its media continues without reopening the input")
    func otherPIDs() throws {
        let (first, second) = (try clip(seconds: 4), try clip(seconds: 10))
        let port = Int(try LoopbackSocket.freePort())
        let sink = CollectingSink()
        let source = try receive(at: port, into: sink) {
            try send(first, to: port, offset: 0)
            try send(second, to: port, offset: 0, firstPID: 512)
        }
        source.stop()
        #expect(sink.waitUntilDone())
        #expect(source.status.reopens == 0)
        // The senders sent 100 and 250 frames.
        #expect(sink.taken.frames.count > 300, "\(sink.taken.frames.count)")
    }

    /// A sink that stores the times and arrivals of packets.
    private final class Arrivals: PacketSourceSink {
        let all = Mutex<[(track: TrackKind, time: Int64, arrival: MonotonicInstant)]>([])
        func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
            all.withLock { $0.append((packet.track, packet.dtsNanoseconds, arrival)) }
        }
        func restart() {}
        func end(failure: String?) {}
    }

    @Test("Packets that were read while the input was probed have the arrival times at which they were sent")
    func backlog() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=320x180:r=25:d=8", "-f", "lavfi", "-i", "sine=r=48000:d=8", "-c:v",
            "libx264",
            "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".ts")
        let port = Int(try LoopbackSocket.freePort())
        let source = LibAVPacketSource(
            InputLocation("udp://127.0.0.1:\(port)"), loops: false, logger: Logger(label: "test"))
        let sink = Arrivals()
        let opened = Mutex<MonotonicInstant?>(nil)
        DispatchQueue(label: "open").async {
            _ = try? source.open()
            opened.withLock { $0 = SystemClock().now }
            source.start(into: sink)
        }
        try waitForReceiver(at: port)
        try send(clip, to: port, offset: 0)
        try eventually("nearly all came") { sink.all.withLock { $0.count { $0.track == .video } } >= 195 }
        source.stop()
        let packets = sink.all.withLock { $0 }
        let moment = try #require(opened.withLock { $0 })
        let first = try #require(packets.first)
        // Probing reads about a second of the stream.
        #expect(first.arrival < moment - .milliseconds(300), "\(moment - first.arrival)")
        let offsets = packets.filter { $0.track == .video }.map { $0.arrival - .nanoseconds($0.time) }
        let (latest, earliest) = (try #require(offsets.max()), try #require(offsets.min()))
        #expect(latest - earliest < .seconds(1), "\(latest - earliest)")
    }
}
