// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Mixes the audio of several sources, one program frame at a time. Sources that become audible fade in, and sources
/// that become inaudible fade out, from the first sample of a frame on. The loudness stays constant during a fade:
/// unrelated signals are faded with equal power, identical signals with levels that add up to 1, and similar signals
/// with levels in between. If only one source is audible and its gain is 0 dB, its audio passes through unchanged.
struct Mixer {
    /// A feed, and how its audio is mixed.
    struct Part {
        let feed: SourceFeed
        /// Whether the feed should be audible.
        let isHeard: Bool
        /// The operator's gain, as a factor for the feed's samples.
        var gain: Float = 1
        /// By how many samples the audio is played later than it arrives, or earlier if negative; nil for a feed whose
        /// audio is never shifted.
        var offset: Int64?
        /// The source to which the feed belongs. Its meter measures the audio even if the source is not audible.
        var source: Bus?
    }

    /// A feed that is audible, or is still fading out.
    fileprivate struct Strip {
        let feed: SourceFeed
        /// The fade as an angle from 0 to a quarter of a turn. The sine of the angle is the feed's level.
        var angle: Double
        var target: Double
        /// By how much the angle changes with each sample.
        var step = 0.0
        /// The factor of the operator's gain at the end of the previous frame.
        var gain: Float
        /// The audio of the present frame, and the factor of the operator's gain at the end of this frame.
        var audio: AudioBuffer?
        var nextGain: Float = 1
        /// The level of each sample of the present frame.
        var levels: [Float] = []
    }

    private let format: AudioFormat
    private var strips: [Strip] = []
    /// The running cross-fades. In each pair, one feed fades in while the other fades out.
    private var pairs: [FadePair] = []
    /// The stores of feeds whose audio can be played later or earlier than it arrives.
    private var shifts: [(feed: SourceFeed, audio: AudioShift)] = []
    private var taken: [SourceFeed] = []
    /// The audio of each source in the frame that was mixed last, without a shift.
    private var came: [(source: Bus, audio: AudioBuffer)] = []
    private var hasBegun = false
    /// Whether the last mix has at most one source, and the operator's gain leaves that source unchanged. The source
    /// may be fading. True before the first mix.
    private(set) var isAlone = true

    /// Creates a mixer without audio.
    init(format: AudioFormat) { self.format = format }

    /// Returns the mix for the samples of `range`. A feed that becomes audible or inaudible is faded within `fade`
    /// samples, beginning with the first sample of `range`.
    mutating func mix(_ parts: [Part], _ range: Range<SampleIndex>, fade: Int64) -> AudioBuffer {
        plan(parts, fade: fade)
        came.removeAll(keepingCapacity: true)
        for part in parts {
            let (came, audio) = take(part, range)
            if let source = part.source {
                source.meter.note(audio, gain: part.gain)
                self.came.append((source, came))
            }
            guard let index = strips.firstIndex(where: { $0.feed === part.feed }) else { continue }
            (strips[index].audio, strips[index].nextGain) = (audio, part.gain)
        }
        // A feed that is not in `parts` any more, because its source has left the program, still fades out.
        for index in strips.indices where !parts.contains(where: { $0.feed === strips[index].feed }) {
            let feed = strips[index].feed
            let offset = shifts.first { $0.feed === feed }?.audio.shift
            let audio = take(Part(feed: feed, isHeard: false, offset: offset), range).heard
            (strips[index].audio, strips[index].nextGain) = (audio, strips[index].gain)
        }
        taken = parts.map(\.feed) + strips.map(\.feed)
        let kept = taken
        shifts.removeAll { shift in !kept.contains { $0 === shift.feed } }
        return sum(range)
    }

    /// Adds up the feeds at their levels.
    private mutating func sum(_ range: Range<SampleIndex>) -> AudioBuffer {
        let count = Int(range.upperBound - range.lowerBound)
        isAlone = strips.count < 2 && strips.allSatisfy(\.isUntouched)
        if strips.isEmpty { return .silence(at: range.lowerBound.number, count: count, format: format) }
        if isAlone, strips[0].isFull, let audio = strips[0].audio {
            strips[0].audio = nil
            return audio
        }
        for index in strips.indices { strips[index].fade(count) }
        for index in pairs.indices { level(index) }
        var channels = Array(repeating: [Float](repeating: 0, count: count), count: format.channels)
        for index in strips.indices { strips[index].add(to: &channels) }
        return AudioBuffer(position: range.lowerBound.number, format: format, channels: channels)
    }

    private mutating func level(_ index: Int) {
        guard let coming = strips.firstIndex(where: { $0.feed === pairs[index].coming }),
            let going = strips.firstIndex(where: { $0.feed === pairs[index].going }),
            let one = strips[coming].audio, let other = strips[going].audio
        else { return }
        pairs[index].measure(coming: one, going: other)
        // One array of levels is swapped out of its strip, because two elements of `strips` cannot be passed as inout
        // at once.
        var levels: [Float] = []
        swap(&levels, &strips[coming].levels)
        pairs[index].level(&levels, &strips[going].levels)
        swap(&levels, &strips[coming].levels)
    }

    /// Takes the audio of the part's feed for `range`. Returns it twice: `came` without a shift, and `heard` as it is
    /// played.
    private mutating func take(_ part: Part, _ range: Range<SampleIndex>) -> (came: AudioBuffer, heard: AudioBuffer) {
        guard let offset = part.offset else {
            let audio = part.feed.audio(from: range.lowerBound, upTo: range.upperBound)
            return (audio, audio)
        }
        let (audio, ahead) = part.feed.audio(range, ahead: max(0, -offset))
        let index: Int
        if let known = shifts.firstIndex(where: { $0.feed === part.feed }) {
            index = known
        } else {
            shifts.append((part.feed, AudioShift(format: format)))
            index = shifts.count - 1
        }
        return shifts[index].audio.take(audio, range, ahead: ahead, wanted: offset)
    }

    /// Whether the last call of ``mix(_:_:fade:)`` took audio from `feed`.
    func isTaken(_ feed: SourceFeed) -> Bool { taken.contains { $0 === feed } }

    /// The audio that the last call of ``mix(_:_:fade:)`` took from `source`, without a shift; nil if it took none.
    func audio(of source: Bus) -> AudioBuffer? { came.first { $0.source === source }?.audio }

    /// Whether `feed` was still audible after the last call of ``mix(_:_:fade:)``.
    func isHeard(_ feed: SourceFeed) -> Bool { strips.contains { $0.feed === feed && $0.angle > 0 } }

    private mutating func plan(_ parts: [Part], fade: Int64) {
        // The pairs of a feed that has faded out are removed, because the feed may become audible again in a new pair.
        pairs.removeAll { pair in
            strips.contains { $0.isOver && ($0.feed === pair.coming || $0.feed === pair.going) }
        }
        strips.removeAll(where: \.isOver)
        for part in parts where part.isHeard && !strips.contains(where: { $0.feed === part.feed }) {
            // A feed that is audible when the program begins is not faded in.
            strips.append(
                Strip(feed: part.feed, angle: hasBegun ? 0 : .pi / 2, target: hasBegun ? 0 : .pi / 2, gain: part.gain))
        }
        hasBegun = true
        for index in strips.indices {
            let isHeard = parts.contains { $0.feed === strips[index].feed && $0.isHeard }
            strips[index].aim(at: isHeard ? .pi / 2 : 0, within: fade)
        }
        pair()
    }

    /// Pairs each feed that begins to fade in with each feed that fades out.
    private mutating func pair() {
        let strips = strips
        for coming in strips where coming.angle == 0 && coming.target > 0 {
            for going in strips where going.target == 0 && going.angle > 0 {
                pairs.append(FadePair(coming: coming.feed, going: going.feed))
            }
        }
    }
}

extension Mixer.Strip {
    /// Whether the feed is at full level.
    fileprivate var isFull: Bool { angle == .pi / 2 && target == angle }
    /// Whether the feed has been faded out completely.
    fileprivate var isOver: Bool { target == 0 && angle == 0 }
    /// Whether the operator's gain leaves the feed's samples unchanged.
    fileprivate var isUntouched: Bool { gain == 1 && nextGain == 1 }

    /// Begins a fade to the angle `next` that takes `count` samples. A running fade to the same angle continues if it
    /// ends sooner.
    fileprivate mutating func aim(at next: Double, within count: Int64) {
        if next == target, angle == target || abs(target - angle) <= abs(step) * Double(count + 1) { return }
        target = next
        step = (next - angle) / Double(max(1, count))
    }

    /// Computes ``levels`` for the next `count` samples. Each level is taken in the middle of its sample, so that the
    /// fade begins exactly between two samples and is symmetric.
    fileprivate mutating func fade(_ count: Int) {
        levels.removeAll(keepingCapacity: true)
        for _ in 0..<count {
            let before = angle
            if angle != target {
                angle += step
                if (step > 0) == (angle >= target) { angle = target }
            }
            let middle = (before + angle) / 2
            levels.append(middle == .pi / 2 ? 1 : middle == 0 ? 0 : Float(sin(middle)))
        }
    }

    /// Adds the feed's audio to `sum` at the feed's levels. A change of the operator's gain is spread over the frame.
    fileprivate mutating func add(to sum: inout [[Float]]) {
        guard let audio else { return }
        let count = min(levels.count, audio.count)
        let change = (nextGain - gain) / Float(max(1, count))
        if change != 0 || gain != 1 {
            for index in 0..<count {
                levels[index] *= change == 0 ? nextGain : gain + change * Float(index + 1)
            }
        }
        for (channel, samples) in audio.channels.enumerated() {
            sum[channel].withUnsafeMutableBufferPointer { sum in
                for index in 0..<count { sum[index] += samples[index] * levels[index] }
            }
        }
        gain = nextGain
        self.audio = nil
    }
}
