// SPDX-License-Identifier: Apache-2.0

import Foundation
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import MP4

@Suite struct NamingTests {
    @Test func `A recording's file name contains the channel, the UTC start and the sequence number`() {
        let name = SegmentName(channel: "studio a", start: UTCTime(milliseconds: 1_795_269_790_123), sequence: 7)
        #expect(name.description == "studio-a_20261121T140310.123Z_000007")
        #expect(name.open == name.description + ".mp4.part")
        #expect(SegmentName(fileName: name.open) == name)
        #expect(SegmentName(fileName: name.closed) == name)
    }

    @Test func `Sorting the file names of one channel sorts the files by time`() {
        let times: [Int64] = [0, 1, 999, 1000, 86_399_999, 86_400_000, 951_782_400_000, 1_795_269_790_123]
        let names = times.enumerated().map {
            SegmentName(channel: "c", start: UTCTime(milliseconds: $1), sequence: $0 + 1).closed
        }
        #expect(names == names.sorted())
    }

    @Test(arguments: [
        "c_20261121T140310.123Z_00001.mp4", "c_20261121T140310.123Z_000001.mkv", "_20261121T140310.123Z_000001.mp4",
        "c_20261121X140310.123Z_000001.mp4", "20261121T140310.123Z_000001.mp4", "holiday.mp4", ".mp4", "",
        "c_20261121T140310.123Z_00000a.mp4", "c_20261121T140310.123Z_000001.mp4.broken",
    ]) func `A file name that relay did not make is not parsed as the name of a recording`(name: String) {
        #expect(SegmentName(fileName: name) == nil)
    }

    @Test(arguments: [
        "c_20261121T140310.123Z_000041.broken", "c_20261121T140310.123Z_000041-3.broken",
        "c_20261121T140310.123Z_000041-12.mp4", "c_20261121T140310.123Z_000041.mp4.part",
    ]) func `The highest sequence number is found in open, renumbered and set-aside files, too`(name: String) throws {
        let directory = try TemporaryDirectory()
        try #require(FileManager.default.createFile(atPath: directory.path(name), contents: nil))
        #expect(try RecordDirectory.prepare(directory.path).lastSequence(of: "c") == 41)
        #expect(try RecordDirectory.prepare(directory.path).lastSequence(of: "d") == 0)
    }

    @Test func `A recording's metadata tags contain the version of relay that recorded it`() {
        var tags = MovieTags(channel: "c", start: UTCTime(milliseconds: 0), encoderSettings: "")
        #expect(BoxReader.positions(of: Array("relay".utf8), in: tags.box).count == 1)
        #expect(BoxReader.positions(of: Array("relay 0.1.0".utf8), in: tags.box).isEmpty)
        tags.version = "0.1.0"
        #expect(BoxReader.positions(of: Array("relay 0.1.0".utf8), in: tags.box).count == 1)
    }

    @Test func `A channel name with dots and slashes does not lead out of the record directory`() {
        #expect(SegmentName.safe("../../etc") == "--..-etc")
        #expect(SegmentName.safe("") == "relay")
        #expect(!SegmentName.safe("..").contains("."))
        #expect(SegmentName(fileName: "a_b_20261121T140310.123Z_000001.mp4")?.channel == "a_b")
    }
}
