// SPDX-License-Identifier: Apache-2.0

import Networking
import Testing

@testable import RTMP

@Suite struct RTMPURLTests {
    @Test(
        "An RTMP address is parsed into its parts",
        arguments: [
            ("rtmp://h/live/key", "h", 1935, "live", "key"),
            ("rtmp://h:1936/live2/abcd-efgh", "h", 1936, "live2", "abcd-efgh"),
            ("rtmp://[::1]:21000/app/inst/k?token=1&x=a/b", "::1", 21000, "app/inst", "k?token=1&x=a/b"),
            ("RTMP://user:p%40ss@h/app/key", "h", 1935, "app", "key"),
            ("rtmps://h/live/key", "h", 443, "live", "key"),
            ("rtmps://h:1935/live/key", "h", 1935, "live", "key"),
        ])
    func parses(text: String, host: String, port: Int, app: String, playPath: String) throws {
        let url = try RTMPURL(text)
        #expect(url.host == host)
        #expect(url.port == UInt16(port))
        #expect(url.app == app)
        #expect(url.playPath == playPath)
    }

    @Test("An RTMP address with one path component and no stream key is accepted, as MediaMTX documents it")
    func keyless() throws {
        let url = try RTMPURL("rtmp://h/mystream?user=bob&pass=hunter22")
        #expect(url.app == "mystream" && url.playPath.isEmpty)
        #expect(url.connectApp == "mystream?user=bob&pass=hunter22")
        #expect(url.connectURL == "rtmp://h/mystream?user=bob&pass=hunter22")
        #expect("\(url)" == "rtmp://h/my***")
        #expect(url.masking("no mystream for hunter22") == "no *** for ***")
        #expect(try RTMPURL("rtmp://h/mystream").connectURL == "rtmp://h/mystream")
        #expect(
            url.redirected(to: "rtmp://other/mystream")?.connectURL.hasPrefix("rtmp://other/mystream?user=") == true)
    }

    @Test("User and password in an RTMP address are percent-decoded")
    func userInfo() throws {
        let url = try RTMPURL("rtmp://us%3Aer:p%40ss@h/app/key")
        #expect(url.user == "us:er")
        #expect(url.password == "p@ss")
        #expect(try RTMPURL("rtmp://[fe80::1]/a/k").connectURL == "rtmp://[fe80::1]/a")
    }

    @Test(
        "An invalid RTMP address is refused in one sentence",
        arguments: [
            ("rtmpt://h/live/key", "must begin with rtmp:// or rtmps://"),
            ("http://h/live/key", "must begin with rtmp:// or rtmps://"),
            ("h/live/key", "no scheme"),
            ("rtmp:///live/key", "no host"),
            ("rtmp://h", "no app"),
            ("rtmp://h/live/", "no stream key"),
            ("rtmp://h:0/live/key", "bad port"),
            ("rtmp://h:65536/live/key", "bad port"),
            ("rtmp://h:+1/live/key", "bad port"),
            ("rtmp://h/live/my secret", "space"),
            ("rtmp://[::1/live/key", "bracket"),
        ])
    func refuses(text: String, part: String) {
        let error = #expect(throws: AddressError.self) { try RTMPURL(text) }
        #expect(error?.description.contains(part) == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test(
        "No printed form of an RTMP address contains its secrets",
        arguments: [
            ("rtmp://bob:hunter22@h/live/abcdef123?token=tttt", "rtmp://h/live/ab***"),
            ("rtmp://h:1936/live/short", "rtmp://h:1936/live/***"),
            ("rtmp://[::1]/live/sixsix", "rtmp://[::1]/live/si***"),
            ("rtmps://bob:hunter22@h:443/live/abcdef123", "rtmps://h/live/ab***"),
            ("rtmps://h:1935/live/short", "rtmps://h:1935/live/***"),
        ])
    func masks(text: String, shown: String) throws {
        let url = try RTMPURL(text)
        var dumped = ""
        dump(url, to: &dumped)
        for form in ["\(url)", String(reflecting: url), dumped] {
            #expect(form.contains(shown))
            for secret in ["bob", "hunter22", "abcdef123", "tttt", "short", "sixsix"] {
                #expect(!form.contains(secret))
            }
        }
    }

    @Test("The RTMP connect command contains the scheme and port of the address")
    func connectURL() throws {
        #expect(try RTMPURL("rtmps://h/live/k").connectURL == "rtmps://h/live")
        #expect(try RTMPURL("rtmps://h:1935/live/k").connectURL == "rtmps://h:1935/live")
        #expect(try RTMPURL("rtmp://h:443/live/k").connectURL == "rtmp://h:443/live")
    }

    @Test(
        "A redirection to another RTMP server keeps the stream key, and is refused if it drops TLS",
        arguments: [
            ("rtmp://a/live/k?t=1", "rtmp://b:1936/other", "rtmp://b:1936/other"),
            ("rtmp://a/live/k?t=1", "rtmps://b/other", "rtmps://b/other"),
            ("rtmp://a:1936/live/inst/k?t=1", "/app2", "rtmp://a:1936/app2"),
            ("rtmp://a:1936/live/k?t=1", "//192.0.2.1/app2/", "rtmp://192.0.2.1/app2"),
            ("rtmp://a/live/inst/k?t=1", "other", "rtmp://a/live/other"),
            ("rtmps://a/live/k?t=1", "rtmps://[::1]:4/live?node=2", "rtmps://[::1]:4/live?node=2"),
            ("rtmps://a/live/k?t=1", "//b/live", "rtmps://b/live"),
            ("rtmps://a/live/k?t=1", "rtmp://a/live", nil),
            ("rtmp://a/live/k?t=1", "http://a/live", nil),
            ("rtmp://a/live/k?t=1", "rtmp://a", nil),
            ("rtmp://a/live/k?t=1", "rtmp://a:0/x", nil),
            ("rtmp://a/live/k?t=1", "", nil),
        ] as [(String, String, String?)])
    func redirection(from: String, to reference: String, connects: String?) throws {
        let moved = try RTMPURL(from).redirected(to: reference)
        #expect(moved?.connectURL == connects)
        if let moved { #expect(moved.playPath == "k?t=1") }
        if let moved { #expect(!"\(moved)".contains("node")) }
    }

    @Test("Secrets of the RTMP address are masked in a server's messages")
    func masksWords() throws {
        let url = try RTMPURL("rtmp://h/live/abcdef123?token=tttt")
        #expect(url.masking("abcdef123 is now published with token=tttt") == "*** is now published with ***")
    }
}
