// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking
internal import Synchronization

/// Identifies clients by their tokens, or by sessions that they began with tokens. It also counts wrong tokens.
///
/// Any thread may use it; all calls return at once.
final class TokenGuard: Sendable {
    private struct Session {
        var role: ControlRole
        /// When the session ends.
        var expires: MonotonicInstant
    }

    private struct State {
        var sessions: [String: Session] = [:]
        var failures = 0
        var limit = GuessLimit()
    }

    static let sessionLength = Duration.seconds(12 * 3600)
    private static let mostSessions = 1000

    private let tokens: [ControlSettings.Token]
    private let clock: any MonotonicClock
    private let state = Mutex(State())

    /// Admits clients that present one of `tokens`. `clock` determines when sessions end.
    init(_ tokens: [ControlSettings.Token], clock: any MonotonicClock = SystemClock()) {
        (self.tokens, self.clock) = (tokens, clock)
    }

    /// Whether clients must show a token.
    var isNeeded: Bool { !tokens.isEmpty }

    /// The number of wrong tokens so far.
    var failures: Int { state.withLock { $0.failures } }

    /// Returns the role of a client that presents `token` from the IP address `client`. Throws if the token is unknown.
    ///
    /// A known token is always admitted, even if many wrong tokens came from the same network: attackers must not be
    /// able to lock out other clients. Each known token is compared completely, so that the duration of the call
    /// reveals nothing about the tokens.
    func role(ofToken token: String, from client: String) throws(Refusal) -> ControlRole {
        var role = ControlRole.none
        for known in tokens where Self.isEqual(known.secret, token) { role = max(role, known.role) }
        guard role == .none else { return role }
        let now = clock.now
        let isLimited = state.withLock { state in
            state.failures += 1
            return state.limit.record(from: ClientNetwork(client), at: now)
        }
        if isLimited { throw Refusal(.tooMany, "Too many wrong tokens were shown. Try again in a few seconds.") }
        throw Refusal(.unauthenticated, "The token is not known.")
    }

    /// Begins a session that gives its client `role`, and returns the session's name, which is secret.
    func beginSession(_ role: ControlRole) -> String {
        var generator = SystemRandomNumberGenerator()
        let name = (0..<4).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let now = clock.now
        state.withLock { state in
            if state.sessions.count >= Self.mostSessions {
                state.sessions = state.sessions.filter { $0.value.expires > now }
            }
            if state.sessions.count >= Self.mostSessions,
                let oldest = state.sessions.min(by: { $0.value.expires < $1.value.expires })
            {
                state.sessions[oldest.key] = nil
            }
            state.sessions[name] = Session(role: role, expires: now + Self.sessionLength)
        }
        return name
    }

    /// Ends a session; does nothing if it does not exist.
    func endSession(_ name: String) { state.withLock { $0.sessions[name] = nil } }

    /// Returns the role of a client that presents `name`, the name of a session; `none` if the session has ended.
    func role(ofSession name: String) -> ControlRole {
        let now = clock.now
        return state.withLock { state in
            guard let session = state.sessions[name], session.expires > now else { return .none }
            return session.role
        }
    }

    /// Whether the strings are equal. Compares all bytes, even after the first difference.
    static func isEqual(_ known: String, _ given: String) -> Bool {
        let (known, given) = (Array(known.utf8), Array(given.utf8))
        var difference = known.count ^ given.count
        for index in known.indices {
            difference |= Int(known[index] ^ (index < given.count ? given[index] : ~known[index]))
        }
        return difference == 0 && !known.isEmpty
    }
}
