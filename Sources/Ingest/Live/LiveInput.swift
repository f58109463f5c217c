// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import SourceClock
internal import Synchronization

/// Reads a live input with libav, on its own thread and as fast as packets arrive. So a read that blocks does not delay
/// the decoding of packets that have already arrived. Each packet is passed on with its times on the source's timeline.
///
/// An input that ends or fails is opened again by ``ReopenLoop``, as often as necessary, unless a new attempt cannot
/// repair the failure.
final class LiveInput: LiveFeed {
    private let location: InputLocation
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock
    private let opening: RepeatedOpening
    /// The reason to stop reading: the decoder refuses the packets. Nil while reading may continue.
    private let refusal = Mutex<IngestError?>(nil)
    private let group = DispatchGroup()

    /// Creates a feed of the packets of `input`, which was opened at `location` with `options`.
    init(
        _ input: sending OpenedInput, at location: InputLocation, options: IngestOptions, monitor: SourceMonitor,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.location, self.monitor, self.clock) = (location, monitor, clock)
        opening = RepeatedOpening(input, at: location, options: options, monitor: monitor)
    }

    func start(into inbox: PacketInbox, wanted: Set<TrackKind>) {
        DispatchQueue(label: "relay.ingest.read").async(group: group) { [self] in run(inbox, wanted) }
    }

    func openAgain(after failure: IngestError) -> Bool {
        refusal.withLock { $0 = failure }
        monitor.knownTracks = nil
        monitor.interrupter.expire()
        return true
    }

    func stop() { monitor.stop() }

    func waitUntilOver() { group.wait() }

    func status(with own: SourceStatus) -> SourceStatus { own }

    private func run(_ inbox: PacketInbox, _ wanted: Set<TrackKind>) {
        let loop = ReopenLoop(location.description, monitor: monitor, clock: clock)
        var part: Part?
        loop.run(lasts: { _ in true }, pausing: { _ = leave(&part, inbox) }) {
            play(in: loop, after: &part, into: inbox, wanted)
        }
        inbox.end(failure: nil)
    }

    /// What a part of an input and the part after it must have in common, so that the second one continues the first.
    private struct Part {
        let stamps: [TrackKind: TrackStamps]
        let settings: SourceClockSettings

        func continues(_ other: Part) -> Bool {
            settings == other.settings && stamps.count == other.stamps.count
                && stamps.allSatisfy { track, stamps in other.stamps[track].map { $0 == stamps } ?? false }
        }
    }

    /// Opens the input and reads it to its end. Then blocks until all of its packets are decoded, and closes the input,
    /// because its address must be free before it can be opened again.
    ///
    /// If the input ends only because it is coded in another way from there on, it is opened again at once, while its
    /// last packets are still waiting to be decoded. So nothing is missing at the change. Between the two parts, `part`
    /// describes the first one; otherwise it is nil.
    private func play(
        in loop: ReopenLoop, after part: inout Part?, into inbox: PacketInbox, _ wanted: Set<TrackKind>
    ) -> IngestError? {
        let input: OpenedInput
        do throws(IngestError) {
            input = try opening.open(in: loop)
        } catch {
            return leave(&part, inbox) ?? takeRefusal() ?? error
        }
        let new = Part(
            stamps: input.stamps.filter { wanted.contains($0.key) },
            settings: input.clockSettings(latency: location.latency))
        let continues = part.map { new.continues($0) } ?? false
        if !continues { _ = leave(&part, inbox) }
        part = nil
        if !loop.isFirst, !continues { inbox.timing.restart(new.stamps, as: new.settings) }
        var failure: IngestError?
        do throws(IngestError) {
            try read(input, continues: continues, into: inbox, wanted)
        } catch {
            failure = error
        }
        inbox.interrupt()
        if failure == nil, !isRefused {
            monitor.keepConnection(of: input.demuxer)
            if monitor.isAtNewCoding {
                part = new
                return nil
            }
        }
        inbox.waitUntilDelivered()
        failure = takeRefusal() ?? failure
        monitor.keepConnection(of: input.demuxer, after: failure)
        return failure
    }

    /// Blocks until all packets of `part` are decoded, because what follows does not continue it. Returns why the decoder
    /// has refused them; nil if it has not.
    private func leave(_ part: inout Part?, _ inbox: PacketInbox) -> IngestError? {
        if part == nil { return nil }
        part = nil
        inbox.waitUntilDelivered()
        return takeRefusal()
    }

    /// Returns why the decoder has refused the packets, and forgets it; nil if it has not refused them.
    private func takeRefusal() -> IngestError? {
        refusal.withLock { refusal in
            defer { refusal = nil }
            return refusal
        }
    }

    /// Passes on packets of the wanted tracks. Returns or throws when the input ends or fails, when a track moves to
    /// another stream, when the decoder refuses the packets, or when the source is stopped.
    private func read(
        _ input: OpenedInput, continues: Bool, into inbox: PacketInbox, _ wanted: Set<TrackKind>
    ) throws(IngestError) {
        var streams = begin(input, continues: continues, into: inbox, wanted)
        var reader = StreamReader(
            streams.map(\.info), of: input.demuxer, name: input.name, options: input.options, wanted: wanted,
            lacksAudio: wanted.contains(.audio) && input.audio == nil, patience: inbox.timing.patience,
            monitor: monitor, clock: clock)
        var configurations: [Int: [UInt8]] = [:]
        var ends: [Int: Int64] = [:]
        while !isRefused, !monitor.isStopped {
            if inbox.isFull {
                monitor.pause(.milliseconds(5))
                continue
            }
            guard let arrival = try reader.next(isEnding: { isRefused }) else { return }
            if let number = streams.firstIndex(where: { $0.info.index == arrival.packet.streamIndex }) {
                streams[number] = changed(streams[number], at: arrival.packet, &configurations)
                place(arrival, of: streams[number], &ends, into: inbox)
            }
            try reader.follow(arrival)
        }
    }

    /// Returns the stream as it is coded from `packet` on. If the container has given a new decoder configuration, the
    /// result is a new stream, which gets a decoder of its own. A configuration that comes between two keyframes takes
    /// effect at the next keyframe. Until then `configurations` stores it, and the current decoder reads it from the
    /// packet.
    private func changed(
        _ stream: LiveStream, at packet: PacketBox, _ configurations: inout [Int: [UInt8]]
    ) -> LiveStream {
        if let new = packet.newConfiguration { configurations[stream.info.index] = new }
        guard packet.isKeyframe, let new = configurations.removeValue(forKey: stream.info.index),
            new != stream.info.configuration, let info = try? stream.info.configured(by: new)
        else { return stream }
        return LiveStream(info, shift: stream.shift, clock: stream.clock)
    }

    private var isRefused: Bool { refusal.withLock { $0 != nil } }

    /// Announces the wanted streams to the inbox.
    private func begin(
        _ input: OpenedInput, continues: Bool, into inbox: PacketInbox, _ wanted: Set<TrackKind>
    ) -> [LiveStream] {
        let infos = [input.video, input.audio].compactMap(\.self).filter { wanted.contains($0.kind) }
        // The audio offset is added to the audio's timestamps only if there is video. The source's clock then includes
        // the offset in its delay. Audio without video is delayed by `SourceTiming` instead.
        let offset = infos.contains { $0.kind == .video } ? input.options.audioOffset : .zero
        let clock = input.captureClock
        let streams = infos.map {
            LiveStream($0, shift: $0.kind == .audio ? $0.timeBase.ticks(offset) : 0, clock: clock)
        }
        var opening = LiveOpening(tracks: .streams(streams), continues: continues)
        if let target = input.demuxer.targetDuration {
            opening.timeLimit = max(opening.timeLimit, target * Self.segmentLimit)
            opening.canWait = true
        }
        inbox.put(.opening(opening))
        return streams
    }

    /// The maximum amount of a playlist that is queued for decoding, in target durations: the three segments with which
    /// playback begins, one segment that arrives before the first of these is played, and two for late segments.
    private static let segmentLimit = 6

    /// Converts a packet's times to the source's timeline and passes the packet on. `ends` stores the end of the last
    /// packet of each stream, in the stream's own timestamps. A packet without a decoding time usually gets this end as
    /// its decoding time, see ``DecodingTimes/missing(pts:end:in:)``.
    private func place(
        _ arrival: StreamReader.Arrival, of stream: LiveStream, _ ends: inout [Int: Int64], into inbox: PacketInbox
    ) {
        let (packet, base, index) = (arrival.packet, stream.info.timeBase, stream.info.index)
        guard let dts = packet.dts ?? DecodingTimes.missing(pts: packet.pts, end: ends[index], in: base) else { return }
        let shift = stream.shift &+ base.ticks(stream.clock?.shift() ?? .zero)
        let stamp = SourceClock.Stamp(
            stream.info.kind, dts: dts &+ shift, pts: (packet.pts ?? dts) &+ shift, duration: packet.duration)
        guard let noted = inbox.timing.note(stamp, arrival: arrival.time) else {
            return monitor.update { $0.decodeErrors += 1 }
        }
        ends[index] = dts &+ packet.duration
        packet.stamp(
            pts: TimeBase.nanoseconds.rescale(noted.time.nanoseconds, to: base),
            dts: TimeBase.nanoseconds.rescale(noted.decodeTime.nanoseconds, to: base))
        inbox.put(.packet(LivePacket(content: .read(packet, stream), time: noted.time, decodeTime: noted.decodeTime)))
    }
}
