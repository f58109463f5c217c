// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import SourceClock
internal import Synchronization

/// What libav reads of a live input, on a thread of its own, as fast as it comes, so that a read that waits does not keep the
/// decoding thread from decoding what is there. Each packet has the times of the source's timeline when it is handed on.
///
/// An input that ends or fails is opened again for ever, after 1 to 5 s, but for a failure that opening again cannot mend.
final class LiveInput: LiveFeed {
    private let location: InputLocation
    private let options: IngestOptions
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock
    private let opened: Mutex<OpenedInput?>
    /// Why what is read is to end: the decoder refuses it.
    private let refusal = Mutex<IngestError?>(nil)
    private let group = DispatchGroup()

    /// What `input`, which was opened at `location` with `options`, brings.
    init(
        _ input: sending OpenedInput, at location: InputLocation, options: IngestOptions, monitor: SourceMonitor,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.location, self.options, self.monitor, self.clock) = (location, options, monitor, clock)
        opened = Mutex(input)
    }

    func start(into inbox: PacketInbox, wanted: Set<TrackKind>) {
        DispatchQueue(label: "relay.ingest.read").async(group: group) { [self] in run(inbox, wanted) }
    }

    func openAgain(after failure: IngestError) -> Bool {
        refusal.withLock { $0 = failure }
        monitor.interrupter.expire()
        return true
    }

    func stop() { monitor.stop() }

    func waitUntilOver() { group.wait() }

    func status(with own: SourceStatus) -> SourceStatus { own }

    private func run(_ inbox: PacketInbox, _ wanted: Set<TrackKind>) {
        let loop = ReopenLoop(location.description, monitor: monitor, clock: clock)
        loop.run(lasts: { _ in true }) { play(in: loop, into: inbox, wanted) }
        inbox.end(failure: nil)
    }

    /// The input that was opened when the source was made.
    private func takeOpened() throws(IngestError) -> OpenedInput {
        let input = opened.withLock { input in
            defer { input = nil }
            return input
        }
        guard let input else { throw IngestError.empty(input: location.description) }
        return input
    }

    private func reopen(in loop: ReopenLoop) throws(IngestError) -> OpenedInput {
        try loop.reopen(
            { () throws(IngestError) in
                try OpenedInput(location, options: options, isReopened: true, monitor: monitor)
            }, streams: { [$0.video, $0.audio].compactMap(\.self) })
    }

    /// Opens the input, reads it to its end, waits until all of it was decoded, and closes it: an address must be free before
    /// it can be opened again.
    private func play(in loop: ReopenLoop, into inbox: PacketInbox, _ wanted: Set<TrackKind>) -> IngestError? {
        do throws(IngestError) {
            let input = try loop.isFirst ? takeOpened() : reopen(in: loop)
            let found = input.description.video
            monitor.update { status in
                status.state = .running
                // The one from before stays until the next keyframe of an input that was opened again.
                if input.knowsVideo || status.video == nil { status.video = found }
            }
            if !loop.isFirst {
                inbox.timing.restart(
                    input.stamps.filter { wanted.contains($0.key) }, as: input.clockSettings(latency: location.latency))
            }
            var failure: IngestError?
            do throws(IngestError) {
                try read(input, into: inbox, wanted)
            } catch {
                failure = error
            }
            inbox.interrupt()
            inbox.waitUntilDelivered()
            failure =
                refusal.withLock { refusal in
                    defer { refusal = nil }
                    return refusal
                } ?? failure
            monitor.keepConnection(of: input.demuxer, after: failure)
            return failure
        } catch {
            return error
        }
    }

    /// Hands on the wanted tracks until the input ends, one of them comes in another stream, the decoder refuses what is
    /// read, or the source is stopped.
    private func read(_ input: OpenedInput, into inbox: PacketInbox, _ wanted: Set<TrackKind>) throws(IngestError) {
        let streams = begin(input, into: inbox, wanted)
        var errors = ReadErrors()
        var ends: [Int: Int64] = [:]
        var moved = MovedTracks(
            reading: Dictionary(uniqueKeysWithValues: streams.map { ($0.info.index, $0.info.kind) }),
            wanted: input.options.followed(wanted), patience: inbox.timing.patience)
        while !isRefused, !monitor.isStopped {
            if inbox.isFull {
                monitor.pause(.milliseconds(5))
                continue
            }
            switch monitor.read(input.demuxer, &errors, isEnding: { isRefused }) {
            case .packet(let packet):
                let (index, arrival) = (packet.streamIndex, Timestamp(nanoseconds: clock.now))
                if let stream = streams.first(where: { $0.info.index == index }) {
                    place(packet, of: stream, arrival, &ends, into: inbox)
                }
                let late = input.demuxer.kindOfLateStream(index, beside: moved.read)
                if let track = moved.note(index, late: late, at: arrival) {
                    throw MovedTracks.failure(track, input: input.name)
                }
            case .nothing: continue
            case .over: return
            case .failed(let failure): throw IngestError.unreadable(input: input.name, reason: failure.message)
            }
        }
    }

    private var isRefused: Bool { refusal.withLock { $0 != nil } }

    /// Selects the wanted streams and says what they are.
    private func begin(_ input: OpenedInput, into inbox: PacketInbox, _ wanted: Set<TrackKind>) -> [LiveStream] {
        let infos = [input.video, input.audio].compactMap(\.self).filter { wanted.contains($0.kind) }
        let isMissingAudio = wanted.contains(.audio) && input.audio == nil && input.options.hasAudio
        input.demuxer.select(Set(infos.map(\.index)), followsAll: isMissingAudio)
        // Beside video, so that the clock knows how long it must wait; audio alone is placed later by `SourceTiming`.
        let offset = infos.contains { $0.kind == .video } ? input.options.audioOffset : .zero
        let clock = input.captureClock
        let streams = infos.map {
            LiveStream($0, shift: $0.kind == .audio ? $0.timeBase.ticks(offset) : 0, clock: clock)
        }
        var opening = LiveOpening(tracks: .streams(streams))
        if let target = input.demuxer.targetDuration {
            opening.timeLimit = max(opening.timeLimit, target * Self.segmentLimit)
            opening.canWait = true
        }
        inbox.put(.opening(opening))
        return streams
    }

    /// How much of a playlist may wait to be decoded, in target durations: the three of its start, one that comes before the
    /// first of them is played, and two of lateness.
    private static let segmentLimit = 6

    /// Gives a packet its times on the source's timeline and hands it on. `ends` is where the last packet of each stream ended
    /// by its own stamps, for packets without any.
    private func place(
        _ packet: PacketBox, of stream: LiveStream, _ arrival: Timestamp, _ ends: inout [Int: Int64],
        into inbox: PacketInbox
    ) {
        let (base, index) = (stream.info.timeBase, stream.info.index)
        guard let dts = packet.dts ?? LiveStream.decodeTime(pts: packet.pts, end: ends[index], in: base) else { return }
        let shift = stream.shift &+ TimeBase.nanoseconds.rescale(stream.clock?.shift() ?? 0, to: base)
        let stamp = SourceClock.Stamp(
            stream.info.kind, dts: dts &+ shift, pts: (packet.pts ?? dts) &+ shift, duration: packet.duration)
        guard let noted = inbox.timing.note(stamp, arrival: arrival) else {
            return monitor.update { $0.decodeErrors += 1 }
        }
        ends[index] = dts &+ packet.duration
        packet.stamp(
            pts: TimeBase.nanoseconds.rescale(noted.time.nanoseconds, to: base),
            dts: TimeBase.nanoseconds.rescale(noted.decodeTime.nanoseconds, to: base))
        inbox.put(
            .packet(LivePacket(content: .read(packet, stream), time: noted.time, decodeTime: noted.decodeTime)))
    }
}
