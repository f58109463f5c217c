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

@Suite("Reading of live inputs", .timeLimit(.minutes(2)))
struct LiveInputTests {
    /// A live input that is being read, with the inbox that receives its packets.
    private struct Reading {
        let input: LiveInput
        let inbox: PacketInbox
        let monitor: SourceMonitor

        init(
            _ opened: sending OpenedInput, at location: InputLocation, monitor: SourceMonitor,
            clock: any MonotonicClock = SystemClock()
        ) {
            self.monitor = monitor
            let (stamps, wanted) = (opened.stamps, Set(opened.stamps.keys))
            let timing = SourceTiming(
                SourceClock(.transportStream, tracks: stamps), frameRate: FrameRate(25), programTime: ProgramTime(),
                name: "in", monitor: monitor)
            inbox = PacketInbox(wanted, known: stamps, stampBits: 33, timing: timing, monitor: monitor)
            input = LiveInput(opened, at: location, options: IngestOptions(), monitor: monitor, clock: clock)
            input.start(into: inbox, wanted: wanted)
        }

        /// Returns all entries of the inbox up to the interruption.
        func takeUntilInterrupted() throws -> [PacketInbox.Item] {
            var items: [PacketInbox.Item] = []
            try eventually("reading ends") {
                items += inbox.takeAll()
                return items.contains { if case .interruption = $0 { true } else { false } }
            }
            return items
        }

        func end() {
            input.stop()
            input.waitUntilOver()
        }
    }

    @Test("A read that blocks is ended before its deadline if the decoder asks to reopen the input")
    func opensAgain() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=12", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25",
            "-pix_fmt", "yuv420p", suffix: ".ts")
        let port = try LoopbackSocket.freePort()
        // On this clock no deadline ever expires.
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
        let location = InputLocation("udp://127.0.0.1:\(port)")
        let opened = try OpenedInput(location, options: IngestOptions(), monitor: monitor)
        isSending.store(false, ordering: .relaxed)
        let reading = Reading(opened, at: location, monitor: monitor)
        try eventually("something was read") { monitor.status.packetsRead > 0 }
        let failure = IngestError.cannotBeDecoded(input: "in", reason: "it is refused")
        try eventually("reading ends") {
            _ = reading.input.openAgain(after: failure)
            return reading.inbox.takeAll().contains { if case .interruption = $0 { true } else { false } }
        }
        #expect(!monitor.isStopped)
        reading.inbox.markDelivered()
        try eventually("the input waits to be opened again") { monitor.status.lastError == failure.description }
        reading.end()
        #expect(monitor.status.state == .ended)
    }

    @Test("An input is opened again when the decoder knows that it has ended, while its packets still wait")
    func waits() throws {
        let location = InputLocation("udp://127.0.0.1:9")
        let monitor = SourceMonitor()
        let reading = Reading(try open(stream(pid: 256), at: location, monitor), at: location, monitor: monitor)
        let items = try reading.takeUntilInterrupted()
        let packets = items.filter { if case .packet = $0 { true } else { false } }
        #expect(packets.count > 250)
        #expect(monitor.status.state == .running)
        reading.inbox.markTaken()
        try eventually("the input is opened again") { monitor.status.state != .running }
        reading.end()
    }

    /// A clock that advances by 0.1 s at each reading.
    private final class SteppingClock: MonotonicClock {
        private let shown = Atomic<Int64>(0)
        var now: MonotonicInstant {
            MonotonicInstant(nanoseconds: shown.add(100_000_000, ordering: .relaxed).newValue)
        }
        func sleep(until deadline: MonotonicInstant) {}
    }

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

    /// Four seconds of a transport stream whose first PID is `pid`.
    private func stream(pid: Int, video: String = "libx264", audio: String = "aac") throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=160x90:r=25:d=4", "-f", "lavfi", "-i", "sine=d=4:r=48000", "-c:v",
            video, "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", audio, "-mpegts_start_pid",
            "\(pid)", suffix: ".ts")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    /// An open input that reads `bytes`, as if they were received from `location`.
    private func open(_ bytes: [UInt8], at location: InputLocation, _ monitor: SourceMonitor) throws -> OpenedInput {
        try open(Bytes(bytes), at: location, monitor)
    }

    /// An open input that reads `bytes`, as if they were received from `location`.
    private func open(
        _ bytes: any ByteStream, at location: InputLocation, _ monitor: SourceMonitor
    ) throws -> OpenedInput {
        let demuxer = try Demuxer(
            reading: bytes, options: .init(format: "mpegts", values: ["probesize": "60000"]),
            interrupter: monitor.interrupter, subject: "in")
        try #require(demuxer.streams.map(\.kind) == [.video, .audio])
        return try OpenedInput(
            demuxer, at: location, isReopened: true, monitor: monitor,
            makeDecoder: { (stream, threading, subject) throws(AVFailure) in
                try Decoder(stream, threading: threading, subject: subject)
            })
    }

    @Test("If a new program map gives the same codecs other PIDs, reading of the transport stream continues")
    func continued() throws {
        let location = InputLocation("udp://127.0.0.1:9")
        let monitor = SourceMonitor()
        let bytes = try stream(pid: 256) + stream(pid: 512) + stream(pid: 768)
        let reading = Reading(
            try open(bytes, at: location, monitor), at: location, monitor: monitor, clock: SteppingClock())
        let items = try reading.takeUntilInterrupted()
        let packets = items.filter { if case .packet = $0 { true } else { false } }
        // 100 frames of video and 188 of audio in each part.
        #expect(packets.count >= 3 * 287)
        reading.inbox.markDelivered()
        try eventually("the input has ended") { monitor.status.state != .running }
        #expect(monitor.status.lastError?.contains("comes in a stream that was not there") != true)
        reading.end()
    }

    @Test("If the stream continues under other PIDs with other codecs, reading of the transport stream ends")
    func moved() throws {
        let location = InputLocation("udp://127.0.0.1:9")
        let monitor = SourceMonitor()
        let bytes = try stream(pid: 256) + stream(pid: 512, video: "mpeg2video", audio: "mp2")
        let reading = Reading(
            try open(bytes, at: location, monitor), at: location, monitor: monitor, clock: SteppingClock())
        _ = try reading.takeUntilInterrupted()
        reading.inbox.markDelivered()
        try eventually("the input waits to be opened again") {
            monitor.status.lastError?.contains("comes in a stream that was not there") == true
        }
        reading.end()
    }

    /// A connection that delivers its bytes once, and reports when it is closed.
    private final class Connection: ByteStream {
        private let bytes: Bytes
        let isOpen: Flag

        /// Whether a connection is open.
        final class Flag: Sendable { let isSet = Atomic(true) }

        init(_ bytes: [UInt8], _ isOpen: Flag) { (self.bytes, self.isOpen) = (Bytes(bytes), isOpen) }

        deinit { isOpen.isSet.store(false, ordering: .relaxed) }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? { bytes.read(into: buffer) }
    }

    @Test("A stream that changes its codecs again and again is read on five times, and then disconnected")
    func changesTooOften() throws {
        let (location, monitor) = (InputLocation("udp://127.0.0.1:9"), SourceMonitor())
        let parts = [try stream(pid: 256), try stream(pid: 256, video: "mpeg2video", audio: "mp2")]
        let isOpen = Connection.Flag()
        let bytes = (0..<10).flatMap { parts[$0 % 2] }
        let reading = Reading(
            try open(TransportStreamBytes(Connection(bytes, isOpen)), at: location, monitor), at: location,
            monitor: monitor, clock: ManualClock())
        var openings = 0
        try eventually("the input is left") {
            openings += reading.inbox.takeAll().count { if case .opening = $0 { true } else { false } }
            reading.inbox.markDelivered()
            return monitor.status.lastError?.contains("its coding changes too often") == true
        }
        #expect(openings == 6)
        try eventually("the connection is closed") { !isOpen.isSet.load(ordering: .relaxed) }
        reading.end()
    }

    /// An FLV file with video of this size and a keyframe each second.
    private func flash(_ size: String) throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=\(size):r=25:d=2", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25",
            "-pix_fmt", "yuv420p", suffix: ".flv")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    @Test("If the decoder configuration changes in mid-stream, later packets belong to a new stream that has it")
    func configuration() throws {
        let (location, monitor) = (InputLocation("udp://127.0.0.1:9"), SourceMonitor())
        // The second file is appended without its header of 13 bytes.
        let demuxer = try Demuxer(
            reading: Bytes(try flash("160x90") + flash("320x180").dropFirst(13)), options: .init(format: "flv"),
            interrupter: monitor.interrupter, subject: "in")
        let opened = try OpenedInput(
            demuxer, at: location, isReopened: true, monitor: monitor,
            makeDecoder: { (stream, threading, subject) throws(AVFailure) in
                try Decoder(stream, threading: threading, subject: subject)
            })
        let reading = Reading(opened, at: location, monitor: monitor)
        let streams = try reading.takeUntilInterrupted().compactMap { item -> LiveStream? in
            guard case .packet(let packet) = item, case .read(_, let stream) = packet.content else { return nil }
            return stream
        }
        reading.inbox.markDelivered()
        reading.end()
        let (first, last) = (try #require(streams.first), try #require(streams.last))
        #expect(first !== last && first.info.configuration != last.info.configuration)
        #expect(streams.count { $0 === first } == 50 && streams.count { $0 === last } == 50)
    }

    @Test("Streams that were announced after opening are distinguished from those that existed before")
    func lateStreams() throws {
        let demuxer = try Demuxer(
            reading: Bytes(try stream(pid: 256) + stream(pid: 512)),
            options: .init(format: "mpegts", values: ["probesize": "60000"]), interrupter: Interrupter(), subject: "in")
        while try demuxer.readPacket() != nil {}
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

    /// The same multiplex, with audio in its second program.
    private func multiplexWithAudio() throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=s=160x90:r=25:d=4", "-f", "lavfi", "-i", "sine=d=4:r=48000", "-map", "0:v",
            "-map", "0:v", "-map", "1:a", "-program", "program_num=1:st=0", "-program", "program_num=2:st=1:st=2",
            "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".ts")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    @Test("New audio of another program of the multiplex is not used as audio of the selected program")
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
