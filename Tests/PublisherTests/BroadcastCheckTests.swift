// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Tests the broadcast check itself, on a generated stream that is damaged in one place.
@Suite("Broadcast check of a transport stream")
struct BroadcastCheckTests {
    /// A stream of frames 40 ms apart, each in one packet with the clock, and tables every 80 ms.
    private struct HandMade {
        var bytes: [UInt8] = []
        private var counters: [Int: UInt8] = [:]

        private mutating func header(_ pid: Int, _ flags: UInt8) -> [UInt8] {
            let counter = counters[pid].map { ($0 + 1) & 15 } ?? 0
            counters[pid] = counter
            return [0x47, 0x40 | UInt8(pid >> 8), UInt8(pid & 0xFF), flags | counter]
        }

        mutating func table(_ pid: Int, _ body: [UInt8]) {
            let sum = BroadcastCheck.checksum(body)
            let section = [0] + body + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
            bytes += header(pid, 0x10) + section + [UInt8](repeating: 0xFF, count: 184 - section.count)
        }

        mutating func tables() {
            table(0, [0, 0xB0, 13, 0, 1, 0xC1, 0, 0, 0, 1, 0xF0, 0x00])
            table(0x1000, [2, 0xB0, 18, 0, 1, 0xC1, 0, 0, 0xE1, 0x00, 0xF0, 0, 0x1B, 0xE1, 0x00, 0xF0, 0])
        }

        /// Adds a frame; times are in milliseconds.
        mutating func frame(clock: Int64, decoding: Int64, pid: Int = 0x100, isDiscontinuous: Bool = false) {
            let base = clock * 90
            var packet = header(pid, 0x30) + [7, isDiscontinuous ? 0x90 : 0x10]
            packet += [25, 17, 9, 1].map { UInt8(truncatingIfNeeded: base >> $0) } + [UInt8(base & 1) << 7 | 0x7E, 0]
            let time = decoding * 90
            packet += [0, 0, 1, 0xE0, 0, 0, 0x80, 0x80, 5]
            packet += [
                0x21 | UInt8(time >> 29 & 0x0E), UInt8(time >> 22 & 0xFF), UInt8(time >> 14 & 0xFE) | 1,
                UInt8(time >> 7 & 0xFF), UInt8(time << 1 & 0xFE) | 1,
            ]
            bytes += packet + [UInt8](repeating: 0x88, count: 188 - packet.count)
        }
    }

    /// Returns a second of the stream; `change` may change the clock and the decoding time of each frame, by its
    /// number.
    private static func stream(
        tables: Set<Int> = Set(stride(from: 0, to: 25, by: 2)),
        _ change: (Int, inout Int64, inout Int64) -> Void = { _, _, _ in }
    ) -> [UInt8] {
        var stream = HandMade()
        for number in 0..<25 {
            var (clock, decoding) = (Int64(number) * 40 + 500, Int64(number) * 40 + 600)
            change(number, &clock, &decoding)
            if tables.contains(number) { stream.tables() }
            stream.frame(clock: clock, decoding: decoding)
        }
        return stream.bytes
    }

    private func faults(_ bytes: [UInt8]) -> [BroadcastCheck.Fault: Int] { BroadcastCheck(bytes).counts }

    @Test("A correct stream passes the broadcast check of TR 101 290, which also measures table and PCR intervals")
    func right() {
        let check = BroadcastCheck(Self.stream())
        #expect(check.findings.isEmpty, "\(check.findings)")
        #expect(check.clocks == 25 && check.announcedJumps == 0)
        #expect(check.longestClockInterval == 40)
        #expect(check.shortestLead == 100 && check.longestLead == 100)
        #expect((75...85).contains(check.longestTableInterval))
    }

    @Test("The broadcast check detects damaged packets, missing packets and damaged tables")
    func packets() {
        var bytes = Self.stream()
        bytes[188 * 10] = 0
        #expect(faults(bytes)[.sync] == 1)
        var shorter = Self.stream()
        shorter.removeSubrange(188 * 3..<188 * 4)
        #expect(faults(shorter)[.continuity] == 1)
        #expect(faults(Array(Self.stream().dropLast(5)))[.sync] == 1)
        var table = Self.stream()
        table[15] ^= 1
        #expect(faults(table) == [.checksum: 1])
    }

    @Test("The broadcast check detects tables that are too rare, and streams that no table lists")
    func tables() {
        #expect(faults(Self.stream(tables: [0, 12]))[.tables] == 2)
        #expect(faults(Self.stream(tables: []))[.tables] == 1)
        var other = HandMade()
        other.bytes = Self.stream()
        other.frame(clock: 0, decoding: 1600, pid: 0x150)
        #expect(faults(other.bytes) == [.pid: 1])
    }

    @Test("The broadcast check detects a PCR that goes back, jumps or pauses, and accepts an announced discontinuity")
    func clock() {
        #expect(faults(Self.stream { number, clock, _ in if number == 9 { clock -= 60 } })[.clockJump] == 1)
        #expect(faults(Self.stream { number, clock, _ in if number == 9 { clock += 15 } }) == [.clockInterval: 1])
        let jumped = Self.stream { number, clock, decoding in
            guard number > 9 else { return }
            clock += 500
            decoding += 500
        }
        #expect(faults(jumped) == [.clockInterval: 1, .clockJump: 1, .tables: 2])
        var stream = HandMade()
        stream.tables()
        stream.frame(clock: 500, decoding: 600)
        stream.frame(clock: 100, decoding: 620, isDiscontinuous: true)
        let check = BroadcastCheck(stream.bytes)
        #expect(check.findings.isEmpty && check.announcedJumps == 1, "\(check.findings)")
    }

    @Test("The broadcast check detects frames that arrive too late, and presentation times that are far apart")
    func units() {
        #expect(faults(Self.stream { number, clock, time in if number == 9 { time = clock } }) == [.late: 1])
        #expect(faults(Self.stream { number, _, time in if number > 9 { time += 700 } }) == [.presentationInterval: 1])
    }

    @Test("The broadcast check accepts a PCR that wraps around")
    func wrap() {
        let wrap: Int64 = (1 << 33) / 90
        let check = BroadcastCheck(
            Self.stream { _, clock, decoding in
                clock += wrap - 800
                decoding += wrap - 800
            })
        #expect(check.findings.isEmpty && check.clocks == 25, "\(check.findings)")
    }
}
