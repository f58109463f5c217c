// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// Identifies clients by tokens, and by the sessions that they obtained with tokens; counts wrong tokens.
///
/// Any thread may use it; all calls return at once.
final class TokenGuard: Sendable {
    private struct Session {
        var role: ControlRole
        var expires: ContinuousClock.Instant
    }

    private struct State {
        var sessions: [String: Session] = [:]
        var failures = 0
        /// The beginning of the current window, and the number of wrong tokens from each address in it.
        var since = ContinuousClock.now
        var guesses: [String: Int] = [:]
    }

    static let sessionLength = Duration.seconds(12 * 3600)
    private static let mostSessions = 1000
    /// How many wrong tokens from one address are checked per ``window``; further tokens from that address are refused
    /// without a check. Other addresses are not affected, because one client must not be able to lock out all others.
    private static let mostGuesses = 10
    private static let window = Duration.seconds(10)
    /// How many addresses are counted separately; all others are counted together.
    private static let mostPeers = 1000

    private let tokens: [ControlSettings.Token]
    private let state = Mutex(State())

    init(_ tokens: [ControlSettings.Token]) { self.tokens = tokens }

    /// Whether clients must show a token.
    var isNeeded: Bool { !tokens.isEmpty }

    /// The number of wrong tokens so far.
    var failures: Int { state.withLock { $0.failures } }

    /// Returns the role of a client that presents `token` from the address `peer`. Throws if the token is unknown, or
    /// if too many wrong tokens have come from that address, so that none is accepted from it for a while. Each known
    /// token is compared completely, so that the duration reveals nothing.
    func role(ofToken token: String, from peer: String) throws(Refusal) -> ControlRole {
        let now = ContinuousClock.now
        let isCrowded = state.withLock { state in
            if now - state.since > Self.window { (state.since, state.guesses) = (now, [:]) }
            return state.guesses[Self.counted(peer, state.guesses), default: 0] >= Self.mostGuesses
        }
        if isCrowded { throw Refusal(.tooMany, "Too many wrong tokens were shown. Try again in a few seconds.") }
        var role = ControlRole.none
        for known in tokens where Self.isEqual(known.secret, token) { role = max(role, known.role) }
        if role == .none {
            state.withLock { state in
                state.failures += 1
                state.guesses[Self.counted(peer, state.guesses), default: 0] += 1
            }
            throw Refusal(.unauthenticated, "The token is not known.")
        }
        return role
    }

    /// Returns the key under which the wrong tokens from `peer` are counted.
    private static func counted(_ peer: String, _ guesses: [String: Int]) -> String {
        guesses[peer] != nil || guesses.count < mostPeers ? peer : ""
    }

    /// Begins a session of `role`, and returns its name, which is secret.
    func beginSession(_ role: ControlRole) -> String {
        var generator = SystemRandomNumberGenerator()
        let name = (0..<4).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let now = ContinuousClock.now
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

    /// Returns the role of a client that presents the name of a session; `none` if the session has ended.
    func role(ofSession name: String) -> ControlRole {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard let session = state.sessions[name], session.expires > now else { return .none }
            return session.role
        }
    }

    /// Compares all bytes, even after the first difference.
    static func isEqual(_ known: String, _ given: String) -> Bool {
        let (known, given) = (Array(known.utf8), Array(given.utf8))
        var difference = known.count ^ given.count
        for index in known.indices {
            difference |= Int(known[index] ^ (index < given.count ? given[index] : ~known[index]))
        }
        return difference == 0 && !known.isEmpty
    }
}
