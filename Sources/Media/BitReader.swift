// SPDX-License-Identifier: Apache-2.0

/// Reads numbers of some bits, the highest first.
package struct BitReader {
    private let bytes: [UInt8]
    private var place = 0

    /// Begins at the first bit of `bytes`.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next `count` bits, at most 32; nil if there are not so many.
    package mutating func read(_ count: Int) -> Int? {
        guard place + count <= bytes.count * 8 else { return nil }
        defer { place += count }
        var number = 0
        for place in place..<place + count {
            let bit: UInt8 = bytes[place / 8] >> UInt8(7 - place % 8) & 1
            number = number << 1 | Int(bit)
        }
        return number
    }

    /// The next number in Exp-Golomb code (ITU-T H.264, 9.1); nil if there is none, or one of more than 31 bits.
    package mutating func readExponential() -> Int? {
        var zeros = 0
        while let bit = read(1) {
            if bit == 1 { return read(zeros).map { (1 << zeros) - 1 + $0 } }
            zeros += 1
            guard zeros < 32 else { return nil }
        }
        return nil
    }
}
