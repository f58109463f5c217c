// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Kernels

@Suite("Scaling of eight rows at once")
struct EightRowsTests {
    private var random = SystemRandomNumberGenerator()

    @Test(
        "Scaling eight rows at once gives the same result as scaling the rows one by one, at any width",
        arguments: [(2, 1), (3, 7), (8, 8), (13, 40), (16, 9), (100, 61), (101, 203)])
    mutating func sameAsOneByOne(width: Int, length: Int) {
        let table = AxisTable()
        table.prepare(
            .init(
                count: width, start: 0, length: Double(width), target: length, first: 0, visible: length,
                isLinear: true))
        let eight = EightRows()
        eight.reserve(width: width, length: length)
        for row in 0..<EightRows.count {
            for x in 0..<width { eight.row(row)[x] = UInt8.random(in: 0...255, using: &random) }
        }
        eight.scale(by: table)
        for row in 0..<EightRows.count {
            let alone = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
                if let base = buffer.baseAddress { table.scale(eight.row(row), into: base) }
                count = length
            }
            #expect([UInt8](UnsafeBufferPointer(start: eight.line(row), count: length)) == alone, "row \(row)")
        }
    }

    @Test("A mix of two rows in eighths is exact, or at most one level above the exact value", arguments: 1...7)
    mutating func eighths(parts: Int) {
        let a = (0..<99).map { _ in UInt8.random(in: 0...255, using: &random) }
        let b = (0..<99).map { _ in UInt8.random(in: 0...255, using: &random) }
        var mixed = [UInt8](repeating: 0, count: a.count)
        TargetPlane.mix(a, b, eighths: UInt16(parts), count: a.count, into: &mixed)
        for (index, sample) in mixed.enumerated() {
            let mean = (Double(a[index]) * Double(8 - parts) + Double(b[index]) * Double(parts)) / 8
            #expect(Double(sample) >= mean && Double(sample) < mean + 1, "\(a[index]) and \(b[index]): \(sample)")
        }
    }
}
