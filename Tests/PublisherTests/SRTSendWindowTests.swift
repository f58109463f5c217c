// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Publisher

/// Tests the send window alone, on a manual clock, and together with a model of libsrt.
@Suite("Suspending and resuming SRT sending")
struct SRTSendWindowTests {
    /// A model of a libsrt connection: the sender keeps unacknowledged messages, and sends reported ones again. The
    /// receiver reports missing messages when a later one arrives, and skips overdue ones.
    private struct Link {
        struct Message {
            let time: Int64
            let isProbe: Bool
        }

        let latency: Int64
        private(set) var held: [Message] = []
        /// Received messages that wait for an earlier, missing message.
        private var received: Set<Int64> = []
        private(set) var losses: Int64 = 0
        /// When media last arrived, and how many messages the receiver skipped.
        private(set) var arrival: Int64 = -1
        private(set) var abandoned = 0
        private(set) var probes = 0

        init(latency: Int64) { self.latency = latency }

        mutating func send(_ message: Message, isUp: Bool) {
            held.append(message)
            if message.isProbe { probes += 1 }
            if isUp { received.insert(message.time) }
        }

        /// Simulates all events until `now`, a round trip later.
        mutating func settle(at now: Int64, isUp: Bool) {
            guard isUp, let newest = held.last(where: { received.contains($0.time) }) else { return }
            for message in held where message.time < newest.time && !received.contains(message.time) {
                losses += 1
                if newest.time + latency * 1000 < now { abandoned += message.isProbe ? 0 : 1 }
                received.insert(message.time)
            }
            while let first = held.first, received.remove(first.time) != nil {
                held.removeFirst()
                if !first.isProbe { arrival = now }
            }
        }

        func age(at now: Int64) -> Int64? { held.first.map { (now - $0.time) / 1000 } }
    }

    /// Simulates a source of 25 frames per second, or of one frame every `interval` microseconds, over a link that is
    /// cut for `outage` microseconds at 2 s. Returns how long after the outage media first arrived; nil if no media
    /// arrived within 20 s.
    private func recovery(
        after outage: Int64, latency: Int64, interval: Int64 = 40_000, random: inout SeededRandom
    ) -> (delay: Int64?, probes: Int, verdicts: [SRTSendWindow.Verdict]) {
        var window = SRTSendWindow(latency: latency)
        var link = Link(latency: latency)
        let cut = 2_000_000 + Int64.random(in: 0..<interval, using: &random)
        var verdicts: [SRTSendWindow.Verdict] = []
        var due: Int64 = 0
        var delay: Int64?
        for now in stride(from: Int64(0), to: 20_000_000, by: 10_000) {
            let isUp = !(cut..<cut + outage).contains(now)
            link.settle(at: now, isUp: isUp)
            if now >= cut + outage, delay == nil, link.arrival >= cut + outage { delay = now - cut - outage }
            let verdict = window.look(age: link.age(at: now), roundTrip: 1, losses: link.losses, at: now)
            if verdict != verdicts.last { verdicts.append(verdict) }
            if verdict == .over { return (delay, link.probes, verdicts) }
            switch verdict {
            case .open, .reopened:
                guard now >= due else { break }
                due += max(interval, (now - due) / interval * interval)
                link.send(.init(time: now, isProbe: false), isUp: isUp)
                window.handedOver(at: now)
                continue
            case .shut, .over: break
            }
            if link.age(at: now) != nil, window.isProbeDue(roundTrip: 1, at: now) {
                link.send(.init(time: now, isProbe: true), isUp: isUp)
                window.handedOver(at: now)
            }
        }
        return (delay, link.probes, verdicts)
    }

    @Test(
        "After an outage that the SRT connection survives, media arrives again within 2 s",
        arguments: [120, 200, 1000, 4000] as [Int64])
    func liveness(latency: Int64) {
        var random = SeededRandom()
        let others = (0..<40).map { _ in Int64.random(in: 10_000..<4_800_000, using: &random) }
        for outage in [100_000, 300_000, 1_000_000, 4_000_000] + others {
            let result = recovery(after: outage, latency: latency, random: &random)
            #expect(result.delay.map { $0 <= 2_000_000 } == true, "\(outage) µs: \(result)")
            #expect(!result.verdicts.contains(.over), "\(outage) µs: \(result)")
        }
    }

    @Test(
        "After an outage a source with a frame every 1.5 s is received by SRT again", arguments: [200, 1000] as [Int64])
    func slowSource(latency: Int64) {
        var random = SeededRandom()
        for _ in 0..<20 {
            let outage = Int64.random(in: 100_000..<4_800_000, using: &random)
            let result = recovery(after: outage, latency: latency, interval: 1_500_000, random: &random)
            #expect(result.delay.map { $0 <= 2_000_000 } == true, "\(outage) µs: \(result)")
        }
    }

    @Test("An SRT connection counts as lost after the permitted time without acknowledgements plus the latency")
    func over() {
        var random = SeededRandom()
        let result = recovery(after: 60_000_000, latency: 200, random: &random)
        #expect(result.verdicts.last == .over && result.delay == nil)
        // Probes become rarer with time: with one each half second, 2 s would have 4.
        #expect((10..<60).contains(result.probes), "\(result)")
        #expect(SRTSendWindow(latency: 200).patience == 5_200_000)
        #expect(SRTSendWindow(latency: 200, silence: 30_000).patience == 30_200_000)
    }

    @Test("A slow SRT connection does not count as lost while the receiver still acknowledges packets")
    func slow() {
        var window = SRTSendWindow(latency: 200)
        for tenth in 0..<100 as Range<Int64> {
            let age = 500 + tenth * 10
            #expect(window.look(age: age, roundTrip: 1, losses: 0, at: tenth * 100_000) != .over)
        }
        #expect(window.look(age: 1490 + 5300, roundTrip: 1, losses: 0, at: 9_900_000 + 5_300_000) == .over)
    }

    @Test("On a perfect network SRT sending is never suspended, and no probe is sent")
    func healthy() {
        var random = SeededRandom()
        let result = recovery(after: 0, latency: 200, random: &random)
        #expect(result.probes == 0 && result.verdicts == [.open])
    }

    @Test(
        "SRT sending is suspended if a message waits longer than half the latency plus the acknowledgement time"
    )
    func bound() {
        var window = SRTSendWindow(latency: 1000)
        #expect(window.look(age: 500, roundTrip: 10, losses: 0, at: 0) == .open)
        #expect(window.look(age: 501, roundTrip: 10, losses: 0, at: 0) == .shut(beginsHold: false))
        #expect(SRTSendWindow(latency: 120).maximumAge(roundTrip: 200) == 360)
        #expect(SRTSendWindow(latency: 8000, dropAge: 2000).maximumAge(roundTrip: 1) == 1900)
    }

    @Test("After a short delay SRT continues with the next packet; after packet loss or a long delay, at a keyframe")
    func reopens() {
        func verdict(age: Int64, losses: Int64, shut: Int64) -> SRTSendWindow.Verdict {
            var window = SRTSendWindow(latency: 200)
            _ = window.look(age: age - shut, roundTrip: 1, losses: 3, at: 0)
            _ = window.look(age: age, roundTrip: 1, losses: 3, at: shut * 1000)
            return window.look(age: nil, roundTrip: 1, losses: losses, at: shut * 1000)
        }
        #expect(verdict(age: 190, losses: 9, shut: 80) == .open)
        // All messages were acknowledged at once: this process or the receiver's was paused.
        #expect(verdict(age: 250, losses: 3, shut: 20) == .open)
        #expect(verdict(age: 250, losses: 4, shut: 20) == .reopened(after: 20_000))
        // The delay is so long that a loss report may have been lost, too.
        #expect(verdict(age: 250, losses: 3, shut: 140) == .reopened(after: 140_000))
        var window = SRTSendWindow(latency: 4000)
        _ = window.look(age: 2001, roundTrip: 1, losses: 0, at: 0)
        #expect(window.look(age: 3001, roundTrip: 1, losses: 0, at: 1_000_001) == .shut(beginsHold: true))
        #expect(window.look(age: 3002, roundTrip: 1, losses: 0, at: 1_001_000) == .shut(beginsHold: false))
        #expect(window.look(age: nil, roundTrip: 1, losses: 0, at: 1_002_000) == .reopened(after: 1_002_000))
        #expect(window.look(age: nil, roundTrip: 1, losses: 0, at: 1_003_000) == .open)
    }
}
