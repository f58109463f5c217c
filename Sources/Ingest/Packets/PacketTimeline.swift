// SPDX-License-Identifier: Apache-2.0

internal import LibAV
package import Media
package import SourceClock

/// Gives the packets of one input the program's times: 0 is where the first keyframe is shown, or the first audio of an
/// input without video is heard.
///
/// The relation of audio to video and each interval are the sender's; wraps are undone, jumps are closed, and after
/// ``restart()`` time continues from where it was. No packet is held but audio in front of the first keyframe. Video
/// begins with a keyframe, and again after a restart. A track that is coded as before refers to the description from
/// before. Times in milliseconds, or of whole frames, are converted to 90 kHz, or a switch could not move them exactly
/// (frames of 24000/1001 and 60000/1001 by half a tick), and those of audio to samples, see ``SampleTimes``.
/// This is a value without a clock or I/O of its own.
package struct PacketTimeline: Sendable {
    /// What was left out, and what happened.
    package struct Counts: Sendable, Hashable, Codable {
        /// Frames in front of a keyframe, which no decoder could decode.
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

    /// How far a track may be behind another one, in nanoseconds of media, until it counts as silent; and by how much the
    /// times of one may leap until all tracks are taken to begin again.
    private static let (longestLag, leap): (Int64, Int64) = (2_000_000_000, 1_000_000_000)
    /// Jumps are told once in so many nanoseconds.
    private static let jumpInterval: Int64 = 1_000_000_000

    /// Packets of audio that wait for the first keyframe: some 20 s.
    private static let longestPreRoll = 1000

    /// What was left out so far.
    package private(set) var counts = Counts()
    /// Tracks of which nothing comes, though another one does.
    package private(set) var silentTracks: Set<TrackKind> = []
    private var events: [SourceClockEvent] = []
    /// The newest time of each track since all tracks began, or began again, and when they did, in nanoseconds of
    /// media.
    private var heard: (times: [TrackKind: Int64], since: Int64)?
    private var jumpTold = Int64.min
    private var clock: SourceClock
    private let bits: Int?
    private let leading: TrackKind
    /// How much later than the sender has it audio is, in nanoseconds.
    private let audioOffset: Int64
    private var timeBases: [TrackKind: TimeBase] = [:]
    private var tracks: [TrackKind: (given: TrackDescription, known: TrackDescription)] = [:]
    private var samples = SampleTimes()
    private let data: [TrackDescription]
    /// The newest packet of the leading track: its time in the program, and by how much that is later than the sender's, in
    /// 90 kHz.
    private var newest: (dts: Int64, later: Int64)?
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
        data = source.stream.data
        for track in source.stream.tracks { tracks[track.kind] = (track, Self.finelyTimed(track)) }
    }

    /// The tracks that are known, as the packets refer to them that go on air.
    package var stream: StreamDescription {
        StreamDescription(video: tracks[.video]?.known, audio: tracks[.audio]?.known, data: data)
    }

    /// What happened since this was asked last: jumps of the sender's times, and tracks that stopped or came back.
    package mutating func takeEvents() -> [SourceClockEvent] {
        if events.isEmpty { return [] }
        defer { events = [] }
        return events
    }

    /// Tracks that fall silent while `track`, which has come to `time`, continues; and whether `track` itself is back.
    private mutating func silences(_ track: TrackKind, at time: Int64) -> [SourceClockEvent] {
        var found: [SourceClockEvent] = silentTracks.contains(track) ? [.resumed(track)] : []
        if heard == nil || heard?.times[track].map({ abs(time - $0) > Self.leap }) == true { heard = ([:], time) }
        heard?.times[track] = time
        for other in tracks.keys where other != track && other != .data && !silentTracks.contains(other) {
            let last = heard?.times[other] ?? heard?.since ?? time
            if time - last > Self.longestLag { found.append(.silent(other)) }
        }
        return found
    }

    /// Keeps what an operator is to know. Changes of the map to our clock have no effect: packets are not held.
    private mutating func note(_ happened: [SourceClockEvent], at arrival: Timestamp) {
        for event in happened {
            switch event {
            case .silent(let track): silentTracks.insert(track)
            case .resumed(let track): silentTracks.remove(track)
            case .jumped, .jumpedAlone:
                // Two senders at one address would tell one with each packet.
                guard arrival.nanoseconds - Self.jumpInterval >= jumpTold else { continue }
                jumpTold = arrival.nanoseconds
            default: continue
            }
            events.append(event)
        }
    }

    /// Prepares for a sender that begins again.
    package mutating func restart() {
        clock.restart()
        (silentTracks, heard) = ([], nil)
        awaitsKeyframe = true
    }

    /// Takes the next packet that was read, and returns what goes on air because of it, in order.
    package mutating func take(_ packet: EncodedPacket, at arrival: Timestamp) -> [EncodedPacket] {
        if packet.track == .data { return splice(packet).map { [$0] } ?? [] }
        if timeBases[packet.track] != packet.timeBase {
            timeBases[packet.track] = packet.timeBase
            // Packets are not held, so no track is waited for.
            clock.declare(packet.track, packet.timeBase, bits: bits, isExpected: false)
        }
        let stamp = SourceClock.Stamp(packet.track, dts: packet.dts, pts: packet.pts, duration: packet.duration)
        guard let noted = clock.note(stamp, arrival: arrival) else {
            counts.unplaced += 1
            return []
        }
        note(noted.events + silences(packet.track, at: noted.decodeTime.nanoseconds), at: arrival)
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
        let track = known(packet.description)
        let base = track.timeBase
        var duration = packet.timeBase.rescale(packet.duration, to: base)
        let dts: Int64
        if packet.track == .audio {
            // What the sender rounded is as long as the coding says.
            let off = abs(duration - Int64(track.frameLength))
            if off <= packet.timeBase.rescale(1, to: base, rounding: .up) { duration = Int64(track.frameLength) }
            dts = samples.place(placed.decode - zero, roundedTo: packet.timeBase, rate: base, lasting: duration)
        } else {
            dts = TimeBase.nanoseconds.rescale(placed.decode - zero, to: base)
        }
        let delay = TimeBase.nanoseconds.rescale(placed.time - placed.decode, to: base)
        if packet.track == leading {
            let (time, stamp) = (
                TimeBase.nanoseconds.rescale(placed.time - zero, to: .mpegTS),
                packet.timeBase.rescale(packet.pts, to: .mpegTS)
            )
            newest = (base.rescale(dts, to: .mpegTS), time &- stamp)
        }
        return EncodedPacket(
            of: track, pts: dts + max(0, delay), dts: dts, duration: duration, isKeyframe: packet.isKeyframe,
            isDisposable: packet.isDisposable, payload: packet.payload)
    }

    /// Splice information behind the frame that it came behind. Its times are the sender's: `pts_adjustment` makes them the
    /// program's. Nil before the first frame, and for what is damaged.
    private mutating func splice(_ packet: EncodedPacket) -> EncodedPacket? {
        guard let newest, packet.description.codec == .scte35 else { return nil }
        guard let section = SpliceSection.shifted(packet.payload.array, by: newest.later) else {
            counts.unplaced += 1
            return nil
        }
        let time = TimeBase.mpegTS.rescale(newest.dts, to: packet.timeBase)
        return EncodedPacket(
            of: packet.description, pts: time, dts: time, duration: 0, isKeyframe: true,
            payload: SharedBytes(section))
    }

    /// The description that says the same as `given`, if the track has one.
    private mutating func known(_ given: TrackDescription) -> TrackDescription {
        let kind = given.kind
        if let track = tracks[kind], track.given === given { return track.known }
        let timed = Self.finelyTimed(given)
        let known = tracks[kind].flatMap { timed.isCodedAs($0.known) ? $0.known : nil } ?? timed
        tracks[kind] = (given, known)
        return known
    }

    /// The track on the clock that its packets go on air with.
    private static func finelyTimed(_ track: TrackDescription) -> TrackDescription {
        if let format = track.audioFormat { return track.timed(in: format.timeBase) }
        return track.timeBase.rescale(1, to: .nanoseconds) >= 1_000_000 ? track.timed(in: .mpegTS) : track
    }
}

extension TrackDescription {
    /// Whether packets of `other` can follow those of this one without anybody being told.
    fileprivate func isCodedAs(_ other: TrackDescription) -> Bool {
        codec == other.codec && format == other.format && timeBase == other.timeBase
            && decoderConfiguration.array == other.decoderConfiguration.array
    }
}
