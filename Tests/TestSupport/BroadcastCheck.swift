// SPDX-License-Identifier: Apache-2.0

/// Judges a transport stream as the monitors of broadcasters do (ETSI TR 101 290, 5.2), with the stricter intervals of
/// ETSI TS 101 154 and TR 101 211, and with the rule of ISO/IEC 13818-1, 2.4.2.7, that nothing is decoded before it
/// has arrived.
///
/// Time is that of the stream: the program clock at a byte is drawn between the references before and behind it, as
/// 2.4.2.2 says, and that of a table is the newest reference in front of it. The check knows
/// nothing of relay or of libavformat.
package struct BroadcastCheck: Sendable {
    /// What is wrong, by the clauses of TR 101 290.
    package enum Fault: String, Sendable {
        /// 1.1, 1.2: a packet does not begin with its sync byte, or is not whole.
        case sync
        /// 1.3 and 1.5: a program association or map table comes later than 100 ms after the one before.
        case tables
        /// 1.4: a packet is missing, or comes twice.
        case continuity
        /// 1.6 and 3.4: the map names a PID that never comes, or a PID comes that the tables do not name.
        case pid
        /// 2.2: the checksum of a table is wrong.
        case checksum
        /// 2.3a: two references of the clock are more than 40 ms apart.
        case clockInterval
        /// 2.3b: the clock goes back, or jumps by more than 100 ms, and no packet says so.
        case clockJump
        /// 2.5: two presentation times of a PID are more than 700 ms apart.
        case presentationInterval
        /// 13818-1, 2.4.2.7: a unit is to be decoded before its last byte has arrived.
        case late
    }

    /// One fault, and where.
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
    /// What clocks of 33 bits at 90 kHz, times 300, count up to.
    private static let clockWrap: Int64 = (1 << 33) * 300

    /// All faults, in the order of the checks.
    package private(set) var findings: [Finding] = []
    /// References of the program clock.
    package private(set) var clocks = 0
    /// References that say that a new time begins with them, the first left out.
    package private(set) var announcedJumps = 0
    /// The longest time between two references of one clock, in milliseconds.
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

    /// Checks the stream `bytes`. A stream with stills or gaps may leave out `ignoring`.
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
                // A packet may be sent twice (2.4.3.3), which relay never does.
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

    /// The section that begins in `payload`, if it is whole and its checksum is right.
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

    /// The PIDs of the streams in a program map section (2.4.4.8).
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

    /// `CRC_32` (13818-1, annex A); 0 over a section with its checksum.
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

    /// From one reading of a clock to another, over the wrap.
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

    /// Whether the unit in the packets `start` to `end` has arrived when it is to be decoded.
    private mutating func checkArrival(of pid: Int, from start: Int, to end: Int, decoding: Int64) {
        // A PCR behind the last byte of the unit in a packet without payload does not belong to the unit.
        let last = packets[start...end].lastIndex { $0?.pid == pid && $0?.payload != nil } ?? end
        guard let arrival = line.time(at: last) else { return }
        let lead = Self.distance(from: arrival.clock, to: decoding * 300)
        let milliseconds = Double(lead) / 27_000
        shortestLead = min(shortestLead ?? milliseconds, milliseconds)
        longestLead = max(longestLead, milliseconds)
        if lead <= 0 { note(.late, start, "\(pid) by \(-milliseconds) ms") }
    }
}

/// The program clock at each packet, in runs between the discontinuities that a stream announces.
private struct ClockLine {
    private struct Point {
        let packet: Int
        /// In ticks of 27 MHz; continues over the wrap.
        let time: Int64
        let run: Int
    }

    private var points: [Point] = []

    /// A new run begins with the packet number `packet`.
    mutating func begin(_ clock: Int64, at packet: Int) {
        points.append(Point(packet: packet, time: clock, run: (points.last?.run ?? -1) + 1))
    }

    /// `step` ticks later, with the packet number `packet`.
    mutating func append(_ step: Int64, at packet: Int) {
        guard let last = points.last else { return }
        points.append(Point(packet: packet, time: last.time + step, run: last.run))
    }

    /// The reference in front of the packet number `packet`, which is all that a receiver knows when that comes, and its run.
    func newest(at packet: Int) -> (time: Int64, run: Int)? {
        guard let point = points.last(where: { $0.packet <= packet }) ?? points.first else { return nil }
        return (point.time, point.run)
    }

    /// The time at the packet number `packet`, and the run that it is in. Before the first reference and behind the last
    /// one of a run the clock is taken to stand, which favors the stream.
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
