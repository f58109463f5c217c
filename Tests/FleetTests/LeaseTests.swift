// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport
import Testing

@Suite("Lease")
struct LeaseTests {
    /// The moment at which the clock shows a number of milliseconds.
    private static func ms(_ milliseconds: Int64) -> MonotonicInstant { .zero + .milliseconds(milliseconds) }

    /// A lease that was asked for at 0, granted at 10 ms, and has three endpoints.
    private static func held(_ loss: Lease.QuorumLoss = .stop) -> Lease {
        var lease = Lease(quorumLoss: loss, endpoints: 3)
        _ = lease.handle(.start, at: 0)
        _ = lease.handle(.answered(request: 1, .granted(lease: 7, ttl: .seconds(5))), at: ms(10))
        return lease
    }

    @Test func `A host asks for a lease when it starts, and may send until 4 s after it asked`() {
        var lease = Lease()
        #expect(lease.due == nil)
        #expect(lease.handle(.start, at: 0) == [.ask(request: 1, .grant(ttl: .seconds(5)), endpoint: 0)])
        #expect(
            lease.handle(.answered(request: 1, .granted(lease: 7, ttl: .seconds(5))), at: Self.ms(900))
                == [.obtained(lease: 7, until: Self.ms(4000))])
        #expect(lease.due == Self.ms(1670))
    }

    @Test func `A confirmed keep-alive counts from the start of its request, however late its answer is`() {
        var lease = Self.held()
        let ask = lease.handle(.time, at: Self.ms(1670))
        #expect(ask == [.ask(request: 2, .keepAlive(lease: 7), endpoint: 0)])
        #expect(
            lease.handle(.answered(request: 2, .alive(ttl: .seconds(5))), at: Self.ms(3100))
                == [.extended(until: Self.ms(5670))])
        #expect(lease.due == Self.ms(3340))
    }

    @Test func `A request without an answer in 1.5 s goes to the next endpoint, and its late answer still counts`() {
        var lease = Self.held()
        _ = lease.handle(.time, at: Self.ms(1670))
        #expect(
            lease.handle(.time, at: Self.ms(3170)) == [.ask(request: 3, .keepAlive(lease: 7), endpoint: 1)])
        #expect(
            lease.handle(.answered(request: 2, .alive(ttl: .seconds(5))), at: Self.ms(3300))
                == [.extended(until: Self.ms(5670))])
        #expect(
            lease.handle(.answered(request: 3, .alive(ttl: .seconds(5))), at: Self.ms(3400))
                == [.extended(until: Self.ms(7170))])
    }

    @Test func `After every endpoint has failed once, the host pauses before it asks again`() {
        var lease = Self.held()
        _ = lease.handle(.time, at: Self.ms(1670))
        for (request, endpoint) in [(2, 1), (3, 2)] {
            #expect(
                lease.handle(.answered(request: request, .failed), at: Self.ms(1680))
                    == [.ask(request: request + 1, .keepAlive(lease: 7), endpoint: endpoint)])
        }
        #expect(lease.handle(.answered(request: 4, .failed), at: Self.ms(1690)) == [])
        #expect(lease.due == Self.ms(1940))
        #expect(
            lease.handle(.time, at: Self.ms(1940)) == [.ask(request: 5, .keepAlive(lease: 7), endpoint: 0)])
    }

    @Test func `A lease that the store does not know is lost, and the host asks for another one`() {
        var lease = Self.held()
        _ = lease.handle(.time, at: Self.ms(1670))
        #expect(
            lease.handle(.answered(request: 2, .leaseGone), at: Self.ms(1675))
                == [.lost(lease: 7, .gone), .ask(request: 3, .grant(ttl: .seconds(5)), endpoint: 0)])
        #expect(lease.lease == nil && lease.sendingEnds == nil)
    }

    @Test func `A window that has passed is closed before anything else, even if a confirmation has come meanwhile`() {
        var lease = Self.held()
        _ = lease.handle(.time, at: Self.ms(1670))
        // The process was stopped from 1.7 s to 20 s, and finds the answer when it wakes.
        let actions = lease.handle(.answered(request: 2, .alive(ttl: .seconds(5))), at: Self.ms(20_000))
        #expect(
            actions == [
                .lost(lease: 7, .unconfirmed), .ask(request: 3, .revoke(lease: 7), endpoint: 0),
                .ask(request: 4, .grant(ttl: .seconds(5)), endpoint: 0),
            ])
    }

    @Test func `An answer that comes twice, or for a lease that was given up, changes nothing`() {
        var lease = Self.held()
        _ = lease.handle(.time, at: Self.ms(1670))
        _ = lease.handle(.answered(request: 2, .alive(ttl: .seconds(5))), at: Self.ms(1680))
        let state = lease.state
        #expect(lease.handle(.answered(request: 2, .leaseGone), at: Self.ms(1690)) == [])
        #expect(lease.handle(.answered(request: 1, .granted(lease: 8, ttl: .seconds(5))), at: Self.ms(1690)) == [])
        #expect(lease.state == state)
    }

    @Test func `A lease that is granted after the request has timed out is not used`() {
        var lease = Lease()
        _ = lease.handle(.start, at: 0)
        _ = lease.handle(.time, at: Self.ms(1500))
        #expect(lease.handle(.answered(request: 1, .granted(lease: 7, ttl: .seconds(5))), at: Self.ms(1600)) == [])
        #expect(lease.lease == nil)
    }

    @Test func `If the store grants less time than requested, the granted time counts, otherwise the requested time`() {
        for (ttl, end) in [(3, 2000), (60, 4000)] as [(Int64, Int64)] {
            var lease = Lease()
            _ = lease.handle(.start, at: 0)
            let actions = lease.handle(.answered(request: 1, .granted(lease: 7, ttl: .seconds(ttl))), at: Self.ms(5))
            #expect(actions == [.obtained(lease: 7, until: Self.ms(end))])
        }
    }

    @Test func `A host that keeps sending without the store extends its window with each failure, and stops when told`()
    {
        var lease = Self.held(.keep)
        var extended = 0
        var now = Self.ms(10)
        while now < Self.ms(60_000), let due = lease.due {
            now = due
            for action in lease.handle(.time, at: now) {
                if case .extended = action { extended += 1 }
                if case .lost = action { Issue.record("lost at \(now)") }
            }
        }
        #expect(extended > 30)
        guard case .ask(let request, _, _)? = lease.handle(.time, at: lease.due ?? 0).last else { return }
        #expect(
            lease.handle(.answered(request: request, .leaseGone), at: now + .milliseconds(1500)).first
                == .lost(lease: 7, .gone))
    }

    @Test func `A host that keeps sending without the store does not do so after its process was stopped`() {
        var lease = Self.held(.keep)
        _ = lease.handle(.time, at: Self.ms(1670))
        #expect(lease.handle(.time, at: Self.ms(20_000)).first == .lost(lease: 7, .unconfirmed))
    }

    @Test func `A host that ends revokes its lease and asks for nothing more`() {
        var lease = Self.held()
        #expect(
            lease.handle(.end, at: Self.ms(100)) == [
                .lost(lease: 7, .ended), .ask(request: 2, .revoke(lease: 7), endpoint: 0),
            ])
        #expect(lease.due == nil && lease.handle(.time, at: Self.ms(9000)) == [])
    }
}
