// SPDX-License-Identifier: Apache-2.0

import LibAV
import Testing

@Suite("Servers that get the headers of an input")
struct ServerAddressTests {
    @Test(
        "An input's headers are sent to the same host and port by the same protocol, or by HTTPS instead of HTTP",
        arguments: [
            ("http://a.example/list.m3u8", "http://A.example/1.ts"), ("http://a:80/x", "HTTPS://a:80"),
            ("https://user:pass@a/x?y", "https://a#z"), ("cache:http://a/x", "http://a/y"),
            ("http://[::1]:8080/x", "http://[::1]:8080/y"),
        ])
    func same(url: String, other: String) throws {
        #expect(try #require(ServerAddress(url)).mayGetHeaders(at: other))
    }

    @Test(
        "No headers are sent to another host or port, by a weaker protocol, or to an address without a server",
        arguments: [
            ("https://a/x", "http://a/x"), ("http://a/x", "http://a:8080/x"), ("http://a/x", "http://b/x"),
            ("http://a/x", "http://a@b/x"), ("http://a/x", "ftp://a/x"), ("http://a/x", "a/x"),
            ("http://a/x", "data:x"), ("http://a/x", "http://aa/x"),
        ])
    func other(url: String, other: String) throws {
        #expect(try !#require(ServerAddress(url)).mayGetHeaders(at: other))
    }
}
