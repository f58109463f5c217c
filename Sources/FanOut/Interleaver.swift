// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
public import Media

/// Puts the packets of both tracks into one order by decoding time, so that every output can rely on it.
///
/// A packet is released when the other track has come as far, or has ended. Of two packets with the same time the
/// frame goes first.
public struct Interleaver {
    private var video = Deque<EncodedPacket>()
    private var audio = Deque<EncodedPacket>()
    private var hasVideoEnded = false
    private var hasAudioEnded = false

    /// An interleaver that waits for both tracks.
    public init() {}

    /// Takes one packet in and returns what can go out, in order.
    public mutating func push(_ packet: EncodedPacket) -> [EncodedPacket] {
        switch packet.track {
        case .video: video.append(packet)
        case .audio: audio.append(packet)
        }
        return release()
    }

    /// Says that `track` is over and returns what can go out because of it.
    public mutating func end(_ track: TrackKind) -> [EncodedPacket] {
        switch track {
        case .video: hasVideoEnded = true
        case .audio: hasAudioEnded = true
        }
        return release()
    }

    private mutating func release() -> [EncodedPacket] {
        var released: [EncodedPacket] = []
        while let next = nextTrack() {
            switch next {
            case .video: if let packet = video.popFirst() { released.append(packet) }
            case .audio: if let packet = audio.popFirst() { released.append(packet) }
            }
        }
        return released
    }

    private func nextTrack() -> TrackKind? {
        switch (video.first, audio.first) {
        case (let frame?, let sample?):
            frame.dtsNanoseconds <= sample.dtsNanoseconds ? .video : .audio
        case (.some, nil): hasAudioEnded ? .video : nil
        case (nil, .some): hasVideoEnded ? .audio : nil
        case (nil, nil): nil
        }
    }
}
