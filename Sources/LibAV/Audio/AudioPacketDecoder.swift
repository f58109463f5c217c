// SPDX-License-Identifier: Apache-2.0

package import Media

/// Decodes the packets of one audio track into the program's format. Only one thread may use it at a time.
package final class AudioPacketDecoder {
    /// How the packets are coded.
    package let track: TrackDescription
    private let decoder: Decoder
    private let resampler: Resampler

    /// Creates a decoder of the packets of `track`.
    package init(_ track: TrackDescription, subject: String) throws(AVFailure) {
        self.track = track
        decoder = try Decoder(track, subject: subject)
        resampler = Resampler(target: .program, subject: subject)
    }

    /// Decodes a packet, and returns its audio, which continues the audio of the packets before. If this method throws,
    /// the packet is lost.
    package func decode(_ packet: EncodedPacket) throws(AVFailure) -> [AudioBuffer] {
        try decoder.send(coded: packet)
        var audio: [AudioBuffer] = []
        while case .frame(let frame) = try decoder.receive() { audio.append(try resampler.convert(frame)) }
        return audio
    }
}
