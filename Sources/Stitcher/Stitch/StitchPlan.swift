// SPDX-License-Identifier: Apache-2.0

internal import Kernels
package import LibAV
internal import MP4
package import Media

/// Decides which frames of which files are copied and which are re-encoded, and the position of each frame in the
/// result. It does no I/O.
package struct StitchPlan: Sendable {
    /// The position and the frames of a clip in the result.
    package struct Clip: Sendable, Equatable {
        /// The clip's number among the sources.
        package var source: Int
        /// The range of the source's frames that are shown, by their numbers.
        package var frames: Range<Int>
        /// The number of frames that the clip has in the result. `place` is the number that the clip's first frame has
        /// in the result.
        package var count: Int
        package var place: Int
        /// How many frames at the clip's end repeat the clip's last frame, so that the video appears frozen. These
        /// frames are encoded unless ``lengthens`` is set.
        package var held = 0
        /// How many of the clip's frames belong to the transition from the previous clip.
        package var transition = 0
        /// Why the clip's frames are re-encoded; empty if they are copied, apart from the clip's ends.
        package var reasons: [String] = []
        /// Notes on parts of the file that are left out although the user did not request it.
        package var notes: [String] = []
    }

    /// Frames of one clip, in the order of the result.
    package enum Part: Sendable, Equatable {
        /// These samples of the clip's source, in decoding order, are copied.
        case copied(clip: Int, samples: Range<Int>)
        /// These frames of the clip, counted from 0, are re-encoded.
        case encoded(clip: Int, frames: Range<Int>)
    }

    package private(set) var video: VideoFormat
    package let audio: AudioFormat?
    /// `h264`, or `hevc` if the result consists of copied HEVC frames only.
    package private(set) var codec: String
    package private(set) var clips: [Clip]
    package private(set) var parts: [Part] = []
    /// The orientation in which players show the frames: if all frames are copied, it is the orientation of the clips.
    package private(set) var orientation = Orientation.upright
    /// The parameter sets of the copied frames; empty if no frame is copied.
    package private(set) var configuration: [UInt8] = []
    /// Whether a frozen frame gets a longer duration instead of being encoded repeatedly. Frames are lengthened only if
    /// all frames are copied and our encoder cannot make frames of the same format.
    package private(set) var lengthens = false
    /// The positions in the result at which the files of a range's clips begin, in ticks of the video, one for each
    /// clip. Frames of a range keep the times that they have in their files. Nil for other plans, in which the frame
    /// rate determines the times of all frames.
    private(set) var places: [Int64]?
    /// The number of hidden frames in the result before the first visible frame.
    private(set) var hidden = 0

    /// The number of frames in the result.
    package var frameCount: Int { clips.last.map { $0.place + $0.count } ?? 0 }
    /// The number of copied frames. A frozen frame counts as many times as it would be shown at the frame rate.
    package var copiedFrames: Int {
        parts.reduce(lengthens ? clips.reduce(0) { $0 + $1.held } : 0) {
            if case .copied(_, let samples) = $1 { $0 + samples.count } else { $0 }
        }
    }

    /// The number of copied frames of the clip `index`.
    package func copiedFrames(of index: Int) -> Int {
        parts.reduce(lengthens ? clips[index].held : 0) {
            if case .copied(index, let samples) = $1 { $0 + samples.count } else { $0 }
        }
    }

    /// The frames of the result that are stored in the file for the clip `index`. Frames that only lengthen the clip's
    /// last frame are not stored.
    func written(of index: Int) -> Range<Int> {
        let clip = clips[index]
        return clip.place..<clip.place + clip.count - (lengthens ? clip.held : 0)
    }

    /// A plan for `clips`. The file of each clip is the source with the same number in `sources`.
    package init(_ clips: [StitchClip], of sources: [StitchSource], _ settings: StitchSettings) throws(ClipFailure) {
        guard var target = StitchTarget(sources, settings), clips.count == sources.count else {
            throw ClipFailure("There is no clip to stitch.")
        }
        (video, audio) = (target.video, target.audio)
        self.clips = []
        codec = "h264"
        for (index, clip) in clips.enumerated() {
            var planned = try clip.placing { () throws(ClipFailure) in try self.planned(clip, index, sources[index]) }
            try hold(until: &planned, clips, sources)
            self.clips.append(planned)
        }
        let codecs = Set(sources.map(\.video.codec))
        if let codec = codecs.first, codecs.count == 1, ["h264", "hevc"].contains(codec),
            let whole = target.whole(like: sources[0])
        {
            planParts(sources, whole, codec: codec, lengthens: canLengthen && !target.takes(sources))
            if isCopied {
                (video, orientation) = (whole.video, whole.orientation)
                return
            }
        }
        planParts(sources, target, codec: "h264")
        // Re-encoded frames have 8 bits, which is not enough for high dynamic range. So if any frame is re-encoded, the
        // result is converted to BT.709, and its parts are planned again.
        guard !isCopied, target.video.color.isHDR else { return }
        target.video.color = .bt709
        video = target.video
        planParts(sources, target, codec: "h264")
    }

    /// A plan for `clips` of recordings with the same coding, whose frames keep their times. `places` contains the
    /// position in the result at which each clip's file begins.
    ///
    /// If a single frame is re-encoded, it is a keyframe. If the copied frames after it also begin with a keyframe,
    /// there are two keyframes of two encoders in a row, which cannot be distinguished (ITU-T H.264, 7.4.1.2.4:
    /// idr_pic_id). Therefore the frame before the single frame is encoded too, as a hidden keyframe, so that the
    /// single frame need not be a keyframe.
    init(recorded clips: [Clip], _ parts: [Part], places: [Int64], video: VideoFormat, audio: AudioFormat?) {
        (self.clips, self.parts, self.places) = (clips, parts, places)
        (self.video, self.audio, codec) = (video, audio, "h264")
        guard parts.count > 1, parts[0] == .encoded(clip: 0, frames: 0..<1), clips[0].frames.lowerBound > 0 else {
            return
        }
        hidden = 1
        self.parts[0] = .encoded(clip: 0, frames: -1..<1)
    }

    /// The plan of the clip with the number `index`, which follows the clips that were planned so far.
    private func planned(_ clip: StitchClip, _ index: Int, _ source: StitchSource) throws(ClipFailure) -> Clip {
        let range = try ClipRange(clip, of: source, at: video.frameRate)
        var planned = Clip(
            source: index, frames: range.frames, count: range.count, place: frameCount,
            notes: range.notes + Self.notes(source, range.frames))
        guard index > 0, let transition = clip.transition, transition.transition.kind != .cut else { return planned }
        planned.transition = Int(clamping: video.frameRate.frames(atLeast: transition.duration))
        guard planned.transition <= range.count else {
            throw ClipFailure("\(source.name): its transition is longer than the clip.")
        }
        return planned
    }

    /// The longest time for which a frame is allowed to be frozen. There is a limit because in most plans the frame is
    /// encoded as often as it is shown.
    private static let longestHold = Duration.seconds(12 * 3600)

    /// Moves `next` to its time on air, if that is after the end of the previous clip. The last frame of the previous
    /// clip is frozen until then. Does nothing if `next` or the first clip has no time on air.
    private mutating func hold(
        until next: inout Clip, _ clips: [StitchClip], _ sources: [StitchSource]
    ) throws(ClipFailure) {
        guard let first = self.clips.first, let last = self.clips.last,
            let begin = Self.airtime(of: first, clips, sources), let own = Self.airtime(of: next, clips, sources)
        else { return }
        let held = Int(video.frameRate.timeBase.ticks(own - begin)) - next.place
        guard held > 0 else { return }
        guard held <= video.frameRate.frames(atLeast: Self.longestHold) else {
            throw ClipFailure(
                "More than \(Self.longestHold.components.seconds / 3600) hours lie between \(sources[last.source].name) and "
                    + "\(sources[next.source].name): export them separately, or with relay recordings export --join, "
                    + "which leaves out everything between.")
        }
        self.clips[self.clips.count - 1].held = held
        self.clips[self.clips.count - 1].count += held
        next.place += held
    }

    /// Whether a file can store the duration of the frozen frames. A file has 32 bits for such a duration (ISO/IEC
    /// 14496-12, 8.6.1.2).
    private var canLengthen: Bool {
        let frame = Int64(video.frameRate.timeBase.numerator)
        return clips.allSatisfy { Int64($0.held + 2) * frame <= Int64(UInt32.max) }
    }

    /// The time at which the first frame of `clip` was on air; nil if the request does not contain it.
    private static func airtime(of clip: Clip, _ clips: [StitchClip], _ sources: [StitchSource]) -> Duration? {
        let (source, first) = (sources[clip.source], clip.frames.lowerBound)
        let distance = source.video.timeBase.duration(source.time(first) - source.time(0))
        return clips[clip.source].airtime.map { $0 + distance }
    }

    /// A pause between two frames is reported if it is longer than this duration.
    private static let pause = Duration.seconds(2)

    /// Notes for the report about `frames` of `source`.
    private static func notes(_ source: StitchSource, _ frames: Range<Int>) -> [String] {
        let track = source.video
        var notes = source.notes
        if track.headless > 0, frames.lowerBound == 0 {
            notes.append("its first \(Self.lacking(track.headless)) left out")
        }
        if track.torn > 0, frames.upperBound == track.times.count {
            notes.append("its last \(Self.lacking(track.torn)) left out")
        }
        let longest = track.isConstant ? nil : frames.dropLast().max { track.step($0) < track.step($1) }
        if let longest, track.step(longest) > track.timeBase.ticks(Self.pause) {
            let (time, length) = (track.times[longest] - track.times[0], track.step(longest))
            notes.append(
                "\(DurationText(track.timeBase.duration(time))) into it there is no frame for "
                    + "\(DurationText(track.timeBase.duration(length))): the last frame before it is held")
        }
        return notes
    }

    private static func lacking(_ count: Int) -> String {
        count == 1 ? "frame lacks those before it and is" : "\(count) frames lack those before them and are"
    }

    /// Whether no frame is re-encoded.
    private var isCopied: Bool { parts.allSatisfy { if case .copied = $0 { true } else { false } } }

    /// The clips with high dynamic range of which some frames are re-encoded.
    func mappedClips(_ sources: [StitchSource]) -> [Int] {
        clips.indices.filter { sources[clips[$0].source].color.isHDR && copiedFrames(of: $0) < clips[$0].count }
    }

    private mutating func planParts(
        _ sources: [StitchSource], _ target: StitchTarget, codec: String, lengthens: Bool = false
    ) {
        (self.codec, parts, configuration, self.lengthens) = (codec, [], [], lengthens)
        for index in clips.indices { clips[index].reasons = target.differences(of: sources[index], codec: codec) }
        chooseConfiguration(sources)
        for (index, clip) in clips.enumerated() {
            let track = sources[index].video
            parts +=
                clip.reasons.isEmpty
                ? Self.copy(
                    index, clip, FrameCut(index == 0 ? track.samples : track.joinableSamples),
                    count: written(of: index).count)
                : [.encoded(clip: index, frames: 0..<clip.count)]
        }
        if copiedFrames == 0 { configuration = [] }
    }

    /// Chooses the parameter sets that most frames have among the clips that could be copied. Only clips with these
    /// sets are copied, because two different parameter sets with the same ID could not be distinguished.
    private mutating func chooseConfiguration(_ sources: [StitchSource]) {
        let sets = clips.map { sources[$0.source].video.parameterSets }
        var frames: [[[UInt8]]: Int] = [:]
        for index in clips.indices where clips[index].reasons.isEmpty {
            // Frozen frames (`held`) do not count, because they are encoded in any case.
            frames[sets[index], default: 0] += clips[index].count - clips[index].held
        }
        let most = frames.values.max()
        let chosen = clips.indices.first { clips[$0].reasons.isEmpty && frames[sets[$0]] == most }
        guard let chosen else { return }
        let leader = sources[clips[chosen].source]
        configuration = leader.video.configuration
        for index in clips.indices where clips[index].reasons.isEmpty && sets[index] != sets[chosen] {
            clips[index].reasons = ["its parameter sets are not those of \(leader.name)"]
        }
    }

    /// The parts of the first `count` frames of a clip: samples that can be decoded on their own are copied, and the
    /// frames before and after them are re-encoded. If the clip `continues` the stream of the previous clip, it is
    /// copied from its first sample on.
    static func copy(_ index: Int, _ clip: Clip, _ cut: FrameCut, count: Int, continues: Bool = false) -> [Part] {
        let (begin, end) = (Int64(clip.frames.lowerBound + clip.transition), Int64(clip.frames.upperBound))
        // `stop` is the number after the last frame of these parts. It can be beyond the clip's last frame; the last
        // frame is then repeated.
        let first = Int64(clip.frames.lowerBound)
        let stop = first + Int64(count)
        func encoded(_ numbers: Range<Int64>) -> Part {
            .encoded(clip: index, frames: Int(numbers.lowerBound - first)..<Int(numbers.upperBound - first))
        }
        let entry = continues ? 0 : cut.entry(after: begin)
        var exit = cut.end(before: end, from: entry)
        if let last = cut.latest(entry..<exit), last + 1 < stop {
            // The encoded frames after the copied ones begin with a keyframe. Therefore the copied frames must not end
            // with a keyframe: see `FrameCut.exit(before:from:)`.
            exit = cut.exit(before: end, from: entry)
        }
        guard exit > entry, let from = cut.earliest(entry..<exit), let last = cut.latest(entry..<exit) else {
            return [encoded(first..<stop)]
        }
        var parts: [Part] = []
        if from > first { parts.append(encoded(first..<from)) }
        parts.append(.copied(clip: index, samples: entry..<exit))
        if last + 1 < stop { parts.append(encoded(last + 1..<stop)) }
        return parts
    }

    /// The number of the source's frame that is shown as frame `index` of `clip`. After the clip's last frame, a
    /// transition shows the next frames of the source, as long as there are any, and then the source's last frame.
    func number(of index: Int, in clip: Clip, _ source: StitchSource) -> Int {
        let times = source.video.times
        if source.video.isConstant, source.video.rate == video.frameRate {
            return min(times.count - 1, clip.frames.lowerBound + index)
        }
        // Chooses the source's frame that is visible in the middle of the result's frame. On average, frames are then
        // shown at the same time as in the source.
        let halves = TimeBase(video.frameRate.timeBase.numerator, video.frameRate.timeBase.denominator &* 2)
        let wanted =
            source.time(clip.frames.lowerBound) + halves.rescale(Int64(2 * index + 1), to: source.video.timeBase)
        return max(clip.frames.lowerBound, times.partitionPoint { $0 >= wanted } - 1)
    }
}

extension RandomAccessCollection where Index == Int {
    /// The number of elements before the first one that fulfills `predicate`; all elements after that one must fulfill
    /// it as well. If no element fulfills it, this is the number of all elements.
    func partitionPoint(_ predicate: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if predicate(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low - startIndex
    }
}

extension StitchPlan {
    /// Creates the track of `frames` in ticks of `timescale`. The frames are in decoding order, and their times are
    /// frame numbers of the result. Each frame is shown at the time that the frame rate requires, plus its clip's value
    /// in `moves` (in ticks). In a plan whose frames keep their times, each frame is shown at its time in the file
    /// instead. Frames before a gap can last longer. The decoding times are the presentation times in ascending order,
    /// all earlier by the same delay, so that they also increase where clips are joined.
    func track(
        of frames: [IndexedSample], _ sources: [StitchSource], timescale: UInt32, moves: [Int64]
    ) throws(ClipFailure) -> ClipTrack {
        let expected = [-hidden..<0] + clips.indices.map { written(of: $0) }
        guard frames.map(\.pts).sorted().elementsEqual(expected.joined().lazy.map { Int64($0) }) else {
            throw ClipFailure("A frame is missing in the result, or there twice; nothing was written.")
        }
        let frame = video.frameRate.timeBase.rescale(1, to: TimeBase(1, Int32(clamping: timescale)))
        var samples = frames
        var clip = 0
        for index in samples.indices {
            let number = Int(samples[index].pts)
            while clip + 1 < clips.count, number >= clips[clip + 1].place { clip += 1 }
            if let places {
                let own = number - clips[clip].place + clips[clip].frames.lowerBound
                samples[index].pts = places[clip] + sources[clips[clip].source].time(own)
            } else {
                samples[index].pts = Int64(number) * frame + (clip < moves.count ? moves[clip] : 0)
            }
            samples[index].duration = frame
        }
        let shown = samples.map(\.pts).sorted()
        let delay = zip(shown, samples).map { $0 - $1.pts }.max() ?? 0
        for index in samples.indices { samples[index].dts = shown[index] - delay }
        return ClipTrack(samples: samples, start: 0)
    }
}
