// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// Makes an MPEG transport stream in messages of whole TS packets.
///
/// PAT and PMT come every 100 ms and at each IDR frame, which also has an access unit delimiter, SPS and PPS. A PCR
/// comes with each frame, and between them where 40 ms pass: with a low frame rate, and while frames are missing.
///
/// Not thread-safe; it belongs to one session.
final class TransportStream {
    /// Messages on their way out. A class, because libavformat's callback and the sender both reach it.
    private final class Outbox {
        var messages = Deque<[UInt8]>()
        /// Nil in a stream without splice information.
        var splices: SpliceTables?

        /// Takes what libavformat made.
        func take(_ bytes: UnsafeRawBufferPointer) {
            messages.append(splices?.announced([UInt8](bytes)) ?? [UInt8](bytes))
        }
    }

    /// libavformat's first stream, the frame's, which carries the PCR.
    private static let clockPID: UInt16 = 0x100
    /// The longest time between two PCRs (ETSI TR 101 290, 3.1: 40 ms), in 90 kHz ticks.
    private static let clockInterval: Int64 = 3600
    /// libavformat's `max_delay`: it adds twice that to all times and once that to a PCR, so that a PCR is that much before
    /// the DTS at its side. It is the time that a decoder has to receive a frame.
    private static let delay = Duration.milliseconds(50)

    private let outbox = Outbox()
    /// Nothing before it is known which tracks there are.
    private var muxer: Muxer?
    /// The tracks as the tables say.
    private var streams: StreamDescription
    private let messageBytes: Int
    /// The tables' version, modulo 32 (ISO/IEC 13818-1, 2.4.4.9).
    private var version = 0
    private var spacing = FrameSpacing()
    /// How long the newest frame lasts.
    private var frameTicks: Int64 = 0
    private var shift: Int64?
    private var continuity: UInt8 = 0
    /// The times of the newest frame and of the packet whose time the newest PCR is.
    private var lastFrame: Int64?
    private var lastClock: Int64 = 0

    /// A stream with the tracks of `description`, in messages of at most `messageBytes`.
    init(description: StreamDescription, messageBytes: Int) throws(AVFailure) {
        streams = description
        if description.hasSplices { outbox.splices = SpliceTables() }
        self.messageBytes = messageBytes
        if !description.tracks.isEmpty { muxer = try Self.makeMuxer(description, messageBytes, outbox) }
    }

    /// A muxer for the tracks of `description`. One that is not the first says that its packets do not go on from those
    /// before, whose counters it does not know; times do.
    private static func makeMuxer(
        _ description: StreamDescription, _ messageBytes: Int, _ outbox: Outbox, version: Int = 0
    ) throws(AVFailure) -> Muxer {
        var options = Muxer.Options(format: "mpegts")
        // PES packets of one frame, so that no audio waits for more.
        options.values = ["pes_payload_size": "0", "pat_period": "0.1", "pcr_period": "20"]
        options.metadata = ["service_name": "relay", "service_provider": "relay"]
        options.maximumDelay = Self.delay
        options.bufferBytes = messageBytes
        if version > 0 {
            options.values["tables_version"] = "\(version % 32)"
            options.values["mpegts_flags"] = "initial_discontinuity"
        }
        return try Muxer(options, description: description) { outbox.take($0) }
    }

    /// From `packet` on its track is coded in another way: new tables and parameter sets.
    private func renew(for packet: EncodedPacket) throws(AVFailure) {
        let next = streams.updated(by: packet)
        defer { streams = next }
        guard packet.track != .data else {
            if next.hasSplices, outbox.splices == nil { outbox.splices = SpliceTables(isLate: true) }
            return
        }
        if let muxer {
            try muxer.finish()
            version += 1
        }
        muxer = try Self.makeMuxer(next, messageBytes, outbox, version: version)
    }

    /// The oldest message that is not sent yet.
    var first: [UInt8]? { outbox.messages.first }

    /// Messages that are not sent yet.
    var count: Int { outbox.messages.count }

    /// Bytes that are not sent yet.
    var bytes: Int { outbox.messages.reduce(0) { $0 + $1.count } }

    func removeFirst() {
        let message = outbox.messages.removeFirst()
        continuity = ClockReference.continuity(of: Self.clockPID, in: message) ?? continuity
    }

    /// Adds a packet, with new tables in front of it if its track is coded in another way than before. All times move by one amount, so that the first is 1 s and none is negative; the distance of
    /// audio and video stays exact to the tick.
    func write(_ packet: EncodedPacket) throws(AVFailure) {
        guard packet.track != .data || packet.description.codec == .scte35 else { return }
        if !streams.holds(packet) { try renew(for: packet) }
        let time = packet.timeBase.rescale(packet.dts, to: .mpegTS)
        let start = shift ?? 90_000 - time
        shift = start
        switch packet.track {
        case .video:
            let first = count
            try muxer?.write(packet, shift: start)
            spacing.note(packet)
            frameTicks = TimeBase.nanoseconds.rescale(spacing.interval, to: .mpegTS)
            (lastFrame, lastClock) = (time + start, time + start)
            if frameTicks > Self.clockInterval {
                flush()
                addClocks(behind: first)
            }
        case .audio:
            bridge(until: time + start, lasting: packet.timeBase.rescale(packet.duration, to: .mpegTS))
            try muxer?.write(packet, shift: start)
        case .data: writeSplice(packet.payload.array, later: start)
        }
    }

    /// Puts splice information, whose times are the program's, in front of what follows.
    private func writeSplice(_ section: [UInt8], later ticks: Int64) {
        // libavformat moves all times by twice the delay.
        let later = ticks + 2 * TimeBase.mpegTS.ticks(Self.delay)
        guard let section = SpliceSection.shifted(section, by: later) else { return }
        flush()
        guard let packets = outbox.splices?.packets(of: section) else { return }
        for start in stride(from: 0, to: packets.count, by: max(188, messageBytes / 188 * 188)) {
            outbox.messages.append(
                Array(packets[start..<min(start + max(188, messageBytes / 188 * 188), packets.count)]))
        }
    }

    /// Puts PCRs between the messages of a frame, the first of which is number `first`: they will be sent while its
    /// time passes.
    private func addClocks(behind first: Int) {
        let messages = count - first
        let clocks = Int((frameTicks - 1) / Self.clockInterval)
        guard messages > 0 else { return }
        // From the last one on, so that no position moves.
        for number in (1...clocks).reversed() {
            insertClock(
                at: first + max(1, messages * number / (clocks + 1)),
                time: lastClock + frameTicks * Int64(number) / Int64(clocks + 1))
        }
    }

    /// Where a frame is overdue, the audio at `time` gets a PCR in front of it, if the next audio would be too late for one.
    private func bridge(until time: Int64, lasting audioTicks: Int64) {
        guard let lastFrame, time - lastFrame > frameTicks else { return }
        guard time + audioTicks - lastClock > Self.clockInterval else { return }
        flush()
        lastClock = time
        insertClock(at: count, time: time)
    }

    private func insertClock(at index: Int, time: Int64) {
        let before = outbox.messages[..<index].reversed().lazy
            .compactMap { ClockReference.continuity(of: Self.clockPID, in: $0) }.first
        let packet = ClockReference.packet(
            pid: Self.clockPID, continuity: before ?? continuity, time: time + TimeBase.mpegTS.ticks(Self.delay))
        outbox.messages.insert(packet, at: index)
    }

    /// Completes the last message, however short.
    func flush() { muxer?.flush() }

    /// Ends the stream.
    func finish() throws(AVFailure) { try muxer?.finish() }
}
