// SPDX-License-Identifier: Apache-2.0

package import Media

/// Writes an MPEG transport stream for outputs and recordings. libavformat makes the packets; ``ProgramClock`` and
/// ``ProgramTables`` decide where clock references and tables are inserted.
///
/// PAT and PMT are repeated within 100 ms and at each IDR frame. Each IDR frame also has an access unit delimiter, SPS
/// and PPS. The clock references are in the packets of the video or, without video, in the packets of the audio.
///
/// Only one thread may use a writer at a time. Each stream has its own writer.
package final class TransportStreamWriter {
    /// Collects libavformat's output for one packet. It is a class, because both libavformat's callback and the writer
    /// use it.
    private final class Outbox { var bytes: [UInt8] = [] }

    /// The names in the stream's service description, and whether the stream continues another one.
    package struct Options: Sendable {
        package var (service, provider): (String, String)
        /// Whether the stream signals a discontinuity at its beginning, because it follows another file of the same
        /// recording.
        package var isContinuation: Bool

        /// Options with these names.
        package init(service: String, provider: String, isContinuation: Bool = false) {
            (self.service, self.provider, self.isContinuation) = (service, provider, isContinuation)
        }
    }

    /// The PID of libavformat's first stream, which carries the clock references.
    private static let clockPID: UInt16 = 0x100
    /// PIDs below this belong to tables (ISO/IEC 13818-1, table 2-3; ETSI EN 300 468, table 1).
    private static let firstFree: UInt16 = 0x20
    private static let mapPID: UInt16 = 0x1000
    /// libavformat's `max_delay`; libavformat adds twice this delay to all times.
    private static let delay = Duration.milliseconds(50)
    /// The offset that libavformat adds to all times, in 90 kHz ticks.
    private static let added = 2 * TimeBase.mpegTS.ticks(delay)

    private let options: Options
    private let outbox = Outbox()
    /// libavformat's muxer; nil until the tracks are known.
    private var muxer: Muxer?
    /// The version of the tables; they contain it modulo 32 (ISO/IEC 13818-1, 2.4.4.9).
    private var version = 0
    /// Writes splice information; nil in a stream without it.
    private var splices: SpliceTables?
    private var clock: ProgramClock
    private var tables = ProgramTables()
    private var spacing = FrameSpacing()
    /// The continuity counter of the newest packet of the clock's stream.
    private var continuity: UInt8 = 15
    private var hasBegun = false

    /// Starts a stream with the tracks of `description`, which may have no track yet.
    package init(_ options: Options, description: StreamDescription) throws(AVFailure) {
        self.options = options
        clock = ProgramClock(description)
        if description.hasSplices { splices = SpliceTables() }
        if !description.tracks.isEmpty { muxer = try makeMuxer(description) }
    }

    /// Creates a muxer for the tracks of `description`. Each muxer except the first signals a discontinuity, because it
    /// does not know the last continuity counters of the previous muxer. The times continue.
    private func makeMuxer(_ description: StreamDescription) throws(AVFailure) -> Muxer {
        var values = [
            // Each PES packet has one audio frame, so that no frame waits for the next.
            "pes_payload_size": "0",
            // libavformat writes tables only at the beginning and at keyframes; this class repeats them in between.
            "pat_period": "3600",
            // libavformat writes a clock reference into each frame; this class overwrites it or removes it.
            "pcr_period": "1",
        ]
        if version > 0 { values["tables_version"] = "\(version % 32)" }
        if version > 0 || options.isContinuation { values["mpegts_flags"] = "initial_discontinuity" }
        let settings = Muxer.Options(
            format: "mpegts", values: values,
            metadata: ["service_name": options.service, "service_provider": options.provider], maximumDelay: Self.delay)
        return try Muxer(settings, description: description) { [outbox] in outbox.bytes += $0 }
    }

    /// Continues the stream with the tracks of `description`: with new tables, and with new parameter sets from the
    /// next keyframe on.
    package func recode(as description: StreamDescription) throws(AVFailure) {
        if let muxer {
            try muxer.finish()
            version += 1
        }
        muxer = try makeMuxer(description)
        clock.adopt(description)
    }

    /// Adds splice information to the tables from now on.
    package func announceSplices() {
        if splices == nil { splices = SpliceTables(isLate: muxer != nil) }
    }

    /// Returns the TS packets of `packet` in one or more parts, with the times moved by `shift` ticks of 90 kHz. Each
    /// part except the first begins with a clock reference. The parts divide the packet's duration evenly, and the
    /// caller must send each part at its time. Returns no part for data, and while the tracks are unknown.
    package func write(_ packet: EncodedPacket, shift: Int64) throws(AVFailure) -> [[UInt8]] {
        guard packet.track != .data, let muxer else { return [] }
        try muxer.write(packet, shift: shift)
        // libavformat collects audio frames of less than 170 bytes, even with `pes_payload_size` 0.
        try muxer.flushFragment()
        var length = packet.timeBase.rescale(packet.duration, to: .mpegTS)
        if packet.track == .video {
            spacing.note(packet)
            length = TimeBase.nanoseconds.rescale(spacing.interval, to: .mpegTS)
        }
        var unit = outbox.bytes
        outbox.bytes.removeAll(keepingCapacity: true)
        guard !unit.isEmpty else { return [] }
        let time = packet.timeBase.rescale(packet.dts, to: .mpegTS) + shift + Self.added
        let place = starts(of: unit).first { isClock(unit, at: $0) && ClockReference.isIn(unit, at: $0) }
        let said = clock.newest
        let step = clock.next(packet.track, at: time, lasting: length, hasOwn: place != nil)
        if let place {
            if let own = step.own {
                ClockReference.write(own, into: &unit, at: place)
            } else {
                ClockReference.remove(from: &unit, at: place)
            }
        }
        return arrange(unit, step, behind: said ?? clock.newest)
    }

    /// Returns the TS packets of splice information, with its times moved by `shift` ticks; empty if `section` is
    /// damaged.
    package func write(splice section: [UInt8], shift: Int64) -> [UInt8] {
        guard let section = SpliceSection.shifted(section, by: shift + Self.added) else { return [] }
        return splices?.packets(of: section) ?? []
    }

    /// Ends the stream, and returns the rest of libavformat's output.
    package func finish() throws(AVFailure) -> [UInt8] {
        try muxer?.finish()
        defer { outbox.bytes = [] }
        return outbox.bytes
    }
}

// MARK: The order of TS packets

extension TransportStreamWriter {
    private func starts(of unit: [UInt8]) -> StrideTo<Int> {
        stride(from: 0, to: unit.count - ClockReference.packetBytes + 1, by: ClockReference.packetBytes)
    }

    private func pid(_ unit: [UInt8], at start: Int) -> UInt16 {
        UInt16(unit[start + 1] & 0x1F) << 8 | UInt16(unit[start + 2])
    }

    private func isClock(_ unit: [UInt8], at start: Int) -> Bool { pid(unit, at: start) == Self.clockPID }

    /// Inserts the references of `step`, and the tables that are due, between the packets of `unit`. `said` is the
    /// newest clock reference before `unit`.
    private func arrange(_ unit: [UInt8], _ step: ProgramClock.Step, behind said: Int64?) -> [[UInt8]] {
        let isTable = { [self] in pid(unit, at: $0) < Self.firstFree || pid(unit, at: $0) == Self.mapPID }
        let first = starts(of: unit).first { !isTable($0) } ?? unit.count
        // A stream begins with its tables; at a keyframe the tables come directly before the frame.
        var part: [UInt8] = []
        if !hasBegun { part += head(unit[..<first], behind: said) }
        for reference in step.before { part += packets(of: reference) }
        if hasBegun { part += head(unit[..<first], behind: said) }
        hasBegun = true
        var position = first
        if let own = step.own, tables.areDue(at: own) {
            position += ClockReference.packetBytes
            part += unit[first..<position] + tables.sending(at: own, with: splices)
        }
        var parts: [[UInt8]] = []
        let count = (unit.count - first) / ClockReference.packetBytes
        for (number, time) in step.within.enumerated() {
            let end = first + max(1, count * (number + 1) / (step.within.count + 1)) * ClockReference.packetBytes
            parts.append(part + unit[position..<end])
            note(unit, before: end)
            part = packets(of: .init(time: time))
            position = end
        }
        note(unit, before: unit.count)
        return parts + [part + unit[position...]]
    }

    /// Removes the tables from `packets`, and appends ``tables`` in their place, after the other packets. `said` is the
    /// newest clock reference.
    private func head(_ packets: ArraySlice<UInt8>, behind said: Int64?) -> [UInt8] {
        let packets = Array(packets)
        var (rest, hasTables): ([UInt8], Bool) = ([], false)
        for start in starts(of: packets) {
            if tables.take(packets, at: start) {
                hasTables = true
            } else {
                rest += packets[start..<start + ClockReference.packetBytes]
            }
        }
        return hasTables ? rest + tables.sending(at: said, with: splices) : rest
    }

    /// Returns a TS packet that contains only `reference`, followed by the tables if they are due.
    private func packets(of reference: ProgramClock.Reference) -> [UInt8] {
        let packet = ClockReference.packet(
            pid: Self.clockPID, continuity: continuity, time: reference.time, isDiscontinuous: reference.isDiscontinuous
        )
        let isDue = reference.isDiscontinuous || tables.areDue(at: reference.time)
        return isDue ? packet + tables.sending(at: reference.time, with: splices) : packet
    }

    /// Stores the continuity counter of the packet of `unit` that ends at `end`, if it belongs to the stream that
    /// carries the clock.
    private func note(_ unit: [UInt8], before end: Int) {
        let start = end - ClockReference.packetBytes
        if start >= 0, isClock(unit, at: start) { continuity = unit[start + 3] & 0x0F }
    }
}
