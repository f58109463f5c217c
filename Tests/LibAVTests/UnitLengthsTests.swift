// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import LibAV

/// Tests the conversion of NAL units' lengths to 4 bytes.
@Suite struct UnitLengthsTests {
    private func record(size: Int) -> [UInt8] { [1, 100, 0, 31, 0xFC | UInt8(size - 1), 0xE0, 0] }

    @Test("NAL units with lengths of 1, 2 and 4 bytes are rewritten with lengths of 4 bytes", arguments: [1, 2, 4])
    func widened(size: Int) throws {
        let lengths = try #require(UnitLengths(record: record(size: size), .h264))
        let units: [[UInt8]] = [[9, 16], [6] + [UInt8](repeating: 7, count: 200), [0x65]]
        let payload = units.flatMap { unit -> [UInt8] in
            [UInt8](repeating: 0, count: size - 1) + [UInt8(unit.count)] + unit
        }
        let wide = units.flatMap { unit -> [UInt8] in [0, 0, 0, UInt8(unit.count)] + unit }
        #expect(lengths.widened(SharedBytes(payload))?.array == wide)
        #expect(lengths.areWide == (size == 4))
    }

    @Test("The conversion of NAL unit lengths changes only the length size in the configuration record")
    func records() {
        #expect(UnitLengths.widened(record: record(size: 2), .h264) == record(size: 4))
        #expect(UnitLengths.widened(record: record(size: 4), .h264) == record(size: 4))
        var hevc = [UInt8](repeating: 0, count: 23)
        (hevc[0], hevc[21]) = (1, 0xFD)
        var wide = hevc
        wide[21] = 0xFF
        #expect(UnitLengths.widened(record: hevc, .hevc) == wide)
        // Early encoders write version 0, and a profile after it.
        (hevc[0], hevc[1], wide[0], wide[1]) = (0, 1, 0, 1)
        #expect(UnitLengths.widened(record: hevc, .hevc) == wide && UnitLengths(record: hevc, .hevc) != nil)
        let startCode = [UInt8](repeating: 0, count: 3) + [1] + hevc
        #expect(UnitLengths.widened(record: startCode, .hevc) == startCode)
        #expect(UnitLengths.widened(record: [0x81, 0, 0, 0], .av1) == [0x81, 0, 0, 0])
    }

    @Test("A truncated NAL unit ends with its frame, empty units are omitted, and a frame without units is refused")
    func damaged() throws {
        let lengths = try #require(UnitLengths(record: record(size: 2), .h264))
        #expect(lengths.widened(SharedBytes([0, 9, 1, 2]))?.array == [0, 0, 0, 2, 1, 2])
        #expect(lengths.widened(SharedBytes([0, 0, 0, 1, 5, 0]))?.array == [0, 0, 0, 1, 5])
        for bytes in [[], [0], [0, 0], [0, 0, 0, 0]] as [[UInt8]] {
            #expect(lengths.widened(SharedBytes(bytes)) == nil)
        }
    }

    @Test("No NAL unit lengths are read from a configuration record that is too short")
    func short() {
        #expect(UnitLengths(record: [1, 100, 0, 31, 255, 225], .h264) == nil)
        #expect(UnitLengths(record: [7], .av1) == nil)
        #expect(UnitLengths(record: [UInt8](repeating: 1, count: 22), .hevc) == nil)
    }
}
