// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The visible part of a file whose edit list begins after its first sample or ends before its last one.
extension MovieBox {
    /// The numbers of visible frames and visible audio samples in a file with these tracks.
    package static func shown(
        _ layout: MovieLayout, _ tables: [UInt32: SampleTable]
    ) -> (frames: Int, audioSamples: Int64) {
        let movie = MovieBox(layout: layout, tables: tables)
        let video = layout.tracks.first { $0.kind == .video }
        let audio = layout.tracks.first { $0.kind == .audio }
        return (video.map(movie.shownSamples) ?? 0, audio.map(movie.shownTicks) ?? 0)
    }

    /// Number of visible ticks of `track`.
    func shownTicks(_ track: MovieLayout.Track) -> Int64 {
        guard let table = tables[track.id] else { return 0 }
        let all = max(0, table.presentationEnd - table.start - track.mediaTime)
        let ticks = Int128(visibleDuration(track)) * Int128(track.timescale)
        let scale = Int128(max(1, layout.timescale))
        return min(all, Int64(clamping: (ticks + scale / 2) / scale))
    }

    /// Number of samples of `track` that begin in its visible part.
    func shownSamples(_ track: MovieLayout.Track) -> Int {
        guard let table = tables[track.id] else { return 0 }
        let first = table.start + track.mediaTime
        let shown = first..<first + shownTicks(track)
        return table.presentationTimes.count { shown.contains($0) }
    }
}

extension SampleTable {
    /// All presentation times, in decoding order.
    var presentationTimes: [Int64] {
        var times: [Int64] = []
        times.reserveCapacity(count)
        var time = start
        for run in durations.runs {
            for _ in 0..<run.count {
                times.append(time)
                time += Int64(run.value)
            }
        }
        var index = 0
        for run in compositionOffsets.runs {
            for _ in 0..<Int(run.count) where index < times.count {
                times[index] += Int64(run.value)
                index += 1
            }
        }
        return times
    }
}
