// SPDX-License-Identifier: Apache-2.0

/// The parts of an address `scheme://[user[:password]@]host[:port][/path][?query]`. Path and query are still
/// percent-encoded.
package struct URLParts {
    /// The scheme, in lower case.
    package let scheme: String
    /// The user in front of the `@`, without percent-encoding.
    package let user: String?
    /// The password between the first colon and the `@`, without percent-encoding.
    package let password: String?
    /// The host, without the brackets of an IPv6 literal.
    package let host: String
    /// The port, from 1 to 65535.
    package let port: UInt16?
    /// The path without its leading slashes, up to the query.
    package let path: String
    /// The text after the question mark of the address.
    package let query: String?

    /// Parses the address `text`. Errors never repeat any part of it.
    package init(_ text: String) throws(AddressError) {
        guard
            !text.unicodeScalars.contains(where: {
                // The control characters include DEL and the characters of ISO 6429 from U+0080 on.
                $0.properties.isWhitespace || $0.properties.generalCategory == .control
            })
        else {
            throw AddressError("The address contains a space or control character; write it with %, such as %20.")
        }
        guard let colon = text.firstRange(of: "://") else {
            throw AddressError("The address has no scheme such as rtmp:// or srt://.")
        }
        scheme = text[..<colon.lowerBound].lowercased()
        let rest = text[colon.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let tail = rest[authority.endIndex...]
        let mark = tail.firstIndex(of: "?")
        path = String(tail[..<(mark ?? tail.endIndex)].drop { $0 == "/" })
        query = mark.map { String(tail[tail.index(after: $0)...]) }

        let at = authority.lastIndex(of: "@")
        let userInfo = at.map { authority[..<$0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) }
        user = userInfo?.first.map { Self.decode($0) }
        password = userInfo.flatMap { $0.count > 1 ? Self.decode($0[1]) : nil }
        (host, port) = try Self.endpoint(at.map { authority[authority.index(after: $0)...] } ?? authority)
    }

    private static func endpoint(_ text: Substring) throws(AddressError) -> (String, UInt16?) {
        var host = text
        var port: Substring?
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]") else {
                throw AddressError("The address has an IPv6 host without its closing bracket.")
            }
            host = text[text.index(after: text.startIndex)..<close]
            let tail = text[text.index(after: close)...]
            guard tail.isEmpty || tail.first == ":" else {
                throw AddressError("The address has something between the IPv6 host and the port.")
            }
            port = tail.isEmpty ? nil : tail.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard let port else { return (String(host), nil) }
        guard let number = UInt16(port), number > 0, port.allSatisfy(\.isNumber) else {
            throw AddressError("The address has a bad port; a port is a number from 1 to 65535.")
        }
        return (String(host), number)
    }

    /// Decodes each `%XX` in `text`. An invalid escape stays as it is.
    package static func decode(_ text: some StringProtocol) -> String {
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        var index = 0
        while index < source.count {
            if source[index] == UInt8(ascii: "%"), index + 2 < source.count,
                let high = hexadecimal(source[index + 1]), let low = hexadecimal(source[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The value of one hexadecimal digit (RFC 3986, 2.1). `UInt8(_:radix:)` would accept a sign.
    private static func hexadecimal(_ digit: UInt8) -> UInt8? {
        Character(UnicodeScalar(digit)).hexDigitValue.map { UInt8($0) }
    }

    /// The host in the form that addresses need: an IPv6 literal in brackets.
    package static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    /// Masks `secret`. Only its first two characters remain, and not even these if it has less than six characters.
    package static func masked(_ secret: String) -> String { secret.count < 6 ? "***" : "\(secret.prefix(2))***" }
}
