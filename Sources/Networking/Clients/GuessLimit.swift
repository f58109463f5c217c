// SPDX-License-Identifier: Apache-2.0

package import Media

/// Counts wrong guesses of a secret, separately for each network from which they come. It has no clock of its own: the
/// argument `now` is the current time of the monotonic clock.
package struct GuessLimit: Sendable {
    private struct Count {
        var guesses = 0
        /// When a guess of this network was last admitted although the limit was reached; nil for never.
        var admitted: MonotonicInstant?
    }

    /// How many wrong guesses each network may make within ``window``.
    package static let most = 10
    package static let window = Duration.seconds(10)
    /// When the limit is reached, one guess is admitted in each interval of this length.
    package static let pace = Duration.milliseconds(500)
    /// How many networks are counted. Further networks have no limit. So attackers who guess from many networks can
    /// neither use up the memory nor lock out other clients.
    package static let mostNetworks = 1000

    private var end = MonotonicInstant.distantPast
    private var counts: [ClientNetwork: Count] = [:]

    /// A limit that has counted no guess.
    package init() {}

    /// Counts a wrong guess from `network`. Returns whether the network had already reached its limit.
    package mutating func record(from network: ClientNetwork, at now: MonotonicInstant) -> Bool {
        beginWindow(at: now)
        guard counts[network] != nil || counts.count < Self.mostNetworks else { return false }
        counts[network, default: Count()].guesses += 1
        return counts[network].map { $0.guesses > Self.most } ?? false
    }

    /// Whether `network` has reached its limit.
    package func isReached(by network: ClientNetwork, at now: MonotonicInstant) -> Bool {
        now < end && (counts[network]?.guesses ?? 0) >= Self.most
    }

    /// Whether a guess from `network` may be checked. Below the limit every guess may be checked; when the limit is
    /// reached, one guess per ``pace``.
    package mutating func admits(_ network: ClientNetwork, at now: MonotonicInstant) -> Bool {
        guard isReached(by: network, at: now) else { return true }
        if let last = counts[network]?.admitted, now - last < Self.pace { return false }
        counts[network]?.admitted = now
        return true
    }

    private mutating func beginWindow(at now: MonotonicInstant) {
        guard now >= end else { return }
        (end, counts) = (now + Self.window, [:])
    }
}
