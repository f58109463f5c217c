// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A gap of a recording as it is logged.
struct GapLine: Equatable {
    let frames: Int
    /// Program times of the first missing frame and of the first frame after the gap, in nanoseconds.
    let from: Int64
    let to: Int64

    /// Returns all gaps in `log`.
    static func all(in log: String) -> [GapLine] {
        log.split(separator: "\n").compactMap { line in
            guard line.contains("gap in the recording: "),
                let frames = number(behind: "gap in the recording: ", in: line),
                let from = number(behind: "from_ns=", in: line), let to = number(behind: "to_ns=", in: line)
            else { return nil }
            return GapLine(frames: Int(frames), from: from, to: to)
        }
    }

    private static func number(behind text: String, in line: Substring) -> Int64? {
        line.range(of: text).flatMap { Int64(line[$0.upperBound...].prefix { $0.isNumber }) }
    }
}
