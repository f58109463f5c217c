// SPDX-License-Identifier: Apache-2.0

import Networking
import Testing

@testable import SRT

@Suite struct SRTURLTests {
    @Test("The options of an SRT caller's address are parsed")
    func caller() throws {
        let url = try SRTURL(
            "srt://h:9000?mode=caller&latency=300&passphrase=0123456789&pbkeylen=32&streamid=publish%2Fone"
                + "&tlpktdrop=no&maxbw=-1&minversion=1.4.3&conntimeo=500&pkt_size=1400&linger=2&ttl=8")
        #expect(url.mode == .caller)
        #expect(url.port == 9000)
        #expect(url.options[.latency] == .integer(300))
        #expect(url.options[.passphrase] == .text("0123456789"))
        #expect(url.options[.pbkeylen] == .integer(32))
        #expect(url.streamID == "publish/one")
        #expect(url.options[.tlpktdrop] == .flag(false))
        #expect(url.options[.maxbw] == .wide(-1))
        #expect(url.options[.minversion] == .integer(0x010403))
        #expect(url.connectMilliseconds == 500)
        #expect(url.messageBytes == 1316)
        #expect(url.options[.linger] == .linger(seconds: 2))
        #expect(url.options[.ipttl] == .integer(8))
    }

    @Test("An SRT listener's address without a host means the loopback interface")
    func listener() throws {
        #expect(try SRTURL("srt://:9000?mode=listener").host == "127.0.0.1")
        #expect(try SRTURL("srt://:9000").mode == .listener)
        #expect(try SRTURL("srt://0.0.0.0:9000?mode=listener").host == "0.0.0.0")
        #expect(try SRTURL("srt://[::1]:9000").host == "::1")
    }

    @Test("All spellings of an SRT listener's local address give the same host; a caller's host stays as written")
    func spellings() throws {
        for host in ["localhost", "127.1", "[::ffff:127.0.0.1]", ""] {
            #expect(try SRTURL("srt://\(host):9000?mode=listener").host == "127.0.0.1", "\(host)")
        }
        #expect(try SRTURL("srt://[0:0::1]:9000?mode=listener").host == "::1")
        #expect(try SRTURL("srt://localhost:9000").host == "localhost")
    }

    @Test("Two SRT listeners of one port can share its UDP socket if only options of connections differ")
    func sharedSocket() throws {
        let socket = { (text: String) in try SRTURL("srt://\(text)").listeningSocket }
        let own = try socket("127.0.0.1:9000?mode=listener&latency=200&ttl=8")
        #expect(try socket("localhost:9000?mode=listener&latency=400&passphrase=0123456789&ttl=8") == own)
        for other in ["0.0.0.0:9000?mode=listener&ttl=8", "127.0.0.1:9000?mode=listener&ttl=9"] {
            #expect(try socket(other) != own, "\(other)")
        }
    }

    @Test(
        "An invalid SRT address is refused in one sentence",
        arguments: [
            ("srt://h", "no port"),
            ("srt://h:70000", "bad port"),
            ("srt://:9000?mode=caller", "no host"),
            ("srt://h:9000?latancy=20", "did you mean “latency”"),
            ("srt://h:9000?passphrase=0123456789&secret=9", "Option number 2 of the address is unknown"),
            ("srt://h:9000?passphrase=secret", "10 to 79"),
            ("srt://h:9000?passphrase=" + String(repeating: "x", count: 80), "79"),
            ("srt://h:9000?pbkeylen=20", "0, 16, 24 or 32"),
            ("srt://h:9000?latency=abc", "number from 0 to 60000"),
            ("srt://h:9000?tlpktdrop=maybe", "0 or 1"),
            ("srt://h:9000?minversion=1", "version"),
            ("srt://h:9000/path", "no path"),
            ("srt://bob@h:9000", "no user"),
            ("rtmp://h:9000", "srt://"),
        ])
    func refuses(text: String, part: String) {
        let error = #expect(throws: AddressError.self) { try SRTURL(text) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") == false)
    }

    @Test(
        "An SRT option that is repeated, under any of its names, is refused",
        arguments: [
            "latency=120&latency=200", "payload_size=1316&pkt_size=1316", "ttl=3&ipttl=4", "callers=1&callers=2",
            "mode=caller&mode=listener", "localaddr=10.0.0.1&adapter=10.0.0.2", "LATENCY=1&latency=1",
        ])
    func twice(query: String) {
        let error = #expect(throws: AddressError.self) { try SRTURL("srt://h:9000?\(query)") }
        #expect(error?.description.contains("given twice") == true)
    }

    @Test("No printed form of an SRT address contains its secrets")
    func masks() throws {
        let url = try SRTURL("srt://h:9000?passphrase=0123456789&streamid=publish")
        var dumped = ""
        dump(url, to: &dumped)
        for form in ["\(url)", String(reflecting: url), dumped] {
            #expect(form.contains("srt://h:9000?mode=caller&streamid=pu***"))
            #expect(!form.contains("0123456789"))
            #expect(!form.contains("publish"))
        }
    }
}
