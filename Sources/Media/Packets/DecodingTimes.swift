// SPDX-License-Identifier: Apache-2.0

/// Gives the packets of one track decoding times that are not later than their presentation times. The presentation
/// times stay the sender's. All times are ticks of the track's time base.
///
/// Some encoders write the frame's number as its decoding time, so that frames are shown before they are decoded: their
/// composition time is negative. MPEG-TS and libav refuse negative composition times. Therefore the decoding times are
/// made earlier. Other senders, and demuxers at the start of a stream, give no decoding times; these are estimated.
package struct DecodingTimes: Sendable, Hashable {
    /// The maximum of ``lead``; a longer negative composition time is a fault of the sender.
    private static let longestLead = Duration.milliseconds(800)
    /// The maximum by which ``lead`` grows at one packet, so that the growth does not look like a jump of the sender's
    /// times.
    private static let longestGrowth = Duration.milliseconds(200)

    private let timeBase: TimeBase
    private let longest: Int64
    private let growth: Int64
    /// By how much the decoding times of the packets are earlier than the sender's.
    private var lead: Int64 = 0
    /// The end of the previous packet, in the sender's decoding times; nil before the first packet.
    private var end: Int64?

    /// Creates the decoding times of a track in `timeBase`.
    package init(in timeBase: TimeBase) {
        self.timeBase = timeBase
        (longest, growth) = (timeBase.ticks(Self.longestLead), timeBase.ticks(Self.longestGrowth))
    }

    /// Prepares for a sender of negative composition times: makes the decoding times early enough from the start, so
    /// that they need not go back at the first negative composition time. Such a sender is recognized by its keyframe:
    /// the keyframe is not shown later than it is decoded, although the parameter sets say that frames are reordered.
    /// The keyframe has the composition time `offset`. `depth`, from the parameter sets, is the number of frames that
    /// are decoded before a frame that is shown earlier.
    package mutating func prepare(for depth: Int64, at rate: FrameRate, offset: Int64) {
        guard offset <= 0, depth > 0 else { return }
        let needed = rate.timeBase.rescale(depth, to: timeBase, rounding: .up)
        lead = max(lead, min(needed, longest))
    }

    /// Returns the times of a packet with the sender's decoding time `dts` and the composition time `offset`.
    package mutating func place(_ dts: Int64, offset: Int64) -> (pts: Int64, dts: Int64) {
        let shift = max(offset, -min(longest, lead + growth))
        lead = max(lead, -shift)
        return (dts &+ shift, dts &- lead)
    }

    /// Returns the times of a packet of which the sender may have omitted a time; nil if neither is known. `duration`
    /// is the packet's duration. `delay` is the time by which the decoder delays frames in order to reorder them: the
    /// first packet is decoded that much earlier than it is shown, if it has no decoding time.
    package mutating func place(
        pts: Int64?, dts: Int64?, duration: Int64, delay: Int64
    ) -> (pts: Int64, dts: Int64)? {
        let first = pts.map { $0 &- delay }
        guard let time = dts ?? Self.missing(pts: pts, end: end ?? first, in: timeBase) else { return nil }
        end = time &+ duration
        return place(time, offset: (pts ?? time) &- time)
    }

    /// Returns the decoding time of a packet that has none, in ticks of `base`: the end of the previous packet. If the
    /// presentation time differs from that end by a second or more, the sender has restarted; the result is then the
    /// presentation time. If only one of the two times is known, it is the result; nil if none is known.
    package static func missing(pts: Int64?, end: Int64?, in base: TimeBase) -> Int64? {
        guard let pts, let end else { return end ?? pts }
        return base.duration(pts &- end).inNanoseconds.magnitude < 1_000_000_000 ? end : pts
    }
}
