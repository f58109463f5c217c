// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Encoder
internal import LibAV
internal import MP4
internal import Media

/// Writes the frames of a plan to a file, part by part, and collects their positions. Used by one thread.
final class VideoWriter {
    private let plan: StitchPlan
    private let sources: [StitchSource]
    private let settings: EncoderSettings
    private let renderer: FrameRenderer
    private let file: ClipFile
    private let audio: AudioWriter?
    /// The parts that were encoded in advance, by the number of the part in the plan.
    private let pieces: [Int: [EncodedPacket]]
    /// The journal that stores encoded packets for a later run; nil if there is no journal.
    private let journal: StitchJournal?
    /// Called at least once for each second of frames that was written; throws to cancel.
    private let wrote: (_ frames: Int) throws -> Void

    /// The frames in decoding order; their times are frame numbers of the result.
    private var frames: [IndexedSample] = []
    /// The number of frames of the result that are not stored, because an earlier frame lasts longer instead.
    private var lengthened = 0
    private var encoder: RenderEncoder?
    /// The number, in the result, of the first frame that was passed to the current encoder.
    private var encoderStart = 0
    /// `fed` is the number of frames that were passed to the current encoder, and `coded` contains the packets that it
    /// has returned. When the encoder ends, both are written to the journal.
    private var fed = 0
    private var coded: [EncodedPacket] = []
    /// The content of the encoders' `avcC`.
    private var configuration: [UInt8]?
    /// How many of the next frames are already in the file, because an earlier run encoded them.
    private var ahead = 0
    /// The number of frames so far whose packets come from an earlier run.
    private(set) var resumedFrames = 0

    init(
        _ plan: StitchPlan, _ sources: [StitchSource], _ settings: EncoderSettings, renderer: FrameRenderer,
        file: ClipFile, audio: AudioWriter?, pieces: [Int: [EncodedPacket]] = [:], journal: StitchJournal?,
        wrote: @escaping (_ frames: Int) throws -> Void
    ) {
        self.pieces = pieces
        (self.plan, self.sources, self.settings, self.renderer) = (plan, sources, settings, renderer)
        (self.file, self.audio, self.journal, self.wrote) = (file, audio, journal, wrote)
    }

    /// How much encoding work is lost at most when a run is interrupted and resumed later, in seconds of the result.
    private static let sessionSeconds = 10
    /// The number of earlier frames that a deinterlacer uses, and a few more.
    private static let remembered = 4

    /// The number of frames in a second. At most this many frames are written before audio is written again.
    private var second: Int { max(1, Int(plan.video.frameRate.value.rounded(.up))) }

    /// The number of frames of the result that are in the file, including frames that only lengthen an earlier one.
    private var done: Int { frames.count + lengthened }

    /// Writes all parts of the plan to the file.
    func writeAll() throws {
        for (number, part) in plan.parts.enumerated() {
            switch part {
            case .copied(let clip, let samples):
                try endEncoder()
                if plan.lengthens { try lengthen(to: plan.clips[clip].place - frames.count) }
                try wrote(done)
                try audio?.complete(before: clip)
                try copy(samples, of: clip)
            case .encoded(let clip, let range):
                guard let piece = pieces[number] else {
                    try encode(range, of: clip)
                    continue
                }
                let first = Int64(plan.clips[clip].place + range.lowerBound)
                for packet in piece {
                    try append(packet.payload, pts: packet.pts + first, isSync: packet.isKeyframe)
                }
            }
        }
        try endEncoder()
        try wrote(done)
    }

    /// Advances to the start of the next clip, a minute at a time, so that the silence of a long gap is encoded in the
    /// meantime.
    private func lengthen(to count: Int) throws {
        while lengthened < count {
            lengthened = min(count, lengthened + 60 * second)
            try wrote(done)
        }
    }

    /// Copies frames together with the packets of audio between them, in contiguous runs of bytes.
    private func copy(_ samples: Range<Int>, of clip: Int) throws {
        let planned = plan.clips[clip]
        let source = sources[planned.source]
        let shift = Int64(planned.place - planned.frames.lowerBound)
        if source.video.isDemuxed {
            var copier = try PacketCopier(source)
            return try copier.copy(samples) { number, bytes in
                let sample = source.video.samples[number]
                try append(bytes, pts: sample.pts + shift, isSync: sample.isSync)
            }
        }
        let descriptor = try source.opened()
        let heard = audio?.packets(of: clip) ?? 0..<0
        let runs = CopyRuns(
            source.video.samples, source.audio?.packets ?? [], frames: samples, audio: heard, limit: second
        ).runs
        var told = frames.count
        for run in runs {
            let place = try file.copy(run.bytes, of: descriptor)
            for sample in source.video.samples[run.frames] {
                append(
                    pts: sample.pts + shift, offset: place + sample.offset - run.bytes.lowerBound, size: sample.size,
                    isSync: sample.isSync)
            }
            audio?.placed(run.audio, of: clip, by: place - run.bytes.lowerBound)
            guard frames.count - told >= second else { continue }
            told = frames.count
            try wrote(done)
        }
    }

    private func encode(_ range: Range<Int>, of clip: Int) throws {
        for index in range {
            if journal != nil, fed >= Self.sessionSeconds * second { try endEncoder() }
            if encoder == nil, ahead == 0 { try resume(at: plan.clips[clip].place + index) }
            if ahead > 0 {
                ahead -= 1
                // Frames that an earlier run encoded are not rendered, except for the last few, which filters need to
                // render the next frame.
                if ahead < Self.remembered { _ = try renderer.frame(index, of: clip) }
                continue
            }
            let encoder = try self.encoder ?? makeEncoder(at: plan.clips[clip].place + index)
            let frame = try renderer.frame(index, of: clip)
            fed += 1
            if let packet = try encoder.encode(frame, isKeyframe: index == 0) { try append(packet) }
        }
    }

    /// Uses the packets that an earlier run encoded, beginning with frame `frame` of the result, if there are any.
    private func resume(at frame: Int) throws {
        guard let (session, packets) = try journal?.session(at: frame) else { return }
        configuration = session.configuration
        for (packet, bytes) in zip(session.packets, packets) {
            try append(bytes, pts: packet.pts, isSync: packet.isSync)
        }
        ahead = session.frames
        resumedFrames += session.frames
    }

    private func makeEncoder(at frame: Int) throws -> RenderEncoder {
        let used = AVCParameterSets(record: plan.configuration)?.numbers ?? []
        let free = (0...RenderEncoder.greatestNumber).first { number in !used.contains(number) }
        guard let free else {
            throw ClipFailure(
                "No number is left for parameter sets beside those that are copied: with another size or rate all is coded "
                    + "again.")
        }
        let encoder = try RenderEncoder(settings, format: plan.video, number: free)
        (self.encoder, encoderStart) = (encoder, frame)
        configuration = encoder.description.decoderConfiguration.array
        return encoder
    }

    private func endEncoder() throws {
        guard let encoder else { return }
        while let packet = try encoder.flush() { try append(packet) }
        self.encoder = nil
        try keep()
    }

    /// Appends the output of the encoder that has just ended to the journal.
    private func keep() throws {
        let session = StitchJournal.Session(
            first: encoderStart, frames: fed, configuration: configuration ?? [],
            packets: coded.map {
                StitchJournal.Packet(pts: $0.pts + Int64(encoderStart), size: $0.payload.count, isSync: $0.isKeyframe)
            })
        try journal?.append(session, coded.map(\.payload))
        (fed, coded) = (0, [])
    }

    private func append(_ packet: EncodedPacket) throws {
        if journal != nil { coded.append(packet) }
        try append(packet.payload, pts: packet.pts + Int64(encoderStart), isSync: packet.isKeyframe)
    }

    private func append(_ bytes: SharedBytes, pts: Int64, isSync: Bool) throws {
        let offset = try file.append(bytes)
        append(pts: pts, offset: offset, size: Int64(bytes.count), isSync: isSync)
        if frames.count.isMultiple(of: second) { try wrote(done) }
    }

    private func append(pts: Int64, offset: Int64, size: Int64, isSync: Bool) {
        frames.append(IndexedSample(pts: pts, duration: 1, offset: offset, size: size, isSync: isSync))
    }
}

extension VideoWriter {
    /// The coding of the track. It is known only after ``writeAll()``.
    var description: TrackDescription {
        let base = plan.video.frameRate.timeBase
        var record = configuration ?? plan.configuration
        if let configuration, let own = AVCParameterSets(record: configuration),
            let copied = AVCParameterSets(record: plan.configuration)
        {
            // The record contains the parameter sets of the copied frames and those of our encoder. If a record cannot
            // hold all of them, only those of our encoder are used; but no encoder writes that many sets.
            record = copied.joined(with: own) ?? configuration
        }
        return TrackDescription(
            video: plan.codec == "hevc" ? .hevc : .h264, frames: plan.video.frameFormat, timeBase: base,
            decoderConfiguration: SharedBytes(record))
    }

    /// Returns the track in ticks of `timescale`; see ``StitchPlan/track(of:_:timescale:moves:)``. Call it after
    /// ``writeAll()``.
    func track(timescale: UInt32, moves: [Int64]) throws(ClipFailure) -> ClipTrack {
        try plan.track(of: frames, sources, timescale: timescale, moves: moves)
    }
}
