// SPDX-License-Identifier: Apache-2.0

import Foundation
import Kernels
import Media
import Program
import Testing

@testable import Studio

@Suite("Parsing of requested transitions")
struct TransitionRequestTests {
    private func read(_ text: String) throws -> TransitionRequest {
        try JSONDecoder().decode(TransitionRequest.self, from: Data(text.utf8))
    }

    @Test("A dip and a flip have a color, which is encoded as it was given")
    func color() throws {
        let dip = try read(##"{"type":"dip","color":"#0a64ff"}"##)
        #expect(dip.color == RGBColor(red: 10, green: 100, blue: 255))
        #expect(try read(String(decoding: JSONEncoder().encode(dip), as: UTF8.self)) == dip)
        #expect(try read(#"{"type":"flip","color":"white"}"#).color == .white)
        #expect(try read(#"{"type":"dip"}"#).color == nil)
    }

    @Test(
        "An invalid color of a transition is refused, and so is a color for a transition that has none",
        arguments: ["blue", "#12345", ""])
    func refused(text: String) {
        let wrong = #expect(throws: Refusal.self) { try read(#"{"type":"dip","color":"\#(text)"}"#) }
        #expect(wrong.map { "\($0)".contains("#0a64ff") } == true)
        let unseen = #expect(throws: Refusal.self) { try read(#"{"type":"fade","color":"white"}"#) }
        #expect(unseen.map { "\($0)".contains("not for fade") } == true)
    }
}
