// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// One compressed packet from a demuxer; owns an `AVPacket`.
///
/// The thread that reads the packet may change its times, until it passes the packet on. From then on the packet is
/// read-only.
package final class PacketBox: Sendable {
    // Only the reading thread writes to the packet, before another thread holds the object. `deinit` frees the packet.
    nonisolated(unsafe) let packet: UnsafeMutablePointer<AVPacket>

    init(subject: String) throws(AVFailure) {
        packet = try AVFailure.unwrap(av_packet_alloc(), "allocate a packet for", subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&owned)
    }

    /// The index of the packet's stream: ``StreamInfo/index``.
    package var streamIndex: Int { Int(packet.pointee.stream_index) }
    /// Size of the packet in bytes.
    package var size: Int { Int(packet.pointee.size) }
    /// Whether the container or the transport reports that bytes of the packet are missing or wrong.
    package var isCorrupt: Bool { packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 }

    /// Offset of the packet's first byte in the file; nil if the demuxer does not report it.
    package var position: Int64? { packet.pointee.pos >= 0 ? packet.pointee.pos : nil }
    /// Whether the packet's frame must be decoded but not shown, because the edit list begins to show frames only after
    /// it.
    package var isHidden: Bool { packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }
    /// Whether the packet's bytes are encrypted.
    package var isEncrypted: Bool {
        var count: Int32 = 0
        return relay_packet_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, &count) != nil
    }

    /// The number of audio samples that a decoder drops at the packet's beginning (priming) and at its end (padding).
    package var skippedSamples: (first: Int64, last: Int64) {
        var count: Int32 = 0
        guard let data = relay_packet_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, &count), count >= 8 else {
            return (0, 0)
        }
        // The side data begins with two 32-bit numbers, with the least significant byte first (libavcodec/packet.h).
        func number(_ place: Int) -> Int64 { (0..<4).reduce(0) { $0 | Int64(data[place + $1]) << (8 * $1) } }
        return (number(0), number(4))
    }

    /// Whether the container or the parser marks the packet as a point where decoding can start.
    package var isKeyframe: Bool { packet.pointee.flags & AV_PKT_FLAG_KEY != 0 }

    /// Presentation time in ticks of the stream's time base, if it is known.
    package var pts: Int64? { packet.pointee.pts.asTimestamp }
    /// Decoding time in ticks of the stream's time base, if it is known.
    package var dts: Int64? { packet.pointee.dts.asTimestamp }

    /// A copy of the packet's bytes.
    package var content: [UInt8] {
        guard let data = packet.pointee.data else { return [] }
        return Array(UnsafeBufferPointer(start: data, count: size))
    }

    /// Duration in ticks of the stream's time base; 0 if unknown.
    package var duration: Int64 { max(0, packet.pointee.duration) }

    /// The times of a packet for outputs, in ticks of its stream's time base.
    typealias Times = (pts: Int64, dts: Int64, duration: Int64)

    /// The packet's times in ticks of `base`, which is its stream's time base, as `decoding` places them. Arithmetic
    /// with them cannot overflow: times are at most a century, and the duration is at most a minute. `delay` is the
    /// number of frames that the stream's decoder holds for reordering, and `frame` the usual duration of a frame; 0 if
    /// unknown. Nil if the packet's times are missing or not within a century.
    func times(in base: TimeBase, _ decoding: inout DecodingTimes, delay: Int64 = 0, frame: Int64 = 0) -> Times? {
        let (shown, decoded) = (base.believed(pts), base.believed(dts))
        guard decoded != nil || dts == nil else { return nil }
        let duration = min(self.duration, base.ticks(.seconds(60)))
        let step = duration > 0 ? duration : frame
        return decoding.place(pts: shown, dts: decoded, duration: step, delay: delay &* step).map {
            (pts: $0.pts, dts: $0.dts, duration: duration)
        }
    }

    /// Assigns the packet to the stream `index`, which has the same time base.
    func move(to index: Int) { packet.pointee.stream_index = Int32(clamping: index) }

    /// Sets the packet's times, in ticks of the stream's time base; an unknown presentation time stays unknown.
    package func stamp(pts: Int64, dts: Int64) {
        if self.pts != nil { packet.pointee.pts = pts }
        packet.pointee.dts = dts
    }

    /// Moves the presentation time and the decoding time by `ticks`.
    package func shift(by ticks: Int64) {
        if let pts { packet.pointee.pts = pts &+ ticks }
        if let dts { packet.pointee.dts = dts &+ ticks }
    }
}

extension PacketBox {
    /// Creates a copy of `source` for a decoder, with the times `pts` and `dts`, in ticks of the packet's time base.
    package convenience init(_ source: EncodedPacket, pts: Int64, dts: Int64, subject: String) throws(AVFailure) {
        try self.init(subject: subject)
        let count = source.payload.count
        try AVFailure.check(av_new_packet(packet, Int32(clamping: count)), "copy a packet of", subject)
        source.payload.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: count).copyMemory(from: bytes)
        }
        packet.pointee.stream_index = source.track == .video ? 0 : 1
        packet.pointee.pts = pts
        packet.pointee.dts = dts
        packet.pointee.duration = source.duration
        packet.pointee.flags = source.isKeyframe ? AV_PKT_FLAG_KEY : 0
    }
}

extension Int64 {
    /// The value; nil if it is libav's value for "no timestamp".
    var asTimestamp: Int64? { self == relay_av_nopts ? nil : self }
}

extension AVRational {
    /// The fraction as a time base, if it is positive and a tick is shorter than an hour. No real clock is coarser, and
    /// a few longer ticks could overflow 64-bit nanoseconds.
    var asTimeBase: TimeBase? { num > 0 && den > 0 && num / den < 3600 ? TimeBase(num, den) : nil }
    /// The fraction as a rate, if it is positive.
    var asFrameRate: FrameRate? { num > 0 && den > 0 ? FrameRate(num, den) : nil }
    /// The fraction as a pixel aspect ratio, rounded if necessary so that both parts fit 16 bits, as ITU-T H.264 table
    /// E-1 requires; nil if the fraction is not positive.
    var asAspectRatio: SampleAspectRatio? {
        var (across, down) = (Int32(0), Int32(0))
        av_reduce(&across, &down, Int64(num), Int64(den), 65_535)
        return across > 0 && down > 0 ? SampleAspectRatio(across, down) : nil
    }
}
