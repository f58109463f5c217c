// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@Suite("Linear maps between two clocks")
struct ClockLineTests {
    @Test("A timestamp mapped to the other clock and back is unchanged", arguments: [0, 500e-6, -500e-6, 0.5])
    func thereAndBack(rate: Double) {
        let line = ClockLine(
            origin: Timestamp(nanoseconds: 1_700_000_000_000_000_000), image: Timestamp(nanoseconds: -40), rate: rate)
        for seconds in [-3600, -1, 0, 1, 86_400] as [Int64] {
            let moment = line.origin + .seconds(seconds)
            let back = line.origin(of: line.image(of: moment))
            #expect((back - moment).inNanoseconds.magnitude <= 1)
        }
        let hour = line.image(of: line.origin + .seconds(3600)) - line.image
        #expect(hour == .seconds(3600) + .nanoseconds(Int64((3600e9 * rate).rounded())))
    }

    @Test("A million changes of a time by a fraction of a nanosecond add up to the right sum")
    func fineTime() {
        var time = FineTime(.max / 2)
        for _ in 0..<1_000_000 { time.add(0.004) }
        #expect(abs(time.whole - .max / 2 - 4000) <= 1)
        for _ in 0..<1_000_000 { time.add(-0.004) }
        #expect(abs(time.whole - .max / 2) <= 1)
        time.add(Int64(-5))
        #expect(abs(time.whole - .max / 2 + 5) <= 1)
    }
}
