// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import MP4
internal import Media

/// Decodes the frames of one file and converts them to the result's format. Frames are requested by their numbers,
/// mostly in order. If a requested frame is far ahead, or earlier than the last one, the reader seeks. Used by one
/// thread.
final class FrameReader {
    private let source: StitchSource
    private let demuxer: Demuxer
    private let stream: StreamInfo
    private let decoder: Decoder
    private let converter: FrameConverter
    private let damage: DamageLog
    /// The presentation times, in ticks of the video, of the frames that the decoder has marked as damaged since the
    /// last seek.
    private var damaged: Set<Int64> = []
    /// Frames that were converted already and are later than the last requested frame.
    private var ahead: [VideoFrame] = []
    private var current: VideoFrame?
    private var last: Int?
    private var hasEnded = false
    private var isFromStart = true

    /// The largest number of frames that are decoded only to skip them. If more frames must be skipped, the reader
    /// seeks.
    private static let stride = 250

    /// A reader of the frames of `source`, converted to `target`. Damaged frames are added to `damage`.
    init(_ source: StitchSource, target: VideoFormat, fitting: FrameFitting, damage: DamageLog) throws {
        (self.source, self.damage) = (source, damage)
        (demuxer, stream) = try StitchInspector.open(source, stream: source.video.stream)
        decoder = try Decoder(stream, threading: .frames, subject: source.name)
        converter = try FrameConverter(stream, target: target, fitting: fitting, mapsTones: true, subject: source.name)
    }

    /// Returns the frame `number`. Throws if the frame cannot be decoded.
    func frame(_ number: Int) throws -> VideoFrame {
        if last.map({ number < $0 || number > $0 + Self.stride }) ?? (number > Self.stride) { try seek(to: number) }
        last = number
        if let frame = try find(number) { return looked(at: frame, number) }
        guard !isFromStart else { throw failure(number) }
        // In some containers a seek ends after the requested frame. Therefore the frame is searched again from the
        // start of the file.
        try rewind()
        guard let frame = try find(number) else { throw failure(number) }
        return looked(at: frame, number)
    }

    /// Returns `frame`. Adds it to the damage log if it is damaged, or if it is not the frame with the requested
    /// `number`.
    private func looked(at frame: VideoFrame, _ number: Int) -> VideoFrame {
        let distance = abs(frame.pts - source.time(number))
        let isOther = distance > 1 && distance > source.video.rate.timeBase.rescale(1, to: source.video.timeBase) / 2
        if isOther || damaged.contains(frame.pts) { damage.note(number, of: source) }
        return frame
    }

    private func find(_ number: Int) throws -> VideoFrame? {
        let wanted = source.time(number)
        let frame = source.video.rate.timeBase.rescale(1, to: source.video.timeBase)
        // The converter's filters can round a frame's time by one tick. Such a difference is tolerated, unless a frame
        // lasts at most four ticks, so that one tick matters.
        let slack: Int64 = frame > 4 ? 1 : 0
        while true {
            while let next = ahead.first, next.pts <= wanted + slack {
                current = next
                ahead.removeFirst()
            }
            if !ahead.isEmpty || hasEnded { break }
            try decodeMore()
        }
        // If the requested frame is missing, the frame before it is returned. If that one is missing, too, the next
        // frame is returned, provided that it begins at most one and a half frames later; otherwise nil.
        let earliest = number > 0 ? min(source.time(number - 1), wanted - frame) : wanted - frame
        if let current, current.pts + slack >= earliest { return current }
        guard let next = ahead.first, next.pts <= wanted + frame * 3 / 2 else { return nil }
        return next
    }

    private func failure(_ number: Int) -> ClipFailure {
        let time = source.video.timeBase.duration(source.time(number) - source.time(0))
        return ClipFailure("\(source.name) cannot be decoded: a frame is missing \(DurationText(time)) into it.")
    }

    private func decodeMore() throws {
        do throws(AVFailure) {
            switch try decoder.receive() {
            case .frame(let decoded):
                guard let pts = decoded.pts else { return }
                if decoded.isDamaged { damaged.insert(pts) }
                try converter.convert(decoded, pts: pts) { ahead.append($0) }
            case .needsPacket: try decoder.send(try nextPacket())
            case .ended:
                try converter.finish { ahead.append($0) }
                hasEnded = true
            }
        } catch {
            // Invalid data is ignored here. Only the frame of this packet is lost, and `frame(_:)` notices that when
            // the frame is requested.
            guard error.isInvalidData else { throw error }
        }
    }

    private func nextPacket() throws(AVFailure) -> PacketBox? {
        while let packet = try demuxer.readPacket() {
            if packet.streamIndex == stream.index { return packet }
        }
        return nil
    }

    private func seek(to number: Int) throws {
        let (samples, open) = (source.video.samples, source.video.openEntries)
        let entry = samples.indices.last {
            (samples[$0].isSync || open.contains($0)) && (0...Int64(number)).contains(samples[$0].pts)
        }
        guard let entry else { return try rewind() }
        do throws(AVFailure) {
            try demuxer.seek(stream, to: samples[entry].dts)
        } catch {
            return try rewind()
        }
        forget()
        isFromStart = false
    }

    private func rewind() throws {
        try demuxer.seekToStart()
        forget()
        isFromStart = true
    }

    private func forget() {
        decoder.flush()
        converter.reset()
        (ahead, current, hasEnded, damaged) = ([], nil, false, [])
    }
}

/// Lists the frames of files that could not be shown as they were encoded: a decoder concealed damage in them, or
/// another frame was shown in their place. Used by one thread.
final class DamageLog {
    private var frames: [(source: StitchSource, numbers: Set<Int>)] = []

    /// Adds the frame `number` of `source` to the list, unless the list already contains it.
    func note(_ number: Int, of source: StitchSource) {
        guard let place = frames.firstIndex(where: { $0.source.path == source.path }) else {
            return frames.append((source, [number]))
        }
        frames[place].numbers.insert(number)
    }

    /// One sentence for each file with damaged frames.
    var sentences: [String] {
        frames.compactMap { source, numbers in
            guard let first = numbers.min() else { return nil }
            let time = source.video.timeBase.duration(source.time(first) - source.time(0))
            let count = numbers.count == 1 ? "a frame is" : "\(numbers.count) frames are"
            return "\(source.name): \(count) damaged or lost, the first \(DurationText(time)) into it."
        }
    }
}
