// SPDX-License-Identifier: Apache-2.0

import Networking
import Testing

@testable import RTMP

@Suite("Addresses that an RTMP server listens on")
struct RTMPListenURLTests {
    @Test("Without a host and port, an RTMP server listens on the loopback interface at the default port")
    func defaults() throws {
        let url = try RTMPListenURL("rtmp-listen:///live/key-123456", for: .input)
        #expect(url.host == "127.0.0.1" && url.port == 1935 && url.app == "live" && !url.isSecure && !url.takesOver)
        let secure = try RTMPListenURL("rtmps-listen://[::]/live/program", for: .output)
        #expect(secure.host == "::" && secure.port == 443 && secure.isSecure && secure.maximumPlayers == 256)
    }

    @Test(
        "RTMP addresses that bind the same local address have the same text, however the host is spelled",
        arguments: [
            ("localhost", "127.0.0.1"), ("LOCALHOST", "127.0.0.1"), ("", "127.0.0.1"), ("127.1", "127.0.0.1"),
            ("[::ffff:127.0.0.1]", "127.0.0.1"), ("[0:0:0:0:0:0:0:1]", "[::1]"), ("[0::0]", "[::]"),
            ("0.0.0.0", "0.0.0.0"),
        ])
    func spellings(host: String, shown: String) throws {
        let url = try RTMPListenURL("rtmp-listen://\(host):1935/live/program", for: .output)
        #expect("\(url)" == "rtmp-listen://\(shown):1935/live/program")
    }

    @Test("A listening address may have an application with an instance; names are decoded, and options are checked")
    func pieces() throws {
        let input = try RTMPListenURL("rtmp-listen://0.0.0.0:1936/a/b/k%2Fy?takeover=yes", for: .input)
        #expect(input.path == "a/b/k/y" && input.takesOver && input.port == 1936)
        let output = try RTMPListenURL("rtmp-listen://0.0.0.0/live/program?key=abc&players=5", for: .output)
        #expect(output.playKey == "abc" && output.maximumPlayers == 5)
    }

    @Test(
        "An invalid address to listen on is refused in a sentence without secrets",
        arguments: [
            ("rtmp://h/live/secret1", "must begin with"), ("rtmp-listen://example.org/live/secret1", "numeric"),
            ("rtmp-listen://0.0.0.0/secret1", "app and a stream"),
            ("rtmp-listen://0.0.0.0/live//secret1", "app and a stream"),
            ("rtmp-listen://u:secret1@0.0.0.0/live/x", "no user"), ("rtmp-listen:///live/x?secret1=2", "unknown"),
            ("rtmp-listen:///live/x?takeover=secret1", "yes or no"),
        ])
    func bad(text: String, words: String) {
        do {
            _ = try RTMPListenURL(text, for: .input)
            Issue.record("\(text) was accepted")
        } catch {
            #expect("\(error)".contains(words) && !"\(error)".contains("secret1"), "\(error)")
        }
    }

    @Test("An input's printed address omits the publisher's key, and an output's omits the players' key")
    func masks() throws {
        let input = try RTMPListenURL("rtmp-listen:///live/secret-key", for: .input)
        let output = try RTMPListenURL("rtmp-listen:///live/program?key=secret-key", for: .output)
        var dumped = ""
        dump(input, to: &dumped)
        dump(output, to: &dumped)
        #expect("\(input)" == "rtmp-listen://127.0.0.1:1935/live/se***")
        #expect("\(output)" == "rtmp-listen://127.0.0.1:1935/live/program")
        #expect(!dumped.contains("secret-key"))
    }
}
