// SPDX-License-Identifier: Apache-2.0

internal import LibAV
package import Media
internal import Networking

/// The login of Adobe's and Limelight's servers, which takes up to three connections. The server refuses the first one,
/// because a login is needed. The second one names the user after the application's name, and the server refuses it
/// with a challenge. On the third one, the response follows the application's name.
///
/// Neither login has a public specification. Both are implemented as in librtmp and FFmpeg (`rtmpproto.c`,
/// `do_adobe_auth`, `do_llnw_auth`). The digest is MD5, a weak protection against eavesdroppers on plain `rtmp://`.
package struct RTMPLogin {
    private enum Scheme: String { case adobe, llnw }
    private enum Phase { case unasked, named, answered }

    private let url: RTMPURL
    private var phase = Phase.unasked
    /// Returns the client's nonce: eight hexadecimal digits, new at each call.
    private let nonce: () -> String

    /// A login that has not begun. `nonce` returns eight hexadecimal digits, which are new at each call.
    package init(
        url: RTMPURL,
        nonce: @escaping () -> String = {
            let digits = String(UInt32.random(in: 0 ... .max), radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }
    ) {
        self.url = url
        self.nonce = nonce
    }

    /// The text that the next connection adds to the application's name, if `message` requires a login; `nil` for other
    /// messages. Throws if the address has no user and password, or if the server refuses them.
    package mutating func answer(to message: RTMPStatusMessage) throws(OutputFailure) -> String? {
        guard let scheme = Self.scheme(in: message.text) else { return nil }
        guard let user = url.user, let password = url.password else {
            throw refusal("the server wants a user and a password; write rtmp://user:password@host/…")
        }
        if message.text.contains("?reason=authfailed") { throw refusal("the password is wrong") }
        if message.text.contains("?reason=nosuchuser") { throw refusal("the server does not know the user") }
        let fields = Self.fields(in: message.text)
        if message.text.contains("?reason=needauth") {
            guard phase != .answered else { throw refusal("the password is wrong") }
            phase = .answered
            return scheme == .adobe
                ? adobe(user: user, password: password, fields) : limelight(user: user, password: password, fields)
        }
        guard message.text.contains("code=403 need auth") else { return nil }
        guard phase == .unasked else { throw refusal("the user or the password is wrong") }
        phase = .named
        return "?authmod=\(scheme.rawValue)&user=\(user)"
    }

    private static func scheme(in text: String) -> Scheme? {
        if text.contains("authmod=adobe") { return .adobe }
        return text.contains("authmod=llnw") ? .llnw : nil
    }

    /// Returns the `name=value` pairs after the first question mark in `text`, up to the next white space.
    private static func fields(in text: String) -> [String: String] {
        let query = text.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let pairs = query.prefix { !$0.isWhitespace }.split(separator: "&").map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        }
        return Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { first, _ in first }
    }

    private func adobe(user: String, password: String, _ fields: [String: String]) -> String {
        let own = nonce()
        let salted = Base64.encode(MD5.digest(of: Array("\(user)\(fields["salt"] ?? "")\(password)".utf8)))
        let question = fields["opaque"] ?? fields["challenge"] ?? ""
        let response = Base64.encode(MD5.digest(of: Array("\(salted)\(question)\(own)".utf8)))
        let opaque = fields["opaque"].map { "&opaque=\($0)" } ?? ""
        return "?authmod=adobe&user=\(user)&challenge=\(own)&response=\(response)\(opaque)"
    }

    /// HTTP's digest authentication (RFC 2617) with `qop=auth`, realm `live` and method `publish`.
    private func limelight(user: String, password: String, _ fields: [String: String]) -> String {
        let (own, count) = (nonce(), "00000001")
        let app = url.app.contains("/") ? url.app : "\(url.app)/_definst_"
        let first = Self.hexadecimal("\(user):live:\(password)")
        let second = Self.hexadecimal("publish:/\(app)")
        let question = fields["nonce"] ?? ""
        let response = Self.hexadecimal("\(first):\(question):\(count):\(own):auth:\(second)")
        return "?authmod=llnw&user=\(user)&nonce=\(question)&cnonce=\(own)&nc=\(count)&response=\(response)"
    }

    private static func hexadecimal(_ text: String) -> String {
        MD5.digest(of: Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func refusal(_ reason: String) -> OutputFailure {
        OutputFailure(.refused, step: "handshake", reason: "\(url): \(reason)", hint: .credentials)
    }
}
