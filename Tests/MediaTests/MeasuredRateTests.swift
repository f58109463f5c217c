// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite("Measurement of a frame rate")
struct MeasuredRateTests {
    private func measured(_ rate: FrameRate, seconds: Int64, pauseAt second: Int64? = nil) -> FrameRate? {
        var meter = MeasuredRate()
        for frame in 0..<rate.frames(atLeast: .seconds(seconds)) {
            // RTMP's timestamps are in milliseconds.
            let time = rate.timeBase.rescale(frame, to: .milliseconds, rounding: .down)
            let moved: Int64 = second.map { time >= $0 * 1000 } ?? false ? 700 : 0
            meter.take(frameAt: (time + moved) * 1_000_000)
        }
        return meter.rate
    }

    @Test(
        "Common frame rates can be distinguished by timestamps in milliseconds",
        arguments: [
            FrameRate(15), FrameRate(24), FrameRate(24000, 1001), FrameRate(25), FrameRate(30000, 1001), FrameRate(30),
            FrameRate(50), FrameRate(60000, 1001), FrameRate(60),
        ])
    func standard(rate: FrameRate) {
        #expect(measured(rate, seconds: 4) == nil)
        #expect(measured(rate, seconds: 6) == rate)
    }

    @Test("A pause restarts the measurement of a frame rate, and a measured rate never changes")
    func pauses() {
        #expect(measured(FrameRate(30), seconds: 8, pauseAt: 4) == nil)
        #expect(measured(FrameRate(30), seconds: 10, pauseAt: 4) == FrameRate(30))
        #expect(measured(FrameRate(30), seconds: 10, pauseAt: 6) == FrameRate(30))
    }

    @Test("A frame rate that is not a common one is returned as it was measured")
    func other() { #expect(measured(FrameRate(14), seconds: 6) == FrameRate(14)) }
}
