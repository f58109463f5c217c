// SPDX-License-Identifier: Apache-2.0

import Encoder
import Ingest
import Media
import Program
import Status
import Testing

@testable import Control

@Suite("Audio meters in the event stream")
struct MetersTests {
    private func report(_ parts: [PartStatus]?, heard: [String: [Double]] = [:]) -> ChannelReport {
        var report = ChannelReport(name: "main", state: .onAir)
        report.heardLevels = heard
        var status = ChannelStatus(
            sources: [], feed: FeedStatus(), program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: FrameRate(25))
        status.parts = parts
        status.program.levels = [-6.04, -7]
        report.status = status
        return report
    }

    @Test("The meters contain the rounded levels of a program and its sources, even if loudness is not measured")
    func levels() throws {
        let parts = [
            PartStatus(name: "one", isOnAir: true, selection: nil, feed: FeedStatus(), levels: [-12.345, -60]),
            PartStatus(name: "two", isOnAir: false, selection: nil, feed: FeedStatus(), levels: []),
        ]
        let meters = try #require(EventStream.Meters(report(parts)))
        #expect(meters.sources == ["one": [-12.3, -60], "two": []])
        let text = String(decoding: JSON.encode(meters), as: UTF8.self)
        #expect(text == #"{"channel":"main","program":[-6,-7],"sources":{"one":[-12.3,-60],"two":[]}}"#)
    }

    @Test("The meters include a source that is only audible, and so is not in the status's scene")
    func heard() throws {
        let parts = [PartStatus(name: "one", isOnAir: true, selection: nil, levels: [-12])]
        let meters = try #require(EventStream.Meters(report(parts, heard: ["audio": [-20.04, -21]])))
        #expect(meters.sources == ["one": [-12], "audio": [-20, -21]])
    }

    @Test("Without a measured loudness and without several sources the event stream contains no meters")
    func none() {
        #expect(EventStream.Meters(report(nil))?.channel == nil)
        #expect(EventStream.Meters(ChannelReport(name: "main", state: .waiting))?.channel == nil)
    }
}
