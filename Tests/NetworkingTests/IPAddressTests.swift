// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Networking

@Suite("IP addresses as text")
struct IPAddressTests {
    @Test("An IP address that is followed by a NUL and other text is no address")
    func terminated() {
        for text in ["127.0.0.1", "::1", "192.0.2.1"] {
            #expect(IPAddress(text) != nil)
            for rest in ["\0", "\0.example", "\0\0"] { #expect(IPAddress(text + rest) == nil, "\(text)") }
        }
    }
}
