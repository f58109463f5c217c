// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Measured delays of a track")
struct TrackDelaysTests {
    private func at(_ milliseconds: Int) -> MonotonicInstant { .zero + .milliseconds(milliseconds) }

    @Test("At first, a piece of delays covers packets that arrived together, and later the packets of a second")
    func pieces() {
        var collecting = TrackDelays(since: at(0), isJoining: false)
        for (arrival, delay) in [(0, 50), (4, 30), (9, 40), (20, 70), (24, 60)] {
            collecting.note(.milliseconds(delay), at: at(arrival), isCollecting: true)
        }
        #expect(collecting.pieces.map(\.at) == [at(0), at(20)])
        let found = collecting.extremes(since: at(0))
        #expect(found.least == .milliseconds(30) && found.greatest == .milliseconds(70))
        // The first packets of the two bundles have delays of 50 ms and 70 ms.
        #expect(found.bundle == .milliseconds(50))

        var later = TrackDelays(since: at(0), isJoining: false)
        for arrival in stride(from: 0, to: 3000, by: 40) {
            later.note(.milliseconds(arrival % 1000), at: at(arrival), isCollecting: false)
        }
        #expect(later.pieces.map(\.at) == [at(0), at(1000), at(2000)])
        #expect(later.pieces.allSatisfy { $0.least == .zero && $0.greatest == .milliseconds(960) })
    }

    @Test("Delays older than five minutes are forgotten")
    func memory() {
        var delays = TrackDelays(since: at(0), isJoining: false)
        delays.note(.seconds(9), at: at(0), isCollecting: false)
        for second in 1...300 { delays.note(.zero, at: at(second * 1000), isCollecting: false) }
        #expect(delays.extremes(since: .zero).greatest == .seconds(9))
        delays.note(.zero, at: at(301_000), isCollecting: false)
        #expect(delays.extremes(since: .zero).greatest == .zero)
        #expect(delays.greatest(since: at(0)) == .zero)
    }

    @Test("Without packets since a moment the newest delays count; a track that began later has no largest delay")
    func recent() {
        var delays = TrackDelays(since: at(5000), isJoining: false)
        delays.note(.milliseconds(20), at: at(5000), isCollecting: true)
        delays.note(.milliseconds(80), at: at(6000), isCollecting: true)
        #expect(delays.extremes(since: at(9000)).least == .milliseconds(80))
        #expect(delays.greatest(since: at(9000)) == nil)
        #expect(delays.greatest(since: at(4999)) == nil)
        #expect(delays.greatest(since: at(5000)) == .milliseconds(80))
    }

    @Test("If a track's times are moved, its delays shrink by as much, and its bias is the sum of all moves")
    func move() {
        var delays = TrackDelays(since: at(0), isJoining: false)
        delays.note(.milliseconds(500), at: at(0), isCollecting: true)
        delays.move(by: .milliseconds(300))
        delays.move(by: .milliseconds(-100))
        #expect(delays.bias == .milliseconds(200))
        #expect(delays.extremes(since: .zero).least == .milliseconds(300))
    }

    @Test("The first packet after a silence reports that the track was silent, and later packets do not")
    func silence() {
        var delays = TrackDelays(since: at(0), isJoining: false)
        delays.isSilent = true
        let first = delays.arrive(at: at(9000))
        let second = delays.arrive(at: at(9040))
        #expect(first && !second && delays.last == at(9040))
    }

    @Test("Delays of packets whose timestamps leap count when later ones agree, and never if a later one returns")
    func doubtful() {
        func packet(_ milliseconds: Int) -> TrackDelays.Packet { .init(time: .zero, arrival: at(milliseconds)) }
        var delays = TrackDelays(since: at(0), isJoining: false)
        #expect(delays.release(packet(0), .leaps).map(\.arrival) == [at(0)], "nothing else is known yet")
        delays.note(.zero, at: at(0), isCollecting: true)
        func release(_ milliseconds: Int, _ course: SenderTimeline.Course) -> [MonotonicInstant] {
            delays.release(packet(milliseconds), course).map(\.arrival)
        }
        #expect(release(40, .leaps) == [] && release(80, .undecided) == [])
        #expect(release(120, .steady) == [at(40), at(80), at(120)])
        #expect(release(160, .leaps) == [] && release(200, .undecided) == [])
        #expect(release(240, .returns) == [at(240)])
        #expect(release(280, .leaps) == [] && release(320, .leaps) == [at(280)])
        #expect(release(360, .steady) == [at(320), at(360)])
    }
}
