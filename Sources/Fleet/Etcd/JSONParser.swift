// SPDX-License-Identifier: Apache-2.0

/// Reads JSON (RFC 8259) from a server that may send anything. What it accepts is bounded in length and depth.
package struct JSONParser {
    /// Why a text is not read.
    package enum Failure: Error, Equatable {
        /// The text is longer than the limit.
        case tooLong
        /// Lists and objects are nested more deeply than the limit.
        case tooDeep
        /// The text is no JSON from this byte on.
        case malformed(at: Int)
    }

    /// The greatest number of lists and objects in each other.
    package static let depthLimit = 32

    private let bytes: [UInt8]
    private var position = 0

    /// Returns the value that `bytes` contains, with nothing but spaces around it.
    package static func value(of bytes: some Sequence<UInt8>, limit: Int) throws(Failure) -> JSONValue {
        var parser = JSONParser(bytes: Array(bytes))
        guard parser.bytes.count <= limit else { throw .tooLong }
        let value = try parser.value(depth: 0)
        parser.skipSpaces()
        guard parser.position == parser.bytes.count else { throw .malformed(at: parser.position) }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private var malformed: Failure { .malformed(at: position) }

    private mutating func skipSpaces() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func skip(_ character: Character) throws(Failure) {
        guard let byte = next, byte == character.asciiValue else { throw malformed }
        position += 1
    }

    /// Skips `character` after spaces, if it comes next.
    private mutating func skips(_ character: Character) -> Bool {
        skipSpaces()
        guard let byte = next, byte == character.asciiValue else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(Failure) -> JSONValue {
        guard depth <= Self.depthLimit else { throw .tooDeep }
        skipSpaces()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(Failure) -> JSONValue {
        for character in word { try skip(character) }
        return value
    }

    private mutating func object(depth: Int) throws(Failure) -> JSONValue {
        try skip("{")
        var members: [String: JSONValue] = [:]
        if skips("}") { return .object(members) }
        repeat {
            skipSpaces()
            let name = try string()
            skipSpaces()
            try skip(":")
            members[name] = try value(depth: depth + 1)
        } while skips(",")
        try skip("}")
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Failure) -> JSONValue {
        try skip("[")
        var elements: [JSONValue] = []
        if skips("]") { return .array(elements) }
        repeat { elements.append(try value(depth: depth + 1)) } while skips(",")
        try skip("]")
        return .array(elements)
    }

    private mutating func number() throws(Failure) -> String {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        let hasLeadingZero = next == UInt8(ascii: "0")
        let whole = try digits()
        guard whole == 1 || !hasLeadingZero else { throw malformed }
        if next == UInt8(ascii: ".") {
            position += 1
            _ = try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            _ = try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Skips at least one digit, and returns how many there were.
    private mutating func digits() throws(Failure) -> Int {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw malformed }
        return position - start
    }

    private mutating func string() throws(Failure) -> String {
        try skip("\"")
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let valid = String(validating: text, as: UTF8.self) else { throw malformed }
                return valid
            case UInt8(ascii: "\\"): text += try escaped().utf8
            case 0..<0x20: throw malformed
            default: text.append(byte)
            }
        }
        throw malformed
    }

    private mutating func escaped() throws(Failure) -> String {
        guard let byte = next else { throw malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(UnicodeScalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicode()
        default: throw malformed
        }
    }

    /// Reads the digits of `\u`, and those of the second half of a surrogate pair.
    private mutating func unicode() throws(Failure) -> String {
        var units = [try unit()]
        if (0xD800..<0xDC00).contains(units[0]) {
            try skip("\\")
            try skip("u")
            units.append(try unit())
        }
        guard let text = String(validating: units, as: UTF16.self) else { throw malformed }
        return text
    }

    private mutating func unit() throws(Failure) -> UInt16 {
        guard position + 4 <= bytes.count else { throw malformed }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(UnicodeScalar(bytes[position])).hexDigitValue, bytes[position] < 0x80 else {
                throw malformed
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
