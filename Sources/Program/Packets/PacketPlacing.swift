// SPDX-License-Identifier: Apache-2.0

package import Media

/// Converts the times of a live source's packets to program times. A packet gets the time at which its decoded frame is
/// shown, or at which its decoded audio is heard.
///
/// The intervals between the sender's timestamps are kept as long as the sender's clock and the program's clock differ
/// by at most 5 ms. If they differ more, packets are moved towards the program's clock until the difference is 5 ms. A
/// sudden step to later times leaves a gap. After a step to earlier times, the packets catch up by a twentieth of the
/// elapsed time, and no packet is dropped.
///
/// This type reads no clock and does no I/O.
package struct PacketPlacing {
    /// What is remembered of one track.
    private struct Track {
        /// Program time minus source time of the previous packet; nil before the first packet, and if the next packet
        /// comes from another source.
        var offset: Duration?
        var given: TrackDescription?
        var known: TrackDescription?
        /// The decoding time of the previous packet: `own` on the source's timeline, and `dts` in the program.
        var last: (own: Timestamp, dts: ProgramInstant)?
        /// The end of the previous audio packet in program time, in samples.
        var end: Int64?
        var length: Int64 = 0
    }

    /// `band` is the permitted difference between the two clocks. If a step to later times exceeds `leap`, packets
    /// follow the program's clock at once.
    private static let (band, leap) = (Duration.milliseconds(5), Duration.milliseconds(100))
    /// If a packet's source time is later than the previous packet's by more than this, the packet comes from another
    /// sender.
    private static let jump = Duration.seconds(5)
    /// The maximum duration of a frame if the sender states no durations.
    private static let longestFrame = Duration.seconds(1)
    /// Packets are moved to earlier times by at most the time since the previous packet, divided by this number.
    private static let slew: Int64 = 20

    private var tracks: [TrackKind: Track] = [:]

    /// Creates a conversion for a source that has sent nothing yet.
    package init() {}

    /// Prepares for the packets of another source, which will continue the same tracks.
    package mutating func restart() {
        for track in tracks.keys { tracks[track]?.offset = nil }
    }

    /// Returns `packet` with program times. `target` is program time minus source time at present.
    package mutating func place(_ packet: EncodedPacket, target: Duration) -> EncodedPacket {
        var track = tracks[packet.track] ?? Track()
        let offset = Self.follow(target, packet, track)
        let description = Self.known(packet.description, &track)
        let base = description.timeBase
        var dts = TimeBase.nanoseconds.rescale(packet.sourceDts.inProgram(offset).nanoseconds, to: base)
        var length = packet.timeBase.rescale(packet.duration, to: base)
        if packet.track == .audio {
            // The codec determines the duration of an audio packet. If the packet's time differs from the end of the
            // previous packet only by rounding, the packet begins exactly at that end.
            if description.frameLength > 0 { length = Int64(description.frameLength) }
            let rounding = packet.timeBase.rescale(1, to: base, rounding: .up) + 1
            if let end = track.end, abs(end - dts) <= rounding { dts = end }
            track.end = dts + length
        } else if length <= 0 {
            length = track.length
        }
        if let last = track.last {
            let before = TimeBase.nanoseconds.rescale(last.dts.nanoseconds, to: base)
            let distance = dts - before
            // The distance between two frames is stored as the duration of frames that come without one, unless the
            // distance is a pause.
            if packet.track == .video, distance > 0, base.duration(distance) <= Self.longestFrame {
                track.length = distance
            }
            dts = max(dts, before + 1)
        }
        let delay = packet.timeBase.rescale(packet.pts - packet.dts, to: base)
        track.offset = offset
        track.last = (packet.sourceDts, ProgramInstant(dts, in: base))
        tracks[packet.track] = track
        return EncodedPacket(
            of: description, pts: dts + max(0, delay), dts: dts, duration: length, isKeyframe: packet.isKeyframe,
            isDisposable: packet.isDisposable, payload: packet.payload)
    }

    private static func follow(_ target: Duration, _ packet: EncodedPacket, _ track: Track) -> Duration {
        let own = packet.sourceDts
        guard let last = track.last else { return target }
        let passed = own - last.own
        let isLater = own.inProgram(target) > last.dts
        let touching = Duration.nanoseconds(last.dts.nanoseconds - own.nanoseconds)
        guard let offset = track.offset else { return isLater ? target : touching }
        // The timestamps of another sender have no relation to those of the previous packet. The other sender's packet
        // gets the program time that `target` gives or, if that is not later than the previous packet's decoding time,
        // this decoding time.
        if passed < .zero || passed > jump { return isLater ? target : touching }
        if (offset + leap < target || target + leap < offset), isLater { return target }
        return max(min(max(offset, target - band), target + band), offset - .nanoseconds(passed.inNanoseconds / slew))
    }

    /// Returns a description like `given`, but with a time base that is fine enough. If the track's previous
    /// description is equivalent, that object is returned, so that consumers see no change of the track.
    private static func known(_ given: TrackDescription, _ track: inout Track) -> TrackDescription {
        if let known = track.known, track.given === given { return known }
        let timed = finelyTimed(given)
        let known = track.known.flatMap { timed.isCodedAs($0) ? $0 : nil } ?? timed
        (track.given, track.known) = (given, known)
        return known
    }

    private static func finelyTimed(_ track: TrackDescription) -> TrackDescription {
        track.timed(in: track.audioFormat?.timeBase ?? .mpegTS)
    }
}

extension TrackDescription {
    /// Whether packets with the description `other` can follow packets with this description in one file.
    fileprivate func isCodedAs(_ other: TrackDescription) -> Bool {
        codec == other.codec && format == other.format && timeBase == other.timeBase
            && decoderConfiguration.array == other.decoderConfiguration.array && displayMatrix == other.displayMatrix
    }
}

extension EncodedPacket {
    /// The decoding time, if this is a packet of a source.
    var sourceDts: Timestamp { Timestamp(nanoseconds: dtsNanoseconds) }
}

extension Timestamp {
    /// The moment of the program, if program time minus source time is `offset`.
    func inProgram(_ offset: Duration) -> ProgramInstant { ProgramInstant(nanoseconds: nanoseconds) + offset }
}
