// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Synchronization

/// Resolves names within its own deadline, no matter how long the system's resolver takes.
///
/// `getaddrinfo` cannot be interrupted. It runs on one thread per name, not per attempt, so that a name server that
/// never answers blocks one thread per host. An answer that comes after a caller's deadline is kept for the caller's
/// next attempt. So a name server that takes 30 s delays an output by 30 s, and no more.
package final class HostResolver: Sendable {
    /// The result of a request: at least one address, or the reason why none was found (`unreachable`, step `resolve`).
    package typealias Answer = Result<[HostAddress], OutputFailure>
    /// Resolves a host; may block forever.
    typealias LookUp = @Sendable (String) throws(OutputFailure) -> [HostAddress]

    private struct Entry {
        var waiting: [Int: @Sendable (Answer) -> Void] = [:]
        var isLookingUp = false
        /// Whether a caller timed out before the resolver's answer came.
        var isLate = false
        var late: (addresses: [HostAddress], at: MonotonicInstant)?
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var requests = 0
    }

    /// The resolver that the whole process shares.
    package static let shared = HostResolver()

    private let timeout: Duration
    private let keep: Duration
    private let clock: any MonotonicClock
    private let lookUp: LookUp
    private let state = Mutex(State())

    /// Creates a resolver that answers within `timeout`, and keeps late answers for the duration `keep`.
    init(
        timeout: Duration = .seconds(5), keep: Duration = .seconds(60), clock: any MonotonicClock = SystemClock(),
        lookUp: @escaping LookUp = { (host) throws(OutputFailure) in try HostAddress.lookUp(host, port: 0) }
    ) {
        self.timeout = timeout
        self.keep = keep
        self.clock = clock
        self.lookUp = lookUp
    }

    /// Resolves `host`, a name or a literal; the addresses have `port`. Does not block. Calls `completion` once, within
    /// the deadline. If `host` is a literal, or if a late answer was kept for it, `completion` is called at once on the
    /// calling thread; otherwise usually on another thread.
    package func resolve(_ host: String, port: UInt16, completion: @escaping @Sendable (Answer) -> Void) {
        if let literal = HostAddress(literal: host, port: port) { return completion(.success([literal])) }
        let complete: @Sendable (Answer) -> Void = { answer in
            completion(answer.map { $0.map { $0.with(port: port) } })
        }
        let now = clock.now
        let (kept, request, begins) = state.withLock { state -> ([HostAddress]?, Int, Bool) in
            forgetOld(in: &state, at: now)
            if let late = state.entries[host]?.late { return (late.addresses, 0, false) }
            var entry = state.entries[host] ?? Entry()
            state.requests += 1
            entry.waiting[state.requests] = complete
            let begins = !entry.isLookingUp
            entry.isLookingUp = true
            state.entries[host] = entry
            return (nil, state.requests, begins)
        }
        if let kept { return complete(.success(kept)) }
        if begins { begin(host) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(timeout.inNanoseconds))) {
            self.giveUp(request, on: host)
        }
    }

    private func forgetOld(in state: inout State, at now: MonotonicInstant) {
        state.entries = state.entries.filter { _, entry in
            entry.late.map { now - $0.at < keep } ?? true
        }
    }

    private func begin(_ host: String) {
        let code = BlockingWork.start("relay.resolver") { [lookUp] in
            do throws(OutputFailure) {
                let addresses = try lookUp(host)
                let none = OutputFailure(
                    .unreachable, step: "resolve", reason: "\(host): the name has no address", hint: .unknownName)
                self.finish(host, addresses.isEmpty ? .failure(none) : .success(addresses))
            } catch {
                self.finish(host, .failure(error))
            }
        }
        guard code != 0 else { return }
        let reason = "\(host): no thread to resolve it on: \(TCPSocket.message(code))"
        finish(host, .failure(OutputFailure(.unreachable, step: "resolve", reason: reason)))
    }

    private func finish(_ host: String, _ answer: Answer) {
        let waiting = state.withLock { state -> [Int: @Sendable (Answer) -> Void] in
            guard let entry = state.entries.removeValue(forKey: host) else { return [:] }
            if entry.isLate, case .success(let addresses) = answer {
                state.entries[host] = Entry(late: (addresses, clock.now))
            }
            return entry.waiting
        }
        for complete in waiting.values { complete(answer) }
    }

    private func giveUp(_ request: Int, on host: String) {
        let complete = state.withLock { state in
            let complete = state.entries[host]?.waiting.removeValue(forKey: request)
            if complete != nil { state.entries[host]?.isLate = true }
            return complete
        }
        let reason = "\(host): the name server did not answer within \(timeout.inMilliseconds) ms"
        complete?(.failure(OutputFailure(.unreachable, step: "resolve", reason: reason)))
    }
}
