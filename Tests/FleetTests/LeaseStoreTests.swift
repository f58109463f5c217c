// SPDX-License-Identifier: Apache-2.0

import Fleet
import Synchronization
import Testing

@Suite("Lease store")
struct LeaseStoreTests {
    private static func ask(_ store: any LeaseStore, _ request: StoreRequest) async -> StoreAnswer {
        await store.answer(to: request, endpoint: 0, timeout: .seconds(1))
    }

    private static func lease(_ store: any LeaseStore) async throws -> Int64 {
        guard case .granted(let lease, _) = await ask(store, .grant(ttl: .seconds(5))) else {
            throw CancellationError()
        }
        return lease
    }

    private static func claim(_ host: String, _ lease: Int64) -> StoreRequest {
        .claim(channel: "c", host: host, lease: lease, successor: nil)
    }

    @Test func `One of many hosts that claim a channel at once gets it, and the others learn which`() async throws {
        let store = MemoryStore()
        let answers = try await withThrowingTaskGroup(of: StoreAnswer.self) { group in
            for host in 0..<50 {
                group.addTask { await Self.ask(store, Self.claim("host-\(host)", try await Self.lease(store))) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let tokens = answers.compactMap { if case .done(let revision) = $0 { revision } else { nil } }
        let holders = answers.compactMap { if case .refused(_, let claim?, _) = $0 { claim } else { nil } }
        #expect(tokens.count == 1 && holders.count == 49)
        #expect(Set(holders.map(\.created)) == Set(tokens) && Set(holders.map(\.host)).count == 1)
    }

    @Test func `A claim whose answer is lost is refused the second time, with the host's own lease as the reason`()
        async throws
    {
        let isFirst = Mutex(true)
        let store = MemoryStore { request in
            guard case .claim = request else { return .none }
            return isFirst.withLock { first in
                defer { first = false }
                return first ? .answerLost : .none
            }
        }
        let lease = try await Self.lease(store)
        #expect(await Self.ask(store, Self.claim("a", lease)) == .failed)
        guard case .refused(_, let claim, _) = await Self.ask(store, Self.claim("a", lease)) else {
            Issue.record("the second claim was not refused")
            return
        }
        #expect(claim?.lease == lease && claim?.host == "a")
    }

    @Test func `A lost request changes nothing, and the second copy of a deletion does not delete a newer claim`()
        async throws
    {
        let store = MemoryStore { request in
            switch request {
            case .release: .twice
            case .offer: .lost
            default: .none
            }
        }
        let lease = try await Self.lease(store)
        guard case .done(let token) = await Self.ask(store, Self.claim("a", lease)) else { return }
        #expect(
            await Self.ask(store, .offer(channel: "c", token: token, lease: lease, HandoverOffer())) == .failed)
        let release = StoreRequest.release(channel: "c", token: token, successor: nil)
        guard case .refused(_, nil, nil) = await Self.ask(store, release) else {
            Issue.record("the second copy was not refused")
            return
        }
        guard case .done(let newer) = await Self.ask(store, Self.claim("b", try await Self.lease(store))) else {
            return
        }
        guard case .refused(_, let claim, _) = await Self.ask(store, release) else { return }
        #expect(newer > token && claim?.created == newer)
    }

    @Test func `A lease that is not renewed ends with its entries, a renewed one does not, and a watch reports both`()
        async throws
    {
        let store = MemoryStore()
        let (first, second) = (try await Self.lease(store), try await Self.lease(store))
        guard case .done(let token) = await Self.ask(store, Self.claim("a", first)) else { return }
        store.pass(.seconds(4))
        #expect(await Self.ask(store, .keepAlive(lease: first)) == .alive(ttl: .seconds(5)))
        store.pass(.seconds(4))
        #expect(await Self.ask(store, .keepAlive(lease: second)) == .leaseGone)
        store.pass(.seconds(2))
        #expect(await Self.ask(store, .keepAlive(lease: first)) == .leaseGone)
        let stream = store.changes(since: token, endpoint: 0)
        #expect(await Self.ask(store, Self.claim("b", try await Self.lease(store))) != .failed)
        store.endWatches()
        var changes: [FleetChange] = []
        for await batch in stream { changes += batch }
        #expect(changes.map(\.entry?.host) == ["a", nil, "b"])
        #expect(changes.map(\.revision) == changes.map(\.revision).sorted())
    }
}
