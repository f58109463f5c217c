// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Networking

@Suite struct URLPartsTests {
    @Test(
        "A percent escape needs two hexadecimal digits, and a sign does not count as a digit",
        arguments: [
            ("a%20b", "a b"), ("%41%62%7e", "Ab~"), ("%+1", "%+1"), ("%-0", "%-0"), ("%4", "%4"), ("%", "%"),
            ("%zz%41", "%zzA"), ("%C3%A9", "é"), ("100%", "100%"),
        ])
    func escapes(text: String, decoded: String) {
        #expect(URLParts.decode(text) == decoded)
    }
}
