// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Stitcher

/// What one export is made of.
package struct ExportContents: Sendable {
    /// What may be copied as one range; nil for several ranges and for MPEG-TS, which are stitched.
    var recorded: RecordedRange?
    /// The file that is being written now, if the range reaches into it and it is not among the files.
    var beingWritten: String?
    /// Whether it is one range of MPEG-TS.
    var isStream = false
    /// The same for stitching.
    var clips: [StitchClip]
    /// What a reader of the stitched file should know.
    var notes: [String]

    /// The files that it is made of.
    var paths: [String] { recorded?.files.map(\.path) ?? clips.map(\.path) }
}

extension ExportContents {
    /// What `selection` says, in one piece.
    package init(_ selection: ExportSelection) {
        self.init(
            recorded: RecordedRange(files: selection.spans.map { ($0.path, $0.name) }, range: selection.range),
            beingWritten: selection.beingWritten, clips: selection.pieces, notes: selection.notes)
        isStream = selection.spans.contains { $0.name.hasSuffix(RecordFormat.ts.fileExtension) }
        if isStream { recorded = nil }
    }

    /// The ranges of `selections`, one right behind the other; each but the first comes on by `transition`.
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
    /// What was made, by how it was made.
    package enum Report: Sendable {
        case copied(ClipReport)
        case stitched(StitchReport)
    }

    package var report: Report
    /// Whether it begins and ends with the requested frames.
    package let isExact: Bool
    /// Where the first packet of audio begins, from the first frame on, in nanoseconds; nil without audio.
    let audioOffset: Int64?
    /// What a reader of the file should know that the report does not say.
    package var notes: [String] = []

    var milliseconds: Int64 {
        switch report {
        case .copied(let report): report.milliseconds
        case .stitched(let report): report.milliseconds
        }
    }

    /// Frames that are as they were recorded, and frames that were coded again.
    var frames: (copied: Int, encoded: Int) {
        switch report {
        case .copied(let report): (report.copiedFrames, report.encodedFrames)
        case .stitched(let report): (report.copiedFrames, report.encodedFrames)
        }
    }

    /// All that a reader of the file should know.
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
