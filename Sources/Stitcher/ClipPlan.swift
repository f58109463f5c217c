// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

/// Which samples of which files make a clip, and which must be coded again. Pure.
struct ClipPlan {
    /// Frames of one file, in the order of the clip.
    enum Part: Equatable {
        /// These, in the order of decoding, as they are.
        case copied(source: Int, samples: Range<Int>)
        /// These, in the order in which they are shown, coded again.
        case encoded(source: Int, samples: [Int])
    }

    private(set) var parts: [Part] = []
    /// Frames at the beginning of the first part that are not shown.
    private(set) var hidden = 0
    /// Packets of audio by source.
    private(set) var audio: [Range<Int>] = []
    private(set) var places: [ClipTimeline.Place] = []
    private(set) var gaps: [ClipGap] = []
    /// What is shown, in ticks of the timeline.
    private(set) var frames: Range<Int64> = 0..<0
    /// What was asked for, as far as there are frames.
    private(set) var wanted: Range<Int64> = 0..<0

    /// A plan for what was on air from `start` to `end` (milliseconds since 1970), all of which and nothing more if it
    /// `isExact`. All `sources` meet the range and are in order. With `program` it is the frames that begin within these times,
    /// in nanoseconds of the program, wherever on air they lie between two frames of a grid.
    init(
        _ sources: [ClipSource], from start: Int64, to end: Int64, isExact: Bool, program: Range<Int64>? = nil
    ) throws(ClipFailure) {
        guard let first = sources.first, let last = sources.last else {
            throw ClipFailure("There are no recordings of that time.")
        }
        let timeline = try ClipTimeline(sources)
        places = timeline.places
        gaps = timeline.gaps
        let frameLength = first.videoBase.rescale(first.frameDuration, to: .milliseconds, rounding: .up)
        if first.start - start > frameLength { gaps.insert(ClipGap(from: start, to: first.start), at: 0) }
        if end - last.end > frameLength { gaps.append(ClipGap(from: last.end, to: end)) }

        let base = first.videoBase
        let lastPlace = places[places.count - 1].video
        var wantedStart = max(0, TimeBase.milliseconds.rescale(start - first.start, to: base))
        // A request for a thousand years means up to the end.
        var wantedEnd = TimeBase.milliseconds.rescale(min(end, last.end + 1000) - last.start, to: base)
        if let program, let low = first.ticks(atProgram: program.lowerBound),
            let high = last.ticks(atProgram: program.upperBound)
        {
            wantedStart = first.video.lazy.map(\.pts).filter { $0 >= max(0, low) }.min() ?? first.videoEnd
            wantedEnd = high
        }
        wantedEnd = lastPlace + min(last.videoEnd, wantedEnd)
        guard wantedStart < wantedEnd else { throw ClipFailure("There are no frames of that time.") }
        wanted = wantedStart..<wantedEnd
        planFrames(sources, isExact: isExact)
        guard frames.lowerBound < frames.upperBound else {
            throw ClipFailure("There are no frames of that time.")
        }
        planAudio(sources)
    }

    private mutating func planFrames(_ sources: [ClipSource], isExact: Bool) {
        let lastIndex = sources.count - 1
        let head = FrameCut(sources[0].video)
        let tail = lastIndex == 0 ? head : FrameCut(sources[lastIndex].video)
        let end = wanted.upperBound - places[lastIndex].video
        let begin = head.time(ofFrameAt: wanted.lowerBound)

        var entry = head.entry(before: begin)
        var encodedHead: [Int] = []
        if isExact, sources[0].video[entry].pts != begin {
            entry = head.entry(after: begin)
            let limit = entry < sources[0].video.count ? sources[0].video[entry].pts : .max
            encodedHead = head.shown(within: begin..<(lastIndex == 0 ? min(limit, end) : limit))
        }
        let start = lastIndex == 0 ? entry : 0
        var exit = tail.exit(after: end, from: start)
        var encodedTail: [Int] = []
        if isExact, let latest = tail.latest(start..<exit), latest >= end {
            exit = tail.exit(before: end, from: start)
            let from = max(tail.latest(start..<exit).map { $0 + 1 } ?? .min, lastIndex == 0 ? begin : .min)
            encodedTail = tail.shown(within: from..<end)
        }
        if lastIndex == 0, exit == entry, !encodedHead.isEmpty {
            // Nothing between the two ends: one piece.
            encodedHead = Array(Set(encodedHead + encodedTail)).sorted {
                sources[0].video[$0].pts < sources[0].video[$1].pts
            }
            encodedTail = []
        }
        if !encodedHead.isEmpty { parts.append(.encoded(source: 0, samples: encodedHead)) }
        for index in sources.indices {
            let range = (index == 0 ? entry : 0)..<(index == lastIndex ? exit : sources[index].video.count)
            if !range.isEmpty { parts.append(.copied(source: index, samples: range)) }
        }
        if !encodedTail.isEmpty { parts.append(.encoded(source: lastIndex, samples: encodedTail)) }
        separateKeyframes(head)
        measure(sources)
    }

    /// A frame that is coded alone is a keyframe, and what follows begins with one, too. Two in a row, of two encoders,
    /// could not be told apart (ITU-T H.264, 7.4.1.2.4: idr_pic_id). So the frame before it is coded with it, and hidden.
    private mutating func separateKeyframes(_ head: FrameCut) {
        guard parts.count > 1, case .encoded(let source, let samples) = parts[0], samples.count == 1,
            let before = head.frame(before: samples[0])
        else { return }
        parts[0] = .encoded(source: source, samples: [before] + samples)
        hidden = 1
    }

    /// Finds what the parts show.
    private mutating func measure(_ sources: [ClipSource]) {
        var (low, high) = (Int64.max, Int64.min)
        for (number, part) in parts.enumerated() {
            let (source, samples) =
                switch part {
                case .copied(let source, let range): (source, Array(range))
                case .encoded(let source, let samples): (source, samples)
                }
            for index in samples.dropFirst(number == 0 ? hidden : 0) {
                let pts = places[source].video + sources[source].video[index].pts
                low = min(low, pts)
                high = max(high, pts + sources[source].frameDuration)
            }
        }
        frames = low < high ? low..<high : 0..<0
    }

    /// All packets that are heard while the frames are shown, and one before, which the decoder needs. A file's
    /// hidden packet is one that the file before has already.
    private mutating func planAudio(_ sources: [ClipSource]) {
        let base = sources[0].videoBase
        let low = base.rescale(frames.lowerBound, to: sources[0].audioBase)
        let high = base.rescale(frames.upperBound, to: sources[0].audioBase)
        var heard = Int64.min
        for (index, source) in sources.enumerated() {
            let place = places[index].audio
            func begin(_ sample: IndexedSample) -> Int64 { place + sample.pts }
            var first = source.audio.firstIndex { begin($0) + $0.duration > low && begin($0) >= heard }
            if index == 0, let found = first, found > 0 { first = found - 1 }
            let end = source.audio.firstIndex { begin($0) >= high } ?? source.audio.count
            let range = min(first ?? end, end)..<end
            audio.append(range)
            if let last = range.last { heard = begin(source.audio[last]) + source.audio[last].duration }
        }
    }
}
