// SPDX-License-Identifier: Apache-2.0

/// Digits and the colon, five columns by seven rows.
enum BitmapFont {
    static let width = 5
    static let height = 7
    /// Columns from one character to the next.
    static let advance = 6

    /// The rows of `character`, top first; the leftmost column is bit 4. What the font lacks is blank.
    static func rows(of character: UInt8) -> [UInt8] {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digits[Int(character - UInt8(ascii: "0"))]
        case UInt8(ascii: ":"): [0, 0b00100, 0b00100, 0, 0b00100, 0b00100, 0]
        default: [0, 0, 0, 0, 0, 0, 0]
        }
    }

    private static let digits: [[UInt8]] = [
        [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
        [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
        [0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110],
        [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
        [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
    ]
}
