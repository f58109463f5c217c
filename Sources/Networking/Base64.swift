// SPDX-License-Identifier: Apache-2.0

/// Base 64 with padding (RFC 4648, 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

    /// Encodes `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let value = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
            for digit in 0..<4 {
                text.append(digit <= group.count ? alphabet[value >> (18 - 6 * digit) & 0x3F] : "=")
            }
        }
        return text
    }
}
