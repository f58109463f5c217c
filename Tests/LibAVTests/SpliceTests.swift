// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LibAV

/// Splice information (SCTE 35) in a transport stream.
@Suite struct SpliceTests {
    /// A `splice_null` (9.7.1) with this adjustment.
    private func section(adjustedBy ticks: Int64) -> [UInt8] {
        let low = (0..<4).map { UInt8(truncatingIfNeeded: ticks >> (24 - 8 * Int64($0))) }
        return SpliceSection.sealed(
            [0xFC, 0x30, 17, 0, UInt8(ticks >> 32 & 1)] + low + [0, 0xFF, 0xF0, 0, 0, 0, 0])
    }

    @Test(
        "Shifting a splice section adds to its time adjustment, which wraps at 33 bits",
        arguments: [
            (0, 5, 5), (100, -200, (1 << 33) - 100), ((1 << 33) - 1, 1, 0), (1 << 32, 3 << 33, 1 << 32),
            (7, -(1 << 40), 7), ((1 << 32) - 1, 1, 1 << 32),
        ] as [(Int64, Int64, Int64)])
    func shift(before: Int64, ticks: Int64, after: Int64) {
        #expect(SpliceSection.shifted(section(adjustedBy: before), by: ticks) == section(adjustedBy: after))
    }

    @Test("A damaged splice section is refused, and bytes after a section are dropped")
    func damage() {
        let whole = section(adjustedBy: 9)
        #expect(SpliceSection.shifted(whole + [0xFF, 0xFF], by: 0) == whole)
        for place in whole.indices {
            var broken = whole
            broken[place] ^= 0x10
            #expect(SpliceSection.shifted(broken, by: 0) == nil, "\(place)")
        }
        for count in whole.indices { #expect(SpliceSection.shifted(Array(whole[..<count]), by: 0) == nil) }
    }

    @Test("A splice section may have up to 4096 bytes", arguments: [1028, 4096, 4097])
    func long(size: Int) {
        let length = size - 3
        let head = [0xFC, 0x30 | UInt8(length >> 8), UInt8(length & 0xFF), 0, 0, 0, 0, 0, 9]
        let section = SpliceSection.sealed(head + [UInt8](repeating: 0xA5, count: size - head.count - 4))
        #expect(SpliceSection.shifted(section, by: 0) == (size <= 4096 ? section : nil))
    }

    @Test("The checksum of a splice section follows ISO/IEC 13818-1, annex A")
    func checksum() { #expect(SpliceSection.checksum(Array("123456789".utf8)[...]) == 0x0376_E6E7) }

    @Test("A long splice section continues in the next packet, and continuity counters continue across sections")
    func packets() {
        var tables = SpliceTables()
        let packets = tables.packets(of: [UInt8](repeating: 7, count: 300)) + tables.packets(of: [8])
        #expect(packets.count == 3 * 188)
        let starts = [0, 188, 376].map { Array(packets[$0..<$0 + 5]) }
        #expect(starts == [[0x47, 0x41, 0xF0, 0x10, 0], [0x47, 0x01, 0xF0, 0x11, 7], [0x47, 0x41, 0xF0, 0x12, 0]])
        #expect(packets[188 + 4 + 117 - 1] == 7 && packets[188 + 4 + 117] == 0xFF && packets[376 + 5] == 8)
    }

    @Test("Only the program map table gets an entry for splice data, and a damaged table is left unchanged")
    func tables() {
        let other = [0x47, 0x41, 0x00, 0x10] + [UInt8](repeating: 2, count: 184)
        let short: [UInt8] = [0x47, 0x50, 0x00, 0x10, 0, 2, 0xB0, 0xFF] + [UInt8](repeating: 0xFF, count: 180)
        #expect(SpliceTables().announced(other + short) == other + short)
        #expect(SpliceTables().announced([0x47, 0x50]) == [0x47, 0x50])
        let body: [UInt8] = [2, 0xB0, 18, 0, 1, 0xC1, 0, 0, 0xE1, 0, 0xF0, 0, 0x1B, 0xE1, 0, 0xF0, 0]
        let map = [0x47, 0x50, 0, 0x10, 0] + SpliceSection.sealed(body)
        let packet = map + [UInt8](repeating: 0xFF, count: 188 - map.count)
        let announced = SpliceTables(isLate: true).announced(packet)
        let length = 3 + Int(announced[7])
        #expect(announced.count == 188 && length == 21 + 11)
        #expect(SpliceSection.checksum(announced[5..<5 + length]) == 0)
        // The map has the next version number, the registration, and the streams in order.
        #expect(announced[10] == 0xC3 && Array(announced[16..<23]) == [6, 5, 4, 0x43, 0x55, 0x45, 0x49])
        #expect(Array(announced[23..<33]) == [0x1B, 0xE1, 0, 0xF0, 0, 0x86, 0xE1, 0xF0, 0xF0, 0])
    }
}
