// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Offset of a source that moves slowly")
struct SlewedOffsetTests {
    /// Advances an offset each 40 ms for a number of seconds, and calls `seen` after each of them.
    private func advance(
        _ offset: inout SlewedOffset, seconds: Int, target: Duration, senderRate: Double = 0,
        _ pull: SlewedOffset.Pull = .usual, seen: (SlewedOffset) -> Void = { _ in }
    ) {
        for tick in 1...seconds * 25 {
            offset.advance(
                to: .zero + .milliseconds(40 * tick), target: target, senderRate: senderRate, pull)
            seen(offset)
        }
    }

    @Test("The offset reaches its target without overshooting, and never exceeds its limits of rate and acceleration")
    func reachesTarget() {
        var offset = SlewedOffset(.milliseconds(200), at: .zero)
        var (fastest, sharpest, last) = (0.0, 0.0, 0.0)
        var highest = Duration.zero
        advance(&offset, seconds: 900, target: .milliseconds(230)) { offset in
            fastest = max(fastest, offset.rate)
            sharpest = max(sharpest, abs(offset.rate - last))
            last = offset.rate
            highest = max(highest, offset.value)
        }
        #expect(fastest <= 150e-6 && fastest > 140e-6)
        #expect(sharpest <= 20e-6 * 0.04 * 1.000_001)
        #expect((offset.value - .milliseconds(230)).magnitude < .microseconds(10))
        #expect(highest < .milliseconds(231))
    }

    @Test("However far the target is and however wrong the sender's clock, the media is stretched by at most 1000 ppm")
    func limit() {
        for (target, senderRate) in [(Duration.seconds(60), 2000e-6), (.seconds(-60), -2000e-6)] {
            var offset = SlewedOffset(.zero, at: .zero)
            var worst = 0.0
            advance(&offset, seconds: 300, target: target, senderRate: senderRate, .far) {
                worst = max(worst, abs($0.rate))
            }
            #expect(worst <= 1000e-6 && worst > 999e-6)
        }
    }

    @Test("A step moves the offset at once; a moment that is not later than the last one does not move it")
    func stepAndPast() {
        var offset = SlewedOffset(.milliseconds(200), at: 1_000_000_000)
        offset.step(by: .milliseconds(-50))
        #expect(offset.value == .milliseconds(150))
        offset.advance(to: 1_000_000_000, target: .seconds(9), senderRate: 0, .usual)
        offset.advance(to: 5, target: .seconds(9), senderRate: 0, .usual)
        #expect(offset.value == .milliseconds(150) && offset.rate == 0)
    }

    @Test(
        "The line of an offset converts a media time to the moment at which it is due, and back",
        arguments: [
            -400e-6, 0, 1000e-6,
        ])
    func line(rate: Double) {
        let offset = SlewedOffset(.milliseconds(300), at: 7_000_000_000, rate: rate)
        for seconds in [0, 7, 100] {
            let time = Timestamp.zero + .seconds(seconds)
            let due = offset.due(time)
            #expect((offset.line.image(of: time) - due).magnitude <= .nanoseconds(2))
            #expect((offset.line.origin(of: due) - time).magnitude <= .nanoseconds(2))
            // due = time + offset(due)
            let grown = Duration.milliseconds(300) + .nanoseconds(Int64(rate * Double(due.nanoseconds - 7_000_000_000)))
            #expect((due.delay(of: time) - grown).magnitude <= .nanoseconds(3))
        }
    }
}
