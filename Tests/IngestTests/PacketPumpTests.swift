// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LibAV
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest
@testable import SourceClock

@Suite("The pump of live inputs", .timeLimit(.minutes(2)))
struct PacketPumpTests {
    @Test("Ending it waited for the deadline of a read for which nothing came")
    func finish() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=12", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25",
            "-pix_fmt", "yuv420p", suffix: ".ts")
        let port = try LoopbackSocket.freePort()
        // On this clock no deadline ever passes.
        let monitor = SourceMonitor(interrupter: Interrupter(clock: ManualClock()))
        let isSending = Atomic(true)
        DispatchQueue(label: "send").async { [path = clip.path] in
            while isSending.load(ordering: .relaxed) {
                try? Clip.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-readrate", "8", "-i", path, "-c", "copy", "-f", "mpegts",
                        "udp://127.0.0.1:\(port)?pkt_size=1316",
                    ])
            }
        }
        let input = try OpenedInput(
            InputLocation("udp://127.0.0.1:\(port)"), options: IngestOptions(), monitor: monitor)
        isSending.store(false, ordering: .relaxed)
        let video = try #require(input.video?.stream)
        let timing = SourceTiming(
            SourceClock(.transportStream, tracks: input.stamps), frameRate: FrameRate(25), programTime: ProgramTime(),
            name: "in",
            monitor: monitor)
        let pump = PacketPump(
            input.demuxer, tracks: [.init(kind: .video, index: video.index, timeBase: video.timeBase)], timing: timing,
            monitor: monitor)
        pump.start()
        try eventually("something was read") { monitor.status.packetsRead > 0 }
        pump.finish()
        #expect(!monitor.isStopped)
    }

    /// Shows a tenth of a second more each time.
    private final class SteppingClock: MonotonicClock {
        private let shown = Atomic<Int64>(0)
        var now: Int64 { shown.add(100_000_000, ordering: .relaxed).newValue }
        func sleep(until deadline: Int64) {}
    }

    /// Bytes that come once.
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

    /// Four seconds of a transport stream whose PIDs begin with `pid`.
    private func stream(pid: Int) throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=160x90:r=25:d=4", "-f", "lavfi", "-i", "sine=d=4:r=48000", "-c:v",
            "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", "-mpegts_start_pid",
            "\(pid)", suffix: ".ts")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    @Test("Nothing was read from a transport stream that continued under other PIDs: reading ends")
    func moved() throws {
        let bytes = Bytes(try stream(pid: 256) + stream(pid: 512))
        let monitor = SourceMonitor()
        let demuxer = try Demuxer(
            reading: bytes, options: .init(format: "mpegts", values: ["probesize": "60000"]),
            interrupter: monitor.interrupter, subject: "in")
        try #require(demuxer.streams.map(\.kind) == [.video, .audio])
        let timing = SourceTiming(
            SourceClock(.transportStream, tracks: [.video: (.mpegTS, 33), .audio: (.mpegTS, 33)]),
            frameRate: FrameRate(25), programTime: ProgramTime(), name: "in", monitor: monitor)
        let tracks = demuxer.streams.map { PacketPump.Track(kind: $0.kind, index: $0.index, timeBase: $0.timeBase) }
        let pump = PacketPump(demuxer, tracks: tracks, timing: timing, monitor: monitor, clock: SteppingClock())
        pump.start()
        var ending: PacketPump.Ending?
        try eventually("reading ends") {
            ending = pump.take().ending
            return ending != nil
        }
        pump.finish()
        guard case .moved = ending else {
            Issue.record("\(String(describing: ending))")
            return
        }
        let kinds = (1...4).map { demuxer.kindOfLateStream($0, beside: [0, 1]) }
        #expect(kinds == [nil, .video, .audio, nil])
    }

    /// Four seconds of a multiplex of two programs with video.
    private func multiplex() throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=160x90:r=25:d=4", "-map", "0:v", "-map", "0:v", "-program",
            "program_num=1:st=0", "-program", "program_num=2:st=1", "-c:v", "libx264", "-preset", "ultrafast",
            "-pix_fmt", "yuv420p", suffix: ".ts")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    /// The same, whose second program has audio, too.
    private func multiplexWithAudio() throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=160x90:r=25:d=4", "-f", "lavfi", "-i", "sine=d=4:r=48000", "-map", "0:v",
            "-map", "0:v", "-map", "1:a", "-program", "program_num=1:st=0", "-program", "program_num=2:st=1:st=2",
            "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".ts")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    @Test("Audio that another program of the multiplex got was taken for that of the one that is read, which has none")
    func neighbour() throws {
        let demuxer = try Demuxer(
            reading: Bytes(try multiplex() + multiplexWithAudio()),
            options: .init(format: "mpegts", values: ["probesize": "60000"]), interrupter: Interrupter(), subject: "in")
        try #require(demuxer.streams.map(\.kind) == [.video, .video] && demuxer.programs.map(\.number) == [1, 2])
        while try demuxer.readPacket() != nil {}
        #expect(demuxer.kindOfLateStream(2, beside: [0]) == nil)
        #expect(demuxer.kindOfLateStream(2, beside: [1]) == .audio)
    }
}
