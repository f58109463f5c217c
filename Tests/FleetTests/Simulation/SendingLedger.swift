// SPDX-License-Identifier: Apache-2.0

import Media

/// Who may send which channel, in true time. It finds two hosts that may send the same channel at the same time.
struct SendingLedger {
    /// The end of each host's window, for each channel.
    private var ends: [String: [Int: TrueInstant]] = [:]
    /// Since when no host may send the channel.
    private var silentSince: [String: TrueInstant] = [:]
    /// The faults that were found.
    private(set) var faults: [String] = []
    /// The longest time for which a channel, once on air, had no window, and each such time.
    private(set) var gaps: [Duration] = []

    /// Records that `host` may send `channel` from now until `end`.
    mutating func open(_ channel: String, host: Int, until end: TrueInstant, at now: TrueInstant) {
        for (other, otherEnd) in ends[channel, default: [:]] where other != host && otherEnd > now {
            let overlap = (min(otherEnd, max(end, now)) - now).inMilliseconds
            faults.append(
                "\(channel): hosts \(other) and \(host) may both send at \(now.nanoseconds), for \(overlap) ms")
        }
        guard end > now else { return }
        if let last = ends[channel, default: [:]].values.max(), last < now { gaps.append(now - last) }
        ends[channel, default: [:]][host] = end
    }

    /// Records that `host` does not send `channel` after now.
    mutating func close(_ channel: String, host: Int, at now: TrueInstant) {
        guard let end = ends[channel]?[host], end > now else { return }
        ends[channel]?[host] = now
    }

    /// Records that the process of `host` has ended.
    mutating func close(host: Int, at now: TrueInstant) {
        for channel in ends.keys { close(channel, host: host, at: now) }
    }

    /// Whether some host may send the channel now.
    func isOpen(_ channel: String, at now: TrueInstant) -> Bool { ends[channel]?.values.contains { $0 > now } == true }

    /// Forgets the gaps.
    mutating func forgetGaps() { gaps = [] }
}
