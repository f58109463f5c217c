// SPDX-License-Identifier: Apache-2.0

internal import LibAV
package import Media
package import SourceClock

/// Converts the times of one input's packets to the program's times. Program time 0 is the presentation time of the
/// first keyframe or, for an input without video, of the first audio.
///
/// The offset between audio and video, and all intervals between packets, stay those of the sender. Timestamps that
/// wrap are unwrapped, jumps are closed, and after ``restart()`` the time continues without a gap. Packets are not
/// buffered, except audio before the first keyframe. Video begins with a keyframe, also after a restart. A track whose
/// codec configuration is unchanged keeps its earlier description.
///
/// Video times in milliseconds or in whole frames are converted to 90 kHz, because otherwise a switch could not move
/// them exactly. At 24000/1001 and 60000/1001 frames a second, an error of half a tick remains. Audio times are
/// converted to samples, see ``SampleTimes``.
///
/// This is a value without a clock or I/O of its own.
package struct PacketTimeline: Sendable {
    /// Counts of the packets that were dropped.
    package struct Counts: Sendable, Hashable, Codable {
        /// Frames that a decoder could not decode: frames in front of the keyframe with which video begins or restarts,
        /// and frames after this keyframe that are shown before it.
        package var undecodableFrames = 0
        /// Packets whose timestamps are implausible.
        package var unplaced = 0
    }

    /// A packet with its times on the source's timeline.
    private struct Placed {
        let packet: EncodedPacket
        let decode: Timestamp
        let time: Timestamp
    }

    /// If a track's media is further behind the other track's than `longestLag`, it counts as silent. If the times of
    /// one track jump by more than `leap`, all tracks count as restarted.
    private static let (longestLag, leap) = (Duration.seconds(2), Duration.seconds(1))
    /// The minimum time between two reports of jumps.
    private static let jumpInterval = Duration.seconds(1)

    /// The maximum number of audio packets that are kept until the first keyframe: some 20 s.
    private static let longestPreRoll = 1000

    /// Counts of the packets that were dropped so far.
    package private(set) var counts = Counts()
    /// Tracks that deliver no packets although the other track continues.
    package private(set) var silentTracks: Set<TrackKind> = []
    private var events: [SourceClockEvent] = []
    /// The newest time of each track since the tracks began or restarted, and the time at which they began or
    /// restarted, on the source's timeline.
    private var heard: (times: [TrackKind: Timestamp], since: Timestamp)?
    private var jumpTold: MonotonicInstant?
    private var clock: SourceClock
    private let bits: Int?
    private let leading: TrackKind
    /// The offset by which the audio is moved later than the sender's times.
    private let audioOffset: Duration
    private var timeBases: [TrackKind: TimeBase] = [:]
    private var tracks: [TrackKind: (given: TrackDescription, known: TrackDescription)] = [:]
    private var samples = SampleTimes()
    private let data: [TrackDescription]
    /// The newest packet of the leading track: its time in the program, and that time minus the sender's timestamp.
    /// Both are in ticks of 90 kHz.
    private var newest: (dts: Int64, later: Int64)?
    /// The time on the source's timeline that corresponds to program time 0; nil before the first packet of the leading
    /// track.
    private var zero: Timestamp?
    private var preRoll: [Placed] = []
    /// Whether the next packet is the first one after ``restart()``.
    private var isRestarted = false
    /// The latest decoding time of each track's packets that went on air, on the source's timeline.
    private var latest: [TrackKind: Timestamp] = [:]
    /// Up to these decoding times, the packets since the last restart repeat those before it.
    private var repeated: [TrackKind: Timestamp] = [:]
    private var awaitsKeyframe = true
    /// Presentation time of the keyframe with which video last began, on the source's timeline: frames that are shown
    /// earlier refer to missing frames.
    private var begin = Timestamp.distantPast
    /// Decoding time of the first packet of the leading track, on the source's timeline: audio that ends earlier is
    /// dropped.
    private var firstDecode = Timestamp.distantPast

    /// Creates a timeline for the source of this description. The audio is moved later by `audioOffset`, unless the
    /// source has no video.
    package init(_ source: PacketSourceDescription, audioOffset: Duration = .zero) {
        self.audioOffset = source.stream.leadingKind == .audio ? .zero : audioOffset
        clock = SourceClock(source.clock, tracks: [:])
        bits = source.stampBits
        leading = source.stream.leadingKind
        data = source.stream.data
        for track in source.stream.tracks { tracks[track.kind] = (track, Self.finelyTimed(track)) }
    }

    /// The known tracks, with the descriptions of the packets on air.
    package var stream: StreamDescription {
        StreamDescription(video: tracks[.video]?.known, audio: tracks[.audio]?.known, data: data)
    }

    /// Returns the events since the last call: jumps of the sender's times, and tracks that fell silent or resumed.
    package mutating func takeEvents() -> [SourceClockEvent] {
        if events.isEmpty { return [] }
        defer { events = [] }
        return events
    }

    /// Returns an event for each track that has become silent while `track`, whose newest time is `time`, continues. If
    /// `track` itself was silent, also returns the event that it has resumed.
    private mutating func silences(_ track: TrackKind, at time: Timestamp) -> [SourceClockEvent] {
        var found: [SourceClockEvent] = silentTracks.contains(track) ? [.resumed(track)] : []
        if heard == nil || heard?.times[track].map({ (time - $0).magnitude > Self.leap }) == true {
            heard = ([:], time)
        }
        heard?.times[track] = time
        for other in tracks.keys where other != track && other != .data && !silentTracks.contains(other) {
            let last = heard?.times[other] ?? heard?.since ?? time
            if time - last > Self.longestLag { found.append(.silent(other)) }
        }
        return found
    }

    /// Stores the events that an operator must know about. Changes of the mapping from the sender's clock to relay's
    /// clock are ignored, because packets are not buffered here.
    private mutating func note(_ happened: [SourceClockEvent], at arrival: MonotonicInstant) {
        for event in happened {
            switch event {
            case .silent(let track): silentTracks.insert(track)
            case .resumed(let track): silentTracks.remove(track)
            case .jumped, .jumpedAlone:
                // Reports are limited in rate: if two senders use one address, there is a jump at each packet.
                if let jumpTold, arrival - jumpTold < Self.jumpInterval { continue }
                jumpTold = arrival
            default: continue
            }
            events.append(event)
        }
    }

    /// Prepares for a restart of the sender, or for another connection, on which the sender may continue.
    package mutating func restart() {
        isRestarted = true
        (silentTracks, heard) = ([], nil)
        awaitsKeyframe = true
    }

    /// Decides whether the first packet after ``restart()`` continues the timestamps before it.
    private mutating func reconnect(with stamp: SourceClock.Stamp, at arrival: MonotonicInstant) {
        isRestarted = false
        switch clock.reconnect(with: stamp, at: arrival) {
        case .sameTimestamps: repeated = latest
        case .otherTimestamps: repeated = [:]
        case .restart:
            clock.restart()
            repeated = [:]
        }
    }

    /// Whether `packet`, which has the decoding time `time` on the source's timeline, repeats a packet that went on air.
    /// If it is coded in the same way, the frames behind it can then be decoded without a keyframe.
    private mutating func repeats(_ packet: EncodedPacket, at time: Timestamp) -> Bool {
        guard let end = repeated[packet.track], time <= end else { return false }
        let last = tracks[packet.track]?.known
        let isSame = last.map { Self.finelyTimed(packet.description).isCodedAs($0) } ?? false
        if packet.track == .video, isSame, begin <= time { awaitsKeyframe = false }
        return true
    }

    /// Takes the next packet that was read, and returns the packets that go on air as a result, in order.
    package mutating func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) -> [EncodedPacket] {
        if packet.track == .data { return splice(packet).map { [$0] } ?? [] }
        if timeBases[packet.track] != packet.timeBase {
            timeBases[packet.track] = packet.timeBase
            // Packets are not buffered here, so the clock must not wait for the packets of any track.
            clock.declare(packet.track, packet.timeBase, bits: bits, isExpected: false)
        }
        let stamp = SourceClock.Stamp(packet.track, dts: packet.dts, pts: packet.pts, duration: packet.duration)
        if isRestarted { reconnect(with: stamp, at: arrival) }
        guard let noted = clock.note(stamp, arrival: arrival) else {
            counts.unplaced += 1
            return []
        }
        if repeats(packet, at: noted.decodeTime) { return [] }
        note(noted.events + silences(packet.track, at: noted.decodeTime), at: arrival)
        let shift = packet.track == .audio ? audioOffset : .zero
        let placed = Placed(packet: packet, decode: noted.decodeTime + shift, time: noted.time + shift)
        if packet.track == .video, !admits(placed) {
            counts.undecodableFrames += 1
            return []
        }
        latest[packet.track] = max(latest[packet.track] ?? noted.decodeTime, noted.decodeTime)
        guard let zero else { return start(with: placed) }
        if packet.track == .audio, audioOffset < .zero, !reachesProgram(placed) { return [] }
        return [renamed(placed, from: zero)]
    }

    /// Whether a frame can be decoded with the frames that already went on air.
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
        // Audio that ends before the first frame is decoded is dropped.
        let audio = preRoll.filter(reachesProgram)
        preRoll = []
        return (audio + [placed]).map { renamed($0, from: placed.time) }
    }

    private func reachesProgram(_ audio: Placed) -> Bool {
        audio.time + audio.packet.timeBase.duration(audio.packet.duration) >= firstDecode
    }

    private mutating func renamed(_ placed: Placed, from zero: Timestamp) -> EncodedPacket {
        let packet = placed.packet
        let track = known(packet.description)
        let base = track.timeBase
        var duration = packet.timeBase.rescale(packet.duration, to: base)
        let dts: Int64
        if packet.track == .audio {
            // A duration that the sender rounded is replaced by the codec's exact frame length.
            let off = abs(duration - Int64(track.frameLength))
            if off <= packet.timeBase.rescale(1, to: base, rounding: .up) { duration = Int64(track.frameLength) }
            dts = samples.place(placed.decode - zero, roundedTo: packet.timeBase, rate: base, lasting: duration)
        } else {
            dts = base.ticks(placed.decode - zero)
        }
        let delay = base.ticks(placed.time - placed.decode)
        if packet.track == leading {
            let (time, stamp) = (
                TimeBase.mpegTS.ticks(placed.time - zero),
                packet.timeBase.rescale(packet.pts, to: .mpegTS)
            )
            newest = (base.rescale(dts, to: .mpegTS), time &- stamp)
        }
        return EncodedPacket(
            of: track, pts: dts + max(0, delay), dts: dts, duration: duration, isKeyframe: packet.isKeyframe,
            isDisposable: packet.isDisposable, payload: packet.payload)
    }

    /// Returns the packet of splice information with the time of the newest frame. The times inside the splice section
    /// stay those of the sender; the section's `pts_adjustment` converts them to the program's times. Nil before the
    /// first frame, and for damaged splice information.
    private mutating func splice(_ packet: EncodedPacket) -> EncodedPacket? {
        guard let newest, packet.description.codec == .scte35 else { return nil }
        guard let section = SpliceSection.shifted(packet.payload.array, by: newest.later) else {
            counts.unplaced += 1
            return nil
        }
        let time = TimeBase.mpegTS.rescale(newest.dts, to: packet.timeBase)
        return EncodedPacket(
            of: packet.description, pts: time, dts: time, duration: 0, isKeyframe: true, payload: SharedBytes(section))
    }

    /// Returns the track's existing description if it has the same content as `given`; otherwise a new one.
    private mutating func known(_ given: TrackDescription) -> TrackDescription {
        let kind = given.kind
        if let track = tracks[kind], track.given === given { return track.known }
        let timed = Self.finelyTimed(given)
        let known = tracks[kind].flatMap { timed.isCodedAs($0.known) ? $0.known : nil } ?? timed
        tracks[kind] = (given, known)
        return known
    }

    /// Returns the track's description with the time base that its packets have on air.
    private static func finelyTimed(_ track: TrackDescription) -> TrackDescription {
        if let format = track.audioFormat { return track.timed(in: format.timeBase) }
        return track.timeBase.rescale(1, to: .nanoseconds) >= 1_000_000 ? track.timed(in: .mpegTS) : track
    }
}

extension TrackDescription {
    /// Whether packets of `other` can follow packets of this description without informing receivers of a change.
    fileprivate func isCodedAs(_ other: TrackDescription) -> Bool {
        codec == other.codec && format == other.format && timeBase == other.timeBase
            && decoderConfiguration.array == other.decoderConfiguration.array && displayMatrix == other.displayMatrix
    }
}

/// Gives audio packets times in samples if their timestamps were rounded to ticks that are longer than a sample, such
/// as milliseconds.
///
/// The position of a packet depends on the distance between its timestamp and the end of the previous packet. If the
/// distance is at most half a tick, which is the maximum that rounding can cause, the packet directly follows the
/// previous packet. If the distance is larger by up to one tick, the packet is moved to the nearest time within half a
/// tick of its timestamp, so that a sender's drift is followed. If the distance is even larger, the packet gets the
/// time of its timestamp. `av_rescale_delta` of libavutil does the same.
struct SampleTimes {
    /// The end of the previous packet, in samples.
    private var end: Int64?

    /// Returns the time, in samples, of a packet that comes `time` after the start of the program, by a timestamp that
    /// was rounded to `tick`.
    mutating func place(_ time: Duration, roundedTo tick: TimeBase, rate: TimeBase, lasting samples: Int64) -> Int64 {
        let time = position(time.inNanoseconds, tick, rate)
        end = samples > 0 ? time + samples : nil
        return time
    }

    private func position(_ nanoseconds: Int64, _ tick: TimeBase, _ rate: TimeBase) -> Int64 {
        let half = tick.rescale(1, to: .nanoseconds) / 2
        let stated = TimeBase.nanoseconds.rescale(nanoseconds, to: rate)
        guard let end, tick.isLonger(than: rate) else { return stated }
        let first = TimeBase.nanoseconds.rescale(nanoseconds - half, to: rate, rounding: .down)
        let last = TimeBase.nanoseconds.rescale(nanoseconds + half, to: rate, rounding: .up)
        let reach = last - first
        return (first - reach...last + reach).contains(end) ? min(max(end, first), last) : stated
    }
}

extension TimeBase {
    fileprivate func isLonger(than other: TimeBase) -> Bool {
        Int64(numerator) * Int64(other.denominator) > Int64(other.numerator) * Int64(denominator)
    }
}
