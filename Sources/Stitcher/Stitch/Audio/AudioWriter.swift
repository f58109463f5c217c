// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import MP4
internal import Media

/// Writes the audio of the result into the file, between the frames: copied packets and new ones. Used by one thread.
final class AudioWriter {
    private let plan: AudioPlan
    private let format: AudioFormat
    private let sources: [StitchSource]
    private let bitrate: Int
    private let file: ClipFile
    private var mixer: AudioMixer
    /// The clips whose packets are copied together with their frames.
    private let joint: Set<Int>

    /// The packets of each span that are in the file so far.
    private var packets: [[IndexedSample]]
    /// The progress: `span` is the number of the span that is being written, `copied` is the number of its packets that
    /// are copied, and `fed` is the position up to which samples were passed to the encoder.
    private var span = 0
    private var copied = 0
    private var fed: Int64 = 0
    private var encoder: AACEncoder?
    /// The coding of the new packets, which is the track's coding if no packet is copied.
    private var encoded: TrackDescription?

    /// How many samples are mixed at a time.
    private static let step: Int64 = 8192
    /// How many packets before the first needed packet an encoder begins. One of these packets is needed because
    /// packets overlap; the others influence how the encoder encodes the first needed packet.
    private static let preroll: Int64 = 4
    /// New packets between copied packets are all encoded in one session if they are shorter than this, even if frames
    /// of that time are not written yet.
    private static let bridge = Duration.seconds(10)

    /// A writer of the audio of `plan`. The caller copies the packets of the clips `joint`, and reports that with
    /// ``placed(_:of:by:)``.
    init(
        _ plan: AudioPlan, _ format: AudioFormat, _ sources: [StitchSource], bitrate: Int, file: ClipFile,
        joint: Set<Int>
    ) {
        (self.plan, self.format, self.sources, self.bitrate) = (plan, format, sources, bitrate)
        (self.file, self.joint) = (file, joint)
        mixer = AudioMixer(plan, format, sources)
        packets = plan.spans.map { _ in [] }
    }

    /// The coding of the track's packets. It is known only after ``finish()``.
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

    /// Records that the packets `range` of the clip's file were copied, and that their offsets in the result are larger
    /// by `distance` bytes.
    func placed(_ range: Range<Int>, of clip: Int, by distance: Int64) {
        guard let number = number(of: clip)?.span, let audio = sources[clip].audio else { return }
        for sample in audio.packets[range] {
            append(sample, of: clip, at: sample.offset + distance, to: number)
        }
    }

    private func number(of clip: Int) -> (span: Int, packets: Range<Int>)? {
        // Only the current span and later ones are searched, because the spans before the current one are complete.
        for number in span..<plan.spans.count {
            if case .copied(clip, let packets) = plan.spans[number] { return (number, packets) }
        }
        return nil
    }

    /// Writes all audio that is played before the packets of `clip`. The caller then copies the packets of `clip`, so
    /// that packets in the file are in the order in which they are played.
    func complete(before clip: Int) throws {
        guard let number = number(of: clip)?.span else { return }
        try advance(to: .max, before: number)
    }

    /// Writes all audio that is played before `sample`. A short run of new packets is always written as a whole. The
    /// span `limit` and all later spans are not written.
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

    /// Writes the rest of the audio. The track ends with the last sample of the plan.
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

    /// Records that `packet` of `clip` was copied to `offset` in the file.
    private func append(_ packet: IndexedSample, of clip: Int, at offset: Int64, to span: Int) {
        let pts = packet.pts + plan.clips[clip].shift
        packets[span].append(
            IndexedSample(
                dts: pts, pts: pts, duration: packet.duration, offset: offset, size: packet.size, isSync: true))
    }
}

extension AudioWriter {
    /// Copies the packets of `range` that begin before `sample`, unless the caller copies them. Returns whether all of
    /// them are in the file.
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

    /// Encodes the part of `range` that is played before `sample`. Returns whether all of it is encoded.
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

    /// Whether the new packets for `range`, which are between copied packets, are encoded in one session.
    static func isBridge(_ range: Range<Int64>, _ format: AudioFormat) -> Bool {
        Int64(range.count) < format.timeBase.ticks(bridge)
    }

    /// Begins a session of `encoder` for `range`. `isFirst` means that there is no audio before the range. Returns the
    /// first sample that must be passed to the encoder.
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
