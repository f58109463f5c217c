// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Control
internal import Glibc
internal import Networking

/// The settings of the HTTP server, as they are written in flags or in a file.
struct ControlKeys: Equatable {
    /// A token and its role, as they are written.
    struct Token: Equatable {
        var role: String
        /// The text of the token. It may refer to a secret, and must not be shown.
        var token: String
    }

    /// A webhook, as it is written.
    struct Webhook: Equatable {
        /// The address may be secret or refer to a secret, and must not be shown.
        var url = ""
        /// The text of the signing secret. It may refer to a secret, and must not be shown.
        var secret: String?
        var events: [String] = []
        var level: String?
        var authorities: String?
    }

    /// An error in a setting: its key, and a sentence without secrets.
    struct Fault: Error, Equatable {
        let key: String
        let text: String
    }

    /// The minimum length of a token; shorter tokens could be guessed.
    private static let shortestToken = 12

    var address: String?
    var socket: String?
    var tokens: [Token] = []
    var webhooks: [Webhook] = []
    var certificate: String?
    var key: String?
    var hosts: [String] = []
    var trustedProxies: [String] = []
    var basePath: String?

    /// Checks the settings and returns them in their final form. Reads the files of secrets.
    func settings(secrets: SecretReferences = .process) throws(Fault) -> ControlSettings {
        var settings = ControlSettings()
        settings.address = try address.map { (text) throws(Fault) in try Self.place(text) }
        settings.socket = socket ?? Self.standardSocket
        for (index, token) in tokens.enumerated() {
            settings.tokens.append(try Self.read(token, "tokens[\(index)]", secrets))
        }
        for (index, webhook) in webhooks.enumerated() {
            settings.webhooks.append(try Self.read(webhook, "webhooks[\(index)]", secrets))
        }
        switch (certificate, key) {
        case (let certificate?, let key?): settings.certificate = (certificate, key)
        case (nil, nil): break
        case (_?, nil): throw Fault(key: "key", text: "A certificate needs its key.")
        case (nil, _?): throw Fault(key: "certificate", text: "A key needs its certificate.")
        }
        settings.hosts = Set(hosts.map { $0.lowercased() })
        for (index, text) in trustedProxies.enumerated() {
            guard let range = AddressRange(text) else {
                throw Fault(
                    key: "trustedProxies[\(index)]",
                    text: "It is an IP address or a network, such as 192.0.2.1 or 10.0.0.0/8.")
            }
            settings.trustedProxies.append(range)
        }
        if let basePath { settings.basePath = try Self.path(basePath) }
        if settings.tokens.isEmpty, !settings.isLoopback {
            throw Fault(
                key: "address", text: "Others can reach this address: name tokens, or one on the loopback interface.")
        }
        return settings
    }

    private static func place(_ text: String) throws(Fault) -> ControlSettings.Address {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { throw Fault(key: "address", text: "It is host:port, such as 127.0.0.1:8080 or [::1]:8080.") }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty, host.allSatisfy({ $0.isASCII && !$0.isWhitespace && $0 != "/" }) else {
            throw Fault(key: "address", text: "It names no host: 127.0.0.1:8080 is for this machine alone.")
        }
        return ControlSettings.Address(host: host.lowercased(), port: port)
    }

    private static func read(
        _ token: Token, _ name: String, _ secrets: SecretReferences
    ) throws(Fault) -> ControlSettings.Token {
        guard let role = ControlRole(rawValue: token.role), role != .none else {
            throw Fault(key: "\(name).role", text: "It is view or operate.")
        }
        let secret: String
        do throws(SecretReferenceError) {
            secret = try secrets.expand(token.token)
        } catch {
            throw Fault(key: "\(name).token", text: "\(error)")
        }
        guard secret.utf8.count >= shortestToken, secret.allSatisfy({ $0.isASCII && !$0.isWhitespace }) else {
            throw Fault(
                key: "\(name).token", text: "It has \(shortestToken) characters or more, of ASCII and without spaces.")
        }
        return ControlSettings.Token(role: role, secret: secret)
    }

    private static func path(_ text: String) throws(Fault) -> String {
        let trimmed = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard trimmed.isEmpty || trimmed.hasPrefix("/"),
            trimmed.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "/-_.".contains($0)) })
        else { throw Fault(key: "basePath", text: "It begins with /, and has letters, digits, -, _ and . only.") }
        return trimmed
    }

    /// The default path of the socket, in the runtime directory that systemd creates for the service; nil if there is
    /// no such directory.
    static var standardSocket: String? {
        getenv("RUNTIME_DIRECTORY").map { String(cString: $0) }.flatMap { directories in
            directories.split(separator: ":").first.map { "\($0)/relay.sock" }
        }
    }
}
