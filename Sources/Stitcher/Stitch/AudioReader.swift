// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes the audio of one file and gives any stretch of it, in samples of the result's format from the file's time 0 on.
/// Stretches are asked for one behind the other. Used by one thread.
final class AudioReader {
    private let demuxer: Demuxer
    private let stream: StreamInfo
    private let decoder: Decoder
    private let resampler: Resampler
    private let name: String
    private let format: AudioFormat
    /// What was decoded and may still be asked for.
    private var kept: [AudioBuffer] = []
    /// Behind the last sample that was decoded; nil before the first.
    private var decodedEnd: Int64?
    private var hasEnded = false

    /// A hole of stamps that is none: what containers in milliseconds round, and a little more.
    private static let tolerance = Duration.milliseconds(5)
    /// What is decoded before the first sample that counts: an AAC decoder needs a packet or two.
    private static let preroll = Duration.milliseconds(200)
    /// What is skipped by decoding rather than by seeking.
    private static let stride = Duration.seconds(5)

    /// A reader of the audio of `source` from `position` on.
    init(_ source: StitchSource, _ audio: StitchSource.Audio, format: AudioFormat, from position: Int64) throws {
        name = source.name
        self.format = format
        demuxer = try StitchInspector.open(source.path, name: source.name)
        guard let stream = demuxer.streams.first(where: { $0.index == audio.stream }) else {
            throw ClipFailure("\(source.name) has changed.")
        }
        self.stream = stream
        decoder = try Decoder(stream, threading: .slices, subject: source.name)
        resampler = Resampler(target: format, subject: source.name)
        demuxer.select([stream.index])
        let start = format.timeBase.rescale(position, to: stream.timeBase)
        let early = stream.timeBase.ticks(Self.preroll)
        if start - audio.range.lowerBound > stream.timeBase.ticks(Self.stride) {
            try demuxer.seek(stream, to: start - early)
        }
    }

    /// The samples in `range`: silence where there are none.
    func read(_ range: Range<Int64>) throws -> AudioBuffer {
        while !hasEnded, (decodedEnd ?? .min) < range.upperBound { try decodeMore() }
        var result = AudioBuffer.silence(at: range.lowerBound, count: 0, format: format)
        for piece in kept {
            let found = piece.slice(range)
            guard found.count > 0 else { continue }
            result.append(.silence(at: result.end, count: Int(max(0, found.position - result.end)), format: format))
            result.append(found)
        }
        result.append(
            .silence(at: result.end, count: Int(max(0, range.upperBound - result.end)), format: format))
        kept = kept.filter { $0.end > range.upperBound }.map { piece in
            piece.slice(max(piece.position, range.upperBound)..<piece.end)
        }
        return result
    }

    private func decodeMore() throws {
        switch try receive() {
        case .frame(let frame): try take(frame)
        case .needsPacket:
            while let packet = try demuxer.readPacket() {
                guard packet.streamIndex == stream.index else { continue }
                do throws(AVFailure) {
                    try decoder.send(packet)
                } catch {
                    // It costs this packet; silence takes its place.
                    if error.isMissingLibrary { throw error }
                }
                return
            }
            try decoder.send(nil)
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
            let stated = stream.timeBase.rescale(pts, to: format.timeBase)
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

    /// Appends what was decoded; a hole is left, however long it is, and what overlaps is cut.
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
