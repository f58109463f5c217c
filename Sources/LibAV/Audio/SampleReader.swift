// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decodes audio in a codec that no output carries, such as G.711 or MPEG-1 layer II, into packets of PCM samples for
/// an encoder. Only one thread may use it at a time.
///
/// The samples keep the sample rate of the input. Mono and stereo keep their channels; more channels are mixed to
/// stereo. No samples are delayed.
final class SampleReader {
    private let timeBase: TimeBase
    private let subject: String
    private let decoder: Decoder
    private var current: (track: TrackDescription, resampler: Resampler)?

    /// Creates a reader of `stream`. Throws if libavcodec cannot decode the stream. `subject` is the input's name in
    /// error messages.
    init(_ stream: StreamInfo, subject: String) throws(AVFailure) {
        decoder = try Decoder(stream, threading: .slices, subject: subject)
        (timeBase, self.subject) = (stream.timeBase, "\(stream.codecName) of \(subject)")
    }

    /// Returns the samples of a packet, with times in ticks of the stream's time base; nil if the packet yields no
    /// samples. If this method throws, the packet is lost.
    func read(_ box: PacketBox) throws(AVFailure) -> EncodedPacket? {
        try decoder.send(box)
        var (start, read): (Int64?, AudioBuffer?) = (nil, nil)
        while case .frame(let frame) = try decoder.receive() {
            guard let resampler = resampler(for: frame) else { continue }
            let samples = try resampler.convert(frame)
            if read?.format == samples.format {
                read?.append(samples)
            } else {
                // If the format changes in the middle of a packet, only the samples after the change are kept.
                (start, read) = (timeBase.believed(frame.pts), samples)
            }
        }
        guard let audio = read, audio.count > 0, let track = current?.track,
            let time = start ?? timeBase.believed(box.dts)
        else { return nil }
        let duration = audio.format.timeBase.rescale(Int64(audio.count), to: timeBase)
        return EncodedPacket(
            of: track, pts: time, dts: time, duration: duration, isKeyframe: true, payload: Self.interleaved(audio))
    }

    /// The converter for frames like `frame`, to planar floating-point samples; nil if the frame has no usable format.
    private func resampler(for frame: DecodedFrame) -> Resampler? {
        guard let rate = Int32(exactly: frame.sampleRate), rate > 0, frame.channelCount > 0 else { return nil }
        let format = AudioFormat(sampleRate: rate, channels: min(frame.channelCount, 2))
        if let current, current.track.audioFormat == format { return current.resampler }
        let resampler = Resampler(target: format, subject: subject)
        let track = TrackDescription(
            audio: .pcm, format: format, timeBase: timeBase, decoderConfiguration: SharedBytes([]),
            frameLength: frame.sampleCount)
        current = (track, resampler)
        return resampler
    }

    private static func interleaved(_ audio: AudioBuffer) -> SharedBytes {
        let channels = audio.channels.count
        return SharedBytes(count: audio.count * channels * 4) { bytes in
            for (channel, samples) in audio.channels.enumerated() {
                for (index, sample) in samples.enumerated() {
                    bytes.storeBytes(
                        of: sample.bitPattern.littleEndian, toByteOffset: (index * channels + channel) * 4,
                        as: UInt32.self)
                }
            }
        }
    }
}
