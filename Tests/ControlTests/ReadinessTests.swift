// SPDX-License-Identifier: Apache-2.0

import Encoder
import Media
import Program
import Status
import TestSupport
import Testing

@testable import Control

@Suite("Readiness of the process")
struct ReadinessTests {
    private let clock = ManualClock()

    /// The report of a channel that has made `frames` frames of its program.
    private func running(_ name: String, _ frames: Int64) -> ChannelReport {
        var report = ChannelReport(name: name, state: .onAir)
        var status = ChannelStatus(
            sources: [], feed: FeedStatus(), audioFeed: nil, program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: FrameRate(25), outputs: [])
        status.program.frames = frames
        report.status = status
        return report
    }

    private func over(_ name: String, isDone: Bool) -> ChannelReport {
        var report = ChannelReport(name: name, state: .over)
        report.isDone = isDone
        return report
    }

    @Test("The process is ready while every channel outputs frames, and not if one outputs none for three seconds")
    func frames() {
        let readiness = Readiness(clock: clock)
        #expect(readiness.lacks([]) == "There is no channel.")
        #expect(readiness.lacks([running("a", 0)]) == "Nothing moves in a.")
        #expect(readiness.lacks([running("a", 1), running("b", 1)]) == nil)
        clock.advance(by: Readiness.patience)
        #expect(readiness.lacks([running("a", 2), running("b", 1)]) == "Nothing moves in b.")
        #expect(readiness.lacks([running("a", 2), running("b", 2)]) == nil)
    }

    @Test("A channel that ended normally does not affect readiness; one that failed makes the process unready")
    func ended() {
        let readiness = Readiness(clock: clock)
        #expect(readiness.lacks([running("a", 1), over("b", isDone: true)]) == nil)
        #expect(readiness.lacks([running("a", 2), over("b", isDone: false)]) == "Nothing moves in b.")
        #expect(readiness.lacks([over("a", isDone: true), over("b", isDone: true)]) == "All channels are over.")
    }
}
