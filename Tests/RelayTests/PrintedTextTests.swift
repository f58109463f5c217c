// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Status
import Testing

@testable import Relay

@Suite("External text in logs and on terminals")
struct PrintedTextTests {
    @Test(
        "Control characters, line separators and characters that change the writing direction are escaped",
        arguments: [
            ("goal", "goal"), ("Tor für 👨‍👩‍👧", "Tor für 👨‍👩‍👧"), ("a\nb\r\nc", "a\\nb\\r\\nc"), ("a\0b", "a\\u{0}b"),
            ("\u{1B}[2J\u{1B}]0;x\u{7}", "\\u{1B}[2J\\u{1B}]0;x\\u{7}"), ("a\u{9B}2Jb\u{7F}", "a\\u{9B}2Jb\\u{7F}"),
            ("a\u{2028}b", "a\\u{2028}b"), ("\u{202E}gpj.exe", "\\u{202E}gpj.exe"), ("a\tb", "a\\tb"), ("", ""),
        ])
    func escapes(text: String, expected: String) { #expect(PrintedText.escaped(text) == expected) }

    @Test("Text for a terminal keeps its line ends and tabs")
    func lines() { #expect(PrintedText.lines("a\tb\nc\u{1B}[m\n") == "a\tb\nc\\u{1B}[m\n") }

    @Test("JSON with control characters that encoders do not escape is escaped to JSON with the same value")
    func json() throws {
        let value = ["a\u{9B}b\u{202E}c\u{7F}d ü"]
        let text = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        let printed = PrintedText.json(text)
        #expect(printed == #"["a\u009bb\u202ec\u007fd ü"]"#)
        #expect(PrintedText.lines(printed) == printed)
        #expect(try JSONDecoder().decode([String].self, from: Data(printed.utf8)) == value)
    }

    @Test("A log message or value that looks like another key of its line is quoted, and other text is not")
    func quotes() {
        for (text, message, value) in [
            ("marked: goal", "marked: goal", "marked: goal"),
            ("x level=error", "\"x level=error\"", "\"x level=error\""),
            ("x\nlevel=error", "\"x\\nlevel=error\"", "\"x\\nlevel=error\""),
            ("level=error", "\"level=error\"", "level=error"), ("\"a\"", #""\"a\"""#, #""\"a\"""#),
            ("x a=\"b\\c\"", #""x a=\"b\\c\"""#, #""x a=\"b\\c\"""#), ("", "", "\"\""),
            ("srt://host?mode=listener", "srt://host?mode=listener", "srt://host?mode=listener"),
            ("a = b", "a = b", "a = b"), ("a (b=c)", "a (b=c)", "a (b=c)"),
        ] {
            #expect(PrintedText.message(text) == message, "\(text)")
            #expect(PrintedText.value(text) == value, "\(text)")
        }
    }

    @Test("Neither a message nor an output's name nor a value can add a key to a log line")
    func logLine() {
        let text = RelayLogHandler.text(
            .info, "marked: x level=error\n2026-11-21T14:03:10.250Z error   forged",
            ["output": "a\u{1B}[31m", "client": "FMLE\0/3 level=error", "input": "cam 1"])
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 })
        #expect(
            text.hasSuffix(
                #" info    a\u{1B}[31m: "marked: x level=error\n2026-11-21T14:03:10.250Z error   forged""#
                    + #" client="FMLE\u{0}/3 level=error" input=cam 1"#))
        let json = RelayLogHandler.json(.info, "a\u{9B}b", ["client": "c\u{85}"])
        #expect(json.contains(#""message":"a\u009bb""#) && json.contains(#""client":"c\u0085""#))
    }

    @Test("An event, and its line in relay ctl events, is one line without control characters")
    func events() throws {
        let event = try #require(ControlEvent(.notice, "marked: x\u{1B}[2J\nforged", ["reason": "a\nb"]))
        #expect(event.text == #"marked: x\u{1B}[2J\nforged (reason: a\nb)"#)
        let sent = #"{"time":"t","level":"info","kind":"marker","channel":"m\u001b[2J","text":"x level=error\nz"}"#
        let received = try CtlEvent(json: sent)
        #expect(received.line == #"t info    m\u{1B}[2J: "x level=error\nz""#)
    }

    @Test("A cell of a printed table never spans several lines")
    func table() {
        #expect(TextTable.text([["a\nb", "c"], ["d", "\u{1B}[m"]]) == "a\\nb  c\nd     \\u{1B}[m\n")
    }
}
