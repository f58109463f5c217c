// SPDX-License-Identifier: Apache-2.0

/// A font of digits, capital letters and a few signs, each five columns wide and seven rows high.
enum BitmapFont {
    static let width = 5
    static let height = 7
    /// The distance from one character to the next, in columns.
    static let advance = 6

    /// Converts `text` to characters of the font: capital letters, one byte for each visible character. A character
    /// that is not ASCII becomes a space. A line break stays, and is drawn as a blank.
    static func characters(of text: String) -> [UInt8] {
        text.uppercased().map { letter in
            guard let first = letter.unicodeScalars.first, first.isASCII else { return UInt8(ascii: " ") }
            return UInt8(truncatingIfNeeded: first.value)
        }
    }

    /// Returns `line` if it has at most `most` characters; otherwise its first `most` characters. If `most` is more
    /// than 2, the last two of them are replaced by dots.
    static func shortened(_ line: [UInt8], to most: Int) -> [UInt8] {
        guard line.count > max(0, most) else { return line }
        guard most > 2 else { return Array(line.prefix(max(0, most))) }
        return line.prefix(most - 2) + [UInt8](repeating: UInt8(ascii: "."), count: 2)
    }

    /// The rows of `character`, top first; the leftmost column is bit 4. A character that the font does not contain is
    /// blank.
    static func rows(of character: UInt8) -> [UInt8] {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digits[Int(character - UInt8(ascii: "0"))]
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): letters[Int(character - UInt8(ascii: "A"))]
        case UInt8(ascii: "-"): [0, 0, 0, 0b11111, 0, 0, 0]
        case UInt8(ascii: "_"): [0, 0, 0, 0, 0, 0, 0b11111]
        case UInt8(ascii: "."): [0, 0, 0, 0, 0, 0b01100, 0b01100]
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

    private static let letters: [[UInt8]] = [
        [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
        [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110],
        [0b01110, 0b10001, 0b10000, 0b10000, 0b10000, 0b10001, 0b01110],
        [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110],
        [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
        [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000],
        [0b01110, 0b10001, 0b10000, 0b10111, 0b10001, 0b10001, 0b01111],
        [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
        [0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        [0b00111, 0b00010, 0b00010, 0b00010, 0b00010, 0b10010, 0b01100],
        [0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001],
        [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111],
        [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001],
        [0b10001, 0b11001, 0b10101, 0b10011, 0b10001, 0b10001, 0b10001],
        [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000],
        [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101],
        [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001],
        [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110],
        [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100],
        [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100],
        [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001],
        [0b10001, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001, 0b10001],
        [0b10001, 0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100],
        [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111],
    ]
}
