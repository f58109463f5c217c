// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport
import Testing

@Suite("Planned moves")
struct HandoverTests {
    private static let frame = Duration.milliseconds(40)

    /// The moment at which the clock shows a number of milliseconds.
    private static func ms(_ milliseconds: Int64) -> MonotonicInstant { .zero + .milliseconds(milliseconds) }

    private static func successor(_ state: HandoverSuccessor.State) -> FleetEntry {
        FleetEntry(.successor(HandoverSuccessor(host: "b", state: state)), created: 20, modified: 21, lease: 8)
    }

    private static let claim = FleetEntry(.host("a"), created: 10, modified: 10, lease: 7)

    /// Gives an event to a holder whose program shows the frame of this time.
    private static func give(
        _ giver: inout HandoverGiver, _ event: HandoverGiver.Event, at time: Int64
    ) -> [HandoverGiver.Action] {
        giver.handle(event, at: ms(time), frame: time / 40, frameDuration: frame)
    }

    /// A holder at frame 25 whose successor is ready.
    private static func proposing() -> HandoverGiver {
        var giver = HandoverGiver(channel: "c", token: 10, lease: 7, target: nil)
        _ = give(&giver, .begin, at: 0)
        _ = give(&giver, .answered(.done(revision: 19)), at: 10)
        _ = give(&giver, .successor(successor(.opening)), at: 100)
        _ = give(&giver, .successor(successor(.ready)), at: 1000)
        return giver
    }

    private static func releasing() -> HandoverGiver {
        var giver = proposing()
        _ = give(&giver, .successor(successor(.armed(cut: 75))), at: 1100)
        _ = give(&giver, .reachedCut, at: 3000)
        return giver
    }

    private static let release = StoreRequest.release(channel: "c", token: 10, successor: 20)
    private static let withdrawal = HandoverGiver.Action.ask(.withdrawOffer(channel: "c", token: 10))

    @Test func `The holder proposes a frame 2 s ahead, ends before it, closes its window and deletes its claim`() {
        var giver = Self.proposing()
        #expect(giver.state == .proposing(successor: 20, cut: 75))
        #expect(
            Self.give(&giver, .successor(Self.successor(.armed(cut: 75))), at: 1100) == [.endBefore(cut: 75)])
        #expect(!giver.isSilent)
        #expect(Self.give(&giver, .reachedCut, at: 3000) == [.closeWindow, .ask(Self.release)])
        #expect(giver.isSilent)
        #expect(Self.give(&giver, .answered(.done(revision: 30)), at: 3010) == [.released])
        #expect(giver.state == .ended(nil))
    }

    @Test func `The holder asks again while it does not know whether its claim was deleted, and stays silent`() {
        var giver = Self.releasing()
        for time in [3100, 4000, 9000] as [Int64] {
            #expect(Self.give(&giver, .answered(.failed), at: time) == [])
            #expect(Self.give(&giver, .successor(nil), at: time + 10) == [])
            #expect(Self.give(&giver, .withdraw, at: time + 10) == [])
            #expect(giver.isSilent)
            #expect(Self.give(&giver, .time, at: time + 250) == [.ask(Self.release)])
        }
        let answer = StoreAnswer.refused(revision: 40, claim: nil, successor: nil)
        #expect(Self.give(&giver, .answered(answer), at: 9300) == [.released])
    }

    @Test func `The holder continues at the agreed frame if the store says that the successor is gone`() {
        var giver = Self.releasing()
        let answer = StoreAnswer.refused(revision: 40, claim: Self.claim, successor: nil)
        #expect(Self.give(&giver, .answered(answer), at: 3100) == [.resume, Self.withdrawal])
        #expect(Self.give(&giver, .answered(.done(revision: 41)), at: 3110) == [])
        #expect(giver.state == .ended(.successorGone))
    }

    @Test func `A proposal without an answer is repeated with a later frame, three times at most`() {
        var giver = Self.proposing()
        for round in 2...3 {
            let time = Int64(round) * 1500 - 500
            let offer = HandoverOffer(cut: time / 40 + 50, round: round)
            #expect(
                Self.give(&giver, .time, at: time)
                    == [.ask(.offer(channel: "c", token: 10, lease: 7, offer))])
        }
        // The answer to an earlier proposal does not count.
        #expect(Self.give(&giver, .successor(Self.successor(.armed(cut: 75))), at: 4100) == [])
        #expect(Self.give(&giver, .time, at: 5500) == [Self.withdrawal])
    }

    @Test func `Every state of the holder has a time-out but those that wait for the store's answer`() {
        var giver = HandoverGiver(channel: "c", token: 10, lease: 7, target: nil)
        _ = Self.give(&giver, .begin, at: 0)
        #expect(Self.give(&giver, .time, at: 20_000) == [Self.withdrawal])
        giver = HandoverGiver(channel: "c", token: 10, lease: 7, target: nil)
        _ = Self.give(&giver, .begin, at: 0)
        _ = Self.give(&giver, .successor(Self.successor(.opening)), at: 100)
        #expect(Self.give(&giver, .time, at: 35_100) == [Self.withdrawal])
        giver = Self.proposing()
        _ = Self.give(&giver, .successor(Self.successor(.armed(cut: 75))), at: 1100)
        #expect(Self.give(&giver, .time, at: 8100) == [.resume, Self.withdrawal])
        for giver in [Self.releasing(), giver] {
            var giver = giver
            _ = Self.give(&giver, .answered(.failed), at: 8200)
            #expect(giver.due == Self.ms(8450))
        }
    }

    /// A successor that is open, and was asked to begin at frame 75.
    private static func armed() -> HandoverTaker {
        var taker = HandoverTaker(channel: "c", token: 10, host: "b", lease: 8)
        _ = taker.handle(.begin, at: 0)
        _ = taker.handle(.answered(.done(revision: 20)), at: ms(10))
        _ = taker.handle(.opened, at: ms(900))
        _ = taker.handle(entries(HandoverOffer(cut: 75, round: 1)), at: ms(1000))
        return taker
    }

    private static func entries(_ offer: HandoverOffer?) -> HandoverTaker.Event {
        .entries(
            claim: claim, offer: offer.map { FleetEntry(.offer($0), created: 19, modified: 22, lease: 7) },
            successor: successor(.ready))
    }

    private static let leave = [
        HandoverTaker.Action.close, .ask(.withdrawSuccessor(channel: "c", successor: 20)),
    ]

    @Test func `The successor opens, is armed with a frame, and claims the channel when it is free`() {
        var taker = HandoverTaker(channel: "c", token: 10, host: "b", lease: 8)
        let opening = HandoverSuccessor(host: "b")
        #expect(
            taker.handle(.begin, at: 0) == [.ask(.succeed(channel: "c", token: 10, lease: 8, opening))])
        #expect(taker.handle(.answered(.done(revision: 20)), at: 10) == [.open])
        func report(_ state: HandoverSuccessor.State) -> HandoverTaker.Action {
            .ask(.report(channel: "c", successor: 20, lease: 8, HandoverSuccessor(host: "b", state: state)))
        }
        #expect(taker.handle(.opened, at: 20) == [report(.ready)])
        let offer = Self.entries(HandoverOffer(cut: 75, round: 1))
        #expect(taker.handle(offer, at: 30) == [.arm(cut: 75), report(.armed(cut: 75))])
        #expect(taker.handle(offer, at: 40) == [])
        let free = HandoverTaker.Event.entries(claim: nil, offer: nil, successor: Self.successor(.ready))
        #expect(
            taker.handle(free, at: 50) == [.ask(.claim(channel: "c", host: "b", lease: 8, successor: 20))])
        #expect(taker.handle(.answered(.done(revision: 31)), at: 60) == [.taken(token: 31)])
        #expect(taker.hasEnded)
    }

    @Test func `The successor follows a later proposal and ignores an earlier one`() {
        var taker = Self.armed()
        #expect(taker.handle(Self.entries(HandoverOffer(cut: 110, round: 2)), at: 1).first == .arm(cut: 110))
        #expect(taker.handle(Self.entries(HandoverOffer(cut: 75, round: 1)), at: 2) == [])
        #expect(taker.state == .armed(cut: 110))
    }

    @Test func `The successor leaves when the offer is withdrawn, when nothing happens, and when it cannot open`() {
        var taker = Self.armed()
        #expect(taker.handle(Self.entries(nil), at: Self.ms(1100)) == Self.leave)
        #expect(taker.handle(.answered(.failed), at: Self.ms(1200)) == [])
        #expect(taker.handle(.time, at: Self.ms(1450)) == [Self.leave[1]])
        #expect(taker.handle(.answered(.done(revision: 50)), at: Self.ms(1460)) == [])
        #expect(taker.state == .ended(.holderGone))
        taker = Self.armed()
        #expect(taker.handle(.time, at: taker.due ?? 0) == Self.leave)
        taker = HandoverTaker(channel: "c", token: 10, host: "b", lease: 8)
        _ = taker.handle(.begin, at: 0)
        _ = taker.handle(.answered(.done(revision: 20)), at: 10)
        #expect(taker.handle(.openingFailed, at: 20) == Self.leave)
    }

    @Test func `A successor takes the channel of a dead holder, even before it is ready`() {
        var taker = HandoverTaker(channel: "c", token: 10, host: "b", lease: 8)
        _ = taker.handle(.begin, at: 0)
        _ = taker.handle(.answered(.done(revision: 20)), at: 10)
        let free = HandoverTaker.Event.entries(claim: nil, offer: nil, successor: Self.successor(.opening))
        let ask = HandoverTaker.Action.ask(.claim(channel: "c", host: "b", lease: 8, successor: 20))
        #expect(taker.handle(free, at: 20) == [ask])
        #expect(taker.handle(.answered(.failed), at: 30) == [])
        #expect(taker.handle(.time, at: Self.ms(1000)) == [ask])
        // The first request was carried out after all.
        let ours = FleetEntry(.host("b"), created: 33, modified: 33, lease: 8)
        let answer = StoreAnswer.refused(revision: 34, claim: ours, successor: nil)
        #expect(taker.handle(.answered(answer), at: Self.ms(1010)) == [.taken(token: 33)])
    }
}
