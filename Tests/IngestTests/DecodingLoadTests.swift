// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Ingest

@Suite("Decoding load of a live source")
struct DecodingLoadTests {
    private func at<Line>(_ milliseconds: Int64) -> Instant<Line> { Instant(milliseconds, in: .milliseconds) }

    /// Decodes frames of 40 ms from `start` on, which are due then or `earlier` ms before; each takes `cost` ms, and
    /// the thread never pauses. Returns how many frames were late because of the machine, and the actions with their
    /// times.
    private func decode(
        _ load: inout DecodingLoad, from start: Int64, count: Int64, cost: Int64, earlier: Int64 = 0
    ) -> (overdue: Int, actions: [(at: Int64, action: DecodingLoad.Action)]) {
        var (overdue, actions): (Int, [(at: Int64, action: DecodingLoad.Action)]) = (0, [])
        for number in 0..<count {
            let (time, now) = (start + 40 * number, start + cost * (number + 1))
            let (isOverdue, action) = load.decoded(at(time), due: at(time - earlier), at: at(now))
            if isOverdue { overdue += 1 }
            if let action { actions.append((now, action)) }
        }
        return (overdue, actions)
    }

    @Test("Only keyframes are decoded after 2 s of frames that take longer to decode than to play")
    func slow() {
        var load = DecodingLoad(at: at(0))
        let (overdue, actions) = decode(&load, from: 0, count: 50, cost: 60)
        #expect(actions.map(\.at) == [2100] && actions.map(\.action) == [.reduce(slowness: 1.5)])
        #expect(overdue == 33)
    }

    @Test("If decoding must not be reduced to keyframes, each frame that is late because of overload counts as overdue")
    func notReduced() {
        var load = DecodingLoad(at: at(0))
        var overdue = 0
        for number in 0..<100 as Range<Int64> {
            let time = 40 * number
            let (isOverdue, action) = load.decoded(at(time), due: at(time), at: at(60 * (number + 1)), mayReduce: false)
            #expect(action == nil)
            if isOverdue { overdue += 1 }
        }
        #expect(overdue == 98)
    }

    @Test("Frames that arrive late or in bursts from the network do not count as decoding overload")
    func network() {
        var load = DecodingLoad(at: at(0))
        for number in 0..<500 as Range<Int64> {
            let now = number * 40
            #expect(load.rested(at: at(now)) == nil)
            let (isOverdue, action) = load.decoded(at(now - 500), due: at(now - 400), at: at(now + 30))
            #expect(!isOverdue && action == nil)
        }
        var burst = DecodingLoad(at: at(0))
        let (overdue, actions) = decode(&burst, from: 0, count: 500, cost: 20, earlier: 60_000)
        #expect(overdue == 0 && actions.isEmpty)
    }

    @Test(
        "Full decoding is tried again after 10 s, then at growing intervals, which a minute without overload resets"
    )
    func again() {
        var load = DecodingLoad(at: at(0))
        _ = decode(&load, from: 0, count: 35, cost: 60)
        #expect(load.rested(at: at(12_099)) == nil)
        #expect(load.rested(at: at(12_100)) == .restore)
        #expect(decode(&load, from: 12_100, count: 35, cost: 60).actions.map(\.at) == [14_200])
        #expect(load.rested(at: at(34_199)) == nil)
        // A thread without pauses also tries again, with its next keyframe.
        #expect(load.decoded(at(34_000), due: at(34_000), at: at(34_200)).action == .restore)
        #expect(load.rested(at: at(94_200)) == nil)
        #expect(decode(&load, from: 94_200, count: 35, cost: 60).actions.map(\.at) == [96_300])
        #expect(load.rested(at: at(106_299)) == nil)
        #expect(load.rested(at: at(106_300)) == .restore)
    }
}
