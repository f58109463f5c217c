// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("A common buffer of several sources")
struct CommonBufferTests {
    private let common = CommonBuffer()

    private func clock() -> SourceClock {
        SourceClock(.rtmp, tracks: [.video: (.milliseconds, 32), .audio: (.milliseconds, 32)], common: common)
    }

    /// Feeds packets of both tracks, 40 ms each, with audio delayed by `audio` milliseconds. In each half second, the
    /// last `held` packets arrive at its end.
    private func feed(_ clock: inout SourceClock, _ times: Range<Int64>, audio: Int64 = 0, held: Int64 = 0) {
        for time in stride(from: times.lowerBound, to: times.upperBound, by: 40) {
            let arrival = time % 500 >= 500 - held ? (time / 500 + 1) * 500 : time
            for (track, delay) in [(TrackKind.video, 0), (.audio, audio)] where time >= delay {
                let stamp = SourceClock.Stamp(track, dts: time - delay + 5000, duration: 40)
                _ = clock.note(stamp, arrival: MonotonicInstant(arrival, in: .milliseconds))
            }
        }
    }

    /// The buffer of a moment of the source in milliseconds: due time minus earliest arrival.
    private func buffer(_ clock: SourceClock, at time: Int64) -> Double {
        clock.due(Timestamp(time + 5000, in: .milliseconds), of: .video).map {
            Double($0.nanoseconds) / 1e6 - Double(time)
        } ?? -1
    }

    @Test("While sources are new, all of them use the largest buffer that any of them needs")
    func placed() {
        var (one, other) = (clock(), clock())
        feed(&one, 0..<2000, audio: 300)
        feed(&other, 0..<2000)
        #expect(abs(buffer(one, at: 2000) - 500) < 1 && abs(buffer(other, at: 2000) - 500) < 1)
        #expect(other.status.steps == 0)
        let third = CommonBufferTests()
        var (early, late) = (third.clock(), third.clock())
        feed(&early, 0..<1400)
        #expect(abs(buffer(early, at: 1400) - 200) < 1)
        feed(&late, 0..<1400, audio: 300)
        feed(&early, 1400..<1480)
        #expect(abs(buffer(early, at: 1480) - 500) < 1)
    }

    @Test("Sources stay in sync if one of them needs less buffer than before")
    func together() {
        var (one, other) = (clock(), clock())
        var apart = 0.0
        for second in Int64(0)..<900 {
            let times = second * 1000..<second * 1000 + 1000
            feed(&one, times, held: second < 10 ? 180 : 0)
            feed(&other, times)
            if second == 10 { #expect(abs(buffer(other, at: 10_000) - 220) < 2) }
            if second >= 4 {
                apart = max(apart, abs(buffer(one, at: second * 1000) - buffer(other, at: second * 1000)))
            }
        }
        #expect(apart < 1 && one.status.steps == 0 && other.status.steps == 0)
        #expect(buffer(other, at: 900_000) < 205)
    }

    @Test("A source that needs a buffer of seconds does not enlarge the other sources' buffers")
    func alone() {
        var (one, other) = (clock(), clock())
        feed(&one, 0..<4000, audio: 1500)
        feed(&other, 0..<4000)
        #expect(buffer(one, at: 4000) > 1500 && abs(buffer(other, at: 4000) - 200) < 1)
    }

    @Test("Reopening and aligning sources repeatedly does not enlarge their common buffer")
    func reopened() {
        var clocks = [clock(), clock()]
        for round in Int64(0)..<40 {
            let (index, start) = (Int(round % 2), round * 4000)
            if round > 1 { clocks[index].restart() }
            for second in Int64(0)..<4 {
                for number in clocks.indices {
                    feed(&clocks[number], start + second * 1000..<start + second * 1000 + 1000)
                }
                if second == 1 { clocks[index].align(by: .milliseconds(30)) }
            }
        }
        let seat = common.takeSeat()
        #expect((seat.buffer(for: .zero) - .milliseconds(200)).magnitude < .milliseconds(10))
        #expect(clocks.allSatisfy { (190..<240).contains(buffer($0, at: 160_000)) })
    }

    @Test("A source that has ended, or is being reopened, does not affect the common buffer")
    func gone() {
        let seat = common.takeSeat()
        var leaving: CommonBuffer.Seat? = common.takeSeat()
        leaving?.need(.nanoseconds(500))
        #expect(seat.buffer(for: .nanoseconds(200)) == .nanoseconds(500))
        leaving = nil
        #expect(seat.buffer(for: .nanoseconds(200)) == .nanoseconds(200))
        var one = clock()
        feed(&one, 0..<2000, audio: 300)
        #expect(seat.buffer(for: .nanoseconds(200)) > .milliseconds(400))
        one.restart()
        #expect(seat.buffer(for: .nanoseconds(200)) == .nanoseconds(200))
    }
}
