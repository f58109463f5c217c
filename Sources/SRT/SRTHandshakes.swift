// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Media
internal import Networking

/// The callers at a port whose requests were accepted and whose handshakes are not complete yet. libsrt checks the
/// passphrase last, and does not report that it was wrong.
struct SRTHandshakes {
    private struct Caller {
        /// When the caller's request was accepted.
        let at: MonotonicInstant
        let network: ClientNetwork
    }

    /// The maximum time for the rest of a handshake after the caller's request was accepted.
    static let limit = Duration.seconds(2)
    /// The maximum number of callers that are remembered.
    static let mostCallers = 1000

    private var callers: [SRTSOCKET: Caller] = [:]

    /// Remembers a caller whose request was accepted at `now`.
    mutating func begin(_ socket: SRTSOCKET, from network: ClientNetwork, at now: MonotonicInstant) {
        guard callers.count < Self.mostCallers else { return }
        callers[socket] = Caller(at: now, network: network)
    }

    /// Forgets a caller that is connected.
    mutating func complete(_ socket: SRTSOCKET) { callers[socket] = nil }

    /// Forgets the callers whose requests were accepted more than ``limit`` before `now`. Returns the networks of those
    /// that are not connected.
    mutating func takeFailures(at now: MonotonicInstant, isConnected: (SRTSOCKET) -> Bool) -> [ClientNetwork] {
        let late = callers.filter { now - $0.value.at > Self.limit }
        for socket in late.keys { callers[socket] = nil }
        return late.filter { !isConnected($0.key) }.values.map(\.network)
    }

    /// Whether libsrt has connected the caller's socket.
    static func isConnected(_ socket: SRTSOCKET) -> Bool { srt_getsockstate(socket) == SRTS_CONNECTED }
}
