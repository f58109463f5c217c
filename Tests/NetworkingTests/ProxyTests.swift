// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Networking

@Suite struct ProxyTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The result of the handshake when `answers` arrive byte by byte.
    private func result(_ dialogue: any ProxyDialogue, _ answers: [[UInt8]]) throws -> (ProxyReaction, [[UInt8]]) {
        var (dialogue, sent) = (dialogue, [[UInt8]]())
        sent.append(dialogue.begin())
        var last = ProxyReaction.more
        for byte in answers.joined() {
            last = try dialogue.take([byte])
            if case .send(let bytes) = last { sent.append(bytes) }
        }
        return (last, sent)
    }

    @Test("A proxy's address is parsed, and printed without its secrets")
    func address() throws {
        let proxy = try ProxyURL("http://bob:hunt%40er22@[::1]:3128")
        #expect(proxy.host == "::1" && proxy.port == 3128 && proxy.user == "bob" && proxy.password == "hunt@er22")
        var dumped = ""
        dump(proxy, to: &dumped)
        for form in ["\(proxy)", String(reflecting: proxy), dumped] {
            #expect(form.contains("http://[::1]:3128"))
            #expect(!form.contains("bob") && !form.contains("er22"))
        }
    }

    @Test(
        "An invalid proxy address is refused",
        arguments: [
            ("https://h:1", "http:// or socks5://"), ("h:1", "no scheme"), ("http://h", "no port"),
            ("socks5://:1080", "no host"), ("http://h:1/path", "behind the port"),
            ("socks5://\(String(repeating: "u", count: 256)):p@h:1", "255"), ("http://a%3Ab:p@h:1", "colon"),
        ])
    func badAddress(text: String, part: String) {
        let error = #expect(throws: AddressError.self) { try ProxyURL(text) }
        #expect(error?.description.contains(part) == true)
    }

    @Test("An HTTP proxy gets a CONNECT request, with the login if the address has one")
    func httpRequest() throws {
        var plain = try ProxyURL("http://proxy:3128").dialogue(host: "::1", port: 443)
        #expect(text(plain.begin()) == "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n")
        var login = try ProxyURL("http://Aladdin:open%20sesame@proxy:3128").dialogue(host: "h", port: 1935)
        #expect(
            text(login.begin())
                == "CONNECT h:1935 HTTP/1.1\r\nHost: h:1935\r\n"
                + "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n")
    }

    @Test(
        "The response of an HTTP proxy is parsed as a success or as a kind of failure",
        arguments: [
            ("HTTP/1.0 200 Connection established\r\nServer: x\r\n\r\n", nil),
            ("HTTP/1.1 200\r\n\r\n", nil),
            ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", OutputFailure.Kind.refused),
            ("HTTP/1.0 401 Unauthorized\r\n\r\n", .refused),
            ("HTTP/1.1 403 Forbidden\r\nA: b\r\n\r\n", .refused),
            ("HTTP/1.1 502 Bad Gateway\r\n\r\n", .unreachable),
            ("SSH-2.0-OpenSSH_9.2\r\n\r\n", .rejected),
            ("HTTP/1.1 20000 x\r\n\r\n", .rejected),
        ] as [(String, OutputFailure.Kind?)])
    func httpAnswer(answer: String, failure: OutputFailure.Kind?) throws {
        let dialogue = try ProxyURL("http://bob:hunter22@proxy:3128").dialogue(host: "h", port: 1935)
        do {
            let (last, sent) = try result(dialogue, [Array(answer.utf8)])
            #expect(last == .done && failure == nil && sent.count == 1)
        } catch let error as OutputFailure {
            #expect(error.kind == failure)
            #expect(error.step == "proxy")
            #expect(!error.reason.contains("hunter22"))
        }
    }

    @Test("An HTTP proxy whose response never ends, or is followed by data too early, fails the handshake")
    func httpBounds() throws {
        var endless = try ProxyURL("http://proxy:3128").dialogue(host: "h", port: 1)
        #expect(throws: OutputFailure.self) {
            for _ in 0..<9 { _ = try endless.take(Array(repeating: 65, count: 1024)) }
        }
        var early = try ProxyURL("http://proxy:3128").dialogue(host: "h", port: 1)
        #expect(throws: OutputFailure.self) { try early.take(Array("HTTP/1.1 200 OK\r\n\r\nmore".utf8)) }
    }

    @Test("A SOCKS proxy gets the server's host name, with and without a login")
    func socks() throws {
        let granted: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        let connect: [UInt8] = [5, 1, 0, 3, 4] + Array("host".utf8) + [0x07, 0x8F]
        let open = try ProxyURL("socks5://proxy:1080").dialogue(host: "host", port: 1935)
        let (last, sent) = try result(open, [[5, 0], granted])
        #expect(last == .done)
        #expect(sent == [[5, 1, 0], connect])

        let closed = try ProxyURL("socks5://me:pw@proxy:1080").dialogue(host: "host", port: 1935)
        let (end, said) = try result(closed, [[5, 2], [1, 0], [5, 0, 0, 3, 2, 65, 66, 0, 0]])
        #expect(end == .done)
        #expect(said == [[5, 2, 0, 2], [1, 2] + Array("me".utf8) + [2] + Array("pw".utf8), connect])
    }

    @Test(
        "If a SOCKS proxy refuses a connection, or cannot reach the server, the two errors differ",
        arguments: [
            ([[5, 255]], OutputFailure.Kind.refused), ([[5, 2], [1, 1]], .refused),
            ([[5, 0], [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]], .refused),
            ([[5, 0], [5, 5, 0, 1, 0, 0, 0, 0, 0, 0]], .unreachable),
            ([[4, 0]], .rejected), ([[5, 0], [5, 0, 0, 9, 0]], .rejected),
        ] as [([[UInt8]], OutputFailure.Kind)])
    func socksRefusals(answers: [[UInt8]], kind: OutputFailure.Kind) throws {
        let dialogue = try ProxyURL("socks5://me:secretpw@proxy:1080").dialogue(host: "host", port: 1935)
        let error = #expect(throws: OutputFailure.self) { try result(dialogue, answers) }
        #expect(error?.kind == kind)
        #expect(error?.step == "proxy")
        #expect(error?.reason.contains("secretpw") == false)
    }

    @Test(
        "Base64 encoding follows RFC 4648",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("\u{3FF}", "z78="),
        ])
    func base64(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
    }
}
