// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Media
internal import Segmenter

/// A part of a program that is missing in all files, as a row of the catalogue.
package struct CatalogueGap: Sendable, Codable, Equatable {
    /// The channel whose program has the gap.
    package var channel: String
    /// The recorder's run to which the program times belong.
    package var run: String
    /// When the first missing frame was on air: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// Program time of the first missing frame.
    package var from: ProgramInstant
    /// Program time of the first frame after the gap; nil if this run recorded nothing after the gap. In that case it is
    /// unknown how long the program continued.
    package var to: ProgramInstant?
    /// Number of missing frames; 0 for a program without video; nil if it is unknown.
    package var frames: Int?
    /// Why the frames are missing.
    package var cause: String
    /// Whether the recorder reported the gap. If not, the gap was found by comparing files.
    package var isTold: Bool

    enum CodingKeys: String, CodingKey {
        case channel, run, start, frames, cause
        case from = "from_pts"
        case to = "to_pts"
        case isTold = "told"
    }

    init(
        channel: String, run: String, start: Int64, from: ProgramInstant, to: ProgramInstant?, frames: Int?,
        cause: String, isTold: Bool
    ) {
        self.channel = channel
        self.run = run
        self.start = start
        self.from = from
        self.to = to
        self.frames = frames
        self.cause = cause
        self.isTold = isTold
    }

    /// The row of a gap that the recorder reported.
    init(_ gap: RecordingGap, channel: String, start: UTCTime) {
        self.init(
            channel: channel, run: gap.run, start: start.milliseconds, from: gap.from, to: gap.to, frames: gap.frames,
            cause: gap.reason, isTold: true)
    }

    /// Program times that differ by less than this belong to the same frame, and were rounded differently.
    static let tolerance = Duration.milliseconds(1)

    /// When the gap ended: milliseconds since 1970-01-01T00:00:00Z; the time of its start if its end is unknown.
    var end: Int64 { start + ((to ?? from) - from).inMilliseconds }

    /// Returns `gaps`, and merges gaps that overlap, or that follow each other without a frame in between. A gap
    /// without an end is not merged with a later gap of its run, because the later gap shows that the run recorded
    /// something in between.
    static func joined(_ gaps: [CatalogueGap]) -> [CatalogueGap] {
        var result: [CatalogueGap] = []
        for gap in gaps.sorted(by: { ($0.run, $0.from) < ($1.run, $1.from) }) {
            guard var last = result.last, last.run == gap.run, let end = last.to, gap.from - end < Self.tolerance else {
                result.append(gap)
                continue
            }
            last.to = gap.to.map { max(end, $0) }
            last.frames = last.frames.flatMap { frames in gap.frames(after: end).map { frames + $0 } }
            if last.cause != gap.cause { last.cause += "; then " + gap.cause }
            result[result.count - 1] = last
        }
        return result
    }

    /// The number of the gap's frames that are missing after program time `time`; nil if the number is unknown.
    private func frames(after time: ProgramInstant) -> Int? {
        if let to, to <= time { return 0 }
        guard let count = frames, count > 0, let to, time > from else { return frames }
        let length = max(1, (to - from).inNanoseconds / Int64(count))
        return min(count, max(0, Int(((to - time).inNanoseconds + length / 2) / length)))
    }

    /// Whether this gap and `other` share missing frames, or begin at the same frame.
    func overlaps(_ other: CatalogueGap) -> Bool {
        guard run == other.run else { return false }
        let isSameStart = max(from - other.from, other.from - from) < Self.tolerance
        return isSameStart || from < (other.to ?? .distantFuture) && other.from < (to ?? .distantFuture)
    }
}

extension CatalogueGap {
    /// Returns the parts of this gap, which was found after `file`, that the recorder's gaps `told` do not cover. A part
    /// that is shorter than half a frame comes from rounding, and is left out.
    ///
    /// If the end of this gap is unknown, nothing after the first of the recorder's gaps is returned. That gap ended
    /// because another file began, which need not be closed yet, or because the program ended.
    func parts(besides told: [CatalogueGap], after file: CatalogueSegment?) -> [CatalogueGap] {
        var (parts, begin): ([CatalogueGap?], ProgramInstant) = ([], from)
        for gap in told.sorted(by: { $0.from < $1.from }) {
            parts.append(part(from: begin, to: min(gap.from, to ?? gap.from), after: file))
            guard to != nil else { return parts.compactMap(\.self) }
            begin = max(begin, gap.to ?? .distantFuture)
        }
        if told.isEmpty { return [self] }
        parts.append(to.flatMap { part(from: begin, to: $0, after: file) })
        return parts.compactMap(\.self)
    }

    /// The part of this gap, which was found after `file`, between two program times; nil if no frame is missing there.
    private func part(
        from begin: ProgramInstant, to end: ProgramInstant, after file: CatalogueSegment?
    ) -> CatalogueGap? {
        guard begin < end else { return nil }
        var part = self
        (part.start, part.from, part.to) = (start + (begin - from).inMilliseconds, begin, end)
        guard let file else {
            part.frames = frames(after: begin).flatMap { count in frames(after: end).map { count - $0 } }
            return part
        }
        let missing = Int(((end - begin).inNanoseconds + file.frameDuration / 2) / file.frameDuration)
        // The file contains some frames after the gap's first missing frame.
        let late = begin == file.wholeEnd ? file.lateFrames : 0
        guard missing > late else { return nil }
        part.frames = file.isAudioAlone ? 0 : missing - late
        return part
    }
}

/// Finds gaps between files whose metadata contains their position in the program.
enum GapInference {
    /// Returns the gaps between `segments`, and the gaps at the end of runs that did not end properly. The runs in
    /// `living` are still being recorded.
    static func gaps(in segments: [CatalogueSegment], living: Set<String>) -> [CatalogueGap] {
        let runs = Dictionary(grouping: segments.filter { $0.run != nil && $0.programStart != nil }) {
            "\($0.channel)/\($0.run ?? "")"
        }
        return runs.values.flatMap { gaps(inRun: $0, living) }.sorted { ($0.start, $0.from) < ($1.start, $1.from) }
    }

    private static func gaps(inRun segments: [CatalogueSegment], _ living: Set<String>) -> [CatalogueGap] {
        let segments = segments.sorted { ($0.programStart ?? .zero, $0.name) < ($1.programStart ?? .zero, $1.name) }
        var gaps: [CatalogueGap] = []
        // The row of deleted files, among the rows before `after`, that reaches furthest. Such a row can cover several
        // deleted files. If one of these files has come back, the row reaches beyond the end of that file.
        var reach: CatalogueSegment?
        for (previous, after) in zip(segments, segments.dropFirst()) {
            if previous.deleted != nil, (previous.wholeEnd ?? .zero) > (reach?.wholeEnd ?? .zero) { reach = previous }
            let isCovered = (reach?.wholeEnd ?? .zero) > (previous.wholeEnd ?? .distantFuture)
            let before = isCovered ? reach ?? previous : previous
            guard let end = before.wholeEnd, let next = after.programStart, next > end, before.ending != .silent else {
                continue
            }
            let distance = (next - end).inNanoseconds
            let missing = Int((distance + before.frameDuration / 2) / before.frameDuration) - before.lateFrames
            // In a program without video, `missing` is a number of packets, and no frames are missing.
            if missing > 0 { gaps.append(gap(behind: before, to: next, frames: before.isAudioAlone ? 0 : missing)) }
        }
        // If the last file of the run did not end by `stop` or `silent`, the rest of the run is missing. After a file
        // that ended by `rotate`, nothing is missing yet if the run is still being recorded, because the next file is
        // about to follow.
        if let last = segments.last, let ending = last.ending, ending != .stop, ending != .silent,
            ending != .rotate || !living.contains(last.run ?? "")
        {
            gaps.append(gap(behind: last, to: nil, frames: nil))
        }
        return gaps
    }

    private static func gap(behind segment: CatalogueSegment, to: ProgramInstant?, frames: Int?) -> CatalogueGap {
        let isCrash = to == nil && segment.ending == .rotate
        return CatalogueGap(
            channel: segment.channel, run: segment.run ?? "",
            start: segment.start + ((segment.wholeEnd ?? .zero) - (segment.programStart ?? .zero)).inMilliseconds,
            from: segment.wholeEnd ?? .zero, to: to, frames: frames,
            cause: cause(isCrash ? .recovered : segment.ending),
            isTold: false)
    }

    private static func cause(_ ending: SegmentEnding?) -> String {
        switch ending {
        case .disk: "the disk was full, or nearly"
        case .error: "writing failed or was too slow"
        case .recovered: "relay was killed, or the machine went down"
        case .rotate, .stop, .silent: "a file is missing or damaged"
        case nil: "not known"
        }
    }
}
