// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Encoder
internal import LibAV
internal import MP4
internal import Media

/// Puts the frames of a plan into a file, part by part, and collects their places. Used by one thread.
final class VideoWriter {
    private let plan: StitchPlan
    private let sources: [StitchSource]
    private let settings: EncoderSettings
    private let renderer: FrameRenderer
    private let file: ClipFile
    /// Told of each second of frames that is in the file, or more often; throws to end it.
    private let wrote: (_ frames: Int) throws -> Void

    /// The frames in the order of decoding; their times are frames of the result.
    private var frames: [IndexedSample] = []
    private var encoder: RenderEncoder?
    /// The frame of the result that the encoder counts from.
    private var encoderStart = 0
    private var encoded: (configuration: [UInt8], settings: String)?

    init(
        _ plan: StitchPlan, _ sources: [StitchSource], _ settings: EncoderSettings, renderer: FrameRenderer,
        file: ClipFile, wrote: @escaping (_ frames: Int) throws -> Void
    ) {
        (self.plan, self.sources, self.settings, self.renderer) = (plan, sources, settings, renderer)
        (self.file, self.wrote) = (file, wrote)
    }

    /// Frames that are coded at the most between two looks at the audio.
    private var second: Int { max(1, Int(plan.video.frameRate.value.rounded(.up))) }

    /// Writes all parts.
    func writeAll() throws {
        for part in plan.parts {
            switch part {
            case .copied(let clip, let samples):
                try endEncoder()
                try copy(samples, of: clip)
            case .encoded(let clip, let range): try encode(range, of: clip)
            }
        }
        try endEncoder()
        try wrote(frames.count)
    }

    private func copy(_ samples: Range<Int>, of clip: Int) throws {
        let planned = plan.clips[clip]
        let source = sources[planned.source]
        let descriptor = try FileDescriptor.open(readOnly: source.path)
        let shift = Int64(planned.place - planned.frames.lowerBound)
        var next = samples.lowerBound
        while next < samples.upperBound {
            // As many as lie one behind the other, but no more than a second.
            var end = next + 1
            while end < min(samples.upperBound, next + second) {
                let before = source.video.samples[end - 1]
                guard source.video.samples[end].offset == before.offset + before.size else { break }
                end += 1
            }
            let run = source.video.samples[next..<end]
            guard let first = run.first, let last = run.last else { break }
            let place = try file.copy(first.offset..<last.offset + last.size, of: descriptor)
            for sample in run {
                append(
                    pts: sample.pts + shift, offset: place + sample.offset - first.offset, size: sample.size,
                    isSync: sample.isSync)
                if frames.count.isMultiple(of: second) { try wrote(frames.count) }
            }
            next = end
        }
    }

    private func encode(_ range: Range<Int>, of clip: Int) throws {
        for index in range {
            let encoder = try self.encoder ?? makeEncoder(at: plan.clips[clip].place + index)
            let frame = try renderer.frame(index, of: clip)
            if let packet = try encoder.encode(frame, isKeyframe: index == 0) { try append(packet) }
        }
    }

    private func makeEncoder(at frame: Int) throws -> RenderEncoder {
        let used = AVCParameterSets(record: plan.configuration)?.numbers ?? []
        let free = (0...RenderEncoder.greatestNumber).first { number in !used.contains(number) }
        guard let free else {
            throw ClipFailure("No number is left for parameter sets; encode all of it with --encode.")
        }
        let encoder = try RenderEncoder(settings, format: plan.video, number: free)
        (self.encoder, encoderStart) = (encoder, frame)
        encoded = (encoder.description.decoderConfiguration.array, encoder.description.encoderSettings)
        return encoder
    }

    private func endEncoder() throws {
        guard let encoder else { return }
        while let packet = try encoder.flush() { try append(packet) }
        self.encoder = nil
    }

    private func append(_ packet: EncodedPacket) throws {
        let offset = try file.append(packet.payload)
        append(
            pts: packet.pts + Int64(encoderStart), offset: offset, size: Int64(packet.payload.count),
            isSync: packet.isKeyframe)
        if frames.count.isMultiple(of: second) { try wrote(frames.count) }
    }

    private func append(pts: Int64, offset: Int64, size: Int64, isSync: Bool) {
        frames.append(IndexedSample(pts: pts, duration: 1, offset: offset, size: size, isSync: isSync))
    }
}

extension VideoWriter {
    /// How the track is coded. For after ``writeAll()``.
    var description: TrackDescription {
        let base = plan.video.frameRate.timeBase
        var configuration = encoded?.configuration ?? plan.configuration
        if let encoded, let own = AVCParameterSets(record: encoded.configuration),
            let copied = AVCParameterSets(record: plan.configuration)
        {
            configuration = copied.joined(with: own)
        }
        return TrackDescription(
            video: plan.codec == "hevc" ? .hevc : .h264, frames: plan.video.frameFormat, timeBase: base,
            decoderConfiguration: SharedBytes(configuration))
    }

    /// The track in ticks of `timescale`. Each frame is shown as long as any other; it is decoded as late as the order
    /// allows, at one distance throughout, so that decoding times grow at joins, too.
    func track(timescale: UInt32) throws(ClipFailure) -> ClipTrack {
        guard frames.map(\.pts).sorted().elementsEqual(0..<Int64(plan.frameCount)) else {
            throw ClipFailure("A frame is missing in the result, or there twice; nothing was written.")
        }
        let frame = plan.video.frameRate.timeBase.rescale(1, to: TimeBase(1, Int32(clamping: timescale)))
        let delay = frames.enumerated().map { Int64($0) - $1.pts }.max() ?? 0
        var samples = frames
        for index in samples.indices {
            samples[index].dts = (Int64(index) - delay) * frame
            samples[index].pts *= frame
            samples[index].duration = frame
        }
        return ClipTrack(samples: samples, start: 0)
    }
}
