// SPDX-License-Identifier: Apache-2.0

/// One coded video frame, audio frame or piece of timed data, immutable and shared by all outputs.
///
/// Payloads by codec: H.264 and HEVC have NAL units, each with a 4-byte big-endian length in front (ISO/IEC 14496-15,
/// 5.3.3.1); AV1 has temporal units without temporal delimiters; AAC has raw access units without ADTS; all other
/// codecs have what their specification calls a packet or frame.
///
/// The type is a class, so that each of hundreds of queues holds one reference to a packet, and all read the same
/// cached memory.
///
/// ```swift
/// let packet = EncodedPacket(
///     of: description, pts: 0, dts: 0, duration: 1, isKeyframe: true, payload: SharedBytes(bytes))
/// sink.publish(packet)
/// ```
package final class EncodedPacket: Sendable {
    /// How the track's packets are coded. If a packet refers to a different object than the packet before it, the
    /// coding has changed.
    package let description: TrackDescription
    /// The kind of track to which the packet belongs. It is also in ``description``, but hundreds of queues read it, so
    /// it is kept here, too.
    package let track: TrackKind
    /// Presentation time in ticks of ``timeBase`` since the start of the program. It is negative for the first audio
    /// packet of an encoder with priming samples.
    package let pts: Int64
    /// Decoding time in ticks of ``timeBase``; not later than ``pts``.
    package let dts: Int64
    /// Duration of the packet, in ticks of ``timeBase``.
    package let duration: Int64
    /// Whether a decoder can start with this packet. True for a keyframe, such as an IDR frame, for every audio packet,
    /// and for all timed data.
    package let isKeyframe: Bool
    /// Whether no other frame refers to this one: `nal_ref_idc` is 0 (ITU-T H.264, 7.4.1), or a publisher over RTMP
    /// says so. False if it is not known.
    package let isDisposable: Bool
    /// The coded bytes.
    package let payload: SharedBytes
    /// The decoding time in nanoseconds, for comparisons between tracks with different time bases.
    package let dtsNanoseconds: Int64
    /// The presentation time in nanoseconds.
    package let ptsNanoseconds: Int64

    package init(
        of description: TrackDescription, pts: Int64, dts: Int64, duration: Int64, isKeyframe: Bool,
        isDisposable: Bool = false, payload: SharedBytes
    ) {
        self.description = description
        track = description.kind
        self.pts = pts
        self.dts = dts
        self.duration = duration
        self.isKeyframe = isKeyframe
        self.isDisposable = isDisposable
        self.payload = payload
        // Each conversion is a 128-bit division. It is computed once here, so that the outputs need not compute it.
        let timeBase = description.timeBase
        dtsNanoseconds = timeBase.rescale(dts, to: .nanoseconds, rounding: .down)
        ptsNanoseconds = timeBase.rescale(pts, to: .nanoseconds, rounding: .down)
    }

    /// A copy of this packet with `payload` as its bytes.
    package func carrying(_ payload: SharedBytes) -> EncodedPacket {
        EncodedPacket(
            of: description, pts: pts, dts: dts, duration: duration, isKeyframe: isKeyframe,
            isDisposable: isDisposable, payload: payload)
    }

    /// A copy of this packet with its times moved later by `ticks` of its time base.
    package func moved(by ticks: Int64) -> EncodedPacket {
        EncodedPacket(
            of: description, pts: pts + ticks, dts: dts + ticks, duration: duration, isKeyframe: isKeyframe,
            isDisposable: isDisposable, payload: payload)
    }

    /// The track's time base.
    package var timeBase: TimeBase { description.timeBase }

    /// The presentation time, if this is a packet of a program.
    package var programPts: ProgramInstant { ProgramInstant(nanoseconds: ptsNanoseconds) }

    /// The decoding time, if this is a packet of a program.
    package var programDts: ProgramInstant { ProgramInstant(nanoseconds: dtsNanoseconds) }
}

// MARK: Text packets

extension EncodedPacket {
    /// All text packets share one description, so that a new text does not look like a change of coding.
    private static let texts = TrackDescription(data: .text, timeBase: .nanoseconds)

    /// A packet with `text` at `time` of the program.
    package convenience init(text: String, at time: ProgramInstant) {
        let ticks = time.nanoseconds
        self.init(
            of: Self.texts, pts: ticks, dts: ticks, duration: 0, isKeyframe: true, payload: SharedBytes(text.utf8))
    }

    /// The text, if the packet has one.
    package var text: String? {
        guard track == .data, description.codec == .text else { return nil }
        return payload.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
