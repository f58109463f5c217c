// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Archive
@testable import Catalogue

@Suite struct ChannelLedgerTests {
    @Test func `The catalogue remembers when the newest file ended, even after the file was deleted`() throws {
        let directory = try Recording.make()
        let ledger = ChannelLedger(directory: try .prepare(directory.path), channel: "test")
        let files = try ledger.kept()
        let (before, last) = try (#require(files.dropLast().last), #require(files.last))
        let end = UTCTime(milliseconds: .max)
        let empty = try TemporaryDirectory()
        #expect(ChannelLedger(directory: try .prepare(empty.path), channel: "test").newestEnd(before: end) == nil)
        try CatalogueStore(directory: directory.path).put(files, living: [])
        try ledger.noteDeletions(of: [last.name])
        #expect(ledger.newestEnd(before: end) == UTCTime(milliseconds: last.start + last.duration / 1_000_000))
        let earlier = ledger.newestEnd(before: UTCTime(milliseconds: last.start))
        #expect(earlier == UTCTime(milliseconds: before.start + before.duration / 1_000_000))
    }
}
