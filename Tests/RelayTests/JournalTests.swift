// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import TestSupport
import Testing

@testable import Relay

@Suite("Log lines for the systemd journal")
struct JournalTests {
    @Test("Each log line for the journal begins with the priority of its log level")
    func priorities() {
        #expect(Journal.marked("lost", .critical) == "<2>lost" && Journal.marked("lost", .error) == "<3>lost")
        #expect(Journal.marked("a\n\nb", .warning) == "<4>a\n<4>\n<4>b")
        #expect(Journal.marked("a", .notice) == "<5>a" && Journal.marked("a", .info) == "<6>a")
        #expect(Journal.marked("a", .debug) == "<7>a" && Journal.marked("a", .trace) == "<7>a")
    }

    @Test("Log lines get journal priorities only if stderr is the stream that the environment names")
    func connection() throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: "journal")
        try directory.write([], to: "file")
        var status = stat()
        #expect(stat(directory.path("journal"), &status) == 0)
        let stream = "\(status.st_dev):\(status.st_ino)"
        let journal = open(directory.path("journal"), O_WRONLY)
        let file = open(directory.path("file"), O_WRONLY)
        defer {
            close(journal)
            close(file)
        }
        #expect(Journal.reads(journal, stream: stream) && !Journal.reads(file, stream: stream))
        for wrong in [nil, "", ":", "1", "\(status.st_dev):", "a:b", stream + ":1"] {
            #expect(!Journal.reads(journal, stream: wrong))
        }
    }
}
