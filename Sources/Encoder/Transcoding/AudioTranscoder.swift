// SPDX-License-Identifier: Apache-2.0

package import LibAV
package import Media

/// Decodes audio packets and encodes them as AAC-LC, with the sender's times. Only one thread at a time may use it.
///
/// The audio is never stretched to follow a clock; instead, the packets' times follow the sender's timestamps. Gaps are
/// filled with silence, and overlaps are removed.
package final class AudioTranscoder: TrackTranscoder {
    /// The maximum difference, in samples, between a timestamp and the end of the samples so far that does not count as
    /// a gap or an overlap: 10 ms, which is shorter than a frame of the usual codecs.
    private static let tolerance = AudioFormat.program.timeBase.ticks(.milliseconds(10))
    /// The maximum by which one decoded frame moves the packets' times towards the timestamps, in samples: about 2000
    /// ppm for frames of 1024 samples.
    private static let step: Int64 = 2
    /// The longest gap that is filled with silence, in samples. After a longer gap, a new encoder begins at the new
    /// time.
    private static let longestHole = AudioFormat.program.timeBase.ticks(.seconds(10))

    package let description: TrackDescription
    private let bitrate: Int
    private let subject: String
    private let resampler: Resampler
    private var encoder: AACEncoder
    private var decoder: (track: TrackDescription, decoder: Decoder)?
    /// `origin` is the position of the encoder's first sample on the sender's timeline, in samples; nil before that
    /// sample. `fed` is the number of samples that the encoder has received.
    private var origin: Int64?
    private var fed: Int64 = 0
    private var decodingErrors = 0
    /// Number of frames that earlier encoders refused.
    private var refusedBefore: Int64 = 0
    package var errors: Int { decodingErrors + Int(refusedBefore + encoder.refused.frames) }

    /// Creates a transcoder that encodes at `bitrate` bits per second. `subject` is the input's name in error messages.
    package init(bitrate: Int, subject: String) throws(AVFailure) {
        (self.bitrate, self.subject) = (bitrate, subject)
        resampler = Resampler(target: .program, subject: subject)
        encoder = try AACEncoder(format: .program, bitrate: bitrate)
        description = encoder.description
    }

    package func take(_ packet: EncodedPacket) throws -> [EncodedPacket] {
        var coded: [EncodedPacket] = []
        do {
            if decoder?.track !== packet.description {
                coded += try drain()
                decoder = (packet.description, try Decoder(packet.description, subject: subject))
            }
            try decoder?.decoder.send(coded: packet)
            coded += try decode()
        } catch let failure as AVFailure {
            // The packet that failed is lost; silence replaces it.
            if failure.isMissingLibrary { throw failure }
            decodingErrors += 1
        }
        return coded
    }

    package func finish() throws -> [EncodedPacket] {
        let rest = try drain()
        return rest + renamed(try encoder.finish())
    }

    private func drain() throws -> [EncodedPacket] {
        guard let last = decoder else { return [] }
        try last.decoder.send(nil)
        var coded = try decode()
        coded += try feed(resampler.flush())
        decoder = nil
        return coded
    }

    private func decode() throws -> [EncodedPacket] {
        var coded: [EncodedPacket] = []
        while let (track, decoder) = decoder, case .frame(let frame) = try decoder.receive() {
            let stated = frame.pts.map { track.timeBase.rescale($0, to: AudioFormat.program.timeBase) }
            if frame.isDamaged { decodingErrors += 1 }
            coded += try place(stated)
            coded += try feed(resampler.convert(frame))
        }
        return coded
    }

    /// Compares `stated`, the position that the timestamp of the next samples gives, with the end of the samples so
    /// far. Corrects a small difference, and handles a gap or an overlap. Without a timestamp, does nothing.
    private func place(_ stated: Int64?) throws -> [EncodedPacket] {
        guard let stated else { return [] }
        guard let origin else {
            self.origin = stated
            resampler.start(at: stated)
            return []
        }
        let end = origin + fed + resampler.pending
        let off = stated - end
        if abs(off) <= Self.tolerance {
            self.origin = origin + min(max(off, -Self.step), Self.step)
            return []
        }
        var coded = try feed(resampler.flush())
        // In an overlap, the repeated samples are left out; see `feed`.
        resampler.start(at: stated)
        if off > Self.longestHole {
            coded += renamed(try encoder.finish())
            refusedBefore += encoder.refused.frames
            encoder = try AACEncoder(format: .program, bitrate: bitrate)
            (self.origin, fed) = (stated, 0)
        } else if off > 0 {
            coded += try feed(.silence(at: end, count: Int(off), format: .program))
        } else {
            skipped = -off
        }
        return coded
    }

    /// How many of the next samples repeat earlier samples and are left out.
    private var skipped: Int64 = 0

    private func feed(_ audio: AudioBuffer) throws -> [EncodedPacket] {
        let cut = min(skipped, Int64(audio.count))
        skipped -= cut
        let new = cut > 0 ? audio.slice(audio.position + cut..<audio.end) : audio
        guard new.count > 0 else { return [] }
        fed += Int64(new.count)
        return renamed(try encoder.encode(new))
    }

    /// Converts the times of the encoder's packets, which are counted from the encoder's first sample, to the sender's
    /// timeline.
    private func renamed(_ packets: [EncodedPacket]) -> [EncodedPacket] {
        packets.map { packet in
            let time = packet.pts + (origin ?? 0)
            return EncodedPacket(
                of: description, pts: time, dts: time, duration: packet.duration, isKeyframe: true,
                payload: packet.payload)
        }
    }
}
