// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Control

@Suite("Host names of the server")
struct RequestGateTests {
    @Test("A host name that only looks like a loopback address or an IP address does not count as one")
    func loopback() {
        for host in ["localhost", "127.0.0.1", "127.8.9.10", "::1"] { #expect(ControlSettings.isLoopback(host)) }
        for host in [
            "127.0.evil.com", "127.evil.co.uk", "127.0.0.1.evil.com", "localhost.evil.com", "evil.com", "::2",
            "10.0.0.1",
            "127.0.0", "",
        ] {
            #expect(!ControlSettings.isLoopback(host), "\(host)")
        }
        for host in ["10.0.0.1", "fe80::1", "127.0.0.1"] { #expect(ControlSettings.isAddress(host)) }
        for host in ["1.2.3.com", "1.2.3", "a:b", ""] { #expect(!ControlSettings.isAddress(host), "\(host)") }
    }

    @Test("The host name is separated from the port in a request, and is converted to lower case")
    func hosts() {
        #expect(RequestHead.host(of: "127.0.0.1:8080") == "127.0.0.1")
        #expect(RequestHead.host(of: "[::1]:8080") == "::1")
        #expect(RequestHead.host(of: "Relay.Example") == "relay.example")
        #expect(RequestHead.host(of: ":8080") == nil)
        // What follows the bracket is a port. Otherwise the text can be a name that only begins like an address.
        for authority in ["[::1]evil.example", "[::1].evil.example:80", "[::1", "[]", "[]:80", ""] {
            #expect(RequestHead.host(of: authority) == nil, "\(authority)")
        }
    }
}
