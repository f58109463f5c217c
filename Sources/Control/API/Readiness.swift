// SPDX-License-Identifier: Apache-2.0

internal import Program
internal import Status
internal import Synchronization

/// Checks that the channels output media: each channel must have produced frames within the last few seconds.
final class Readiness: Sendable {
    private struct Look {
        var units: Int64
        var moved: ContinuousClock.Instant
    }

    /// How long a program may go without a new frame.
    private static let patience = Duration.seconds(3)

    private let looks = Mutex<[String: Look]>([:])

    /// Returns why the process is not ready, in a sentence; nil if it is ready.
    func lacks(_ reports: [ChannelReport]) -> String? {
        if reports.isEmpty { return "There is no channel." }
        let still = reports.filter { !moves($0) }.map(\.name)
        return still.isEmpty ? nil : "Nothing moves in \(still.joined(separator: ", "))."
    }

    private func moves(_ report: ChannelReport) -> Bool {
        guard let status = report.status else { return false }
        let units = status.passthrough?.packets ?? status.program.frames
        let now = ContinuousClock.now
        return looks.withLock { looks in
            let last = looks[report.name]
            if let last, last.units == units { return now - last.moved < Self.patience }
            looks[report.name] = Look(units: units, moved: now)
            return units > 0
        }
    }
}
