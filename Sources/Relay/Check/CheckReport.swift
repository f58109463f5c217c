// SPDX-License-Identifier: Apache-2.0

/// The result of `relay check`.
struct CheckReport: Encodable {
    /// The result of one check.
    enum Result: String, Encodable {
        case ok
        /// The subject may work by the time when the channel goes on air, or it could not be tested.
        case warning
        case failed
    }

    /// The result for one subject that a channel needs.
    struct Row: Encodable {
        let channel: String
        /// The subject: `input`, `output two`, `recording`, `encoder`.
        let subject: String
        let result: Result
        /// The finding as a sentence without secrets.
        let text: String
    }

    var rows: [Row] = []

    /// Whether all channels can go on air with this configuration.
    var isGood: Bool { rows.allSatisfy { $0.result != .failed } }

    /// The report as text for people: one line for each row, in columns.
    var text: String {
        let columns = rows.map { [$0.channel, $0.subject, $0.result.rawValue] }
        let widths = (0..<3).map { column in columns.map { $0[column].count }.max() ?? 0 }
        let lines = zip(columns, rows).map { cells, row in
            let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return (padded + [row.text]).joined(separator: "  ") + "\n"
        }
        return lines.joined()
    }
}
