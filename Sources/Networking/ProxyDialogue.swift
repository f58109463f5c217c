// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The handshake that asks a proxy for a connection to a host. It processes bytes and returns bytes, without I/O. No
/// matter how much the proxy sends, it buffers only a limited part of the answer.
protocol ProxyDialogue {
    /// The client's first message.
    mutating func begin() -> [UInt8]
    /// Processes bytes from the proxy.
    mutating func take(_ bytes: [UInt8]) throws(OutputFailure) -> ProxyReaction
}

/// What the client does after it received bytes from the proxy.
enum ProxyReaction: Equatable {
    /// Wait: the answer is not complete.
    case more
    /// Send these bytes to the proxy next.
    case send([UInt8])
    /// The connection is established.
    case done
}

extension ProxyURL {
    /// The handshake for a connection to `host`, which the proxy resolves.
    func dialogue(host: String, port: UInt16) -> any ProxyDialogue {
        switch kind {
        case .http: HTTPProxyDialogue(proxy: self, host: host, port: port)
        case .socks5: SOCKSProxyDialogue(proxy: self, host: host, port: port)
        }
    }

    /// An error that ends the handshake.
    func failure(_ kind: OutputFailure.Kind, _ reason: String) -> OutputFailure {
        OutputFailure(kind, step: "proxy", reason: "\(self): \(reason)")
    }
}

/// `CONNECT` (RFC 9110, 9.3.6) with Basic authentication (RFC 7617).
struct HTTPProxyDialogue: ProxyDialogue {
    private static let maximumAnswerBytes = 8 << 10

    let proxy: ProxyURL
    let host: String
    let port: UInt16
    fileprivate var answer: [UInt8] = []

    mutating func begin() -> [UInt8] {
        let target = "\(URLParts.bracketed(host)):\(port)"
        var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)"]
        if let user = proxy.user {
            let login = Base64.encode(Array("\(user):\(proxy.password ?? "")".utf8))
            lines.append("Proxy-Authorization: Basic \(login)")
        }
        return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    mutating func take(_ bytes: [UInt8]) throws(OutputFailure) -> ProxyReaction {
        answer += bytes
        guard answer.count <= Self.maximumAnswerBytes else {
            throw proxy.failure(.rejected, "it answers with more than \(Self.maximumAnswerBytes) bytes")
        }
        guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return .more }
        let line = String(decoding: answer.prefix { $0 != 13 && $0 != 10 }.prefix(100), as: UTF8.self)
        let words = line.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].count == 3, let status = Int(words[1]) else {
            throw proxy.failure(.rejected, "it does not speak HTTP")
        }
        switch status {
        case 200..<300:
            guard end.upperBound == answer.count else {
                throw proxy.failure(.rejected, "it sends data before the connection is used")
            }
            return .done
        case 401, 407:
            let word = proxy.user == nil ? "wants a user and a password" : "does not accept the user or the password"
            throw proxy.failure(.refused, "it \(word) (\(status))")
        case 403, 405: throw proxy.failure(.refused, "it does not allow \(host) port \(port) (\(status))")
        default: throw proxy.failure(.unreachable, "it does not connect to \(host) port \(port) (\(status))")
        }
    }
}

/// SOCKS version 5 (RFC 1928) with user and password (RFC 1929).
struct SOCKSProxyDialogue: ProxyDialogue {
    fileprivate enum Phase { case methods, login, connection }

    let proxy: ProxyURL
    let host: String
    let port: UInt16
    fileprivate var phase = Phase.methods
    fileprivate var answer: [UInt8] = []

    mutating func begin() -> [UInt8] { proxy.user == nil ? [5, 1, 0] : [5, 2, 0, 2] }

    mutating func take(_ bytes: [UInt8]) throws(OutputFailure) -> ProxyReaction {
        answer += bytes
        guard answer.count >= 2 else { return .more }
        switch phase {
        case .methods: return try methods()
        case .login: return try login()
        case .connection: return try connection()
        }
    }

    private mutating func methods() throws(OutputFailure) -> ProxyReaction {
        guard answer.count == 2, answer[0] == 5 else { throw proxy.failure(.rejected, "it does not speak SOCKS 5") }
        defer { answer = [] }
        switch answer[1] {
        case 0: return .send(try request())
        case 2 where proxy.user != nil:
            phase = .login
            let (user, password) = (Array((proxy.user ?? "").utf8), Array((proxy.password ?? "").utf8))
            return .send([1, UInt8(user.count)] + user + [UInt8(password.count)] + password)
        default:
            throw proxy.failure(.refused, "it wants \(proxy.user == nil ? "a user and a password" : "another login")")
        }
    }

    private mutating func login() throws(OutputFailure) -> ProxyReaction {
        guard answer.count == 2, answer[1] == 0 else {
            throw proxy.failure(.refused, "it does not accept the user or the password")
        }
        answer = []
        return .send(try request())
    }

    private mutating func request() throws(OutputFailure) -> [UInt8] {
        phase = .connection
        let port = [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
        // The address is written in one of three types (RFC 1928, 5): 1 for IPv4, 4 for IPv6, 3 for a name, which the
        // proxy resolves.
        if let address = HostAddress(literal: host, port: 0)?.networkBytes {
            return [5, 1, 0, address.count == 4 ? 1 : 4] + address + port
        }
        let name = Array(host.utf8)
        guard name.count <= 255 else { throw proxy.failure(.rejected, "a host's name has at most 255 bytes") }
        return [5, 1, 0, 3, UInt8(name.count)] + name + port
    }

    private func connection() throws(OutputFailure) -> ProxyReaction {
        guard answer[0] == 5 else { throw proxy.failure(.rejected, "it does not speak SOCKS 5") }
        guard answer[1] == 0 else {
            let isRuled = [2, 7, 8].contains(answer[1])
            let reason = "it does not connect to \(host) port \(port): \(Self.word(for: answer[1]))"
            throw proxy.failure(isRuled ? .refused : .unreachable, reason)
        }
        guard answer.count >= 5 else { return .more }
        let addressBytes: Int
        switch answer[3] {
        case 1: addressBytes = 4
        case 3: addressBytes = 1 + Int(answer[4])
        case 4: addressBytes = 16
        default: throw proxy.failure(.rejected, "it does not speak SOCKS 5")
        }
        let total = 4 + addressBytes + 2
        guard answer.count <= total else {
            throw proxy.failure(.rejected, "it sends data before the connection is used")
        }
        return answer.count == total ? .done : .more
    }

    /// The reply codes (RFC 1928, 6).
    private static func word(for code: UInt8) -> String {
        let words = [
            1: "general failure", 2: "not allowed by its rules", 3: "network unreachable", 4: "host unreachable",
            5: "connection refused", 6: "TTL expired", 7: "command not supported", 8: "address type not supported",
        ]
        return words[Int(code)] ?? "reply \(code)"
    }
}

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
