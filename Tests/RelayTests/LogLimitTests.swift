// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("Limit of log lines per message")
struct LogLimitTests {
    @Test("Ten lines of one message pass in ten seconds; then the number of dropped lines is logged")
    func limit() {
        var limit = LogLimit()
        let (first, end): (MonotonicInstant, MonotonicInstant) = (1_000_000_000, 11_000_000_000)
        let admitted = (0..<100).filter { line in
            limit.admits(.error, "packet \(line * 7) is damaged", ["output": "a", "attempt": "\(line)"], at: first)
        }
        #expect(admitted == Array(0..<10))
        #expect(limit.nextEnd == end)
        #expect(limit.takeEnded(at: end - .nanoseconds(1)) == [])
        let leftOut = limit.takeEnded(at: end)
        #expect(leftOut.count == 1 && leftOut.first?.count == 90 && leftOut.first?.level == .error)
        #expect(leftOut.first?.message == "packet 693 is damaged")
        #expect(limit.nextEnd == nil)
        #expect(limit.admits(.error, "packet 1 is damaged", [:], at: end) == true)
        #expect(limit.takeEnded(at: .distantFuture) == [])
    }

    @Test("Log lines that differ in level, message, channel, output or input are limited separately")
    func causes() {
        var limit = LogLimit()
        for _ in 0..<50 { _ = limit.admits(.warning, "lost", ["channel": "a", "output": "x"], at: 0) }
        #expect(limit.admits(.warning, "lost", ["channel": "a", "output": "x"], at: 0) == false)
        #expect(limit.admits(.error, "lost", ["channel": "a", "output": "x"], at: 0) == true)
        #expect(limit.admits(.warning, "Lost", ["channel": "a", "output": "x"], at: 0) == true)
        #expect(limit.admits(.warning, "lost", ["channel": "b", "output": "x"], at: 0) == true)
        #expect(limit.admits(.warning, "lost", ["channel": "a", "output": "y"], at: 0) == true)
        #expect(limit.admits(.warning, "lost", ["channel": "a", "input": "x"], at: 0) == true)
    }

    @Test("Names that clients choose neither fill the log limit's memory nor suppress other errors")
    func bounded() {
        var limit = LogLimit()
        var name = ""
        var admitted = 0
        for _ in 0..<5000 {
            name += "x"
            if limit.admits(.notice, "client \(name.count % 26)\(name)", [:], at: 0) { admitted += 1 }
        }
        #expect(admitted == LogLimit.mostCauses + LogLimit.most)
        #expect(limit.admits(.error, "the disk is gone", [:], at: 0) == true)
        let leftOut = limit.takeEnded(at: .distantFuture)
        #expect(leftOut.map(\.count) == [5000 - admitted])
    }

    /// The output of a writer.
    private final class Written: Sendable {
        let lines = Mutex<[String]>([])
    }

    @Test("Dropped log lines are reported when the interval or the process ends, and no debug line is ever dropped")
    func writer() throws {
        let clock = ManualClock()
        let written = Written()
        let writer = LogWriter(format: .text, clock: clock) { level, line in
            written.lines.withLock { $0.append("\(level) \(line.drop { $0 != "Z" }.dropFirst(2))") }
        }
        for number in 0..<15 {
            writer.log(.info, "file \(number)", ["channel": "one", "bytes": "\(number)"])
            writer.log(.debug, "detail", [:])
        }
        let first = written.lines.withLock { $0 }
        #expect(first.count == 25 && first[0] == "info info    file 0 bytes=0 channel=one")
        clock.advance(by: .seconds(10))
        writer.log(.info, "another", [:])
        let second = written.lines.withLock { $0.dropFirst(25) }
        #expect(
            Array(second) == [
                "info info    5 more like this were left out: file 14 channel=one", "info info    another",
            ])
        for _ in 0..<12 { writer.log(.error, "gone", [:]) }
        writer.tellLeftOut(isEnd: true)
        #expect(written.lines.withLock { $0.last } == "error error   2 more like this were left out: gone")
    }

    @Test("Text log lines name their channel if there are several channels, and JSON log lines always do")
    func channel() {
        for (format, names, expected) in [
            (LogFormat.text, false, false), (.text, true, true), (.json, false, true), (.json, true, true),
        ] {
            let written = Written()
            let writer = LogWriter(format: format, namesChannels: names, clock: ManualClock()) { _, line in
                written.lines.withLock { $0.append(line) }
            }
            writer.log(.info, "on air", ["channel": "one", "output": "rtmp-1"])
            #expect(written.lines.withLock { $0[0] }.contains("one") == expected)
        }
    }
}
