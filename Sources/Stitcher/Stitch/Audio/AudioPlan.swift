// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import MP4
internal import Media

/// Decides which samples of which files are played at which time, and how the audio of one clip is faded to the next.
/// Times are counted in samples of the stitched file. The type does no I/O.
struct AudioPlan: Equatable {
    /// A fade at one end of a clip.
    struct Fade: Equatable {
        /// How the loudness changes during the fade.
        enum Shape: Equatable {
            /// For two clips with the same audio: the sum of the two gains is constant, so the mix is as loud as each
            /// clip.
            case linear
            /// For two clips with unrelated audio: the sum of the two powers is constant.
            case equalPower
        }

        let range: Range<Int64>
        let shape: Shape

        /// The gain at `position` for the clip that is faded in.
        func rising(at position: Int64) -> Float {
            guard position >= range.lowerBound else { return 0 }
            guard position < range.upperBound else { return 1 }
            let part = (Double(position - range.lowerBound) + 0.5) / Double(range.count)
            return Float(shape == .linear ? part : sin(part * .pi / 2))
        }

        /// The gain at `position` for the clip that is faded out.
        func falling(at position: Int64) -> Float {
            guard position >= range.lowerBound else { return 1 }
            guard position < range.upperBound else { return 0 }
            let part = (Double(position - range.lowerBound) + 0.5) / Double(range.count)
            return Float(shape == .linear ? 1 - part : cos(part * .pi / 2))
        }
    }

    /// The audio of one clip.
    struct Clip: Equatable {
        /// The range of the clip's frames in the result, in samples.
        let range: Range<Int64>
        /// What must be added to a position in the audio of the clip's file to get the position in the result.
        let shift: Int64
        /// The range of the result for which the clip's file has audio. It can extend beyond `range`; it is empty if
        /// the file has no audio.
        var available: Range<Int64>
        /// Whether the audio of the clip's file continues the audio of the previous clip. If so, the end of the
        /// previous clip is decoded first.
        var isContinued = false
        var fadeIn: Fade?
        var fadeOut: Fade?

        /// The range in which the clip's audio is played, with its fades.
        var heard: Range<Int64> {
            let low = fadeIn?.range.lowerBound ?? range.lowerBound
            let high = fadeOut?.range.upperBound ?? range.upperBound
            return (low..<max(low, high)).clamped(to: available)
        }

        /// Whether the clip's audio is played without a fade in the whole of `range`.
        func isPlain(_ range: Range<Int64>) -> Bool {
            (fadeIn?.range.upperBound ?? .min) <= range.lowerBound
                && (fadeOut?.range.lowerBound ?? .max) >= range.upperBound
        }

        func factor(at position: Int64) -> Float {
            (fadeIn?.rising(at: position) ?? 1) * (fadeOut?.falling(at: position) ?? 1)
        }
    }

    /// A contiguous run of the result's packets.
    enum Span: Equatable {
        /// The packets with the numbers `packets` of the clip's file are copied.
        case copied(clip: Int, packets: Range<Int>)
        /// New packets are encoded for the samples in this range of the result.
        case encoded(Range<Int64>)
    }

    private(set) var clips: [Clip] = []
    /// For each clip: by how many samples its frames are later than their frame rate requires, because its audio or
    /// that of an earlier clip is copied.
    private(set) var moves: [Int64] = []
    /// The runs of packets of which the audio track consists, in order. Only if ``hasHoles`` is set, there can be gaps
    /// between them.
    private(set) var spans: [Span] = []
    /// For each clip: why its audio is re-encoded; nil for a clip whose packets are copied, apart from its ends.
    private(set) var reasons: [String?] = []
    /// The number of samples of the result.
    let count: Int64
    /// Whether gaps between the runs of packets in ``spans`` are allowed.
    private(set) var hasHoles = false

    /// The duration of a fade from or to silence, if a file has no audio beyond the cut: too short to be noticed, and
    /// long enough to avoid a click.
    private static let edge = Duration.milliseconds(5)
    /// The shortest fade from one clip to the next.
    private static let shortest = Duration.milliseconds(10)
    /// The maximum distance, in samples, between two pieces of one recording that counts as a rounding error and not as
    /// a gap.
    private static let rounding: Int64 = 2

    /// The audio of the clips of `plan`; nil if no clip has audio. `window` returns the window of a packet of a source.
    /// `torn` contains the seams at which new packets do not match copied ones.
    init?(
        _ plan: StitchPlan, _ clips: [StitchClip], _ sources: [StitchSource], _ mode: StitchAudio = .automatic,
        torn: Set<AudioSeam> = [], window: @escaping (_ source: Int, _ packet: Int) -> AACWindow? = { _, _ in nil }
    ) {
        guard let format = plan.audio else { return nil }
        let (frame, sample) = (plan.video.frameRate.timeBase, format.timeBase)
        let half = max(frame.rescale(1, to: sample) / 2, sample.ticks(Self.shortest))
        let pieces = plan.clips.indices.map { Self.piece($0, plan, clips, sources, format) }
        let rules = AudioGrid.Rules(
            mode: mode, rate: Int64(format.sampleRate), frame: frame.rescale(1, to: sample),
            margin: half + AudioGrid.step,
            isSeam: { clip, packet in
                guard !torn.contains(AudioSeam(clip: clip, packet: packet)),
                    let before = window(plan.clips[clip].source, packet - 1),
                    let after = window(plan.clips[clip].source, packet)
                else { return false }
                return before.isLong && before.isKaiser && after.isLong
            })
        let grid = AudioGrid(pieces, rules)
        moves = grid.moves
        count = (pieces.last?.range.upperBound ?? 0) + (moves.last ?? 0)
        layClips(pieces, grid)
        for index in self.clips.indices.dropFirst() {
            if let more = pieces[index].continuation,
                abs(grid.shifts[index] - grid.shifts[index - 1] - more) <= Self.rounding
            {
                if sources[plan.clips[index - 1].source].isStream(before: sources[plan.clips[index].source]) {
                    reachBack(index)
                }
                continue
            }
            let isOne = sources[plan.clips[index - 1].source].path == sources[plan.clips[index].source].path
            fade(
                into: index, length: half, transition: pieces[index].lead, edge: sample.ticks(Self.edge),
                isOne ? .linear : .equalPower)
        }
        spans = Self.spans(grid, pieces, count)
        reasons = plan.clips.enumerated().map { index, clip in
            guard grid.copies[index] == nil else { return nil }
            if mode == .encode { return "no audio is to be copied" }
            return Self.difference(sources[clip.source].audio, format) ?? grid.reasons[index]
        }
    }

    /// A plan that copies packets of recordings. `packets` are the packets of each clip, which are moved later by the
    /// clip's value in `shifts`. All packets that begin before `count` are played.
    init(copying packets: [Range<Int>], shifts: [Int64], count: Int64) {
        (self.count, hasHoles) = (count, true)
        clips = shifts.map { Clip(range: 0..<0, shift: $0, available: 0..<0) }
        spans = packets.enumerated().compactMap { $1.isEmpty ? nil : .copied(clip: $0, packets: $1) }
    }

    /// Why packets of `audio` cannot be copied into a track of `format`; nil if they can be.
    private static func difference(_ audio: StitchSource.Audio?, _ format: AudioFormat) -> String? {
        guard let audio else { return "there is none" }
        if let obstacle = audio.obstacle { return obstacle }
        if audio.format.sampleRate != format.sampleRate {
            return "it has \(audio.format.sampleRate) Hz, not \(format.sampleRate)"
        }
        guard audio.format.channels != format.channels else { return nil }
        return audio.format.channels == 1 ? "it is mono, not stereo" : "it has \(audio.format.channels) channels"
    }

    private mutating func layClips(_ pieces: [AudioGrid.Piece], _ grid: AudioGrid) {
        for (index, piece) in pieces.enumerated() {
            let (shift, low) = (grid.shifts[index], piece.range.lowerBound + moves[index])
            let next = index + 1 < pieces.count ? pieces[index + 1].range.lowerBound + moves[index + 1] : count
            let available = piece.available.lowerBound + shift..<piece.available.upperBound + shift
            clips.append(
                Clip(range: low..<next, shift: shift, available: piece.available.isEmpty ? low..<low : available))
        }
    }

    /// Prepares a clip whose first packet of audio begins after the clip's first frame. The missing audio is taken from
    /// the end of the previous file.
    private mutating func reachBack(_ index: Int) {
        let clip = clips[index]
        clips[index].isContinued = true
        clips[index].available = min(clip.available.lowerBound, clip.range.lowerBound)..<clip.available.upperBound
    }

    private static func piece(
        _ index: Int, _ plan: StitchPlan, _ clips: [StitchClip], _ sources: [StitchSource], _ format: AudioFormat
    ) -> AudioGrid.Piece {
        let (frame, sample) = (plan.video.frameRate.timeBase, format.timeBase)
        let planned = plan.clips[index]
        let source = sources[planned.source]
        let low = frame.rescale(Int64(planned.place), to: sample)
        let high = frame.rescale(Int64(planned.place + planned.count), to: sample)
        let first = source.video.timeBase.rescale(source.time(planned.frames.lowerBound), to: sample)
        let available = source.audio.map { audio in
            audio.timeBase.rescale(
                audio.range.lowerBound, to: sample)..<audio.timeBase.rescale(audio.range.upperBound, to: sample)
        }
        return AudioGrid.Piece(
            range: low..<high, shift: low - first + sample.ticks(clips[index].audioOffset),
            continuation: goesOn(plan.clips, index, sources) ? distance(sources, index, sample) : nil,
            lead: frame.rescale(Int64(planned.transition), to: sample), available: available ?? 0..<0,
            packets: source.audio?.format == format ? source.audio?.packets ?? [] : [])
    }

    private static func spans(_ grid: AudioGrid, _ pieces: [AudioGrid.Piece], _ count: Int64) -> [Span] {
        let step = AudioGrid.step
        // The position of the first packet of the result. It is the packet before the first packet that is played,
        // because the decoder needs it.
        var position = grid.phase - (grid.phase > 0 ? 2 : 1) * step
        var spans: [Span] = []
        for (clip, packets) in grid.copies.enumerated() {
            guard let packets, !packets.isEmpty, let first = pieces[clip].packets.first else { continue }
            let begin = first.pts + grid.shifts[clip] + Int64(packets.lowerBound) * step
            if spans.isEmpty, begin <= 0 { position = begin }
            if begin > position { spans.append(.encoded(position..<begin)) }
            spans.append(.copied(clip: clip, packets: packets))
            position = begin + Int64(packets.count) * step
        }
        // If the last file is copied up to its end and less than a packet of audio is missing after that, the missing
        // audio is not encoded.
        let isWhole = if case .copied(pieces.count - 1, _) = spans.last { position >= count - step } else { false }
        if position < count, !isWhole {
            spans.append(.encoded(position..<position + (count - position + step - 1) / step * step))
        }
        return spans
    }

    /// Whether the clip `index` continues where the previous clip ends, so that the cut is inaudible even without a
    /// fade.
    private static func goesOn(_ clips: [StitchPlan.Clip], _ index: Int, _ sources: [StitchSource]) -> Bool {
        guard index > 0 else { return false }
        let (before, after) = (clips[index - 1], clips[index])
        let (one, other) = (sources[before.source], sources[after.source])
        guard after.transition == 0 else { return false }
        if one.path == other.path { return before.frames.upperBound == after.frames.lowerBound }
        return one.isFollowed(by: other) && before.frames.upperBound == one.video.times.count
            && after.frames.lowerBound == 0
    }

    /// The difference between the shift of the clip `index` and the shift of the previous clip, whose stream it
    /// continues.
    private static func distance(_ sources: [StitchSource], _ index: Int, _ sample: TimeBase) -> Int64 {
        let (one, other) = (sources[index - 1], sources[index])
        guard one.path != other.path else { return 0 }
        return one.video.timeBase.rescale(one.video.end, to: sample)
            - other.video.timeBase.rescale(other.time(0), to: sample)
    }

    /// Creates the fade from the previous clip to the clip `index`. If the files have audio beyond the cut, that audio
    /// is used, so that no clip becomes shorter. Otherwise each of the two clips has its own short fade.
    private mutating func fade(into index: Int, length: Int64, transition: Int64, edge: Int64, _ shape: Fade.Shape) {
        let (before, after) = (clips[index - 1], clips[index])
        let cut = after.range.lowerBound
        let room = min(before.range.count, after.range.count)
        let length = transition > 0 ? transition : min(length, Int64(room) / 2)
        let places = transition > 0 ? [cut] : [cut - length / 2, cut, cut - length]
        for low in places where length > 0 {
            let range = low..<low + length
            guard before.available.upperBound >= range.upperBound, after.available.lowerBound <= range.lowerBound
            else { continue }
            let fade = Fade(range: range, shape: shape)
            (clips[index - 1].fadeOut, clips[index].fadeIn) = (fade, fade)
            return
        }
        let edge = min(edge, Int64(room) / 2)
        // During a transition, the audio of the previous clip continues beyond the cut. The audio ends at the end of
        // its file or at the end of the transition, whichever is earlier.
        let end = transition > 0 ? min(max(cut, before.available.upperBound), cut + transition) : cut
        let last = min(cut, max(before.range.lowerBound + edge, before.available.upperBound))
        let fall = transition > 0 && end - cut >= edge ? cut..<end : last - edge..<last
        clips[index - 1].fadeOut = Fade(range: fall, shape: shape)
        let start = max(cut, min(after.available.lowerBound, after.range.upperBound - edge))
        let rise = transition > 0 && transition >= edge ? start..<start + transition : start..<start + edge
        clips[index].fadeIn = Fade(range: rise, shape: shape)
    }
}
