// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Testing

@testable import Relay

@Suite("Log lines")
struct RelayLogHandlerTests {
    @Test("A JSON log line is one object, whatever the message contains")
    func json() throws {
        let message = "a \"quoted\" name\nwith a second line, a \\ and a \u{7}"
        let line = RelayLogHandler.json(.warning, "\(message)", ["output": "rtmp-1", "attempt": "2"])
        #expect(!line.contains("\n"))
        let object = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(object["message"] == message)
        #expect(object["level"] == "warning" && object["output"] == "rtmp-1" && object["attempt"] == "2")
        #expect(object["time"]?.hasSuffix("Z") == true)
    }

    @Test("Metadata of a log line cannot replace its time, level and message")
    func reservedKeys() throws {
        let line = RelayLogHandler.json(.info, "on air", ["level": "none", "message": "none", "time": "none"])
        let object = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(object["level"] == "info" && object["message"] == "on air" && object["time"] != "none")
    }

    @Test("A text log line has time, level, output and message, followed by all other metadata, sorted")
    func text() {
        let line = RelayLogHandler.text(.info, "on air", ["output": "srt-1", "b": "2", "a": "1"])
        #expect(line.hasSuffix(" info    srt-1: on air a=1 b=2"))
    }
}
