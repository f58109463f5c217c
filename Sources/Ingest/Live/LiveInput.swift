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
        // After a pause the input does not continue with the next packet.
        loop.run(lasts: { _ in true }, pausing: { part?.isAtNewCoding = false }) {
            play(in: loop, after: &part, into: inbox, wanted)
        }
        inbox.end(failure: nil)
    }

    /// What a part of an input and the part after it must have in common, so that the second one continues the first.
    private struct Part {
        let stamps: [TrackKind: TrackStamps]
        let settings: SourceClockSettings
        /// Whether the part ended where the coding changes, so that the next part begins with the next packet.
        var isAtNewCoding = false

        func continues(_ other: Part) -> Bool {
            // If the input was opened between two keyframes, it does not know how many frames are reordered. The clock
            // then keeps the time for decoding.
            var settings = settings
            settings.decoding = max(settings.decoding, other.settings.decoding)
            return settings == other.settings && stamps.count == other.stamps.count
                && stamps.allSatisfy { track, stamps in other.stamps[track].map { $0 == stamps } ?? false }
        }
    }

    /// How a part of an input begins.
    private enum Beginning {
        /// The clock is in its first state, because no packet is waiting to be decoded.
        case restarted
        /// The part continues at once, coded in another way, while the last packets before it are still decoded.
        case behindChange
        /// The first packet shows whether the part continues the one before, whose last packets are still decoded.
        case behindBreak
    }

    /// Opens the input, reads it to its end, and closes it, because its address must be free before it can be opened
    /// again. The last packets may still be waiting to be decoded. Then nothing is missing if the input is soon open
    /// again, or if it ended only because it is coded in another way from there on. Between two parts, `part` describes
    /// the first one.
    private func play(
        in loop: ReopenLoop, after part: inout Part?, into inbox: PacketInbox, _ wanted: Set<TrackKind>
    ) -> IngestError? {
        let input: OpenedInput
        // Media of an encoder that was started again is not what came before, even if its timestamps look like it.
        let isUnrelated = monitor.playlist.isRestarted
        do throws(IngestError) {
            input = try opening.open(in: loop)
        } catch {
            part?.isAtNewCoding = false
            return error
        }
        let new = Part(
            stamps: input.stamps.filter { wanted.contains($0.key) },
            settings: input.clockSettings(latency: location.latency))
        let beginning = beginning(of: new, after: isUnrelated ? nil : part, isFirst: loop.isFirst, inbox)
        var failure: IngestError?
        do throws(IngestError) {
            try read(input, beginning, new, into: inbox, wanted)
        } catch {
            failure = error
        }
        inbox.interrupt()
        // The packets of a device can be in its own memory, which it takes back when it is closed.
        if SourceClockSettings.isDevice(formatName: input.demuxer.formatName) {
            inbox.waitUntilDelivered()
        } else {
            inbox.waitUntilTaken()
        }
        failure = takeRefusal() ?? failure
        monitor.keepConnection(of: input.demuxer, after: failure)
        part = new
        part?.isAtNewCoding = failure == nil && monitor.isAtNewCoding
        return failure
    }

    /// Decides how the part `new` begins after `part`. If it cannot continue that part, waits until all packets of that
    /// part are decoded, and restarts the clock.
    private func beginning(of new: Part, after part: Part?, isFirst: Bool, _ inbox: PacketInbox) -> Beginning {
        if isFirst { return .restarted }
        if let part, new.continues(part) { return part.isAtNewCoding ? .behindChange : .behindBreak }
        inbox.waitUntilDelivered()
        inbox.timing.restart(new.stamps, as: new.settings)
        return .restarted
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
        _ input: OpenedInput, _ beginning: Beginning, _ part: Part, into inbox: PacketInbox, _ wanted: Set<TrackKind>
    ) throws(IngestError) {
        var streams = streams(of: input, wanted)
        // After a break, the first packet decides how the input continues, so it is announced with that packet.
        var next: LiveOpening? = opening(of: input, streams, beginning)
        if beginning != .behindBreak, let opening = next.take() { inbox.put(.opening(opening)) }
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
                place(arrival, of: streams[number], &ends, into: inbox) { stamp in
                    guard let opening = next.take() else { return }
                    inbox.reopen(
                        opening, of: part.stamps, with: stamp, at: arrival.time, as: part.settings,
                        leave: inbox.waitUntilDelivered)
                }
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

    private func streams(of input: OpenedInput, _ wanted: Set<TrackKind>) -> [LiveStream] {
        let infos = [input.video, input.audio].compactMap(\.self).filter { wanted.contains($0.kind) }
        // The audio offset is added to the audio's timestamps only if there is video. The source's clock then includes
        // the offset in its delay. Audio without video is delayed by `SourceTiming` instead.
        let offset = infos.contains { $0.kind == .video } ? input.options.audioOffset : .zero
        let clock = input.captureClock
        return infos.map { LiveStream($0, shift: $0.kind == .audio ? $0.timeBase.ticks(offset) : 0, clock: clock) }
    }

    private func opening(of input: OpenedInput, _ streams: [LiveStream], _ beginning: Beginning) -> LiveOpening {
        var opening = LiveOpening(tracks: .streams(streams), continues: beginning == .behindChange)
        if let target = input.demuxer.targetDuration {
            opening.timeLimit = max(opening.timeLimit, target * Self.segmentLimit)
            opening.canWait = true
        }
        return opening
    }

    /// The maximum amount of a playlist that is queued for decoding, in target durations: the three segments with which
    /// playback begins, one segment that arrives before the first of these is played, and two for late segments.
    private static let segmentLimit = 6

    /// Converts a packet's times to the source's timeline and passes the packet on. `ends` stores the end of the last
    /// packet of each stream, in the stream's own timestamps. A packet without a decoding time usually gets this end as
    /// its decoding time, see ``DecodingTimes/missing(pts:end:in:)``. `begin` is called before the packet is placed.
    private func place(
        _ arrival: StreamReader.Arrival, of stream: LiveStream, _ ends: inout [Int: Int64], into inbox: PacketInbox,
        begin: (SourceClock.Stamp) -> Void
    ) {
        let (packet, base, index) = (arrival.packet, stream.info.timeBase, stream.info.index)
        guard let dts = packet.dts ?? DecodingTimes.missing(pts: packet.pts, end: ends[index], in: base) else { return }
        let shift = stream.shift &+ base.ticks(stream.clock?.shift() ?? .zero)
        let stamp = SourceClock.Stamp(
            stream.info.kind, dts: dts &+ shift, pts: (packet.pts ?? dts) &+ shift, duration: packet.duration)
        begin(stamp)
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
