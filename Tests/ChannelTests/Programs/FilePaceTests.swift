// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Channel

@Suite struct FilePaceTests {
    private func ms<Line>(_ count: Int64) -> Instant<Line> { Instant(milliseconds: count) }

    @Test("Packets of a file are due at the intervals of their decoding times, counted from the first packet")
    func pace() {
        var pace = FilePace()
        #expect(pace.due(ms(700), now: ms(5000)) == ms(5000))
        #expect(pace.due(ms(740), now: ms(5001)) == ms(5040))
        #expect(pace.due(ms(780), now: ms(5400)) == ms(5080))
    }

    @Test("A file's packet with an earlier time than the previous one is due at once, and delays no other packet")
    func behind() {
        var pace = FilePace()
        for time in stride(from: Int64(0), through: 800, by: 40) { _ = pace.due(ms(time), now: ms(5000 + time)) }
        #expect(pace.due(ms(0), now: ms(5800)) < ms(5800))
        #expect(pace.due(ms(840), now: ms(5801)) == ms(5840))
    }

    @Test("A file that stalled for more than half a second continues at its normal pace, without catching up")
    func stall() {
        var pace = FilePace()
        _ = pace.due(ms(0), now: ms(5000))
        _ = pace.due(ms(40), now: ms(6000))
        #expect(pace.due(ms(80), now: ms(6001)) == ms(6040))
    }
}
