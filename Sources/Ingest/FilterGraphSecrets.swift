// SPDX-License-Identifier: Apache-2.0

/// Finds parts of a filter graph that might be secret: the values of options that are named like credentials, such as
/// `decryption_key` in `lavfi:movie=clip.mp4:format_opts=decryption_key=…`. Addresses, which contain `://`, are not
/// found here, but by the callers.
package enum FilterGraphSecrets {
    private static let names: Set<String> = [
        "auth", "authorization", "cookies", "cryptokey", "headers", "key", "keys", "pass", "post_data", "pwd", "user",
        "username",
    ]
    /// Parts of option names that mark a credential. `pass` is not in the list, because it occurs in the names of
    /// filters, such as `lowpass`.
    private static let parts = [
        "_key", "credential", "passphrase", "passwd", "password", "secret", "srtp_", "streamid", "token",
    ]

    /// Returns the offset in `graph` at which the value of the first option that might be a credential begins; nil if
    /// there is no such option. All text from this offset on might be secret. An option's name and its `=` can be
    /// separated by backslashes and quotes, which filters treat as escapes.
    package static func start(in graph: [UInt8]) -> Int? {
        graph.indices.first { index in
            guard graph[index] == UInt8(ascii: "=") else { return false }
            let name = graph[..<index].reversed().drop(while: isEscape).prefix(while: isPartOfName).reversed()
            return isSecret(String(decoding: Array(name), as: UTF8.self).lowercased())
        }.map { $0 + 1 }
    }

    private static func isSecret(_ name: String) -> Bool {
        names.contains(name) || parts.contains { name.contains($0) }
    }

    /// Whether filters treat the byte as an escape character.
    package static func isEscape(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "'") }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
