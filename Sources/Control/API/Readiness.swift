// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Program
internal import Status
internal import Synchronization

/// Checks that the channels produce media: each channel must produce new frames or packets, unless it has ended as
/// intended.
///
/// Progress is noticed only when a check is made. A channel that has stopped is reported by the first check that is
/// made at least 3 seconds after another check has found its last frame or packet. Until then it counts as moving.
final class Readiness: Sendable {
    private struct Look {
        var units: Int64
        /// When the channel's number of frames or packets last changed.
        var moved: MonotonicInstant
    }

    /// How long a channel may produce no new frame or packet.
    static let patience = Duration.seconds(3)

    private let clock: any MonotonicClock
    private let looks = Mutex<[String: Look]>([:])

    init(clock: any MonotonicClock = SystemClock()) { self.clock = clock }

    /// Returns why the process is not ready, in a sentence; nil if it is ready.
    func lacks(_ reports: [ChannelReport]) -> String? {
        if reports.isEmpty { return "There is no channel." }
        let expected = reports.filter { !$0.isDone }
        if expected.isEmpty { return "All channels are over." }
        let still = expected.filter { !moves($0) }.map(\.name)
        return still.isEmpty ? nil : "Nothing moves in \(still.joined(separator: ", "))."
    }

    private func moves(_ report: ChannelReport) -> Bool {
        guard let status = report.status else { return false }
        let units = status.passthrough?.packets ?? status.program.frames
        let now = clock.now
        return looks.withLock { looks in
            let last = looks[report.name]
            if let last, last.units == units { return now - last.moved < Self.patience }
            looks[report.name] = Look(units: units, moved: now)
            return units > 0
        }
    }
}
