// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Catalogue
internal import Media
package import Stitcher

/// The recordings from which an export is made.
package struct ExportSelection {
    /// A file, and the range of time in which it was on air, in milliseconds since 1970. The end of a file that is
    /// being written is unknown.
    struct Span {
        let path: String
        let name: String
        let start: Int64
        let end: Int64?
        /// The length of a frame; 0 for a file that is being written.
        let frameDuration: Duration
        /// Identifies the run of the recorder that wrote the file. `programStart` is the file's start in program time.
        /// Both are nil if they are unknown.
        let run: String?
        let programStart: ProgramInstant?

        /// Returns how much later than `before` this file began. For files of the same run this is measured in program
        /// time, for files of different runs by the wall clock.
        func distance(from before: Span) -> Duration {
            guard let run, run == before.run, let programStart, let other = before.programStart else {
                return .milliseconds(start - before.start)
            }
            return programStart - other
        }
    }

    /// The files of one channel that overlap the range, in the order of time.
    let spans: [Span]
    /// The requested range, in milliseconds since 1970. If the file that is being written is left out, the range ends
    /// where that file begins.
    let range: Range<Int64>
    /// The name of the file that is being written now, if the range extends into that file but it is left out.
    let beingWritten: String?

    /// Selects the files of `channel` from `segments`, which are in `directory`. Without `channel`, only one channel
    /// may have files that overlap `range`. The file that is being written is included only if `includesOpen` is true.
    package init(
        _ segments: [CatalogueSegment], in directory: String, channel: String?, range: Range<Int64>,
        includesOpen: Bool = false
    ) throws(ClipFailure) {
        guard includesOpen || !segments.isEmpty else {
            throw ClipFailure("There is no finished recording in \(directory).")
        }
        let ofChannel = Self.counted(segments.filter { channel == nil || $0.channel == channel }, in: directory)
        if let channel, !includesOpen, ofChannel.isEmpty {
            throw ClipFailure("There are no recordings of the channel \(channel).")
        }
        let found = ofChannel.filter { $0.start < range.upperBound && $0.end > range.lowerBound }
        let channels = Set(found.map(\.channel)).sorted()
        guard channels.count <= 1 else {
            throw ClipFailure(
                "Several channels were recorded then; choose with --channel: \(channels.joined(separator: ", ")).")
        }
        let end = found.map(\.end).max()
        let open = (end ?? .min) < range.upperBound ? Self.open(in: directory, channel ?? channels.first, range) : nil
        guard let end = includesOpen ? open.map({ max($0.start, end ?? .min) }) ?? end : end else {
            throw Self.nothing(ofChannel, includesOpen ? nil : open?.name)
        }
        let closed = found.sorted {
            ($0.start, $0.programStart ?? .zero, $0.name) < ($1.start, $1.programStart ?? .zero, $1.name)
        }.map {
            Span(
                path: "\(directory)/\($0.name)", name: $0.name, start: $0.start, end: $0.end,
                frameDuration: .nanoseconds($0.frameDuration), run: $0.run, programStart: $0.programStart)
        }
        if includesOpen {
            spans = closed + (open.map { [$0] } ?? [])
            (beingWritten, self.range) = (nil, range)
            return
        }
        spans = closed
        beingWritten = open?.name
        // The range ends where the file that is being written begins, so that the part of the range after that moment
        // does not count as a gap.
        self.range = range.lowerBound..<min(range.upperBound, max(open?.start ?? .max, end))
    }

    /// The pieces of the files in the range, for stitching. The frame that is on air when the range begins and the one
    /// that is on air when it ends are both included. Files that follow each other without a gap are joined completely,
    /// so that no frame is lost or repeated. A file after a gap keeps its distance from the file before it, so that the
    /// gap remains in the export.
    var pieces: [StitchClip] {
        let airtimes = zip(spans, spans.dropFirst()).reduce(into: [Duration.zero]) { times, spans in
            times.append((times.last ?? .zero) + spans.1.distance(from: spans.0))
        }
        return pieces(behind: nil, airtimes: airtimes)
    }

    /// The pieces for one exported file of several ranges, in which each piece follows the previous one without a gap.
    /// `end` is the end of the previous range, in milliseconds since 1970: a frame that is in both ranges is taken from
    /// the previous range.
    func joinedPieces(behind end: Int64?) -> [StitchClip] { pieces(behind: end, airtimes: nil) }

    private func pieces(behind end: Int64?, airtimes: [Duration]?) -> [StitchClip] {
        var begin = range.lowerBound
        var follows = false
        if let end, begin >= end, .milliseconds(begin - end) < max(.nanoseconds(1), spans.first?.frameDuration ?? .zero)
        {
            (begin, follows) = (end, true)
        }
        return spans.enumerated().compactMap { index, span in
            let from = max(0, begin - span.start)
            let end = span.end.map { min($0, range.upperBound) } ?? range.upperBound
            guard end > span.start + from else { return nil }
            var piece = StitchClip(path: span.path)
            if from > 0 { piece.from = .milliseconds(from) }
            if end != span.end { piece.to = .milliseconds(end - span.start) }
            (piece.coversEnds, piece.takesBegun) = follows && index == 0 ? (false, true) : (true, false)
            piece.mayBeEmpty = spans.count > 1
            piece.airtime = airtimes?[index]
            return piece
        }
    }

    /// Notes for the person who gets the file of ``pieces``.
    var notes: [String] { notes(ofHole: "the frame before it stays, without audio") }

    /// Notes for the person who gets the file of ``joinedPieces(behind:)``.
    var joinedNotes: [String] { notes(ofHole: "it is left out") }

    private func notes(ofHole fate: String) -> [String] {
        let holes = zip(spans, spans.dropFirst()).compactMap { one, next -> String? in
            guard let end = one.end, .milliseconds(next.start - end) > one.frameDuration else { return nil }
            let (from, to) = (UTCTime(milliseconds: end), UTCTime(milliseconds: next.start))
            return "nothing was recorded from \(from.extended) to \(to.extended); \(fate)"
        }
        return holes + (beingWritten.map { ["what is being written now, \($0), is not in it"] } ?? [])
    }

    /// Returns `segments` without duplicates: a damaged file and the copy that was salvaged from it count as one
    /// recording, as in `relay recordings verify`.
    private static func counted(_ segments: [CatalogueSegment], in directory: String) -> [CatalogueSegment] {
        let counted = SegmentSalvage.counted(segments.map(\.name)) { name in
            (try? SegmentReader.read("\(directory)/\(name)"))?.problems.isEmpty ?? false
        }
        return segments.filter { counted.contains($0.name) }
    }

    /// Returns the file of `channel` that is being written and begins within `range` or before it; nil if no such file
    /// exists, or it contains nothing yet.
    private static func open(in directory: String, _ channel: String?, _ range: Range<Int64>) -> Span? {
        guard let directory = try? RecordDirectory.existing(directory), let files = try? directory.recordings() else {
            return nil
        }
        for (name, kind) in files where kind == .open && directory.isInUse(name) {
            guard let facts = try? SegmentReader.read("\(directory.path)/\(name)"),
                facts.start.milliseconds < range.upperBound, channel == nil || facts.channel == channel
            else { continue }
            return Span(
                path: "\(directory.path)/\(name)", name: name, start: facts.start.milliseconds, end: nil,
                frameDuration: .zero, run: facts.position?.run, programStart: facts.position?.programStart)
        }
        return nil
    }

    private static func nothing(_ segments: [CatalogueSegment], _ open: String?) -> ClipFailure {
        if let open { return ClipFailure("What was recorded then is being written now: \(open).") }
        guard !segments.isEmpty else { return ClipFailure("Nothing was recorded then.") }
        let first = UTCTime(milliseconds: segments.map(\.start).min() ?? 0).extended
        let last = UTCTime(milliseconds: segments.map(\.end).max() ?? 0).extended
        return ClipFailure("Nothing was recorded then; the recordings reach from \(first) to \(last).")
    }
}

extension CatalogueSegment {
    /// The wall-clock time at which the last frame ended: milliseconds since 1970-01-01T00:00:00Z.
    fileprivate var end: Int64 { start + duration / 1_000_000 }
}
