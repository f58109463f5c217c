// SPDX-License-Identifier: Apache-2.0

/// A frame number that a machine can read from a decoded frame, even after strong compression.
///
/// The code consists of 40 square blocks of equal size. White is 1 and black is 0. The order is from left to right,
/// then from top to bottom, most significant bit first. The first 32 bits are the frame number. The other 8 are check
/// bits (CRC-8, polynomial x⁸+x²+x+1, initial value 255, over the number's four bytes, highest first).
///
/// The blocks are in the bottom left corner of the frame, in as few rows as possible with blocks of 16 pixels or more:
/// one row in frames of at least 640 columns, two rows from 320 columns, four rows from 160 columns. If blocks of 16
/// pixels do not fit, smaller ones of at least 8 pixels are used. The edge of a block is the frame's width divided by
/// the number of blocks in a row, rounded down to an even number of pixels. It is smaller if all rows would otherwise
/// take more than half of the frame's height.
package enum FrameCounterCode {
    /// The position of the blocks in a frame.
    package struct Layout: Sendable, Hashable {
        /// Rows of blocks.
        package let rows: Int
        /// Blocks in a row.
        package let columns: Int
        /// The length of a block's edge in luma pixels.
        package let block: Int
        /// The first frame row that belongs to the code; even.
        package let top: Int
    }

    /// Bits in the code.
    package static let bitCount = 40

    /// The layout in a frame of this size; nil if the code does not fit. It fits in frames of at least 160 by 90
    /// pixels.
    package static func layout(width: Int, height: Int) -> Layout? {
        for smallest in [16, 8] {
            for rows in [1, 2, 4, 5, 8] {
                let columns = bitCount / rows
                // The code is limited to half of the frame's height.
                let block = min(width / columns, height / (2 * rows)) & ~1
                if block < smallest { continue }
                return Layout(rows: rows, columns: columns, block: block, top: (height - block * rows) & ~1)
            }
        }
        return nil
    }

    /// The bits of `number` and its check bits, in the lower 40 bits.
    package static func bits(of number: UInt32) -> UInt64 { UInt64(number) << 8 | UInt64(checksum(number)) }

    /// The number that is encoded in `bits`; nil if the check bits do not match.
    package static func number(from bits: UInt64) -> UInt32? {
        let number = UInt32(truncatingIfNeeded: bits >> 8)
        return Self.bits(of: number) == bits ? number : nil
    }

    /// Reads the number from a frame's luma, whose rows are `stride` bytes apart; nil if the luma shows no number. Only
    /// the middle of each block is read, so that blurred edges and ringing do not matter.
    package static func decode(luma: UnsafeRawBufferPointer, width: Int, height: Int, stride: Int) -> UInt32? {
        guard let layout = layout(width: width, height: height), luma.count >= stride * (height - 1) + width else {
            return nil
        }
        var bits: UInt64 = 0
        let margin = layout.block / 4
        for index in 0..<bitCount {
            let x = index % layout.columns * layout.block
            let y = layout.top + index / layout.columns * layout.block
            var sum = 0
            var count = 0
            for row in (y + margin)..<(y + layout.block - margin) {
                for column in (x + margin)..<(x + layout.block - margin) {
                    sum += Int(luma[row * stride + column])
                    count += 1
                }
            }
            bits = bits << 1 | (sum * 2 > count * 251 ? 1 : 0)
        }
        return number(from: bits)
    }

    /// Reads the number from a frame's luma in the same way as
    /// ``decode(luma:width:height:stride:)-(UnsafeRawBufferPointer,_,_,_)``.
    package static func decode(luma: [UInt8], width: Int, height: Int, stride: Int) -> UInt32? {
        luma.withUnsafeBytes { decode(luma: $0, width: width, height: height, stride: stride) }
    }

    private static func checksum(_ number: UInt32) -> UInt8 {
        var crc: UInt8 = 255
        for shift in [24, 16, 8, 0] {
            crc ^= UInt8(truncatingIfNeeded: number >> UInt32(shift))
            for _ in 0..<8 { crc = crc & 0x80 == 0 ? crc << 1 : crc << 1 ^ 0x07 }
        }
        return crc
    }
}
