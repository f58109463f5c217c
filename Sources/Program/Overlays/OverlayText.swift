// SPDX-License-Identifier: Apache-2.0

/// The text of an overlay. `{time}` and `{timecode}` in the text are replaced by clocks.
package struct OverlayText: Sendable, Equatable {
    /// A piece of the text that is rendered separately.
    package enum Piece: Sendable, Equatable {
        /// Text that never changes.
        case fixed(String)
        /// A digit of a clock, by its place from the left, counted from 0.
        case digit(Int, of: OverlayTime.Clock)
    }

    /// Says in one sentence why a text cannot be used.
    package struct Fault: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// The maximum number of characters of a text.
    package static let longest = 200

    /// The text as the user wrote it.
    package let text: String
    /// The text's pieces, from left to right.
    package let pieces: [Piece]

    /// Divides `text` into pieces. Throws if `text` is blank, has more than ``longest`` characters, contains a control
    /// character such as a line break or a tab, or names an unknown clock.
    package init(_ text: String) throws(Fault) {
        guard !text.allSatisfy(\.isWhitespace), text.count <= Self.longest else {
            throw Fault(description: "An overlay's text has 1 to \(Self.longest) letters.")
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Fault(description: "An overlay's text is one line, without tabs and the like.")
        }
        var (pieces, rest) = ([Piece](), text[...])
        while let match = rest.firstMatch(of: /\{([A-Za-z]+)\}/) {
            guard let clock = OverlayTime.Clock(rawValue: String(match.output.1)) else {
                let known = OverlayTime.Clock.allCases.map { "{\($0.rawValue)}" }.joined(separator: " and ")
                throw Fault(description: "An overlay's text knows no {\(match.output.1)}: there are \(known).")
            }
            pieces.append(.fixed(String(rest[..<match.range.lowerBound])))
            for place in 0..<clock.digits {
                if place > 0, place % 2 == 0 { pieces.append(.fixed(":")) }
                pieces.append(.digit(place, of: clock))
            }
            rest = rest[match.range.upperBound...]
        }
        pieces.append(.fixed(String(rest)))
        self.text = text
        self.pieces = pieces.filter { $0 != .fixed("") }
    }
}
