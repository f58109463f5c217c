// SPDX-License-Identifier: Apache-2.0

package import Media

/// Gives the packets of one input the program's times: 0 is where the first keyframe is shown, or the first audio of an
/// input without video is heard.
///
/// The relation of audio to video and each interval are the sender's; wraps are undone, jumps are closed, and after
/// ``restart()`` time goes on from where it was. No packet is held but audio in front of the first keyframe. Video begins
/// with a keyframe, and again after a restart. A track that is coded as before refers to the description from before.
/// A value without a clock or I/O of its own.
package struct PacketTimeline: Sendable {
    /// What was left out, and what happened.
    package struct Counts: Sendable, Hashable, Codable {
        /// Frames in front of a keyframe, which nobody could decode.
        package var undecodableFrames = 0
        /// Packets whose stamps cannot be meant.
        package var unplaced = 0
    }

    /// A packet with its place on the source's timeline, in nanoseconds.
    private struct Placed {
        let packet: EncodedPacket
        let decode: Int64
        let time: Int64
    }

    /// Packets of audio that wait for the first keyframe: some 20 s.
    private static let longestPreRoll = 1000

    /// What was left out so far.
    package private(set) var counts = Counts()
    private var clock: SourceClock
    private let bits: Int?
    private let leading: TrackKind
    /// How much later than the sender has it audio is, in nanoseconds.
    private let audioOffset: Int64
    private var timeBases: [TrackKind: TimeBase] = [:]
    private var tracks: [TrackKind: (given: TrackDescription, known: TrackDescription)] = [:]
    /// Where the program's time is 0.
    private var zero: Int64?
    private var preRoll: [Placed] = []
    private var awaitsKeyframe = true
    /// Where the keyframe is shown at which video began last: what is shown earlier refers to what is missing.
    private var begin = Int64.min

    /// Where the first frame is decoded: audio that ends before it belongs to nothing.
    private var firstDecode = Int64.min

    /// A timeline for the source of this description, whose audio becomes `audioOffset` later than it is. Audio without
    /// video stays as it is.
    package init(_ source: PacketSourceDescription, audioOffset: Duration = .zero) {
        self.audioOffset = source.stream.leadingKind == .audio ? 0 : audioOffset.inNanoseconds
        clock = SourceClock(source.clock, tracks: [:])
        bits = source.stampBits
        leading = source.stream.leadingKind
    }

    /// Numbers of the source's clock.
    package var clockStatus: SourceClockStatus { clock.status }

    /// The sender begins anew.
    package mutating func restart() {
        clock.restart()
        awaitsKeyframe = true
    }

    /// Takes the next packet that was read, and returns what goes on air because of it, in order.
    package mutating func take(_ packet: EncodedPacket, at arrival: Timestamp) -> [EncodedPacket] {
        // Timed data has no place in the source's clock yet.
        guard packet.track != .data else { return [] }
        if timeBases[packet.track] != packet.timeBase {
            timeBases[packet.track] = packet.timeBase
            clock.declare(packet.track, packet.timeBase, bits: bits)
        }
        let stamp = SourceClock.Stamp(packet.track, dts: packet.dts, pts: packet.pts, duration: packet.duration)
        guard let noted = clock.note(stamp, arrival: arrival) else {
            counts.unplaced += 1
            return []
        }
        let shift = packet.track == .audio ? audioOffset : 0
        let placed = Placed(
            packet: packet, decode: noted.decodeTime.nanoseconds &+ shift, time: noted.time.nanoseconds &+ shift)
        if packet.track == .video, !admits(placed) {
            counts.undecodableFrames += 1
            return []
        }
        guard let zero else { return start(with: placed) }
        if packet.track == .audio, audioOffset < 0, !reachesProgram(placed) { return [] }
        return [renamed(placed, from: zero)]
    }

    /// Whether a frame can be decoded behind those that went on air.
    private mutating func admits(_ frame: Placed) -> Bool {
        if awaitsKeyframe {
            guard frame.packet.isKeyframe else { return false }
            awaitsKeyframe = false
            begin = frame.time
        }
        return frame.time >= begin
    }

    private mutating func start(with placed: Placed) -> [EncodedPacket] {
        guard placed.packet.track == leading else {
            if preRoll.count == Self.longestPreRoll { preRoll.removeFirst() }
            preRoll.append(placed)
            return []
        }
        zero = placed.time
        firstDecode = placed.decode
        // Of audio, what is heard while the first frames are decoded and shown.
        let audio = preRoll.filter(reachesProgram)
        preRoll = []
        return (audio + [placed]).map { renamed($0, from: placed.time) }
    }

    private func reachesProgram(_ audio: Placed) -> Bool {
        audio.time + audio.packet.timeBase.rescale(audio.packet.duration, to: .nanoseconds) >= firstDecode
    }

    private mutating func renamed(_ placed: Placed, from zero: Int64) -> EncodedPacket {
        let packet = placed.packet
        let base = packet.timeBase
        let dts = TimeBase.nanoseconds.rescale(placed.decode - zero, to: base)
        return EncodedPacket(
            of: known(packet.description), pts: max(dts, TimeBase.nanoseconds.rescale(placed.time - zero, to: base)),
            dts: dts, duration: packet.duration, isKeyframe: packet.isKeyframe, isDisposable: packet.isDisposable,
            payload: packet.payload)
    }

    /// The description that says the same as `given`, if the track has one.
    private mutating func known(_ given: TrackDescription) -> TrackDescription {
        let kind = given.kind
        if let track = tracks[kind], track.given === given { return track.known }
        let known = tracks[kind].flatMap { given.isCodedAs($0.known) ? $0.known : nil } ?? given
        tracks[kind] = (given, known)
        return known
    }
}

extension TrackDescription {
    /// Whether packets of `other` can follow those of this one without anybody being told.
    fileprivate func isCodedAs(_ other: TrackDescription) -> Bool {
        codec == other.codec && format == other.format && timeBase == other.timeBase
            && decoderConfiguration.array == other.decoderConfiguration.array
    }
}
