// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Makes one audio of many, frame by frame of the program: who comes is faded in and who goes is faded out, with equal
/// power, from the first sample of a frame on. What is alone and untouched passes as it is.
///
/// The curve keeps the loudness of sources that have nothing to do with each other; that of one source that stays is not
/// touched at all.
struct Mixer {
    /// A feed that is there, and what is to be done with it.
    struct Part {
        let feed: SourceFeed
        /// Whether it is to be heard.
        let isHeard: Bool
        /// What its samples are multiplied with.
        var gain: Float = 1
        /// How many samples later it is heard than it comes; nil if that never changes.
        var delay: Int64?
        /// The source whose audio it is: it is told how loud that is, heard or not.
        var source: Stage?
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
    }

    private let format: AudioFormat
    private var strips: [Strip] = []
    /// What was delivered of feeds that may be heard later than it comes.
    private var lines: [(feed: SourceFeed, line: DelayLine)] = []
    private var taken: [SourceFeed] = []
    /// What came of each source, as it came.
    private var came: [(source: Stage, audio: AudioBuffer)] = []
    private var limiter = Limiter()
    private var hasBegun = false

    /// A mixer that has heard nothing.
    init(format: AudioFormat) { self.format = format }

    /// The samples of `range`. Who is to be heard and was not, or the other way round, is faded within `fade` samples from
    /// the first of the range on.
    mutating func mix(_ parts: [Part], _ range: Range<SampleIndex>, fade: Int64) -> AudioBuffer {
        plan(parts, fade: fade)
        let count = Int(range.upperBound - range.lowerBound)
        var sum: AudioBuffer?
        came.removeAll(keepingCapacity: true)
        for part in parts {
            let came = part.feed.audio(from: range.lowerBound, upTo: range.upperBound)
            let audio = delayed(came, part)
            if let source = part.source {
                source.meter.note(audio, gain: part.gain)
                self.came.append((source, came))
            }
            guard let index = strips.firstIndex(where: { $0.feed === part.feed }) else { continue }
            strips[index].add(audio, gain: part.gain, to: &sum)
        }
        // Whose source is gone has no part any more.
        for index in strips.indices where !parts.contains(where: { $0.feed === strips[index].feed }) {
            var audio = strips[index].feed.audio(from: range.lowerBound, upTo: range.upperBound)
            if let known = lines.firstIndex(where: { $0.feed === strips[index].feed }) {
                audio = lines[known].line.push(audio, delay: lines[known].line.delay)
            }
            strips[index].add(audio, gain: strips[index].gain, to: &sum)
        }
        taken = parts.map(\.feed) + strips.map(\.feed)
        let kept = taken
        lines.removeAll { line in !kept.contains { $0 === line.feed } }
        let isPlain = strips.count == 1 && strips[0].isPlain
        guard var sum else { return .silence(at: range.lowerBound.number, count: count, format: format) }
        if isPlain { limiter.release(&sum) } else { limiter.limit(&sum) }
        return sum
    }

    /// `audio` of the part's feed, or what it delivered so much earlier.
    private mutating func delayed(_ audio: AudioBuffer, _ part: Part) -> AudioBuffer {
        guard let delay = part.delay else { return audio }
        let index: Int
        if let known = lines.firstIndex(where: { $0.feed === part.feed }) {
            index = known
        } else {
            lines.append((part.feed, DelayLine(format: format, delay: Int(delay))))
            index = lines.count - 1
        }
        return lines[index].line.push(audio, delay: Int(delay))
    }

    /// Whether the audio of `feed` was taken by the last call of ``mix(_:_:fade:)``.
    func isTaken(_ feed: SourceFeed) -> Bool { taken.contains { $0 === feed } }

    /// What the last call of ``mix(_:_:fade:)`` took of `source`, as it came; nil if it has no audio.
    func audio(of source: Stage) -> AudioBuffer? { came.first { $0.source === source }?.audio }

    /// Whether something of `feed` was still to be heard after that call.
    func isHeard(_ feed: SourceFeed) -> Bool { strips.contains { $0.feed === feed && $0.angle > 0 } }

    private mutating func plan(_ parts: [Part], fade: Int64) {
        strips.removeAll { $0.target == 0 && $0.angle == 0 }
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
    }
}

extension Mixer.Strip {
    /// Whether the samples are heard as they are.
    fileprivate var isPlain: Bool { angle == .pi / 2 && target == angle && gain == 1 }

    /// Turns to `next` within `count` samples, unless it gets there earlier anyway.
    fileprivate mutating func aim(at next: Double, within count: Int64) {
        if next == target, angle == target || abs(target - angle) <= abs(step) * Double(count + 1) { return }
        target = next
        step = (next - angle) / Double(max(1, count))
    }

    /// Adds `audio`, faded, and with the gain going over to `next`.
    fileprivate mutating func add(_ audio: AudioBuffer, gain next: Float, to sum: inout AudioBuffer?) {
        if isPlain, next == 1, sum == nil { return sum = audio }
        let factors = factors(count: audio.count, gain: next)
        if sum == nil { sum = .silence(at: audio.position, count: audio.count, format: audio.format) }
        sum?.mix(audio) { factors[$0] }
    }

    /// What each of the next samples is multiplied with.
    private mutating func factors(count: Int, gain next: Float) -> [Float] {
        let (first, change) = (gain, (next - gain) / Float(max(1, count)))
        gain = next
        return (0..<count).map { index in
            if angle != target {
                angle += step
                if (step > 0) == (angle >= target) { angle = target }
            }
            let level = angle == .pi / 2 ? 1 : angle == 0 ? 0 : Float(sin(angle))
            return level * (change == 0 ? next : first + change * Float(index + 1))
        }
    }
}

extension AudioBuffer {
    /// Adds the samples of `other`, each times its factor.
    fileprivate mutating func mix(_ other: AudioBuffer, factor: (Int) -> Float) {
        var mixed = channels
        for channel in mixed.indices {
            for index in 0..<min(count, other.count) {
                mixed[channel][index] += other.channels[channel][index] * factor(index)
            }
        }
        self = AudioBuffer(position: position, format: format, channels: mixed)
    }
}
