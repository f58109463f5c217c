// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Control

@Suite("Tokens and sessions")
struct TokenGuardTests {
    private let tokens = TokenGuard([
        .init(role: .view, secret: "looking-only-1"), .init(role: .operate, secret: "everything-22"),
    ])

    @Test("A configured token gives its role, and any other text gives no role")
    func roles() throws {
        #expect(try tokens.role(ofToken: "looking-only-1", from: "192.0.2.1") == .view)
        #expect(try tokens.role(ofToken: "everything-22", from: "192.0.2.1") == .operate)
        for wrong in ["", "looking-only-", "looking-only-11", "Looking-only-1", "everything-23"] {
            #expect(throws: Refusal.self) { try tokens.role(ofToken: wrong, from: "192.0.2.1") }
        }
        #expect(tokens.failures == 5)
    }

    /// Returns the kind of the refusal of a wrong token from `client`.
    private func refusal(from client: String) -> Refusal.Kind? {
        let refusal = #expect(throws: Refusal.self) { try tokens.role(ofToken: "guess", from: client) }
        return refusal?.kind
    }

    @Test("After ten wrong tokens from one address further ones get 'too many', and a valid one is still accepted")
    func guesses() throws {
        let kinds = (0..<12).map { _ in refusal(from: "192.0.2.1") }
        #expect(kinds == Array(repeating: .unauthenticated, count: 10) + [.tooMany, .tooMany])
        #expect(tokens.failures == 12)
        #expect(try tokens.role(ofToken: "everything-22", from: "192.0.2.1") == .operate)
        #expect(refusal(from: "192.0.2.2") == .unauthenticated)
    }

    @Test("Wrong tokens from all addresses of an IPv6 /64 network are counted together")
    func networks() {
        let kinds = (0..<11).map { refusal(from: "2001:db8::\($0)") }
        #expect(kinds[10] == .tooMany && kinds.dropLast().allSatisfy { $0 == .unauthenticated })
        #expect(refusal(from: "2001:db8:0:1::1") == .unauthenticated)
    }

    @Test("A session has its token's role until the session ends, and its ID of 64 characters differs from another's")
    func sessions() {
        let (one, two) = (tokens.beginSession(.view), tokens.beginSession(.operate))
        #expect(one != two && one.count == 64)
        #expect(tokens.role(ofSession: one) == .view && tokens.role(ofSession: two) == .operate)
        tokens.endSession(one)
        #expect(tokens.role(ofSession: one) == .none && tokens.role(ofSession: two) == .operate)
        #expect(tokens.role(ofSession: "") == .none)
    }

    @Test("At most a thousand sessions exist, and a further session replaces the oldest")
    func bounded() {
        let first = tokens.beginSession(.view)
        let others = (0..<1000).map { _ in tokens.beginSession(.view) }
        #expect(tokens.role(ofSession: first) == .none)
        #expect(others.allSatisfy { tokens.role(ofSession: $0) == .view })
    }

    @Test("Two tokens that differ in any byte or in length, and two empty tokens, are not equal")
    func comparison() {
        #expect(TokenGuard.isEqual("abc", "abc"))
        for other in ["abd", "ab", "abcd", "", "ABC"] { #expect(!TokenGuard.isEqual("abc", other)) }
        #expect(!TokenGuard.isEqual("", ""))
    }
}
