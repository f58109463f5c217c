// SPDX-License-Identifier: Apache-2.0

internal import Kernels
package import LibAV
package import Media

/// Which frames of which files are copied and which are coded again, and where all of them lie in the result. Pure.
package struct StitchPlan: Sendable {
    /// One clip in the result.
    package struct Clip: Sendable, Equatable {
        /// Its number among the sources.
        package var source: Int
        /// The first of the source's frames that is shown, and the one behind the last, by their numbers.
        package var frames: Range<Int>
        /// How many frames of the result it has, and which is the first.
        package var count: Int
        package var place: Int
        /// How many of them, at its end, repeat its last frame, which is held. They are coded, unless the plan
        /// ``lengthens``.
        package var held = 0
        /// How many of them are a transition from the clip before.
        package var transition = 0
        /// Why its frames are coded again; empty if they are copied, as far as its ends allow.
        package var reasons: [String] = []
        /// What of the file is left out, and is no choice of the user's.
        package var notes: [String] = []
    }

    /// Frames of one clip, in the order of the result.
    package enum Part: Sendable, Equatable {
        /// These samples of the clip's source, in the order of decoding, as they are.
        case copied(clip: Int, samples: Range<Int>)
        /// These frames of the clip, from 0 on, coded again.
        case encoded(clip: Int, frames: Range<Int>)
    }

    package private(set) var video: VideoFormat
    package let audio: AudioFormat?
    /// `h264`, or `hevc` if all of it is copied.
    package private(set) var codec: String
    package private(set) var clips: [Clip]
    package private(set) var parts: [Part] = []
    /// How frames are turned when they are shown: the same as in all clips, if all are copied.
    package private(set) var orientation = Orientation.upright
    /// The parameter sets of what is copied; empty if nothing is.
    package private(set) var configuration: [UInt8] = []
    /// Whether a held frame lasts longer instead of being coded repeatedly. That is so only if all frames are copied
    /// and the encoder could not code any of them in the same way.
    package private(set) var lengthens = false
    /// Where each clip's file begins in the result, in ticks of its video, if frames keep the times that they have in their
    /// files, as those of a range do; nil if they lie on the grid of the rate.
    private(set) var places: [Int64]?
    /// Frames in front of the first one that are coded, and not shown.
    private(set) var hidden = 0

    /// Frames of the result.
    package var frameCount: Int { clips.last.map { $0.place + $0.count } ?? 0 }
    /// Frames that are copied; a frame that is lengthened counts as often as it would be shown.
    package var copiedFrames: Int {
        parts.reduce(lengthens ? clips.reduce(0) { $0 + $1.held } : 0) {
            if case .copied(_, let samples) = $1 { $0 + samples.count } else { $0 }
        }
    }

    /// Frames of the clip `index` that are copied.
    package func copiedFrames(of index: Int) -> Int {
        parts.reduce(lengthens ? clips[index].held : 0) {
            if case .copied(index, let samples) = $1 { $0 + samples.count } else { $0 }
        }
    }

    /// Frames of the result that are in the file of the clip `index`: without those for which its last one is lengthened.
    func written(of index: Int) -> Range<Int> {
        let clip = clips[index]
        return clip.place..<clip.place + clip.count - (lengthens ? clip.held : 0)
    }

    /// A plan for `clips`, each of a source of its own: the one of the same number among `sources`.
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
        // What is coded again is of 8 bits: too few for high dynamic range.
        guard !isCopied, target.video.color.isHDR else { return }
        target.video.color = .bt709
        video = target.video
        planParts(sources, target, codec: "h264")
    }

    /// A plan for `clips` of recordings of one kind, whose frames keep their times; `places` is where each one's file begins.
    ///
    /// A frame that is coded alone is a keyframe. Where what follows begins with one, too, these are two in a row of two
    /// encoders, which cannot be told apart (ITU-T H.264, 7.4.1.2.4: idr_pic_id). So the frame before it is coded with it,
    /// and hidden.
    init(recorded clips: [Clip], _ parts: [Part], places: [Int64], video: VideoFormat, audio: AudioFormat?) {
        (self.clips, self.parts, self.places) = (clips, parts, places)
        (self.video, self.audio, codec) = (video, audio, "h264")
        guard parts.count > 1, parts[0] == .encoded(clip: 0, frames: 0..<1), clips[0].frames.lowerBound > 0 else {
            return
        }
        hidden = 1
        self.parts[0] = .encoded(clip: 0, frames: -1..<1)
    }

    /// The clip of the number `index`, which is put behind those that are there.
    private func planned(
        _ clip: StitchClip, _ index: Int, _ source: StitchSource
    ) throws(ClipFailure) -> Clip {
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

    /// The longest time for which a frame may stay: mostly it is coded as often as it is shown.
    private static let longestHold = Duration.seconds(12 * 3600)

    /// Puts `next` where it was on air, if both it and the first clip say that and it is behind the end of the last one, whose
    /// last frame stays until then.
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

    /// Whether a file can express how long held frames last: it has 32 bits for that (ISO/IEC 14496-12, 8.6.1.2).
    private var canLengthen: Bool {
        let frame = Int64(video.frameRate.timeBase.numerator)
        return clips.allSatisfy { Int64($0.held + 2) * frame <= Int64(UInt32.max) }
    }

    /// When the first frame of `clip` was on air; nil if the request does not say it.
    private static func airtime(of clip: Clip, _ clips: [StitchClip], _ sources: [StitchSource]) -> Duration? {
        let (source, first) = (sources[clip.source], clip.frames.lowerBound)
        let distance = source.video.timeBase.rescale(source.time(first) - source.time(0), to: .nanoseconds)
        return clips[clip.source].airtime.map { $0 + .nanoseconds(distance) }
    }

    /// The pause between two frames from which on it is reported.
    private static let pause = Duration.seconds(2)

    /// What to report about `frames` of `source`.
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

    /// Whether nothing is coded again.
    private var isCopied: Bool { parts.allSatisfy { if case .copied = $0 { true } else { false } } }

    /// Clips of high dynamic range some of whose frames are coded again.
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

    /// Among the clips that could be copied, those are copied whose parameter sets most frames share: two parameter
    /// sets with the same number cannot be told apart.
    private mutating func chooseConfiguration(_ sources: [StitchSource]) {
        let sets = clips.map { sources[$0.source].video.parameterSets }
        var frames: [[[UInt8]]: Int] = [:]
        for index in clips.indices where clips[index].reasons.isEmpty {
            // Held frames are coded in any case.
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

    /// Copies what can be decoded by itself, and codes the rest at both ends again, `count` frames in all. A clip that
    /// `continues` the one before as one stream is copied from its first sample on.
    static func copy(_ index: Int, _ clip: Clip, _ cut: FrameCut, count: Int, continues: Bool = false) -> [Part] {
        let (begin, end) = (Int64(clip.frames.lowerBound + clip.transition), Int64(clip.frames.upperBound))
        // Behind its frames the last one may stay.
        let first = Int64(clip.frames.lowerBound)
        let stop = first + Int64(count)
        func encoded(_ numbers: Range<Int64>) -> Part {
            .encoded(clip: index, frames: Int(numbers.lowerBound - first)..<Int(numbers.upperBound - first))
        }
        let entry = continues ? 0 : cut.entry(after: begin)
        var exit = cut.end(before: end, from: entry)
        if let last = cut.latest(entry..<exit), last + 1 < stop {
            // What is encoded behind it begins with a keyframe.
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

    /// The number of the source's frame that is shown as the frame `index` of `clip`. Behind the clip's last frame
    /// these are, for a transition, the source's following frames, as long as there are more, and then its last one.
    func number(of index: Int, in clip: Clip, _ source: StitchSource) -> Int {
        let times = source.video.times
        if source.video.isConstant, source.video.rate == video.frameRate {
            return min(times.count - 1, clip.frames.lowerBound + index)
        }
        // The time half a frame later is looked up, so that on average no frame is seen later or sooner than it was.
        let halves = TimeBase(video.frameRate.timeBase.numerator, video.frameRate.timeBase.denominator &* 2)
        let wanted =
            source.time(clip.frames.lowerBound) + halves.rescale(Int64(2 * index + 1), to: source.video.timeBase)
        return max(clip.frames.lowerBound, times.partitionPoint { $0 >= wanted } - 1)
    }
}

extension RandomAccessCollection where Index == Int {
    /// How many elements are in front of the first one that fulfills `predicate`, provided that all elements behind it
    /// fulfill it, too; the count if no element does.
    func partitionPoint(_ predicate: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if predicate(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low - startIndex
    }
}
