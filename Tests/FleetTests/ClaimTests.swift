// SPDX-License-Identifier: Apache-2.0

import Fleet
import TestSupport
import Testing

@Suite("Claim")
struct ClaimTests {
    private static func held(token: Int64 = 10) -> Claim {
        var claim = Claim()
        _ = claim.handle(.takenByUs(token: token))
        return claim
    }

    @Test func `A free channel is claimed after the wait, and starts when the store has the claim`() {
        var claim = Claim()
        #expect(claim.handle(.free(until: 5)) == [])
        #expect(claim.state == .waiting(until: 5))
        #expect(claim.handle(.due(lease: 7)) == [.ask(lease: 7)])
        #expect(claim.handle(.takenByUs(token: 10)) == [.start(token: 10)])
        #expect(claim.token == 10)
        #expect(claim.handle(.takenByUs(token: 10)) == [])
    }

    @Test func `A claim that another host got first is dropped, and tried again when the channel is free`() {
        var claim = Claim()
        _ = claim.handle(.free(until: 5))
        #expect(claim.handle(.takenByOther) == [])
        #expect(claim.handle(.due(lease: 7)) == [])
        _ = claim.handle(.free(until: 9))
        #expect(claim.handle(.due(lease: 7)) == [.ask(lease: 7)])
        #expect(claim.handle(.failed(retry: 20)) == [])
        #expect(claim.state == .waiting(until: 20))
    }

    @Test func `If the answer to a claim was lost, the channel starts when the store reports the claim`() {
        var claim = Claim()
        _ = claim.handle(.free(until: 5))
        _ = claim.handle(.due(lease: 7))
        _ = claim.handle(.failed(retry: 20))
        #expect(claim.handle(.takenByUs(token: 10)) == [.start(token: 10)])
    }

    @Test func `While a claim waits for its answer, a report that the channel is free does not cause a second claim`() {
        var claim = Claim()
        _ = claim.handle(.free(until: 5))
        _ = claim.handle(.due(lease: 7))
        #expect(claim.handle(.free(until: 6)) == [])
        #expect(claim.state == .asking(lease: 7))
    }

    @Test func `A lost lease, another holder and a deleted claim each stop the channel`() {
        for event in [Claim.Event.leaseLost, .takenByOther, .free(until: nil), .free(until: 3), .released] {
            var claim = Self.held()
            #expect(claim.handle(event) == [.stop], "\(event)")
            #expect(claim.token == nil)
        }
    }

    @Test func `A channel that fails is stopped before its claim is deleted, and an old report does not start it`() {
        var claim = Self.held()
        #expect(claim.handle(.release) == [.stop, .release(token: 10)])
        #expect(claim.handle(.takenByUs(token: 10)) == [])
        #expect(claim.handle(.released) == [])
        #expect(claim.handle(.takenByUs(token: 10)) == [])
        #expect(claim.state == .taken)
        #expect(claim.handle(.takenByUs(token: 11)) == [.start(token: 11)])
    }

    @Test func `Channels that the host claims, holds or releases count as its load`() {
        var claim = Claim()
        #expect(!claim.isCounted)
        _ = claim.handle(.free(until: 1))
        #expect(!claim.isCounted)
        _ = claim.handle(.due(lease: 7))
        #expect(claim.isCounted)
        _ = claim.handle(.takenByUs(token: 2))
        #expect(claim.isCounted)
        _ = claim.handle(.release)
        #expect(claim.isCounted)
        _ = claim.handle(.released)
        #expect(!claim.isCounted)
    }
}
