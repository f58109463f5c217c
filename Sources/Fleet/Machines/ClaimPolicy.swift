// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides whether a host may claim a free channel, and how long it waits before it tries. It has no state.
///
/// Labels and headroom admit a host or refuse it. Everything else only changes the wait: the load of the host, what the
/// channel prefers, a drain, a move, failures. So a channel gets a host as long as any host is admitted, and no host has
/// to know the others.
package struct ClaimPolicy: Sendable {
    /// Why a host may not claim a channel.
    package enum Refusal: Sendable, Equatable {
        /// The host lacks these labels.
        case lacksLabels([String])
        /// With the channel, the host's load would be this many thousandths of its capacity.
        case lacksHeadroom(load: Int64)
    }

    /// What the wait for a channel depends on.
    package struct Circumstances: Sendable, Equatable {
        /// Whether the host is being drained.
        package var isDraining = false
        /// The host to which an operator moves the channel, if there is such a request.
        package var movesTo: String?
        /// Whether this host held the channel until now. If so, the channel became free because this host lost its
        /// lease.
        package var heldBefore = false
        /// How often in a row the channel failed on this host.
        package var failures = 0
        /// The number of living hosts.
        package var hosts = 1

        /// The usual circumstances in a fleet of one host.
        package init() {}
    }

    private let timing: FleetTiming

    /// A policy with these waits.
    package init(timing: FleetTiming = FleetTiming()) { self.timing = timing }

    /// Why the host may not claim the channel; nil if it may. `claimed` is the sum of the costs of all channels that the
    /// host holds or asks for. A new channel's use is measured only later, so the larger of `claimed` and the measured
    /// use counts.
    package func refusal(of demand: ChannelDemand, by host: HostProfile, claimed: Resources) -> Refusal? {
        let missing = demand.needs.subtracting(host.labels)
        guard missing.isEmpty else { return .lacksLabels(missing.sorted()) }
        let load = (host.measured.merged(with: claimed) + demand.cost).load(of: host.capacity)
        return load > 1000 ? .lacksHeadroom(load: load) : nil
    }

    /// How long the host waits before its next claim; proportional to its load (plus a tenth) and to `jitter`. There is
    /// one wait for the host, not one for each free channel: the shortest of many random waits would be close to zero,
    /// whatever the load. `jitter` in 0..<1 is random, so that hosts with the same load do not claim at the same time.
    package func wait(
        by host: HostProfile, claimed: Resources, in circumstances: Circumstances, jitter: Double
    ) -> Duration {
        let load = min(1000, host.measured.merged(with: claimed).load(of: host.capacity))
        return spread(in: circumstances, part: Double(100 + load) / 1000 * jitter)
    }

    /// A short random wait for each channel, so that hosts do not claim the same one of several free channels first. A
    /// channel that the host held before is claimed before the others.
    package func order(in circumstances: Circumstances, jitter: Double) -> Duration {
        circumstances.heldBefore ? .zero : spread(in: circumstances, part: 0.05 * jitter)
    }

    /// Returns `part` times the longest wait. The longest wait is proportional to the number of hosts, within limits.
    private func spread(in circumstances: Circumstances, part: Double) -> Duration {
        let spread = min(
            max(timing.spreadForEachHost * circumstances.hosts, timing.spread.lowerBound), timing.spread.upperBound)
        return .nanoseconds(Int64(Double(spread.inNanoseconds) * part))
    }

    /// The part of the wait that does not depend on load and chance. It is counted from the time at which the channel
    /// became free, so that it ends although the load changes again and again.
    package func penalty(
        for demand: ChannelDemand, by host: HostProfile, in circumstances: Circumstances
    ) -> Duration {
        var wait = Duration.zero
        if circumstances.isDraining { wait += timing.drainingWait }
        if let target = circumstances.movesTo {
            if target != host.name { wait += timing.notMovedHereWait }
        } else if !demand.prefers.isSubset(of: host.labels.union([host.name])) {
            wait += timing.unpreferredWait
        }
        if circumstances.failures > 0 {
            wait += min(timing.failureWait * (1 << min(circumstances.failures - 1, 10)), timing.longestFailureWait)
        }
        return wait
    }
}
