// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

/// Decides which frames and packets of which recordings a range includes. Each frame and packet keeps the time at which
/// it was on air. As few frames as possible are re-encoded. The type does no I/O.
struct RangePlan {
    /// The plan for the video frames, with times in ticks of the video.
    let frames: StitchPlan
    /// The audio packets, all of which are copied; nil if there is no audio.
    let audio: AudioPlan?
    /// The parts of the range that no file contains.
    let gaps: [ClipGap]
    /// `wanted` is the part of the requested range for which there are frames. `shown` is the range that the result
    /// shows; it can be longer than `wanted`. Both ranges are in ticks of the video since the first frame of the first
    /// file.
    let wanted: Range<Int64>
    let shown: Range<Int64>

    /// Creates a plan for the media that was on air from `start` to `end` (milliseconds since 1970). If `isExact` is
    /// set, the result contains nothing before or after that range. All `sources` overlap with the range and are in
    /// order of time. If `program` is given, the result instead contains the frames that begin within this range of
    /// program times.
    init(
        _ sources: [StitchSource], from start: Int64, to end: Int64, isExact: Bool,
        program: Range<ProgramInstant>? = nil
    ) throws(ClipFailure) {
        guard let first = sources.first, let last = sources.last else {
            throw ClipFailure("There are no recordings of that time.")
        }
        let timeline = try RangeTimeline(sources)
        let places = timeline.places
        gaps = Self.gaps(timeline, first, last, start, end)
        let lastPlace = places[places.count - 1].video
        let wanted = Self.wanted(first, last, start, end, program)
        guard wanted.start < lastPlace + wanted.end else { throw Self.nothing }
        self.wanted = wanted.start..<lastPlace + wanted.end
        let (clips, parts) = Self.cut(
            sources, from: max(0, first.video.times.partitionPoint { $0 > wanted.start } - 1),
            to: last.video.times.partitionPoint { $0 >= wanted.end }, isExact: isExact)
        let times = clips.filter { !$0.frames.isEmpty }.map { clip in
            let source = sources[clip.source]
            let place = places[clip.source].video
            return place + source.time(clip.frames.lowerBound)..<place
                + source.time(clip.frames.upperBound - 1) + source.frameDuration
        }
        guard let low = times.map(\.lowerBound).min(), let high = times.map(\.upperBound).max() else {
            throw Self.nothing
        }
        shown = low..<high
        frames = StitchPlan(
            recorded: clips, parts, places: places.map { $0.video - low },
            video: VideoFormat(nearestTo: first.video.frames, frameRate: first.video.rate), audio: first.audio?.format)
        audio = Self.audio(sources, places, shown)
    }

    private static var nothing: ClipFailure { ClipFailure("There are no frames of that time.") }

    private static func gaps(
        _ timeline: RangeTimeline, _ first: StitchSource, _ last: StitchSource, _ start: Int64, _ end: Int64
    ) -> [ClipGap] {
        var gaps = timeline.gaps
        let frame = first.video.timeBase.rescale(first.frameDuration, to: .milliseconds, rounding: .up)
        if first.start - start > frame { gaps.insert(ClipGap(from: start, to: first.start), at: 0) }
        if end - last.endTime > frame { gaps.append(ClipGap(from: last.endTime, to: end)) }
        return gaps
    }

    /// The start of the range in ticks since the first frame of the first file, and the end of the range in ticks since
    /// the first frame of the last file.
    private static func wanted(
        _ first: StitchSource, _ last: StitchSource, _ start: Int64, _ end: Int64, _ program: Range<ProgramInstant>?
    ) -> (start: Int64, end: Int64) {
        let base = first.video.timeBase
        if let program, let low = first.ticks(atProgram: program.lowerBound),
            let high = last.ticks(atProgram: program.upperBound)
        {
            return (first.video.times.first { $0 >= max(0, low) } ?? first.video.end, min(last.video.end, high))
        }
        // `end` is limited before it is converted to ticks: a client that asks for the next thousand years gets
        // everything up to the end of the last file.
        let late = TimeBase.milliseconds.rescale(min(end, last.endTime + 1000) - last.start, to: base)
        return (max(0, TimeBase.milliseconds.rescale(start - first.start, to: base)), min(last.video.end, late))
    }

    /// The clips and their parts, from the frame `begin` of the first file up to the frame `stop` of the last. If
    /// `isExact` is not set, they begin where a copy can begin, at or before `begin`, and end at the first clean cut at
    /// or after `stop`. The files in between are copied completely, even if they do not begin with a keyframe, because
    /// together the files are one stream.
    private static func cut(
        _ sources: [StitchSource], from begin: Int, to stop: Int, isExact: Bool
    ) -> (clips: [StitchPlan.Clip], parts: [StitchPlan.Part]) {
        var (clips, parts): ([StitchPlan.Clip], [StitchPlan.Part]) = ([], [])
        for (index, source) in sources.enumerated() {
            let (isFirst, isLast) = (index == 0, index == sources.count - 1)
            let first = isFirst ? begin : 0
            var frames = first..<max(first, isLast ? stop : source.video.times.count)
            let place = clips.last.map { $0.place + $0.count } ?? 0
            let cut = isFirst || isLast ? FrameCut(source.video.samples) : nil
            if let cut, isExact, !frames.isEmpty {
                let clip = StitchPlan.Clip(source: index, frames: frames, count: frames.count, place: place)
                parts += StitchPlan.copy(index, clip, cut, count: frames.count, continues: !isFirst)
            } else {
                let entry = isFirst ? cut?.entry(before: Int64(begin)) ?? 0 : 0
                let exit = isLast ? cut?.exit(after: Int64(stop), from: entry) : nil
                let samples = entry..<(exit ?? source.video.samples.count)
                let numbers = source.video.samples[samples].map(\.pts)
                frames = Int(numbers.min() ?? 0)..<Int((numbers.max() ?? -1) + 1)
                if !frames.isEmpty { parts.append(.copied(clip: index, samples: samples)) }
            }
            clips.append(StitchPlan.Clip(source: index, frames: frames, count: frames.count, place: place))
        }
        return (clips, parts)
    }

    /// All audio packets that are played while the frames are shown, and the packet before them, which the decoder
    /// needs. A packet that a file hides at its beginning is left out, because the previous file contains the same
    /// packet.
    private static func audio(
        _ sources: [StitchSource], _ places: [RangeTimeline.Place], _ shown: Range<Int64>
    ) -> AudioPlan? {
        let (base, audioBase) = (sources[0].video.timeBase, sources[0].audioBase)
        let low = base.rescale(shown.lowerBound, to: audioBase)
        let high = base.rescale(shown.upperBound, to: audioBase)
        var heard = Int64.min
        var packets: [Range<Int>] = []
        for (index, source) in sources.enumerated() {
            let (place, own) = (places[index].audio, source.packets)
            func begin(_ sample: IndexedSample) -> Int64 { place + sample.pts }
            var first = own.firstIndex { begin($0) + $0.duration > low && begin($0) >= heard }
            if index == 0, let found = first, found > 0 { first = found - 1 }
            let end = own.firstIndex { begin($0) >= high } ?? own.count
            packets.append(min(first ?? end, end)..<end)
            if first ?? end < end { heard = begin(own[end - 1]) + own[end - 1].duration }
        }
        guard packets.contains(where: { !$0.isEmpty }) else { return nil }
        return AudioPlan(copying: packets, shifts: places.map { $0.audio - low }, count: high - low)
    }
}
