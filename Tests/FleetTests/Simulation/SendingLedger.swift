// SPDX-License-Identifier: Apache-2.0

/// Who may send which channel, in true time. It finds two hosts that may send the same channel at the same time.
struct SendingLedger {
    /// The end of each host's window, for each channel.
    private var ends: [String: [Int: Int64]] = [:]
    /// Since when no host may send the channel.
    private var silentSince: [String: Int64] = [:]
    /// The faults that were found.
    private(set) var faults: [String] = []
    /// The longest time for which a channel, once on air, had no window, and each such time.
    private(set) var gaps: [Int64] = []

    /// Records that `host` may send `channel` from now until `end`.
    mutating func open(_ channel: String, host: Int, until end: Int64, at now: Int64) {
        for (other, otherEnd) in ends[channel, default: [:]] where other != host && otherEnd > now {
            let overlap = (min(otherEnd, max(end, now)) - now) / 1_000_000
            faults.append("\(channel): hosts \(other) and \(host) may both send at \(now), for \(overlap) ms")
        }
        guard end > now else { return }
        let last = ends[channel, default: [:]].values.max() ?? 0
        if last > 0, last < now { gaps.append(now - last) }
        ends[channel, default: [:]][host] = end
    }

    /// Records that `host` does not send `channel` after now.
    mutating func close(_ channel: String, host: Int, at now: Int64) {
        guard let end = ends[channel]?[host], end > now else { return }
        ends[channel]?[host] = now
    }

    /// Records that the process of `host` has ended.
    mutating func close(host: Int, at now: Int64) { for channel in ends.keys { close(channel, host: host, at: now) } }

    /// Whether some host may send the channel now.
    func isOpen(_ channel: String, at now: Int64) -> Bool { ends[channel]?.values.contains { $0 > now } == true }

    /// Forgets the gaps.
    mutating func forgetGaps() { gaps = [] }
}
