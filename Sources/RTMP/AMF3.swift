// SPDX-License-Identifier: Apache-2.0

/// Reads values of AMF3 (Action Message Format AMF 3), which Flash clients put into AMF0 commands. It supports what
/// commands need: the primitive types, strings, arrays and objects. It has the same limits as ``AMF0Reader``, and
/// shares its counts of levels and values.
struct AMF3Reader {
    private static let deepest = 8

    /// The unread bytes.
    private(set) var bytes: ArraySlice<UInt8>
    private var strings: [String] = []
    private var traits: [Traits] = []

    /// The members that objects of a class have (3.12).
    private struct Traits {
        let names: [String]
        let isDynamic: Bool
    }

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Reads the next value, which is inside `depth` other values. The value and all values inside it count toward the
    /// limit `valuesLeft`.
    mutating func next(valuesLeft: inout Int, depth: Int) throws(AMF0Reader.Malformed) -> AMF0Value {
        guard depth < Self.deepest, valuesLeft > 0 else { throw AMF0Reader.Malformed() }
        valuesLeft -= 1
        switch try byte() {
        case 0x00, 0x01: return .null
        case 0x02: return .boolean(false)
        case 0x03: return .boolean(true)
        case 0x04:
            let value = Int32(bitPattern: try unsigned29())
            return .number(Double((value << 3) >> 3))  // 29 bits including the sign
        case 0x05: return .number(try double())
        case 0x06: return .string(try string())
        case 0x09: return .array(try array(&valuesLeft, depth))
        case 0x0A: return .object(try object(&valuesLeft, depth))
        default: throw AMF0Reader.Malformed()
        }
    }

    private mutating func array(_ valuesLeft: inout Int, _ depth: Int) throws(AMF0Reader.Malformed) -> [AMF0Value] {
        let header = try unsigned29()
        guard header & 1 == 1 else { throw AMF0Reader.Malformed() }
        // The array's named values (its associative part) are skipped.
        while case let name = try string(), !name.isEmpty { _ = try next(valuesLeft: &valuesLeft, depth: depth + 1) }
        var values: [AMF0Value] = []
        for _ in 0..<header >> 1 { values.append(try next(valuesLeft: &valuesLeft, depth: depth + 1)) }
        return values
    }

    private mutating func object(
        _ valuesLeft: inout Int, _ depth: Int
    ) throws(AMF0Reader.Malformed) -> [String: AMF0Value] {
        let traits = try self.traits(of: try unsigned29())
        var properties: [String: AMF0Value] = [:]
        for name in traits.names { properties[name] = try next(valuesLeft: &valuesLeft, depth: depth + 1) }
        guard traits.isDynamic else { return properties }
        while case let name = try string(), !name.isEmpty {
            properties[name] = try next(valuesLeft: &valuesLeft, depth: depth + 1)
        }
        return properties
    }

    private mutating func traits(of header: UInt32) throws(AMF0Reader.Malformed) -> Traits {
        // A reference to an object, and an object with its own encoding, are refused, because commands contain neither.
        guard header & 1 == 1, header & 7 != 7 else { throw AMF0Reader.Malformed() }
        if header & 2 == 0 {
            guard header >> 2 < traits.count else { throw AMF0Reader.Malformed() }
            return traits[Int(header >> 2)]
        }
        _ = try string()  // the class name
        var names: [String] = []
        for _ in 0..<header >> 4 {
            guard !bytes.isEmpty else { throw AMF0Reader.Malformed() }
            names.append(try string())
        }
        let new = Traits(names: names, isDynamic: header & 8 != 0)
        traits.append(new)
        return new
    }

    private mutating func string() throws(AMF0Reader.Malformed) -> String {
        let header = try unsigned29()
        let number = Int(header >> 1)
        if header & 1 == 0 {
            guard number < strings.count else { throw AMF0Reader.Malformed() }
            return strings[number]
        }
        guard bytes.count >= number else { throw AMF0Reader.Malformed() }
        let text = String(decoding: bytes.prefix(number), as: UTF8.self)
        bytes.removeFirst(number)
        if !text.isEmpty { strings.append(text) }
        return text
    }

    /// Reads a number of one to four bytes (1.3.1).
    private mutating func unsigned29() throws(AMF0Reader.Malformed) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<3 {
            let byte = try byte()
            value = value << 7 | UInt32(byte & 0x7F)
            if byte < 0x80 { return value }
        }
        return value << 8 | UInt32(try byte())
    }

    private mutating func double() throws(AMF0Reader.Malformed) -> Double {
        var bits: UInt64 = 0
        for _ in 0..<8 { bits = bits << 8 | UInt64(try byte()) }
        return Double(bitPattern: bits)
    }

    private mutating func byte() throws(AMF0Reader.Malformed) -> UInt8 {
        guard let byte = bytes.popFirst() else { throw AMF0Reader.Malformed() }
        return byte
    }
}
