// SPDX-License-Identifier: Apache-2.0

import FanOut
import Foundation
import Testing

@Suite("Names of kinds of outputs")
struct OutputKindNameTests {
    @Test("The name of a kind of output is its plain text in JSON and in messages, also if this relay has no such kind")
    func plain() throws {
        let name = OutputKindName(rawValue: "rtmps-listen")
        let text = #"["rtmps-listen"]"#
        #expect(String(decoding: try JSONEncoder().encode([name]), as: UTF8.self) == text)
        #expect(try JSONDecoder().decode([OutputKindName].self, from: Data(text.utf8)) == [name])
        #expect("\(name)-1" == "rtmps-listen-1")
    }
}
