// SPDX-License-Identifier: Apache-2.0

/// Base64 with padding (RFC 4648 §4), which etcd's JSON gateway uses for keys and values.
package enum Base64Text {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values: [UInt8: UInt32] = Dictionary(
        uniqueKeysWithValues: alphabet.enumerated().map { ($1, UInt32($0)) })

    /// The bytes as Base64.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let group = Array(rest.prefix(3))
            rest = rest.dropFirst(3)
            let word = group.reduce(0 as UInt32) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for index in 0..<4 {
                let isPadding = index > group.count
                text.append(
                    isPadding ? UInt8(ascii: "=") : alphabet[Int(word >> (18 - 6 * UInt32(index))) & 63])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes that `text` stands for; nil if it is not Base64 as ``encode(_:)`` writes it.
    package static func decode(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count.isMultiple(of: 4) else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: characters.count, by: 4) {
            let group = characters[start..<start + 4]
            let isLast = start + 4 == characters.count
            let padding = isLast ? group.reversed().prefix { $0 == UInt8(ascii: "=") }.count : 0
            guard padding <= 2 else { return nil }
            var word: UInt32 = 0
            for character in group.dropLast(padding) {
                guard let value = values[character] else { return nil }
                word = word << 6 | value
            }
            word <<= 6 * UInt32(padding)
            // Bits that belong to no byte must be zero.
            guard padding == 0 || word & (padding == 1 ? 0xFF : 0xFFFF) == 0 else { return nil }
            for index in 0..<(3 - padding) { bytes.append(UInt8(truncatingIfNeeded: word >> (16 - 8 * UInt32(index)))) }
        }
        return bytes
    }
}
