// SPDX-License-Identifier: Apache-2.0

/// Reads the bits of a NAL unit's payload. It skips the emulation prevention bytes (ITU-T H.264, 7.4.1: a 3 after two
/// zeros). A read past the end returns 0 and sets ``isExhausted``.
struct BitReader {
    private let bytes: [UInt8]
    private var position = 0
    /// Whether a read went past the end of the unit, or found a code that is too long.
    private(set) var isExhausted = false

    /// Creates a reader of `unit` that skips the first `header` bytes.
    init(_ unit: ArraySlice<UInt8>, header: Int) {
        var bytes: [UInt8] = []
        var zeros = 0
        for byte in unit.dropFirst(header) {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            bytes.append(byte)
        }
        self.bytes = bytes
    }

    /// Reads `count` bits, at most 32, with the most significant bit first.
    mutating func bits(_ count: Int) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard position < bytes.count * 8 else {
                isExhausted = true
                return 0
            }
            value = value << 1 | UInt32(bytes[position / 8] >> (7 - position % 8) & 1)
            position += 1
        }
        return value
    }

    mutating func flag() -> Bool { bits(1) == 1 }

    mutating func skip(_ count: Int) {
        position += count
        if position > bytes.count * 8 { isExhausted = true }
    }

    /// Reads an unsigned Exp-Golomb code (9.1); returns 0 if the code is longer than the standard allows.
    mutating func golomb() -> UInt32 {
        var zeros = 0
        while !flag() {
            zeros += 1
            guard zeros < 32, !isExhausted else {
                isExhausted = true
                return 0
            }
        }
        return (1 << zeros) - 1 + bits(zeros)
    }

    /// Reads a signed Exp-Golomb code (9.1.1).
    mutating func signedGolomb() -> Int32 {
        let code = Int64(golomb())
        return Int32(clamping: code & 1 == 1 ? (code + 1) / 2 : -code / 2)
    }
}
