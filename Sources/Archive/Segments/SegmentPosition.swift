// SPDX-License-Identifier: Apache-2.0

package import Media

/// The position of a file in its program, as stored in the file.
package struct SegmentPosition: Sendable, Equatable {
    /// Identifies the run of the recorder: program times can be compared within one run.
    package var run: String
    /// The program time of the first visible frame.
    package var programStart: ProgramInstant
    /// How the file ended. While the file is open, the value is ``SegmentEnding/recovered``, which is right if a crash
    /// leaves the file open.
    package var ending: SegmentEnding
    /// Whether the file's edit list can hide frames at its beginning, before the first visible one, and frames at its
    /// end, which the next file shows.
    package var isTrimmed = false
    /// Whether the file contains a source's packets without re-encoding.
    package var isCopied = false

    package init(run: String, programStart: ProgramInstant, ending: SegmentEnding) {
        self.run = run
        self.programStart = programStart
        self.ending = ending
    }
}

extension SegmentPosition {
    /// The text in the file. Its length does not depend on the ending, so that the end of a recording does not change
    /// the size of any box.
    package var text: String {
        let longest = SegmentEnding.recovered.rawValue.count
        let padding = String(repeating: " ", count: max(0, longest - ending.rawValue.count))
        let marks = (isTrimmed ? " trimmed=yes" : "") + (isCopied ? " copied=yes" : "")
        return "run=\(run) start=\(programStart.nanoseconds)\(marks) ending=\(ending.rawValue)\(padding)"
    }

    /// Reads ``text``; nil if the text is something else.
    package init?(text: String) {
        var values: [Substring: Substring] = [:]
        for part in text.split(separator: " ") {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { values[pair[0]] = pair[1] }
        }
        guard let run = values["run"], (1...32).contains(run.utf8.count),
            let start = values["start"].flatMap({ Int64($0) }), start.magnitude <= 1 << 60,
            let ending = values["ending"].flatMap({ SegmentEnding(rawValue: String($0)) })
        else { return nil }
        self.init(run: String(run), programStart: ProgramInstant(nanoseconds: start), ending: ending)
        (isTrimmed, isCopied) = (values["trimmed"] == "yes", values["copied"] == "yes")
    }
}

/// Why a file of a recording ended.
package enum SegmentEnding: String, Sendable, Codable {
    /// The next file follows without a gap.
    case rotate
    /// The program or its recording ended.
    case stop
    /// Writing or reading failed, or the recorder fell too far behind.
    case error
    /// The storage guard stopped the recording, the disk was full, or another file system was mounted.
    case disk
    /// The recorded source sent nothing for a while; when it sends again, another file begins.
    case silent
    /// A crash or a failed close left the file open, and relay completed it later.
    case recovered
}
