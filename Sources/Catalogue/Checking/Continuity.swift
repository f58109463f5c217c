// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

extension Verification {
    /// A file together with its row in the catalogue.
    private struct Placed {
        var row: CatalogueSegment
        /// The facts that were read from the file; nil for a transport stream, and for a file that retention deleted.
        var facts: SegmentFacts?

        /// Returns where the audio begins and ends, in samples of the program. The time in the file was rounded down to
        /// a nanosecond. Therefore two results are possible, and both are returned if they differ.
        func audio(_ track: TrackFacts) -> [(begin: Int64, end: Int64)] {
            let base = TimeBase(1, Int32(clamping: track.timescale))
            let start = (row.programStart ?? .zero).nanoseconds
            let zeros = Set([start, start + 1].map { TimeBase.nanoseconds.rescale($0, to: base) })
            return zeros.sorted().map { ($0 + track.offset, $0 + track.offset + track.shown) }
        }
    }

    /// A program time of a run.
    private struct Place: Hashable {
        var run: String
        var time: ProgramInstant
    }

    /// Checks that the frames and the audio of each run continue from file to file, and compares the gaps with the
    /// catalogue.
    mutating func checkContinuity() {
        var placed = files.map { Placed(row: CatalogueSegment(name: $0.key, facts: $0.value), facts: $0.value) }
        placed += otherRows.map { Placed(row: $0, facts: nil) }
        let present = placed.map(\.row).filter { $0.deleted == nil }
        report.segments = present.count
        report.duration = CatalogueSegment.length(of: present)
        report.frames = present.reduce(0) { $0 + $1.frames }
        let unplaced = placed.count { $0.row.run == nil }
        if unplaced > 0 {
            report.note(nil, "\(unplaced) files are of a version that did not say which run they belong to")
        }
        let runs = Dictionary(grouping: placed.filter { $0.row.run != nil }) { $0.row.run ?? "" }
        var holes: [CatalogueGap] = []
        let living = archive.directory.livingRuns()
        var silence: [Place: Int64] = [:]
        for run in runs.values {
            let ordered = run.sorted {
                ($0.row.programStart ?? .zero, $0.row.name) < ($1.row.programStart ?? .zero, $1.row.name)
            }
            for (before, after) in zip(ordered, ordered.dropFirst()) {
                let end = Place(run: before.row.run ?? "", time: before.row.wholeEnd ?? .zero)
                silence[end] = join(before, after)
            }
            holes += GapInference.gaps(in: ordered.map(\.row), living: living)
        }
        for hole in holes { note(hole, silence[Place(run: hole.run, time: hole.from)]) }
        compareGaps(holes, runs.mapValues { $0.map(\.row) })
        report.missing.sort { ($0.from, $0.channel) < ($1.from, $1.channel) }
    }

    /// Returns how many audio samples are missing between two files with a video gap between them. If there is no video
    /// gap, this method itself reports missing samples, and returns nil.
    private mutating func join(_ before: Placed, _ after: Placed) -> Int64? {
        let (end, start) = (before.row.programEnd ?? .zero, after.row.programStart ?? .zero)
        let tolerance = Duration.nanoseconds(before.row.frameDuration / 2)
        let isHole = start - end > tolerance
        if end - start > tolerance {
            // An overlap is not reported if one of the two rows is that of deleted files. Such a row can cover several
            // files, among them a file that was read before it was deleted.
            if before.row.deleted == nil, after.row.deleted == nil {
                report.problem(after.row.name, "it repeats frames of \(before.row.name)")
            }
            return nil
        }
        guard let audio = before.facts?.audio, let next = after.facts?.audio, audio.timescale == next.timescale else {
            // The audio of the two files cannot be compared, for example because one of them is a transport stream,
            // which has no metadata about its audio. In that case the missing samples are counted only in a program
            // without video.
            let hole = start - (before.row.wholeEnd ?? .zero)
            return isHole ? before.row.audioSamples(in: hole) : nil
        }
        let distances = before.audio(audio).flatMap { end in after.audio(next).map { $0.begin - end.end } }
        let distance = distances.min { abs($0) < abs($1) } ?? 0
        if isHole { return max(0, distance) }
        if distance < 0 {
            report.problem(after.row.name, "it repeats \(-distance) samples of audio of the file before")
        }
        if distance > 0 {
            let at = UTCTime(milliseconds: after.row.start).extended
            report.missing.append(
                .init(
                    channel: before.row.channel, from: at, to: at,
                    frames: 0, audioSamples: distance, cause: "between \(before.row.name) and \(after.row.name)"))
        }
        return nil
    }

    /// Reports a gap, with the cause from the catalogue if the catalogue contains the gap.
    private mutating func note(_ hole: CatalogueGap, _ samples: Int64?) {
        let told = gaps.first(where: hole.overlaps)
        // `hole` has no end if its run has no later file. The gap in the catalogue has an end nevertheless, if the
        // recorder reported the gap with its end.
        let to = hole.to ?? told?.to
        report.missing.append(
            .init(
                channel: hole.channel, from: UTCTime(milliseconds: hole.start).extended,
                to: to.map { UTCTime(milliseconds: hole.start + ($0 - hole.from).inMilliseconds).extended },
                frames: hole.frames ?? told?.frames, audioSamples: samples, cause: told?.cause ?? hole.cause))
    }

    /// Checks that every gap in the catalogue has the same bounds as a gap between files. A gap is checked only if
    /// there are files before and after it. A gap after the last file of its run is reported as missing.
    private mutating func compareGaps(_ holes: [CatalogueGap], _ runs: [String: [CatalogueSegment]]) {
        for gap in gaps {
            guard let rows = runs[gap.run], let first = rows.first, let to = gap.to else { continue }
            let tolerance = Duration.nanoseconds(first.frameDuration / 2)
            let hasBefore = rows.contains { ($0.wholeEnd ?? .zero) <= gap.from + tolerance }
            let hasAfter = rows.contains { ($0.programStart ?? .zero) >= to - tolerance }
            let matching = holes.filter(gap.overlaps)
            if matching.isEmpty, hasBefore, !hasAfter {
                report.missing.append(
                    .init(
                        channel: gap.channel, from: UTCTime(milliseconds: gap.start).extended,
                        to: UTCTime(milliseconds: gap.end).extended,
                        frames: gap.frames, audioSamples: first.audioSamples(in: to - gap.from), cause: gap.cause))
            }
            guard hasBefore, hasAfter else { continue }
            let isSame = matching.contains { hole in
                // The recorder's gap does not account for the frames that the file contains after the first missing
                // frame.
                let frames = rows.first { $0.wholeEnd == hole.from }?.lateFrames ?? 0
                let late = Int64(clamping: Int128(frames) * Int128(first.frameDuration))
                let starts = hole.from - tolerance...hole.from + tolerance + .nanoseconds(late)
                let end = hole.to ?? .distantFuture
                return starts.contains(gap.from) && max(end - to, to - end) <= tolerance && hole.frames == gap.frames
            }
            if !isSame {
                report.problem(
                    nil,
                    "the catalogue tells of \(gap.frames ?? 0) missing frames from "
                        + "\(UTCTime(milliseconds: gap.start).extended) on, and the files do not agree")
            }
        }
    }
}
