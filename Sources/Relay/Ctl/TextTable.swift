// SPDX-License-Identifier: Apache-2.0

/// Formats rows in columns.
enum TextTable {
    /// Returns one line for each of `rows`, with its cells aligned in columns; the last column is not padded.
    static func text(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(PrintedText.escaped) }
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }
}
