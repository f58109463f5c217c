// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Makes one audio of many, frame by frame of the program: who comes is faded in and who goes is faded out, from the first
/// sample of a frame on, so that the loudness stays: with equal power where both have nothing to do with each other, with
/// levels that add up to 1 where both are the same signal, and between that where they are alike. What is alone and untouched
/// passes as it is.
struct Mixer {
    /// A feed that is there, and what is to be done with it.
    struct Part {
        let feed: SourceFeed
        /// Whether it is to be heard.
        let isHeard: Bool
        /// What its samples are multiplied with.
        var gain: Float = 1
        /// How many samples later it is heard than it comes, or earlier if negative; nil if that never changes.
        var offset: Int64?
        /// The source whose audio it is: it is told how loud that is, heard or not.
        var source: Bus?
    }

    /// A feed that is heard, or just was.
    fileprivate struct Strip {
        let feed: SourceFeed
        /// How much of it is heard is the sine of this: from 0 to a quarter of a turn.
        var angle: Double
        var target: Double
        /// By how much the angle changes with each sample.
        var step = 0.0
        /// What its samples were multiplied with at the end of the frame before.
        var gain: Float
        /// What of it is mixed next, and what that is multiplied with at its end.
        var audio: AudioBuffer?
        var nextGain: Float = 1
        /// What each of its samples is multiplied with.
        var levels: [Float] = []
    }

    private let format: AudioFormat
    private var strips: [Strip] = []
    /// Those of which one comes as the other goes.
    private var pairs: [FadePair] = []
    /// What was delivered of feeds that may be heard later or earlier than it comes.
    private var shifts: [(feed: SourceFeed, audio: AudioShift)] = []
    private var taken: [SourceFeed] = []
    /// What came of each source, as it came.
    private var came: [(source: Bus, audio: AudioBuffer)] = []
    private var hasBegun = false
    /// Whether what was mixed last is of one source, and nowhere louder than it came; or nothing.
    private(set) var isAlone = true

    /// A mixer that has heard nothing.
    init(format: AudioFormat) { self.format = format }

    /// The samples of `range`. Who is to be heard and was not, or the other way round, is faded within `fade` samples from
    /// the first of the range on.
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
        // Whose source is gone has no part any more.
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

    /// What the strips have, faded and added up.
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
        // Taken out, as both are of one array.
        var levels: [Float] = []
        swap(&levels, &strips[coming].levels)
        pairs[index].level(&levels, &strips[going].levels)
        swap(&levels, &strips[coming].levels)
    }

    /// The audio of the part's feed, as it came and as it is heard.
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

    /// Whether the audio of `feed` was taken by the last call of ``mix(_:_:fade:)``.
    func isTaken(_ feed: SourceFeed) -> Bool { taken.contains { $0 === feed } }

    /// What the last call of ``mix(_:_:fade:)`` took of `source`, as it came; nil if it has no audio.
    func audio(of source: Bus) -> AudioBuffer? { came.first { $0.source === source }?.audio }

    /// Whether something of `feed` was still to be heard after that call.
    func isHeard(_ feed: SourceFeed) -> Bool { strips.contains { $0.feed === feed && $0.angle > 0 } }

    private mutating func plan(_ parts: [Part], fade: Int64) {
        // Who comes back may come with another: its pairs are over, too.
        pairs.removeAll { pair in
            strips.contains { $0.isOver && ($0.feed === pair.coming || $0.feed === pair.going) }
        }
        strips.removeAll(where: \.isOver)
        for part in parts where part.isHeard && !strips.contains(where: { $0.feed === part.feed }) {
            // A program begins with what it has.
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

    /// Pairs who comes now with those who go.
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
    /// Whether all of it is heard.
    fileprivate var isFull: Bool { angle == .pi / 2 && target == angle }
    /// Whether it has been faded out.
    fileprivate var isOver: Bool { target == 0 && angle == 0 }
    /// Whether no gain changes it.
    fileprivate var isUntouched: Bool { gain == 1 && nextGain == 1 }

    /// Turns to `next` within `count` samples, unless it gets there earlier anyway.
    fileprivate mutating func aim(at next: Double, within count: Int64) {
        if next == target, angle == target || abs(target - angle) <= abs(step) * Double(count + 1) { return }
        target = next
        step = (next - angle) / Double(max(1, count))
    }

    /// Says in ``levels`` how much is heard of each of the next samples: what the fade is at its middle, so that it begins
    /// at the boundary and is the same from either end.
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

    /// Adds what is mixed next, at its levels, and with the gain going over.
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
