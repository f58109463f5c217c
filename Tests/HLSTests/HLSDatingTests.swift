// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import PacketSamples
import TestSupport
import Testing

@testable import HLS

@Suite("Dates of HLS segments")
struct HLSDatingTests {
    /// 2026-01-01T00:00:00Z, in milliseconds since 1970.
    private static let start: Int64 = 1_767_225_600_000

    @Test("The first segment's date does not depend on how long its first frame waited", arguments: [0, 1, 29])
    func lateStart(waiting: Int64) throws {
        let directory = try TemporaryDirectory()
        let writer = try HLSWriter(directory.path, HLSOptions(["segment": "1s"]), Samples.description)
        var now = Self.start * 1000
        writer.wallClock = { now }
        // The first frames arrive together with the frame number `waiting`; each later one arrives when it is due.
        for index in Int64(0)..<91 {
            now = Self.start * 1000 + (max(index, waiting) * 1_000_000 + 29) / 30
            try writer.write(Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0))
        }
        let text = try String(contentsOfFile: directory.path("index.m3u8"), encoding: .utf8)
        let dates = try #require(HLSPlaylist(parsing: text)).entries.map(\.date)
        #expect(dates == (0..<3).map { Self.start + $0 * 1000 })
    }

    @Test("Frames that arrive after the first segment was published do not change the dates of later segments")
    func final() {
        var dating = HLSDating()
        #expect(!dating.hasBegun)
        dating.note(2_000_000_000, at: 12_000_000)
        dating.note(3_000_000_000, at: 12_960_000)
        dating.note(4_000_000_000, at: 14_500_000)
        #expect(dating.hasBegun && dating.date(of: 2_000_000_000) == 11_960)
        dating.finish()
        dating.note(5_000_000_000, at: 14_000_000)
        #expect(dating.date(of: 5_000_000_000) == 14_960)
    }
}
