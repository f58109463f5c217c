// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Stitcher

/// The files and ranges from which one export is made.
package struct ExportContents: Sendable {
    /// The range that can be copied. Nil for several ranges or clips and for MPEG-TS, because they cannot be copied but
    /// must be stitched.
    var recorded: RecordedRange?
    /// The name of the file that is being written now, if the range extends into that file but the export leaves it
    /// out.
    var beingWritten: String?
    /// Whether the export is one range of MPEG-TS.
    var isStream = false
    /// The pieces from which the stitcher makes the same export.
    var clips: [StitchClip]
    /// Notes for the person who gets the stitched file.
    var notes: [String]

    /// The paths of the files from which the export is made.
    var paths: [String] { recorded?.files.map(\.path) ?? clips.map(\.path) }
}

extension ExportContents {
    /// Creates the contents of one `selection`.
    package init(_ selection: ExportSelection) {
        self.init(
            recorded: RecordedRange(files: selection.spans.map { ($0.path, $0.name) }, range: selection.range),
            beingWritten: selection.beingWritten, clips: selection.pieces, notes: selection.notes)
        isStream = selection.spans.contains { $0.name.hasSuffix(RecordFormat.ts.fileExtension) }
        if isStream { recorded = nil }
    }

    /// Creates the contents of several `selections`, one directly after the other. Each selection but the first begins
    /// with `transition`.
    package init(joining selections: [ExportSelection], transition: StitchTransition?) {
        self.init(clips: [], notes: selections.flatMap(\.joinedNotes))
        var end: Int64?
        for selection in selections {
            var pieces = selection.joinedPieces(behind: end)
            if !clips.isEmpty, !pieces.isEmpty { pieces[0].transition = transition }
            clips += pieces
            end = selection.range.upperBound
        }
    }
}

/// The outcome of an export.
package struct ExportResult: Sendable {
    /// The report of the copying or of the stitching, depending on how the export was made.
    package enum Report: Sendable {
        case copied(ClipReport)
        case stitched(StitchReport)
    }

    package var report: Report
    /// Whether the export begins and ends with the requested frames.
    package let isExact: Bool
    /// The beginning of the first audio packet relative to the first frame, in nanoseconds; nil without audio.
    let audioOffset: Int64?
    /// Notes for the person who gets the file, in addition to those in the report.
    package var notes: [String] = []

    var milliseconds: Int64 {
        switch report {
        case .copied(let report): report.milliseconds
        case .stitched(let report): report.milliseconds
        }
    }

    /// The numbers of unchanged frames and of re-encoded frames.
    var frames: (copied: Int, encoded: Int) {
        switch report {
        case .copied(let report): (report.copiedFrames, report.encodedFrames)
        case .stitched(let report): (report.copiedFrames, report.encodedFrames)
        }
    }

    /// All notes for the person who gets the file.
    var details: [String] {
        switch report {
        case .stitched(let report): return notes + report.warnings
        case .copied(let report):
            var details = report.gaps.map { "nothing was recorded from \($0.from) to \($0.to)" }
            if report.widenedStart > 0 { details.append("it begins \(report.widenedStart) ms earlier than asked for") }
            if report.widenedEnd > 0 { details.append("it ends \(report.widenedEnd) ms later than asked for") }
            return details + notes
        }
    }
}
