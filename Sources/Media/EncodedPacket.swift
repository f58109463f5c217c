// SPDX-License-Identifier: Apache-2.0

/// Which of a program's tracks something belongs to.
public enum TrackKind: String, Sendable, Codable, CaseIterable {
    /// The video.
    case video
    /// The audio.
    case audio
}

/// One coded frame or one coded audio frame, immutable and shared by all outputs.
///
/// Video payloads are H.264 NAL units with 4-byte big-endian lengths in front (ISO/IEC 14496-15, 5.3.3.1), without
/// parameter sets; audio payloads are raw AAC access units without ADTS.
///
/// A class: each of hundreds of queues holds one reference, and what they all look at is in the processor's cache.
public final class EncodedPacket: Sendable {
    /// The track.
    public let track: TrackKind
    /// Presentation time in ticks of ``timeBase`` since the start of the program. The first audio packet of an
    /// encoder that primes is negative.
    public let pts: Int64
    /// Decoding time in the same ticks; at most ``pts``.
    public let dts: Int64
    /// How long the packet lasts, in the same ticks.
    public let duration: Int64
    /// The track's time base.
    public let timeBase: TimeBase
    /// Whether decoding can start here: an IDR frame; true for every audio packet.
    public let isKeyframe: Bool
    /// Whether no other frame refers to this one (`nal_ref_idc == 0`, ITU-T H.264, 7.4.1).
    public let isDisposable: Bool
    /// The coded bytes.
    public let payload: SharedBytes
    /// The decoding time in nanoseconds, the common clock by which packets of both tracks are compared.
    public let dtsNanoseconds: Int64
    /// The presentation time in nanoseconds.
    public let ptsNanoseconds: Int64

    /// A packet of these properties.
    public init(
        track: TrackKind, pts: Int64, dts: Int64, duration: Int64, timeBase: TimeBase, isKeyframe: Bool,
        isDisposable: Bool = false, payload: SharedBytes
    ) {
        self.track = track
        self.pts = pts
        self.dts = dts
        self.duration = duration
        self.timeBase = timeBase
        self.isKeyframe = isKeyframe
        self.isDisposable = isDisposable
        self.payload = payload
        // Once here, and not once for each output: the division is one of 128 bits.
        dtsNanoseconds = timeBase.rescale(dts, to: .nanoseconds, rounding: .down)
        ptsNanoseconds = timeBase.rescale(pts, to: .nanoseconds, rounding: .down)
    }
}
