// SPDX-License-Identifier: Apache-2.0

/// A value of AMF0, the encoding of RTMP commands (Action Message Format AMF 0, 2.1).
package enum AMF0Value: Equatable, Sendable {
    case number(Double)
    case boolean(Bool)
    case string(String)
    case object([String: AMF0Value])
    case array([AMF0Value])
    case null

    /// The text, if the value is a text.
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, if the value is a number.
    var number: Double? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The property `name`, if the value is an object with a property of this name.
    func property(_ name: String) -> AMF0Value? {
        if case .object(let properties) = self { properties[name] } else { nil }
    }

    /// The text of the property `name`, if the value is an object that has this property and if the property is a text.
    func text(_ name: String) -> String? { property(name)?.text }
}

/// Writes AMF0.
struct AMF0Writer {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ number: Double) {
        bytes.append(0x00)
        withUnsafeBytes(of: number.bitPattern.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ flag: Bool) { bytes += [0x01, flag ? 1 : 0] }

    mutating func write(_ text: String) {
        bytes.append(0x02)
        name(text)
    }

    mutating func writeNull() { bytes.append(0x05) }

    /// Writes an ECMA array (2.10).
    mutating func writeArray(_ properties: [(String, AMF0Value)]) {
        bytes.append(0x08)
        withUnsafeBytes(of: UInt32(properties.count).bigEndian) { bytes.append(contentsOf: $0) }
        write(properties)
    }

    /// Writes an object (2.5).
    mutating func writeObject(_ properties: [(String, AMF0Value)]) {
        bytes.append(0x03)
        write(properties)
    }

    /// Writes any value; an object's properties are sorted by name.
    mutating func write(_ value: AMF0Value) {
        switch value {
        case .number(let number): write(number)
        case .boolean(let flag): write(flag)
        case .string(let text): write(text)
        case .object(let properties): writeObject(properties.sorted { $0.key < $1.key })
        case .array(let values):
            bytes.append(0x0A)
            withUnsafeBytes(of: UInt32(values.count).bigEndian) { bytes.append(contentsOf: $0) }
            for value in values { write(value) }
        case .null: writeNull()
        }
    }

    private mutating func write(_ properties: [(String, AMF0Value)]) {
        for (key, value) in properties {
            name(key)
            write(value)
        }
        bytes += [0, 0, 0x09]
    }

    /// Writes a name or short text of at most 65535 bytes (2.4); a longer one is truncated.
    private mutating func name(_ text: String) {
        let utf8 = Array(text.utf8.prefix(0xFFFF))
        bytes += [UInt8(utf8.count >> 8), UInt8(utf8.count & 0xFF)]
        bytes += utf8
    }
}

/// Reads AMF0 from an untrusted peer. The depth and the number of values are limited, and memory is allocated only for
/// received bytes.
struct AMF0Reader {
    /// The bytes are truncated, are not AMF0, have a type that is not supported, nest values more than 8 levels deep,
    /// or contain more than 4096 values.
    struct Malformed: Error {}

    private static let deepest = 8

    private var bytes: ArraySlice<UInt8>
    private var valuesLeft = 4096

    init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes)[...] }

    var isAtEnd: Bool { bytes.isEmpty }

    /// All values up to the end, or up to the first value that is not valid.
    static func values(_ bytes: some Collection<UInt8>) -> [AMF0Value] {
        var reader = AMF0Reader(bytes)
        var values: [AMF0Value] = []
        while !reader.isAtEnd, let value = try? reader.next() { values.append(value) }
        return values
    }

    mutating func next(depth: Int = 0) throws(Malformed) -> AMF0Value {
        guard depth < Self.deepest, valuesLeft > 0 else { throw Malformed() }
        valuesLeft -= 1
        switch try byte() {
        case 0x00: return .number(Double(bitPattern: try integer(8)))
        case 0x01: return .boolean(try byte() != 0)
        case 0x02: return .string(try string(lengthBytes: 2))
        case 0x0C, 0x0F: return .string(try string(lengthBytes: 4))
        case 0x10:
            _ = try string(lengthBytes: 2)  // the class name
            return .object(try properties(depth: depth))
        case 0x03: return .object(try properties(depth: depth))
        case 0x08:
            _ = try integer(4)
            return .object(try properties(depth: depth))
        case 0x05, 0x06, 0x0D: return .null
        case 0x07:
            _ = try integer(2)  // a reference to an object; no message that relay reads contains one
            return .null
        case 0x11: return try escaped(depth: depth)
        case 0x0A: return .array(try array(depth: depth))
        case 0x0B:
            let milliseconds = Double(bitPattern: try integer(8))
            _ = try integer(2)
            return .number(milliseconds)
        default: throw Malformed()
        }
    }

    /// Reads the AMF3 value that follows the marker for a switch to AMF3 (3.1).
    private mutating func escaped(depth: Int) throws(Malformed) -> AMF0Value {
        var reader = AMF3Reader(bytes)
        defer { bytes = reader.bytes }
        return try reader.next(valuesLeft: &valuesLeft, depth: depth)
    }

    private mutating func array(depth: Int) throws(Malformed) -> [AMF0Value] {
        let count = try integer(4)
        guard count <= bytes.count else { throw Malformed() }
        var values: [AMF0Value] = []
        for _ in 0..<count { values.append(try next(depth: depth + 1)) }
        return values
    }

    private mutating func properties(depth: Int) throws(Malformed) -> [String: AMF0Value] {
        var properties: [String: AMF0Value] = [:]
        while true {
            let name = try string(lengthBytes: 2)
            if name.isEmpty, bytes.first == 0x09 {
                bytes.removeFirst()
                return properties
            }
            properties[name] = try next(depth: depth + 1)
        }
    }

    private mutating func byte() throws(Malformed) -> UInt8 {
        guard let byte = bytes.popFirst() else { throw Malformed() }
        return byte
    }

    private mutating func integer(_ count: Int) throws(Malformed) -> UInt64 {
        guard bytes.count >= count else { throw Malformed() }
        defer { bytes.removeFirst(count) }
        return bytes.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func string(lengthBytes: Int) throws(Malformed) -> String {
        let count = Int(try integer(lengthBytes))
        guard bytes.count >= count else { throw Malformed() }
        defer { bytes.removeFirst(count) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
