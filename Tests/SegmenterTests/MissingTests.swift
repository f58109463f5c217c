// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

@Suite struct MissingTests {
    private let rate = FrameRate(25)

    private func recorded(frames: Int64, missingUntil time: ProgramInstant) throws -> RecorderStatus {
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory())
        recording.feed(syntheticProgram(rate: rate, frames: frames) { $0 % 25 == 0 })
        recording.recorder.miss(until: time, because: "its encoder failed")
        recording.finish()
        return recording.recorder.status
    }

    @Test func `Frames that a failed encoder did not produce at the end are recorded as a gap`() throws {
        let status = try recorded(frames: 50, missingUntil: 5_000_000_000)
        #expect(status.framesWritten == 50 && status.gapCount == 1 && status.gapFrames == 75)
        let gap = try #require(status.gaps.first)
        #expect(gap.from == 2_000_000_000 && gap.to == 5_000_000_000 && gap.cause == .failure)
        #expect(gap.reason == "its encoder failed")
    }

    @Test func `If the encoder fails during a gap in the recording, the gap extends to the program's end`() throws {
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory())
        recording.feed(syntheticProgram(rate: rate, frames: 50) { $0 % 25 == 0 })
        recording.recorder.waitUntilIdle()
        recording.recorder.suspend("the disk is full")
        recording.recorder.miss(until: 5_000_000_000, because: "its encoder failed")
        recording.finish()
        let gaps = recording.recorder.status.gaps
        #expect(gaps.map(\.to) == [5_000_000_000] && gaps.first?.reason == "the disk is full")
    }

    @Test func `A marker after the last frame of a failed encoder is a chapter of the last file`() throws {
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory())
        recording.feed(syntheticProgram(rate: rate, frames: 50) { $0 % 25 == 0 })
        recording.recorder.waitUntilIdle()
        recording.recorder.mark("marked late", at: 3_000_000_000)
        recording.recorder.miss(until: 5_000_000_000, because: "its encoder failed")
        recording.finish()
        let data = try Data(contentsOf: URL(fileURLWithPath: try #require(recording.finished.first)))
        #expect(data.range(of: Data("marked late".utf8)) != nil)
    }

    @Test func `Frames that were written before the encoder failed are not part of a gap`() throws {
        let status = try recorded(frames: 50, missingUntil: 2_000_000_000)
        #expect(status.framesWritten == 50 && status.gapCount == 0)
    }
}
