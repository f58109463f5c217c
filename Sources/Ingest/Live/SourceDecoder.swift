// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes what comes into the inbox of a live source and delivers it into a sink, as long as the source lasts: all live
/// input is decoded here, whatever brings it. Lives on the source's thread.
final class SourceDecoder {
    /// Bytes of a track that may wait to be decoded before taking pauses, where the rest can wait on a server (16 MiB).
    private static let pauseBytes = CompressedQueue.byteLimit / 4

    private let inbox: PacketInbox
    private let feed: any LiveFeed
    private let sink: any SourceSink
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let name: String
    private let watch: DecodingWatch
    private let lanes: [TrackKind: DecodingLane]
    /// The track for which the input is opened again when it cannot be decoded: video, or audio alone.
    private var leader = TrackKind.video
    /// Hands packets on as they came, if the sink wants them.
    private let taps: TapFeeder?
    private let clock: any MonotonicClock
    private var backlog: BacklogWatch
    private var canWait = false
    /// Whether the packets of this opening end with what came so far.
    private var isInterrupted = false
    private var hasEnded = false
    /// Why the feed was asked to open the input again; nil once it has ended what it read.
    private var refusal: IngestError?
    /// Whether the input may be opened again because it cannot be decoded: since it was, something could be.
    private var mayOpenAgain = true

    /// A decoder of what `feed` puts into `inbox`, which delivers tracks of these formats; nil for those that are not wanted.
    /// `options` say how audio is taken, and errors name the source `name`.
    init(
        _ inbox: PacketInbox, from feed: any LiveFeed, into sink: any SourceSink, video: VideoFormat?,
        audio: AudioFormat?, options: TrackOptions, monitor: SourceMonitor, name: String,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.inbox, self.feed, self.sink, self.monitor, self.name) = (inbox, feed, sink, monitor, name)
        self.clock = clock
        let timing = inbox.timing
        self.timing = timing
        let watch = DecodingWatch(timing, monitor: monitor, name: name)
        self.watch = watch
        backlog = BacklogWatch(timing, sink)
        taps = TapFeeder(into: sink, options: options, of: name, timing: timing, monitor: monitor)
        let decoder = { (coding: LiveCoding) throws(AVFailure) -> TrackDecoder in
            let stream = try coding.stream(subject: name)
            let track = TrackDecoder(
                stream, decoder: try Decoder(stream, threading: .slices, subject: name), monitor: monitor)
            track.watch()
            return track
        }
        var lanes: [TrackKind: DecodingLane] = [:]
        if let video {
            lanes[.video] = DecodingLane(.video, timing: timing, monitor: monitor, name: name) {
                (coding) throws(AVFailure) in
                try VideoTrack(
                    try decoder(coding), target: video, sink: sink, monitor: monitor, subject: name, watch: watch)
            }
        }
        if let audio {
            lanes[.audio] = DecodingLane(.audio, timing: timing, monitor: monitor, name: name) {
                (coding) throws(AVFailure) in
                LiveAudioTrack(
                    try decoder(coding), format: audio, channels: options.channels, timing: timing, sink: sink,
                    monitor: monitor, subject: name)
            }
        }
        self.lanes = lanes
    }

    /// Decodes until the source ends or is stopped. Blocks.
    func run() {
        while !monitor.isStopped {
            takeItems()
            // Audio is placed in the program, which must have begun.
            let hasBegun = sink.programTime.line != nil
            backlog.begin()
            let now = Timestamp(nanoseconds: clock.now)
            let moved = [step(.audio, now: now, isHeld: !hasBegun), step(.video, now: now, isHeld: false)]
            if moved.contains(true) { continue }
            let isIdle = isInterrupted && isDelivered
            if isIdle {
                if hasEnded { break }
                inbox.markDelivered()
            }
            backlog.end()
            // The read under way may have begun just after it was asked to end.
            if let refusal { _ = feed.openAgain(after: refusal) }
            // Between two openings nothing is due, and all that the inbox is given ends the wait.
            inbox.wait(.milliseconds(isIdle ? 500 : hasBegun ? 20 : 5))
            watch.rest()
        }
    }

    /// Whether everything that came was decoded. What can never be placed is not waited for.
    private var isDelivered: Bool { !timing.isPlaced || lanes.values.allSatisfy(\.isEmpty) }

    private func takeItems() {
        // A source that is not placed, or whose input ended, is not paused: what follows places it or opens the next input.
        if canWait, timing.isPlaced, !isInterrupted, lanes.values.contains(where: { $0.bytes > Self.pauseBytes }) {
            return
        }
        for item in inbox.takeAll() {
            switch item {
            case .packet(let packet):
                if refusal != nil { continue }
                lanes[packet.track]?.append(packet)
                taps?.take(packet)
            case .interruption: interrupt()
            case .opening(let opening): begin(opening)
            case .end:
                interrupt()
                hasEnded = true
            }
        }
    }

    private func begin(_ opening: LiveOpening) {
        (canWait, isInterrupted, refusal) = (opening.canWait, false, nil)
        for lane in lanes.values { lane.restart(timeLimit: opening.timeLimit) }
        if case .streams(let streams) = opening.tracks {
            leader = streams.contains { $0.info.kind == .video } ? .video : .audio
        }
        taps?.begin(opening.tracks)
    }

    private func interrupt() {
        isInterrupted = true
        if refusal != nil { restartLanes() }
        refusal = nil
        for lane in lanes.values { lane.interrupt() }
    }

    private func restartLanes() {
        for lane in lanes.values { lane.restart(timeLimit: LiveOpening.usualTimeLimit) }
    }

    /// Decodes a frame or a run of audio if it is time to. Returns whether anything was done.
    private func step(_ kind: TrackKind, now: Timestamp, isHeld: Bool) -> Bool {
        guard refusal == nil, let lane = lanes[kind] else { return false }
        switch lane.step(now: now, isHeld: isHeld) {
        case .idle: return false
        case .advanced: if kind == leader { mayOpenAgain = true }
        case .failed(let failure, let isInVain):
            // An input that has ended is opened again in any case.
            if isInterrupted { return true }
            if failure.isMissingLibrary, kind == leader {
                openAgain(after: .missingLibrary(input: name, reason: failure.message))
            } else if isInVain, kind == leader, mayOpenAgain {
                // What cannot be decoded in an input that was opened again must not cost the track beside it.
                mayOpenAgain = false
                openAgain(after: .cannotBeDecoded(input: name, reason: failure.message))
            }
        }
        return true
    }

    private func openAgain(after failure: IngestError) {
        guard feed.openAgain(after: failure) else { return }
        refusal = failure
        restartLanes()
    }
}
