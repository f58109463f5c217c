// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LibAV

@Suite struct HEVCParameterSetsTests {
    /// A record with these units, one array for each.
    private func record(_ units: [[UInt8]]) -> [UInt8] {
        var record: [UInt8] = [1] + [UInt8](repeating: 0, count: 20) + [0x0F, UInt8(units.count)]
        for unit in units { record += [0x80 | unit[0] >> 1, 0, 1, 0, UInt8(unit.count)] + unit }
        return record
    }

    /// A frame of these units.
    private func frame(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, UInt8($0.count)] + $0 } }

    private let sets: [[UInt8]] = [[0x40, 1, 9], [0x42, 1, 8], [0x44, 1, 7]]

    @Test func `An HEVC configuration record without all three kinds of parameter sets is refused`() {
        #expect(HEVCParameterSets(record: record(sets)) != nil)
        for missing in 0..<3 {
            var rest = sets
            rest.remove(at: missing)
            #expect(HEVCParameterSets(record: record(rest)) == nil)
        }
        #expect(HEVCParameterSets(record: []) == nil)
    }

    @Test
    func `The check of an HEVC frame tells whether it is an IDR and whether it has unknown parameter sets`() throws {
        let known = try #require(HEVCParameterSets(record: record(sets)))
        // IDR_W_RADL is type 19, CRA 21.
        let (idr, cra): ([UInt8], [UInt8]) = ([0x26, 1, 5], [0x2A, 1, 5])
        #expect(known.looks(at: frame([idr])) == (true, false))
        #expect(known.looks(at: frame([cra])) == (false, false))
        #expect(known.looks(at: frame(sets + [idr])) == (true, false))
        #expect(known.looks(at: frame([[0x44, 1, 6], idr])) == (true, true))
        #expect(known.looks(at: []) == (false, false))
    }
}
