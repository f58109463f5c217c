// SPDX-License-Identifier: Apache-2.0

/// One coded frame or one coded audio frame, immutable and shared by all outputs.
///
/// Payloads of H.264 and HEVC are NAL units with 4-byte big-endian lengths in front (ISO/IEC 14496-15, 5.3.3.1), those
/// of AV1 are temporal units without temporal delimiters, those of AAC raw access units without ADTS; all others are
/// what their codec calls a packet or frame.
///
/// A class: each of hundreds of queues holds one reference, and what they all look at is in the processor's cache.
package final class EncodedPacket: Sendable {
    /// How the packet and its like are coded. Another object than before says that the coding changed.
    package let description: TrackDescription
    /// The track. Here and not only in the description, because each of hundreds of queues looks at it.
    package let track: TrackKind
    /// Presentation time in ticks of ``timeBase`` since the start of the program. The first audio packet of an
    /// encoder that primes is negative.
    package let pts: Int64
    /// Decoding time in the same ticks; at most ``pts``.
    package let dts: Int64
    /// How long the packet lasts, in the same ticks.
    package let duration: Int64
    /// Whether decoding can start here: an IDR frame; true for every audio packet.
    package let isKeyframe: Bool
    /// Whether no other frame refers to this one (`nal_ref_idc == 0`, ITU-T H.264, 7.4.1).
    package let isDisposable: Bool
    /// The coded bytes.
    package let payload: SharedBytes
    /// The decoding time in nanoseconds, the common clock by which packets of both tracks are compared.
    package let dtsNanoseconds: Int64
    /// The presentation time in nanoseconds.
    package let ptsNanoseconds: Int64

    /// A packet of these properties.
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
        // Once here, and not once for each output: the division is one of 128 bits.
        let timeBase = description.timeBase
        dtsNanoseconds = timeBase.rescale(dts, to: .nanoseconds, rounding: .down)
        ptsNanoseconds = timeBase.rescale(pts, to: .nanoseconds, rounding: .down)
    }

    /// The same packet with other bytes.
    package func carrying(_ payload: SharedBytes) -> EncodedPacket {
        EncodedPacket(
            of: description, pts: pts, dts: dts, duration: duration, isKeyframe: isKeyframe,
            isDisposable: isDisposable, payload: payload)
    }

    /// The same packet, `ticks` of its time base later.
    package func moved(by ticks: Int64) -> EncodedPacket {
        EncodedPacket(
            of: description, pts: pts + ticks, dts: dts + ticks, duration: duration, isKeyframe: isKeyframe,
            isDisposable: isDisposable, payload: payload)
    }

    /// The track's time base.
    package var timeBase: TimeBase { description.timeBase }
}

// MARK: Words on a moment

extension EncodedPacket {
    /// One for all, so that a stream's second text is no other coding than its first.
    private static let texts = TrackDescription(data: .text, timeBase: .nanoseconds)

    /// Words on the moment `time`, in nanoseconds since the start of the program.
    package convenience init(text: String, at time: Int64) {
        self.init(
            of: Self.texts, pts: time, dts: time, duration: 0, isKeyframe: true, payload: SharedBytes(text.utf8))
    }

    /// The words, of a packet that holds any.
    package var text: String? {
        guard track == .data, description.codec == .text else { return nil }
        return payload.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
