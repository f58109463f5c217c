// SPDX-License-Identifier: Apache-2.0

/// An option of a channel, identified by its flag on the command line. A configuration file has a key for the same
/// option.
package struct OptionReference: Sendable, Hashable {
    /// One of the values of an option that may be given several times.
    package enum Element: Sendable, Hashable {
        /// The position of the value, counted from 1.
        case number(Int)
        /// The name of the value.
        case name(String)
    }

    /// The flag, such as `--output`.
    package let flag: String
    /// One value of the option; nil means all its values.
    package let element: Element?

    /// The option with this `flag`; with an `element`, only this value of the option.
    package init(_ flag: String, _ element: Element? = nil) { (self.flag, self.element) = (flag, element) }

    /// Text for a sentence: `name`, which is the name of the option, and the number or name of ``element``, if there is
    /// one.
    package func text(_ name: String) -> String {
        switch element {
        case nil: name
        case .number(let number): "\(name) number \(number)"
        case .name(let element): "\(name) \(element)"
        }
    }
}

/// A sentence about options that have different names on the command line and in a configuration file.
///
/// It is written as an interpolated string: `"\(option: "--crf") is only for recordings."`.
package struct OptionSentence: Sendable, Equatable, ExpressibleByStringInterpolation, CustomStringConvertible {
    fileprivate enum Piece: Sendable, Equatable {
        case text(String)
        case option(OptionReference)
    }

    fileprivate var pieces: [Piece]

    package init(stringLiteral text: String) { pieces = [.text(text)] }

    package init(stringInterpolation interpolation: StringInterpolation) { pieces = interpolation.pieces }

    /// A sentence without options.
    package init(_ text: String) { pieces = [.text(text)] }

    /// The options that the sentence contains, in their order.
    package var options: [OptionReference] {
        pieces.compactMap { if case .option(let option) = $0 { option } else { nil } }
    }

    /// The text of the sentence. `name` converts each flag to the name that the text shows.
    package func text(naming name: (String) -> String) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .option(let option): option.text(name(option.flag))
            }
        }.joined()
    }

    /// The sentence for the command line.
    package var description: String { text { $0 } }

    package static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.pieces += right.pieces
        return sum
    }

    /// Collects the pieces of a sentence.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ text: String) { pieces.append(.text(text)) }

        /// Appends an option by its flag.
        package mutating func appendInterpolation(option flag: String, _ element: OptionReference.Element? = nil) {
            pieces.append(.option(OptionReference(flag, element)))
        }

        /// Appends an option.
        package mutating func appendInterpolation(_ option: OptionReference) { pieces.append(.option(option)) }

        /// Appends another sentence with its options.
        package mutating func appendInterpolation(_ sentence: OptionSentence) { pieces += sentence.pieces }

        /// Appends the sentence of a failure with its options.
        package mutating func appendInterpolation(_ failure: TextFailure) { pieces += failure.sentence.pieces }

        /// Appends the description of a value.
        package mutating func appendInterpolation(_ value: some Any) { pieces.append(.text("\(value)")) }
    }
}
