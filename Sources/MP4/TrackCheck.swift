// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Checks the sample table of one track for errors, and summarizes it.
package struct TrackCheck {
    /// The summary of the sample table.
    package let facts: TrackFacts
    private let movie: MovieBox
    private let track: MovieLayout.Track
    private let table: SampleTable
    private let isClosed: Bool
    /// The times in ticks at which samples are missing, each with the number of missing samples.
    private let holes: [(at: Int64, samples: Int64)]
    /// The earliest presentation time on the track's own timeline, in ticks of the track.
    private let earliest: Int64
    private let doubled: Int
    private let isTrimmed: Bool

    /// The number of frames at the end of a file among which earlier frames may still be missing. It is larger than the
    /// number of frames that a decoder can reorder (H.264, A.3.1: 16 frames).
    private static let reorderLimit = 32

    /// Checks `table`. `endsSuddenly` means that the file ended in the middle of writing: among the last frames of the
    /// file, frames may be missing that are shown earlier than frames that were written. `isCopied` means that relay
    /// did not encode the media: frame durations may vary, and there may be pauses. `isTrimmed` means that the file has
    /// samples that its edit list hides.
    package init(
        layout: MovieLayout, track: MovieLayout.Track, table: SampleTable, isClosed: Bool, endsSuddenly: Bool,
        isCopied: Bool = false, isTrimmed: Bool = false
    ) {
        var track = track
        if isTrimmed, isClosed { track.limit = track.shownDuration }
        self.isTrimmed = isTrimmed
        movie = MovieBox(layout: layout, tables: [track.id: table])
        self.track = track
        self.table = table
        self.isClosed = isClosed
        let begin = table.start + track.mediaTime
        // A damaged edit list may have a negative duration. Nothing of the track is visible then.
        let end = begin + max(0, movie.shownTicks(track))
        let times = table.presentationTimes.filter {
            !isTrimmed || track.kind == .audio || (begin..<end).contains($0)
        }.sorted()
        let usual = Self.usualDuration(table)
        var holes: [(at: Int64, samples: Int64)] = []
        var doubled = 0
        var torn: (at: Int64, behind: Int)?
        for (index, (before, after)) in zip(times, times.dropFirst()).enumerated() {
            let distance = after - before
            if isCopied ? distance <= 0 : distance < usual - usual / 2 { doubled += 1 }
            // A distance of up to one and a half times the usual sample duration is a rounding error, and not a gap.
            guard distance > usual + usual / 2 else { continue }
            let behind = times.count - 1 - index
            if endsSuddenly, track.kind == .video, behind < Self.reorderLimit {
                torn = torn ?? (before + usual, behind)
            } else if !isCopied {
                holes.append((before + usual, (distance + usual / 2) / usual - 1))
            }
        }
        self.holes = holes
        self.doubled = doubled
        earliest = times.first ?? 0
        let scale = Int128(max(1, track.timescale))
        let offset = Int128(movie.emptyDuration(track)) * scale / Int128(max(1, layout.timescale))
        let shown = isTrimmed ? end - begin : max(0, table.presentationEnd - begin)
        let first = max(earliest, begin)
        let samples = isTrimmed && track.kind == .video ? times.count : table.count
        facts = TrackFacts(
            timescale: Int64(track.timescale), samples: samples, offset: Int64(clamping: offset), shown: shown,
            sampleDuration: usual, lastSample: max(0, (times.last ?? first) - first),
            whole: torn.map { max(0, $0.at - first) } ?? shown, lateSamples: torn?.behind ?? 0)
    }

    /// The sample duration that occurs most often, at least 1.
    private static func usualDuration(_ table: SampleTable) -> Int64 {
        var counts: [UInt32: Int] = [:]
        for run in table.durations.runs { counts[run.value, default: 0] += Int(run.count) }
        let most = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }
        return max(1, Int64(most?.key ?? 1))
    }

    /// The errors that were found, one sentence for each, but at most ten for missing samples. `media` is the byte
    /// range that must contain all samples.
    package func problems(media: Range<Int64>) -> [String] {
        let name = track.kind == .video ? "the video" : "the audio"
        var problems = placeProblems(media).map { "\(name): \($0)" }
        if table.sizes.contains(0) { problems.append("\(name): a sample is empty") }
        if track.kind == .video, table.syncSamples.first != 1 {
            problems.append("\(name): the file does not begin with a keyframe")
        }
        if table.durations.runs.contains(where: { $0.value == 0 }) {
            problems.append("\(name): decoding times stand still")
        }
        if doubled > 0 { problems.append("\(name): \(doubled) samples are shown at the time of others") }
        for hole in holes.prefix(10) {
            let milliseconds = Int128(hole.at - earliest) * 1000 / Int128(max(1, track.timescale))
            let place = "\(milliseconds) ms into the file"
            problems.append("\(name): \(hole.samples) samples are missing \(place)")
        }
        if isClosed { problems += editProblems.map { "\(name): \($0)" } }
        return problems
    }

    private func placeProblems(_ media: Range<Int64>) -> [String] {
        var index = 0
        var last = UInt64(0)
        for chunk in table.chunks {
            let bytes = table.sizes[index..<index + Int(chunk.count)].reduce(UInt64(0)) { $0 + UInt64($1) }
            index += Int(chunk.count)
            guard chunk.offset >= UInt64(media.lowerBound), chunk.offset + bytes <= UInt64(media.upperBound) else {
                return ["samples lie outside of the file"]
            }
            guard chunk.offset >= last else { return ["samples lie on top of each other"] }
            last = chunk.offset + bytes
        }
        return []
    }

    /// Errors in the edit list. It must end where the samples end. Unless the file is trimmed, it must also begin with
    /// the first frame, and hide no more audio than the decoder needs to start.
    private var editProblems: [String] {
        var problems: [String] = []
        let hidden = table.start + track.mediaTime - earliest
        // The longer one of the usual duration and the first sample's duration is used. The last audio packet of a
        // program may be shorter than the hidden packet before it, and may be the only audible packet of its file.
        let packet = max(facts.sampleDuration, table.durations.runs.first.map { Int64($0.value) } ?? 0)
        if !isTrimmed, track.kind == .video ? hidden != 0 : hidden > 2 * packet {
            problems.append("the edit list hides samples at the beginning")
        }
        if track.shownDuration != movie.visibleDuration(track) {
            problems.append("the edit list does not end where the samples end")
        }
        return problems
    }
}
