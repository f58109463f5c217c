// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

@Suite struct MissingTests {
    private let rate = FrameRate(25)

    private func recorded(frames: Int64, missingUntil time: Int64) throws -> RecorderStatus {
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory())
        recording.feed(syntheticProgram(rate: rate, frames: frames) { $0 % 25 == 0 })
        recording.recorder.miss(until: time, because: "its encoder failed")
        recording.finish()
        return recording.recorder.status
    }

    @Test func `What an encoder that failed left out at the end is a gap`() throws {
        let status = try recorded(frames: 50, missingUntil: 5_000_000_000)
        #expect(status.framesWritten == 50 && status.gapCount == 1 && status.gapFrames == 75)
        let gap = try #require(status.gaps.first)
        #expect(gap.from == 2_000_000_000 && gap.to == 5_000_000_000 && gap.cause == .failure)
        #expect(gap.reason == "its encoder failed")
    }

    @Test func `What was written all the same is none`() throws {
        let status = try recorded(frames: 50, missingUntil: 2_000_000_000)
        #expect(status.framesWritten == 50 && status.gapCount == 0)
    }
}
