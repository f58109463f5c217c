// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import MP4
internal import Media

/// Puts the audio of the result into the file beside the frames: packets that are copied, and new ones. Used by one thread.
final class AudioWriter {
    private let plan: AudioPlan
    private let format: AudioFormat
    private let sources: [StitchSource]
    private let bitrate: Int
    private let file: ClipFile
    private var mixer: AudioMixer
    /// Clips whose packets are copied together with their frames.
    private let joint: Set<Int>

    /// The packets of each span.
    private var packets: [[IndexedSample]]
    /// The span that is written, and how far: packets that are copied, samples that were fed.
    private var span = 0
    private var copied = 0
    private var fed: Int64 = 0
    private var encoder: AACEncoder?
    /// How the packets are coded, if there are only new ones.
    private var encoded: TrackDescription?

    /// Samples that are mixed at a time.
    private static let step: Int64 = 8192
    /// Packets by which an encoder begins sooner than is needed: it needs one to have heard what is before, and decides by more
    /// how to code.
    private static let preroll: Int64 = 4
    /// New packets between copied ones that are made at once, however far the frames are.
    private static let bridge = Duration.seconds(10)

    /// `joint` are the clips whose packets somebody else copies, and then tells by ``placed(_:of:by:)``.
    init(
        _ plan: AudioPlan, _ format: AudioFormat, _ sources: [StitchSource], bitrate: Int, file: ClipFile,
        joint: Set<Int>
    ) {
        (self.plan, self.format, self.sources, self.bitrate) = (plan, format, sources, bitrate)
        (self.file, self.joint) = (file, joint)
        mixer = AudioMixer(plan, format, sources)
        packets = plan.spans.map { _ in [] }
    }

    /// How the packets are coded. For after ``finish()``.
    var description: TrackDescription {
        for case .copied(let clip, _) in plan.spans {
            guard let audio = sources[clip].audio else { continue }
            return TrackDescription(
                audio: .aac, format: format, decoderConfiguration: SharedBytes(audio.configuration), bitrate: bitrate,
                frameLength: Int(AudioGrid.step))
        }
        return encoded ?? TrackDescription(audio: .aac, format: format, decoderConfiguration: SharedBytes([]))
    }

    /// The packets of the clip's file that are copied together with its frames.
    func packets(of clip: Int) -> Range<Int> { number(of: clip)?.packets ?? 0..<0 }

    /// Takes note that the packets `range` of the clip's file lie `distance` bytes further in the result.
    func placed(_ range: Range<Int>, of clip: Int, by distance: Int64) {
        guard let number = number(of: clip)?.span, let audio = sources[clip].audio else { return }
        for sample in audio.packets[range] {
            append(sample, of: clip, at: sample.offset + distance, to: number)
        }
    }

    private func number(of clip: Int) -> (span: Int, packets: Range<Int>)? {
        // Spans before the current one are complete.
        for number in span..<plan.spans.count {
            if case .copied(clip, let packets) = plan.spans[number] { return (number, packets) }
        }
        return nil
    }

    /// Writes all that is heard before the packets of `clip` that somebody else copies: in the file packets lie in the order in
    /// which they are heard.
    func complete(before clip: Int) throws {
        guard let number = number(of: clip)?.span else { return }
        try advance(to: .max, before: number)
    }

    /// Writes all that is heard before `sample`, and new packets to their end where there are few; nothing of the span `limit`.
    func advance(to sample: Int64, before limit: Int = .max) throws {
        while span < min(limit, plan.spans.count) {
            let isDone =
                switch plan.spans[span] {
                case .copied(let clip, let packets): try copy(packets, of: clip, to: sample)
                case .encoded(let range): try encode(range, to: sample)
                }
            guard isDone else { return }
            span += 1
            copied = 0
        }
    }

    /// Writes the rest. The track ends with the last sample.
    func finish() throws -> ClipTrack {
        try advance(to: .max)
        var all = packets.flatMap(\.self)
        all.removeAll { $0.pts >= plan.count }
        if let last = all.indices.last {
            all[last].duration = max(1, min(all[last].duration, plan.count - all[last].pts))
        }
        guard plan.hasHoles || zip(all, all.dropFirst()).allSatisfy({ $1.pts - $0.pts == AudioGrid.step }) else {
            throw ClipFailure("Audio is missing in the result, or there twice; nothing was written.")
        }
        return ClipTrack(samples: all, start: 0)
    }

    /// Adds a packet that was copied from `clip`, and now begins at `offset`.
    private func append(_ packet: IndexedSample, of clip: Int, at offset: Int64, to span: Int) {
        let pts = packet.pts + plan.clips[clip].shift
        packets[span].append(
            IndexedSample(
                dts: pts, pts: pts, duration: packet.duration, offset: offset, size: packet.size, isSync: true))
    }
}

extension AudioWriter {
    /// Copies those of `range` that begin before `sample`, unless somebody else does; true if all of them are there.
    private func copy(_ range: Range<Int>, of clip: Int, to sample: Int64) throws -> Bool {
        guard !joint.contains(clip) else { return packets[span].count == range.count }
        guard let audio = sources[clip].audio else { return true }
        let source = try sources[clip].opened()
        while copied < range.count {
            let packet = audio.packets[range.lowerBound + copied]
            guard packet.pts + plan.clips[clip].shift < sample else { return false }
            let place = try file.copy(packet.offset..<packet.offset + packet.size, of: source)
            append(packet, of: clip, at: place, to: span)
            copied += 1
        }
        return true
    }

    /// Encodes what of `range` is heard before `sample`; true if all of it is there.
    private func encode(_ range: Range<Int64>, to sample: Int64) throws -> Bool {
        let isLast = span == plan.spans.count - 1
        guard range.lowerBound < sample else { return false }
        let encoder = try self.encoder ?? begin(range)
        let isBridge = !isLast && Self.isBridge(range, format)
        while !isLast || fed < plan.count {
            if !isBridge, fed >= sample { return false }
            let end = isLast ? min(fed + Self.step, plan.count) : fed + Self.step
            try append(try encoder.encode(try mixer.mix(fed..<end)), within: range)
            fed = end
            if !isLast, let last = packets[span].last, last.pts + AudioGrid.step >= range.upperBound { break }
        }
        let rest = try encoder.finish()
        if isLast { try append(rest, within: range) }
        self.encoder = nil
        return true
    }

    /// Whether new packets for `range` between copied ones are made at once.
    static func isBridge(_ range: Range<Int64>, _ format: AudioFormat) -> Bool {
        Int64(range.count) < format.timeBase.ticks(bridge)
    }

    /// Begins a session of `encoder` for `range`, which nothing is before if it `isFirst`, and returns the sample from which on it
    /// is to be fed.
    static func start(of range: Range<Int64>, _ encoder: AACEncoder, isFirst: Bool) -> Int64 {
        let start = range.lowerBound + Int64(encoder.priming) - (isFirst ? 0 : preroll * AudioGrid.step)
        encoder.begin(at: start)
        return start
    }

    private func begin(_ range: Range<Int64>) throws -> AACEncoder {
        let encoder = try AACEncoder(format: format, bitrate: bitrate)
        fed = Self.start(of: range, encoder, isFirst: span == 0)
        (self.encoder, encoded) = (encoder, encoder.description)
        return encoder
    }

    private func append(_ coded: [EncodedPacket], within range: Range<Int64>) throws {
        for packet in coded where range.contains(packet.pts) {
            let offset = try file.append(packet.payload)
            packets[span].append(
                IndexedSample(
                    dts: packet.pts, pts: packet.pts, duration: AudioGrid.step, offset: offset,
                    size: Int64(packet.payload.count), isSync: true))
        }
    }
}
