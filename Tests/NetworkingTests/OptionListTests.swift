// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Networking

@Suite struct OptionListTests {
    private enum Choice: String, CaseIterable { case one, two, three }

    @Test("An option in an address is found by any of its names, and a missing option is nil")
    func takes() throws {
        var list = OptionList(query: "A=x%20y&b=7&size=9&c=two&d=2500ms&e", of: "X", aliases: ["size": "bytes"])
        #expect(try list.take("a") == "x y")
        #expect(try list.takeNumber("b", in: 1...7) == 7)
        #expect(try list.takeNumber("bytes", in: 1...9) == 9)
        #expect(try list.takeChoice("c", of: Choice.self) == .two)
        #expect(try list.takeDuration("d", in: 1...60) == .milliseconds(2500))
        #expect(try list.take("e") == "")
        #expect(try list.take("f") == nil)
        try list.finish()
    }

    @Test("A repeated, out-of-range or unknown option is refused without repeating unknown text")
    func refuses() {
        var twice = OptionList(query: "a=1&A=2", of: "X")
        #expect(throws: AddressError("The X option a is given twice.")) { try twice.take("a") }
        var far = OptionList(query: "a=9&b=4&c=61", of: "X")
        #expect(throws: AddressError("The X option a is a number from 1 to 8.")) {
            try far.takeNumber("a", in: 1...8)
        }
        #expect(throws: AddressError("The X option b is one, two or three.")) {
            try far.takeChoice("b", of: Choice.self)
        }
        #expect(throws: AddressError.self) { try far.takeDuration("c", in: 1...60) }
        var unknown = OptionList(query: "a=1&secret=2", of: "X")
        #expect(throws: AddressError("Option number 2 of the address is unknown to X; there are a and b.")) {
            _ = try unknown.take("b")
            _ = try unknown.take("a")
            try unknown.finish()
        }
        var value = OptionList(["secret": "1"], of: "X")
        #expect(throws: AddressError("An option is unknown to X; there are a.")) {
            _ = try value.take("a")
            try value.finish()
        }
    }
}
