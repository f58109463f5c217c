// SPDX-License-Identifier: Apache-2.0

import Networking
import Testing

@Suite("Comparison of secrets")
struct ConstantTimeTests {
    @Test("Two secrets are equal only if all of their bytes are equal")
    func bytes() {
        for (one, other) in [("", "a"), ("a", ""), ("ab", "abab"), ("abab", "ab"), ("abc", "abd"), ("ä", "a")] {
            #expect(!ConstantTime.isEqual(one, other))
        }
        #expect(ConstantTime.isEqual("abc", "abc") && ConstantTime.isEqual("", ""))
    }
}
