// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes the audio of one file and returns any range of it. Ranges are in samples of `format`, counted from the time
/// 0 of the file, and must be requested in order. Used by one thread.
final class AudioReader {
    private let feed: any AudioFeed
    private let decoder: Decoder
    private let base: TimeBase
    private let resampler: Resampler
    private let name: String
    private let format: AudioFormat
    /// Decoded audio that can still be requested.
    private var kept: [AudioBuffer] = []
    /// The position, in samples of `format`, at which the decoded audio ends; nil before the first sample.
    private var decodedEnd: Int64?
    private var hasEnded = false

    /// The maximum difference between timestamps that does not count as a gap: the rounding error of containers whose
    /// times are in milliseconds, and a margin.
    private static let tolerance = Duration.milliseconds(5)

    /// A reader of the audio of `source`, from `position` on. `before` is the file whose audio the audio of `source`
    /// continues; nil if there is no such file.
    init(
        _ source: StitchSource, _ audio: StitchSource.Audio, behind before: StitchSource? = nil, format: AudioFormat,
        from position: Int64
    ) throws {
        name = source.name
        self.format = format
        resampler = Resampler(target: format, subject: source.name)
        if audio.packets.isEmpty {
            let feed = try DemuxedAudio(
                source, audio, behind: before, from: format.timeBase.rescale(position, to: audio.timeBase))
            decoder = try Decoder(feed.stream, threading: .slices, subject: source.name)
            (self.feed, base) = (feed, feed.stream.timeBase)
        } else {
            let track = TrackDescription(
                audio: .aac, format: audio.format, decoderConfiguration: SharedBytes(audio.configuration),
                frameLength: Int(AudioGrid.step))
            decoder = try Decoder(track, subject: source.name)
            feed = try IndexedAudio(source, audio, track, from: format.timeBase.rescale(position, to: audio.timeBase))
            base = track.timeBase
        }
    }

    /// Returns the samples in `range`. Where the file has no audio, they are silent.
    func read(_ range: Range<Int64>) throws -> AudioBuffer {
        while !hasEnded, (decodedEnd ?? .min) < range.upperBound { try decodeMore() }
        var result = AudioBuffer.silence(at: range.lowerBound, count: 0, format: format)
        for piece in kept {
            let found = piece.slice(range)
            guard found.count > 0 else { continue }
            result.append(.silence(at: result.end, count: Int(max(0, found.position - result.end)), format: format))
            result.append(found)
        }
        result.append(.silence(at: result.end, count: Int(max(0, range.upperBound - result.end)), format: format))
        kept = kept.filter { $0.end > range.upperBound }.map { piece in
            piece.slice(max(piece.position, range.upperBound)..<piece.end)
        }
        return result
    }

    private func decodeMore() throws {
        switch try receive() {
        case .frame(let frame): try take(frame)
        case .needsPacket:
            do {
                try feed.sendNext(to: decoder)
            } catch is AudioFeedFailure {
                // The failure is ignored: `read(_:)` returns silence in place of the packet that the decoder refused.
            }
        case .ended:
            append(try resampler.flush())
            hasEnded = true
        }
    }

    private func receive() throws(AVFailure) -> Decoder.Output {
        do throws(AVFailure) {
            return try decoder.receive()
        } catch {
            guard error.isInvalidData else { throw error }
            return .needsPacket
        }
    }

    private func take(_ frame: DecodedFrame) throws {
        if let pts = frame.pts {
            let stated = base.rescale(pts, to: format.timeBase)
            let due = resampler.position + resampler.pending
            if decodedEnd == nil, resampler.pending == 0 {
                resampler.start(at: stated)
            } else if abs(stated - due) > format.timeBase.ticks(Self.tolerance) {
                append(try resampler.flush())
                resampler.start(at: stated)
            }
        }
        append(try resampler.convert(frame))
    }

    /// Appends decoded audio. Gaps are not filled here, so a long gap takes no memory. The part of the audio that
    /// overlaps with earlier audio is removed.
    private func append(_ audio: AudioBuffer) {
        let start = max(audio.position, decodedEnd ?? .min)
        guard audio.count > 0, start < audio.end else { return }
        decodedEnd = audio.end
        let new = audio.slice(start..<audio.end)
        if let last = kept.last, last.end == start {
            kept[kept.count - 1].append(new)
        } else {
            kept.append(new)
        }
    }
}
