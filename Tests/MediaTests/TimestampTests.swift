// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite("Timestamps and frame numbers")
struct TimestampTests {
    @Test("The difference of two timestamps, added to the first, gives the second")
    func moments() {
        let moment = Timestamp(nanoseconds: 1_500_000_000)
        #expect(moment + .milliseconds(500) == Timestamp(nanoseconds: 2_000_000_000))
        #expect(moment - .seconds(2) == Timestamp(nanoseconds: -500_000_000))
        #expect(moment - .zero == .milliseconds(1500))
        #expect(Timestamp(90_000, in: .mpegTS) == Timestamp(nanoseconds: 1_000_000_000))
        #expect(Timestamp.zero < moment)
    }

    @Test("At 29.97 fps, for a whole day, a frame's number is computed from the time at which the frame begins")
    func frames() {
        let rate = FrameRate(30000, 1001)
        for number in stride(from: Int64(-1000), to: 2_600_000, by: 997) {
            let index = FrameIndex(number)
            #expect(rate.frame(at: rate.start(of: index)) == index)
            #expect(rate.frame(at: rate.start(of: index, rounding: .up), rounding: .down) == index)
            #expect(rate.frame(at: rate.start(of: index, rounding: .down), rounding: .up) == index)
            #expect(rate.frame(at: rate.start(of: index) + .milliseconds(1), rounding: .up) == index + 1)
        }
        #expect(FrameIndex(7) - FrameIndex(5) == 2 && FrameIndex(7) - 2 == 5)
    }
}
