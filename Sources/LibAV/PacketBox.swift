// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// One compressed packet as a demuxer delivered it; the owner of an `AVPacket`.
///
/// The thread that read it may move its times before it hands it on; from then on it is only read.
package final class PacketBox: Sendable {
    // Written by the thread that read it alone, before another one holds the object; freed in `deinit`.
    nonisolated(unsafe) let packet: UnsafeMutablePointer<AVPacket>

    init(subject: String) throws(AVFailure) {
        packet = try AVFailure.unwrap(av_packet_alloc(), "allocate a packet for", subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&owned)
    }

    /// The stream that the packet belongs to, as ``StreamInfo/index``.
    package var streamIndex: Int { Int(packet.pointee.stream_index) }
    /// Bytes.
    package var size: Int { Int(packet.pointee.size) }
    /// Whether the container or the transport says that bytes are missing or wrong.
    package var isCorrupt: Bool { packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 }

    /// Where its bytes begin in the file; nil if the demuxer does not say.
    package var position: Int64? { packet.pointee.pos >= 0 ? packet.pointee.pos : nil }
    /// Whether what is decoded of it is not to be shown: an edit list begins behind it.
    package var isHidden: Bool { packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }
    /// Whether its bytes are encrypted.
    package var isEncrypted: Bool {
        var count: Int32 = 0
        return relay_packet_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, &count) != nil
    }

    /// Samples of audio at its beginning and at its end that a decoder leaves out: priming and padding.
    package var skippedSamples: (first: Int64, last: Int64) {
        var count: Int32 = 0
        guard let data = relay_packet_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &count), count >= 8 else {
            return (0, 0)
        }
        // Two numbers of 32 bits, the least significant byte first (libavcodec/packet.h).
        func number(_ place: Int) -> Int64 { (0..<4).reduce(0) { $0 | Int64(data[place + $1]) << (8 * $1) } }
        return (number(0), number(4))
    }

    /// Whether decoding can begin with it, as the container or the parser says.
    package var isKeyframe: Bool { packet.pointee.flags & AV_PKT_FLAG_KEY != 0 }

    /// Presentation time in ticks of the stream's time base, if it is known.
    package var pts: Int64? { packet.pointee.pts.asTimestamp }
    /// Decoding time in ticks of the stream's time base, if it is known.
    package var dts: Int64? { packet.pointee.dts.asTimestamp }

    /// A copy of the bytes.
    package var content: [UInt8] {
        guard let data = packet.pointee.data else { return [] }
        return Array(UnsafeBufferPointer(start: data, count: size))
    }

    /// How long it lasts in ticks of the stream's time base; 0 if that is not known.
    package var duration: Int64 { max(0, packet.pointee.duration) }

    /// The packet's times for somebody who calculates with them, in ticks of `base`, its stream's time base: a century at
    /// most, and a minute of duration. Nil without a decoding time that can be meant.
    func times(in base: TimeBase) -> (pts: Int64, dts: Int64, duration: Int64)? {
        guard let dts = base.believed(dts) else { return nil }
        return (max(base.believed(pts) ?? dts, dts), dts, min(duration, base.ticks(.seconds(60))))
    }

    /// Gives the packet other times, in ticks of the stream's time base; a presentation time that it does not have
    /// stays unknown.
    package func stamp(pts: Int64, dts: Int64) {
        if self.pts != nil { packet.pointee.pts = pts }
        packet.pointee.dts = dts
    }

    /// Moves both times by `ticks`.
    package func shift(by ticks: Int64) {
        if let pts { packet.pointee.pts = pts &+ ticks }
        if let dts { packet.pointee.dts = dts &+ ticks }
    }
}

extension Int64 {
    /// The value, or nil where libav means "no timestamp".
    var asTimestamp: Int64? { self == relay_av_nopts ? nil : self }
}

extension AVRational {
    /// The fraction as a time base, if it is positive and a tick lasts no more than an hour: no clock is so coarse,
    /// and a few ticks of it would already leave 64 bits of nanoseconds.
    var asTimeBase: TimeBase? { num > 0 && den > 0 && num / den < 3600 ? TimeBase(num, den) : nil }
    /// The fraction as a rate, if it is positive.
    var asFrameRate: FrameRate? { num > 0 && den > 0 ? FrameRate(num, den) : nil }
    /// The fraction as the shape of a pixel, if it is positive. Its parts fit 16 bits, as ITU-T H.264 table E-1 wants;
    /// a shape that cannot be said so is no shape.
    var asAspectRatio: SampleAspectRatio? {
        var (across, down) = (Int32(0), Int32(0))
        av_reduce(&across, &down, Int64(num), Int64(den), 65_535)
        return across > 0 && down > 0 ? SampleAspectRatio(across, down) : nil
    }
}
