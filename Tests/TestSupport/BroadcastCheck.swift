// SPDX-License-Identifier: Apache-2.0

/// Checks a transport stream as broadcasters' monitors do (ETSI TR 101 290, 5.2), with the stricter intervals of ETSI
/// TS 101 154 and TR 101 211. It also checks the rule of ISO/IEC 13818-1, 2.4.2.7, that nothing is decoded before it
/// has arrived.
///
/// Times are times of the stream. The program clock at a byte is interpolated between the clock references before and
/// after it (2.4.2.2). The time of a table is the newest reference before it. The check does not use code of relay or
/// of libavformat.
package struct BroadcastCheck: Sendable {
    /// The kinds of faults, with the clauses of TR 101 290.
    package enum Fault: String, Sendable {
        /// 1.1, 1.2: a packet does not begin with its sync byte, or is incomplete.
        case sync
        /// 1.3 and 1.5: a program association or map table comes more than 100 ms after the previous one.
        case tables
        /// 1.4: a packet is missing, or comes twice.
        case continuity
        /// 1.6 and 3.4: the map contains a PID without packets, or there are packets with a PID that no table contains.
        case pid
        /// 2.2: the checksum of a table is wrong.
        case checksum
        /// 2.3a: two clock references are more than 40 ms apart.
        case clockInterval
        /// 2.3b: the clock goes back, or jumps by more than 100 ms, without a discontinuity indicator.
        case clockJump
        /// 2.5: two presentation times of a PID are more than 700 ms apart.
        case presentationInterval
        /// 13818-1, 2.4.2.7: an access unit must be decoded before its last byte has arrived.
        case late
    }

    /// A fault, and the packet in which it was found.
    package struct Finding: Sendable, CustomStringConvertible {
        package let fault: Fault
        /// The number of the packet.
        package let packet: Int
        package let text: String
        package var description: String { "\(fault.rawValue) at packet \(packet): \(text)" }
    }

    private static let tablesWithin: Int64 = 100 * 27_000
    private static let clockWithin: Int64 = 40 * 27_000
    private static let jumpBeyond: Int64 = 100 * 27_000
    private static let presentationWithin: Int64 = 700 * 90
    /// The number at which the clock starts again from 0: 33 bits at 90 kHz, times 300.
    private static let clockWrap: Int64 = (1 << 33) * 300

    /// All faults, in the order of the checks.
    package private(set) var findings: [Finding] = []
    /// The number of program clock references.
    package private(set) var clocks = 0
    /// The number of references with a discontinuity indicator, except the first reference of the stream.
    package private(set) var announcedJumps = 0
    /// The longest time between two successive references, in milliseconds.
    package private(set) var longestClockInterval = 0.0
    /// The longest time from a table to the next one of its kind, in milliseconds.
    package private(set) var longestTableInterval = 0.0
    /// The shortest time from the arrival of a unit's last byte to its decoding, in milliseconds; nil without units.
    package private(set) var shortestLead: Double?
    /// The longest time from the arrival of a unit's last byte to its decoding, in milliseconds.
    package private(set) var longestLead = 0.0

    private var packets: [TransportPacket?]
    private var line = ClockLine()
    private var (clockPID, mapPID): (Int?, Int?)
    private var streams: Set<Int> = []

    /// Checks the stream `bytes`. Faults of the kinds in `ignored` are not reported; a stream with stills or gaps can
    /// have such faults.
    package init(_ bytes: [UInt8], ignoring ignored: Set<Fault> = []) {
        packets = stride(from: 0, to: bytes.count - TransportPacket.size + 1, by: TransportPacket.size).map {
            TransportPacket(bytes[$0..<($0 + TransportPacket.size)])
        }
        if bytes.count % TransportPacket.size != 0 { note(.sync, packets.count, "the last packet is not whole") }
        for (number, packet) in packets.enumerated() where packet == nil { note(.sync, number, "no sync byte") }
        checkContinuity()
        readTables()
        checkClock()
        checkTables()
        checkUnits()
        packets = []
        findings.removeAll { ignored.contains($0.fault) }
    }

    /// How often each fault was found.
    package var counts: [Fault: Int] { findings.reduce(into: [:]) { $0[$1.fault, default: 0] += 1 } }

    private mutating func note(_ fault: Fault, _ packet: Int, _ text: String) {
        findings.append(Finding(fault: fault, packet: packet, text: text))
    }

    // MARK: Packets

    private mutating func checkContinuity() {
        var last: [Int: (continuity: Int, isRepeated: Bool)] = [:]
        for (number, packet) in packets.enumerated() {
            guard let packet, packet.pid != TransportPacket.null else { continue }
            var isRepeated = false
            if let before = last[packet.pid], !packet.isDiscontinuous {
                let next = packet.payload == nil ? before.continuity : (before.continuity + 1) & 15
                // The standard permits sending a packet twice (2.4.3.3), but relay never does that, so it counts as a
                // fault.
                isRepeated = packet.continuity != next
                if isRepeated {
                    note(.continuity, number, "\(packet.continuity) of \(packet.pid), not \(next)")
                }
            }
            last[packet.pid] = (packet.continuity, isRepeated)
        }
    }

    private mutating func readTables() {
        var (seen, named): (Set<Int>, Set<Int>) = ([], [])
        for (number, packet) in packets.enumerated() {
            guard let packet else { continue }
            if packet.beginsUnit { seen.insert(packet.pid) }
            guard packet.beginsUnit, packet.pid == 0 || packet.pid == mapPID || packet.pid == 0x11,
                let payload = packet.payload, let section = section(payload, number)
            else { continue }
            switch section[0] {
            case 0 where section.count >= 16: mapPID = Int(section[10] & 0x1F) << 8 | Int(section[11])
            case 2: named.formUnion(readMap(section))
            default: break
            }
        }
        streams = named
        for pid in named.subtracting(seen).sorted() where !packets.isEmpty && pid != 0x1F0 {
            note(.pid, 0, "\(pid) is in the map and never comes")
        }
        for pid in seen.subtracting(named).sorted() where pid > 0x1F && pid != mapPID && pid != TransportPacket.null {
            note(.pid, 0, "\(pid) comes and is in no table")
        }
    }

    /// Returns the section that begins in `payload`; nil if it is incomplete or its checksum is wrong.
    private mutating func section(_ payload: ArraySlice<UInt8>, _ number: Int) -> [UInt8]? {
        let bytes = Array(payload)
        let start = 1 + Int(bytes[0])
        guard bytes.count >= start + 12 else { return nil }
        let length = 3 + Int(bytes[start + 1] & 0x0F) << 8 + Int(bytes[start + 2])
        guard length >= 12, bytes.count >= start + length else { return nil }
        let section = Array(bytes[start..<start + length])
        guard Self.checksum(section) == 0 else {
            note(.checksum, number, "table \(section[0])")
            return nil
        }
        return section
    }

    /// Returns the PIDs of the streams in a program map section (2.4.4.8).
    private mutating func readMap(_ section: [UInt8]) -> Set<Int> {
        clockPID = Int(section[8] & 0x1F) << 8 | Int(section[9])
        var place = 12 + Int(section[10] & 0x0F) << 8 + Int(section[11])
        var named: Set<Int> = []
        while place + 5 <= section.count - 4 {
            named.insert(Int(section[place + 1] & 0x1F) << 8 | Int(section[place + 2]))
            place += 5 + Int(section[place + 3] & 0x0F) << 8 + Int(section[place + 4])
        }
        return named
    }

    /// Returns `CRC_32` (13818-1, annex A); 0 for a section with a correct checksum.
    package static func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.reduce(UInt32.max) { sum, byte in
            (0..<8).reversed().reduce(sum) { sum, bit in
                let carry = sum >> 31 ^ UInt32(byte >> UInt8(bit) & 1)
                return sum << 1 ^ (carry == 1 ? 0x04C1_1DB7 : 0)
            }
        }
    }

    // MARK: Times

    private mutating func checkClock() {
        var last: Int64?
        for (number, packet) in packets.enumerated() {
            guard let packet, packet.pid == clockPID, let clock = packet.clock else { continue }
            clocks += 1
            guard let before = last, !packet.isDiscontinuous else {
                if last != nil { announcedJumps += 1 }
                line.begin(clock, at: number)
                last = clock
                continue
            }
            let step = Self.distance(from: before, to: clock)
            line.append(step, at: number)
            last = clock
            longestClockInterval = max(longestClockInterval, Double(step) / 27_000)
            if step <= 0 || step > Self.jumpBeyond { note(.clockJump, number, "\(Double(step) / 27_000) ms") }
            if step > Self.clockWithin { note(.clockInterval, number, "\(Double(step) / 27_000) ms") }
        }
        if clocks == 0 { note(.clockInterval, 0, "the stream has no clock") }
    }

    /// Returns the difference between two values of the clock, between which the clock may have wrapped around.
    private static func distance(from: Int64, to: Int64) -> Int64 {
        let step = (to - from) % clockWrap
        return step < -clockWrap / 2 ? step + clockWrap : step > clockWrap / 2 ? step - clockWrap : step
    }

    private mutating func checkTables() {
        for pid in [0, mapPID].compactMap(\.self) {
            var last: Int?
            for (number, packet) in packets.enumerated() where packet?.pid == pid && packet?.beginsUnit == true {
                defer { last = number }
                guard let last, let from = line.newest(at: last), let to = line.newest(at: number), from.run == to.run
                else { continue }
                let interval = to.time - from.time
                longestTableInterval = max(longestTableInterval, Double(interval) / 27_000)
                if interval > Self.tablesWithin { note(.tables, number, "\(pid), \(Double(interval) / 27_000) ms") }
            }
        }
        if mapPID == nil { note(.tables, 0, "the stream has no tables") }
    }

    private mutating func checkUnits() {
        for pid in streams.sorted() {
            let places = packets.indices.filter { packets[$0]?.pid == pid }
            let starts = places.indices.filter { packets[places[$0]]?.times != nil }
            var last: Int64?
            for (index, start) in starts.enumerated() {
                guard let times = packets[places[start]]?.times else { continue }
                let end = index + 1 < starts.count ? starts[index + 1] - 1 : places.count - 1
                checkArrival(of: pid, from: places[start], to: places[end], decoding: times.decoding)
                let step = last.map { Self.distance(from: $0 * 300, to: times.presentation * 300) / 300 } ?? 0
                if step > Self.presentationWithin { note(.presentationInterval, places[start], "\(pid)") }
                last = times.presentation
            }
        }
    }

    /// Checks that the access unit in the packets `start` to `end` has arrived before its decoding time.
    private mutating func checkArrival(of pid: Int, from start: Int, to end: Int, decoding: Int64) {
        // A packet without payload after the last byte of the unit contains only a PCR, and does not belong to the
        // unit.
        let last = packets[start...end].lastIndex { $0?.pid == pid && $0?.payload != nil } ?? end
        guard let arrival = line.time(at: last) else { return }
        let lead = Self.distance(from: arrival.clock, to: decoding * 300)
        let milliseconds = Double(lead) / 27_000
        shortestLead = min(shortestLead ?? milliseconds, milliseconds)
        longestLead = max(longestLead, milliseconds)
        if lead <= 0 { note(.late, start, "\(pid) by \(-milliseconds) ms") }
    }
}

/// The program clock at each packet. A new run begins at each discontinuity that the stream indicates.
private struct ClockLine {
    private struct Point {
        let packet: Int
        /// The time in ticks of 27 MHz; it continues to grow when the clock wraps around.
        let time: Int64
        let run: Int
    }

    private var points: [Point] = []

    /// Begins a new run at the packet number `packet`.
    mutating func begin(_ clock: Int64, at packet: Int) {
        points.append(Point(packet: packet, time: clock, run: (points.last?.run ?? -1) + 1))
    }

    /// Adds the reference in the packet number `packet`, which is `step` ticks later than the previous one.
    mutating func append(_ step: Int64, at packet: Int) {
        guard let last = points.last else { return }
        points.append(Point(packet: packet, time: last.time + step, run: last.run))
    }

    /// Returns the newest reference up to the packet number `packet`, and its run. When the packet arrives, a receiver
    /// knows only this reference.
    func newest(at packet: Int) -> (time: Int64, run: Int)? {
        guard let point = points.last(where: { $0.packet <= packet }) ?? points.first else { return nil }
        return (point.time, point.run)
    }

    /// Returns the time at the packet number `packet`, and its run. Before the first reference, and after the last one
    /// of a run, the clock is assumed to stand still, which favors the stream.
    func time(at packet: Int) -> (time: Int64, clock: Int64, run: Int)? {
        guard let first = points.first else { return nil }
        var (low, high) = (0, points.count)
        while low < high {
            let middle = (low + high) / 2
            if points[middle].packet <= packet { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return (first.time, first.time, first.run) }
        let before = points[low - 1]
        guard low < points.count, points[low].run == before.run else { return (before.time, before.time, before.run) }
        let next = points[low]
        let part = (next.time - before.time) * Int64(packet - before.packet) / Int64(next.packet - before.packet)
        return (before.time + part, before.time + part, before.run)
    }
}
