// SPDX-License-Identifier: Apache-2.0

package import LibAV
package import Media

/// Decodes packets of audio and codes them as AAC-LC, at the sender's times. Used by one thread at a time.
///
/// No sample is stretched to follow a clock: the packets' times follow the sender's stamps instead. A hole is filled
/// with silence, and what overlaps is cut.
package final class AudioTranscoder: TrackTranscoder {
    /// How far stamps may differ from the samples without making a hole or an overlap: less than a frame of any codec.
    private static let tolerance = AudioFormat.program.timeBase.ticks(.milliseconds(10))
    /// By how many samples a packet's time follows the stamps at most: 2000 ppm.
    private static let step: Int64 = 2
    /// The longest hole that is filled with silence.
    private static let longestHole = AudioFormat.program.timeBase.ticks(.seconds(10))

    package let description: TrackDescription
    private let bitrate: Int
    private let subject: String
    private let resampler: Resampler
    private var encoder: AACEncoder
    private var decoder: (track: TrackDescription, decoder: Decoder)?
    /// Where the encoder's first sample is in the program, and how many went in; nil before the first.
    private var origin: Int64?
    private var fed: Int64 = 0
    private var decodingErrors = 0
    /// How many frames earlier encoders refused.
    private var refusedBefore: Int64 = 0
    package var errors: Int { decodingErrors + Int(refusedBefore + encoder.refused.frames) }

    /// A transcoder to `bitrate` bits a second. `subject` is how errors name the input.
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
            // It costs this packet; silence takes its place.
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

    /// Where the run that follows belongs, against where what was fed so far ends.
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
        // What comes again is left out until it is new; see `feed`.
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

    /// How much of what follows was heard before.
    private var skipped: Int64 = 0

    private func feed(_ audio: AudioBuffer) throws -> [EncodedPacket] {
        let cut = min(skipped, Int64(audio.count))
        skipped -= cut
        let new = cut > 0 ? audio.slice(audio.position + cut..<audio.end) : audio
        guard new.count > 0 else { return [] }
        fed += Int64(new.count)
        return renamed(try encoder.encode(new))
    }

    /// The encoder's packets, which count from its first sample.
    private func renamed(_ packets: [EncodedPacket]) -> [EncodedPacket] {
        packets.map { packet in
            let time = packet.pts + (origin ?? 0)
            return EncodedPacket(
                of: description, pts: time, dts: time, duration: packet.duration, isKeyframe: true,
                payload: packet.payload)
        }
    }
}
