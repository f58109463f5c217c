// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Media
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite struct HostResolverTests {
    /// A name server that answers when it is told to.
    private final class SlowServer: Sendable {
        let gate = DispatchSemaphore(value: 0)
        let asked = Mutex<[String]>([])
        let address = HostAddress(literal: "192.0.2.7", port: 0)

        var lookUp: HostResolver.LookUp {
            { host in
                self.asked.withLock { $0.append(host) }
                self.gate.wait()
                return [self.address].compactMap(\.self)
            }
        }
    }

    /// The resolver's answer. It goes through a mutex, because ThreadSanitizer does not see the hand-over of a value by
    /// a continuation that is resumed before it is awaited.
    private func answer(
        _ resolver: HostResolver, _ host: String, port: UInt16 = 1935
    ) async throws -> HostResolver.Answer {
        let answer = Mutex<HostResolver.Answer?>(nil)
        await withCheckedContinuation { continuation in
            resolver.resolve(host, port: port) { given in
                answer.withLock { $0 = given }
                continuation.resume()
            }
        }
        return try #require(answer.withLock { $0 })
    }

    @Test("A literal IP address resolves to itself without a name server", arguments: ["127.0.0.1", "::1"])
    func literal(host: String) async throws {
        let resolver = HostResolver { (_) throws(OutputFailure) in
            throw OutputFailure(.unreachable, step: "resolve", reason: "asked")
        }
        let addresses = try await answer(resolver, host, port: 4321).get()
        #expect(addresses.map(\.description) == [host])
        #expect(addresses.first == HostAddress(literal: host, port: 4321))
    }

    @Test("Concurrent requests for one host share a lookup, and each gets its own port")
    func shared() {
        let server = SlowServer()
        let resolver = HostResolver(lookUp: server.lookUp)
        let answers = Mutex<[HostAddress]>([])
        let done = DispatchSemaphore(value: 0)
        for (host, port) in [("media.example", 1), ("media.example", 2), ("other.example", 3)] as [(String, UInt16)] {
            resolver.resolve(host, port: port) { answer in
                answers.withLock { $0 += (try? answer.get()) ?? [] }
                done.signal()
            }
        }
        for _ in 0..<2 { server.gate.signal() }
        let all = (0..<3).allSatisfy { _ in done.wait(timeout: .now() + 10) == .success }
        #expect(all)
        let expected = (1...3).compactMap { HostAddress(literal: "192.0.2.7", port: $0) }
        #expect(answers.withLock { all in expected.allSatisfy { all.contains($0) } && all.count == 3 })
        #expect(server.asked.withLock { $0.sorted() } == ["media.example", "other.example"])
    }

    @Test("A lookup without an answer fails on time, and an answer that comes late is kept for a minute")
    func late() async throws {
        let (server, clock) = (SlowServer(), ManualClock())
        let resolver = HostResolver(timeout: .milliseconds(50), clock: clock, lookUp: server.lookUp)
        for _ in 0..<3 {
            guard case .failure(let failure) = try await answer(resolver, "slow.example") else {
                Issue.record("answered without an answer")
                return
            }
            #expect(failure.kind == .unreachable)
            #expect(failure.step == "resolve")
            #expect(failure.reason.contains("slow.example"))
        }
        #expect(server.asked.withLock { $0.count } == 1)
        server.gate.signal()
        // The answer arrives on the resolver's thread; until then further requests fail like the first.
        var addresses: [HostAddress]?
        for _ in 0..<200 where addresses == nil { addresses = try? await answer(resolver, "slow.example").get() }
        #expect(addresses?.first?.description == "192.0.2.7")
        #expect(try await answer(resolver, "slow.example").get().count == 1)
        let asked = server.asked.withLock { $0.count }
        clock.advance(by: .seconds(61))
        server.gate.signal()
        _ = try await answer(resolver, "slow.example")
        #expect(server.asked.withLock { $0.count } == asked + 1)
    }

    @Test("The lookup of a host name that does not exist fails with the resolver's message")
    func unknown() async throws {
        let resolver = HostResolver { (host) throws(OutputFailure) in
            throw OutputFailure(.unreachable, step: "resolve", reason: "\(host): Name or service not known")
        }
        let expected = OutputFailure(.unreachable, step: "resolve", reason: "no.example: Name or service not known")
        #expect(try await answer(resolver, "no.example") == .failure(expected))
    }
}
