// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Networking

@Suite struct URLPartsTests {
    @Test(
        "A percent escape is decoded only if two hexadecimal digits follow",
        arguments: [
            ("a%20b", "a b"), ("%41%62%7e", "Ab~"), ("%+1", "%+1"), ("%-0", "%-0"), ("%4", "%4"), ("%", "%"),
            ("%zz%41", "%zzA"), ("%C3%A9", "é"), ("100%", "100%"),
        ])
    func escapes(text: String, decoded: String) {
        #expect(URLParts.decode(text) == decoded)
    }

    @Test(
        "An address with a space or control character in any part is refused, and the error does not repeat it",
        arguments: ["\0", "\t", "\n", "\r\n", "\u{1B}", " ", "\u{7F}", "\u{85}", "\u{9B}", "\u{A0}", "\u{2028}"])
    func controlCharacters(character: String) {
        for address in [
            "http://topsecret\(character)/", "http://ho\(character)st/topsecret", "https://host:80\(character)/",
            "http://host/topsecret\(character)", "http://host/a?b=\(character)topsecret",
            "http://us\(character)er:topsecret@host/", "\(character)http://topsecret/",
        ] {
            let parts = #expect(throws: AddressError.self) { try URLParts(address) }
            let endpoint = #expect(throws: AddressError.self) { try HTTPEndpoint(address) }
            #expect(parts?.description.contains("control character") == true && parts == endpoint)
            #expect(parts?.description.contains("topsecret") == false)
        }
    }

    @Test("An address whose special characters are escaped is accepted unchanged")
    func escapedAddress() throws {
        let endpoint = try HTTPEndpoint("http://host/a%20b%7F?c=%0A")
        #expect(endpoint.path == "/a%20b%7F?c=%0A" && endpoint.name == "host")
    }
}
