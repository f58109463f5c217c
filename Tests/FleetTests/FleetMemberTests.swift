// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import Testing

/// One host in front of a store that answers every request at once, except claims.
@Suite("One host of a fleet")
struct FleetMemberTests {
    private struct Host {
        var member = FleetMember(HostProfile(name: "a", capacity: Resources(milliCores: 1000)), seed: 1)
        var now = MonotonicInstant.zero
        var revision: Int64 = 10
        /// The times at which the host sent a claim.
        var claims: [MonotonicInstant] = []

        /// A host with a lease, in a fleet with one free channel and these other entries.
        init(_ others: [FleetKey: FleetEntry] = [:]) {
            let demand = FleetEntry(.demand(ChannelDemand()), created: 1, modified: 1)
            entries = others.merging([FleetKey(.channel, "c"): demand]) { $1 }
            handle(.start)
        }

        private let entries: [FleetKey: FleetEntry]

        /// Lets the member handle `event`, and answers what it asks.
        mutating func handle(_ event: FleetMember.Event) {
            var events = [event]
            while !events.isEmpty {
                for action in member.handle(events.removeFirst(), at: now) {
                    guard case .ask(let number, let request, _) = action else { continue }
                    if let answer = answer(to: request) { events.append(.answered(request: number, answer)) }
                }
            }
        }

        private mutating func answer(to request: StoreRequest) -> StoreAnswer? {
            switch request {
            case .grant: return .granted(lease: 7, ttl: .seconds(5))
            case .keepAlive: return .alive(ttl: .seconds(5))
            case .read(let after):
                return .contents(revision: revision, changed: after == 0 ? entries : [:], count: entries.count)
            case .claim:
                claims.append(now)
                return nil
            default:
                revision += 1
                return .done(revision: revision)
            }
        }

        /// Writes an entry of the operator's, or deletes it, and lets the watch report that.
        mutating func write(_ kind: FleetKey.Kind, _ name: String, _ value: FleetValue?) {
            revision += 1
            let entry = value.map { FleetEntry($0, created: revision, modified: revision) }
            handle(.changed([FleetChange(FleetKey(kind, name), revision: revision, entry: entry)]))
        }

        /// Goes on until the host claims the channel, or until `end`. Returns when it claims; nil if it does not.
        mutating func claim(before end: MonotonicInstant) -> MonotonicInstant? {
            while claims.isEmpty, let due = member.due, due < end {
                now = max(now, due)
                handle(.time)
            }
            return claims.first
        }
    }

    @Test func `A host claims a free channel after a short wait`() throws {
        var host = Host()
        let claimed = host.claim(before: .zero + .seconds(2))
        let time = try #require(claimed)
        #expect(time > .zero)
    }

    // Regression: a wait that was under way when the operator's request came continued as it was.
    @Test func `While a host waits for a free channel, a request to move the channel elsewhere lengthens the wait`()
        throws
    {
        var host = Host()
        host.write(.move, "c", .host("b"))
        let early = host.claim(before: .zero + .milliseconds(2900))
        #expect(early == nil)
        let claimed = host.claim(before: .zero + .seconds(6))
        let time = try #require(claimed)
        #expect(time >= .zero + FleetTiming().notMovedHereWait)
    }

    @Test func `While a host waits for a free channel, a request to drain the host lengthens the wait`() throws {
        var host = Host()
        host.write(.drain, "a", .mark)
        let early = host.claim(before: .zero + .milliseconds(9900))
        #expect(early == nil)
        let late = host.claim(before: .zero + .seconds(13))
        #expect(late != nil)
    }

    @Test func `A request to drain another host changes no wait`() throws {
        var (host, other) = (Host(), Host())
        other.write(.drain, "b", .mark)
        let claimed = host.claim(before: .zero + .seconds(2))
        let time = try #require(claimed)
        let same = other.claim(before: .zero + .seconds(2))
        #expect(same == time)
    }

    @Test(arguments: [FleetKey(.drain, "a"), FleetKey(.move, "c")])
    func `If the operator withdraws a request, a host that waits because of it claims the channel at once`(
        key: FleetKey
    ) throws {
        let value: FleetValue = key.kind == .drain ? .mark : .host("b")
        var host = Host([key: FleetEntry(value, created: 2, modified: 2)])
        let early = host.claim(before: .zero + .milliseconds(1100))
        #expect(early == nil)
        host.write(key.kind, key.name, nil)
        let claimed = host.claim(before: .zero + .milliseconds(2900))
        let time = try #require(claimed)
        #expect(time < .zero + .seconds(2))
    }
}
