// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Measured delays of a track")
struct TrackDelaysTests {
    private func at(_ milliseconds: Int) -> MonotonicInstant { .zero + .milliseconds(milliseconds) }

    @Test("Packets that arrive together are one bundle while delays are collected; later each second is one piece")
    func pieces() {
        var collecting = TrackDelays(since: at(0), isJoining: false)
        for (arrival, delay) in [(0, 50), (4, 30), (9, 40), (20, 70), (24, 60)] {
            _ = collecting.note(.milliseconds(delay), at: at(arrival), isCollecting: true)
        }
        #expect(collecting.pieces.map(\.at) == [at(0), at(20)])
        let found = collecting.extremes(since: at(0))
        #expect(found.least == .milliseconds(30) && found.greatest == .milliseconds(70))
        // The smaller of the delays of both bundles' first packets.
        #expect(found.bundle == .milliseconds(50))

        var later = TrackDelays(since: at(0), isJoining: false)
        for arrival in stride(from: 0, to: 3000, by: 40) {
            _ = later.note(.milliseconds(arrival % 1000), at: at(arrival), isCollecting: false)
        }
        #expect(later.pieces.map(\.at) == [at(0), at(1000), at(2000)])
        #expect(later.pieces.allSatisfy { $0.least == .zero && $0.greatest == .milliseconds(960) })
    }

    @Test("Delays older than five minutes are forgotten")
    func memory() {
        var delays = TrackDelays(since: at(0), isJoining: false)
        _ = delays.note(.seconds(9), at: at(0), isCollecting: false)
        for second in 1...300 { _ = delays.note(.zero, at: at(second * 1000), isCollecting: false) }
        #expect(delays.extremes(since: .zero).greatest == .seconds(9))
        _ = delays.note(.zero, at: at(301_000), isCollecting: false)
        #expect(delays.extremes(since: .zero).greatest == .zero)
        #expect(delays.greatest(since: at(0)) == .zero)
    }

    @Test("Without packets since a moment the newest delays count, and a track that began later has no greatest delay")
    func recent() {
        var delays = TrackDelays(since: at(5000), isJoining: false)
        _ = delays.note(.milliseconds(20), at: at(5000), isCollecting: true)
        _ = delays.note(.milliseconds(80), at: at(6000), isCollecting: true)
        #expect(delays.extremes(since: at(9000)).least == .milliseconds(80))
        #expect(delays.greatest(since: at(9000)) == nil)
        #expect(delays.greatest(since: at(4999)) == nil)
        #expect(delays.greatest(since: at(5000)) == .milliseconds(80))
    }

    @Test("A track whose times are moved has delays that are smaller by as much, and keeps the sum as its bias")
    func move() {
        var delays = TrackDelays(since: at(0), isJoining: false)
        _ = delays.note(.milliseconds(500), at: at(0), isCollecting: true)
        delays.move(by: .milliseconds(300))
        delays.move(by: .milliseconds(-100))
        #expect(delays.bias == .milliseconds(200))
        #expect(delays.extremes(since: .zero).least == .milliseconds(300))
    }

    @Test("The first packet after a silence tells that the track was silent, and no other one does")
    func silence() {
        var delays = TrackDelays(since: at(0), isJoining: false)
        delays.isSilent = true
        let first = delays.note(.zero, at: at(9000), isCollecting: false)
        let second = delays.note(.zero, at: at(9040), isCollecting: false)
        #expect(first && !second && delays.last == at(9040))
    }
}
