// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes the packets in the inbox of a live source and delivers frames and audio into a sink until the source ends.
/// All live input is decoded here, regardless of the type of its feed. Used by the source's decoding thread only.
final class SourceDecoder {
    /// The number of queued bytes of one track (16 MiB) above which the decoder takes no packets from the inbox. This
    /// applies only if unread media stays available on the server.
    private static let pauseBytes = CompressedQueue.usualByteLimit / 4

    private let inbox: PacketInbox
    private let feed: any LiveFeed
    private let sink: any SourceSink
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let name: String
    private let watch: DecodingWatch
    private let lanes: [TrackKind: DecodingLane]
    /// The track whose decoding failures cause the input to be opened again: video, or audio if there is no video.
    private var leader = TrackKind.video
    /// Passes on the packets without decoding them, if the sink wants packets.
    private let taps: TapFeeder?
    private let clock: any MonotonicClock
    private var backlog: BacklogWatch
    private var canWait = false
    /// Whether the sender has disconnected since the input was last opened, so that no further packets of this sender
    /// follow.
    private var isInterrupted = false
    private var hasEnded = false
    /// Why the decoder has asked the feed to open the input again; nil once the feed has reported the interruption.
    private var refusal: IngestError?
    /// The minimum time between the first two times that the input is opened again because it cannot be decoded. The
    /// time doubles with each reopening until the leading track is decoded, because each reopening also interrupts the
    /// other track, which might be good.
    private static let shortestPause = Duration.seconds(10)
    /// The maximum of the time between two reopenings because of decoding failures.
    private static let longestPause = Duration.seconds(300)
    /// When the input may next be opened again because it cannot be decoded, and the minimum time from that reopening
    /// to the following one.
    private var nextOpening = (from: MonotonicInstant.distantPast, pause: SourceDecoder.shortestPause)

    /// Creates a decoder of the packets that `feed` puts into `inbox`. It delivers frames in the format `video` and
    /// audio in the format `audio`; a track without a format is not decoded. `options` select and delay the audio.
    /// `name` is the source's name in error messages.
    init(
        _ inbox: PacketInbox, from feed: any LiveFeed, into sink: any SourceSink, video: VideoFormat?,
        audio: AudioFormat?, options: TrackOptions, monitor: SourceMonitor, name: String,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.inbox, self.feed, self.sink, self.monitor, self.name) = (inbox, feed, sink, monitor, name)
        self.clock = clock
        let timing = inbox.timing
        self.timing = timing
        let watch = DecodingWatch(timing, monitor: monitor, name: name, clock: clock)
        self.watch = watch
        backlog = BacklogWatch(timing, sink)
        taps = TapFeeder(into: sink, options: options, of: name, timing: timing, monitor: monitor)
        let decoder = { (coding: LiveCoding) throws(AVFailure) -> TrackDecoder in
            let stream = try coding.stream(subject: name)
            let track = TrackDecoder(
                stream,
                decoder: try Decoder(
                    stream, threading: .slices, mostPixels: LargestFrame.pixels, subject: name),
                monitor: monitor)
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
            // Audio is held until the program has begun, because audio is placed on the program's timeline.
            let hasBegun = sink.programTime.line != nil
            backlog.begin()
            let now = clock.now
            let moved = [step(.audio, now: now, isHeld: !hasBegun), step(.video, now: now, isHeld: false)]
            if moved.contains(true) { continue }
            let isIdle = isInterrupted && isDelivered(audioIsHeld: !hasBegun)
            if isIdle {
                if hasEnded, isDelivered(audioIsHeld: false) { break }
                for lane in lanes.values { lane.rest() }
                inbox.markDelivered()
            }
            backlog.end()
            // A read might have begun just after the feed was asked to open the input again, so the request is
            // repeated.
            if let refusal { _ = feed.openAgain(after: refusal) }
            // Between two openings no packet is due, so the wait can be long: a new entry in the inbox ends the wait.
            inbox.wait(.milliseconds(isIdle ? 500 : hasBegun ? 20 : 5))
            watch.rest()
        }
    }

    /// Whether all packets that have arrived are decoded. Packets whose due times never became known do not count.
    /// Audio that is held until the program begins does not count either: the program might begin only with the video
    /// of the next sender, and the next sender is received only after this function has returned true.
    private func isDelivered(audioIsHeld: Bool) -> Bool {
        !timing.isPlaced || lanes.allSatisfy { $0.value.isEmpty || audioIsHeld && $0.key == .audio }
    }

    private func takeItems() {
        // The decoder takes packets without a pause until the due times are known, because further packets are needed
        // to find them. After the input has ended, the decoder does not pause either, because the next entry opens the
        // next input.
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
        watch.begin()
        for lane in lanes.values {
            if opening.continues {
                lane.resume(mayRepeat: opening.mayRepeat)
            } else {
                lane.restart(timeLimit: opening.timeLimit)
            }
        }
        if case .streams(let streams) = opening.tracks {
            leader = streams.contains { $0.info.kind == .video } ? .video : .audio
        }
        taps?.begin(opening.tracks, continues: opening.continues, mayRepeat: opening.mayRepeat)
    }

    private func interrupt() {
        isInterrupted = true
        if refusal != nil { restartLanes() }
        refusal = nil
        for lane in lanes.values { lane.interrupt() }
        inbox.markTaken()
    }

    private func restartLanes() {
        for lane in lanes.values { lane.restart(timeLimit: LiveOpening.usualTimeLimit) }
    }

    /// Decodes a frame or a run of audio samples of the track `kind` if it is due. Returns whether something was
    /// decoded or has failed.
    private func step(_ kind: TrackKind, now: MonotonicInstant, isHeld: Bool) -> Bool {
        guard refusal == nil, let lane = lanes[kind] else { return false }
        switch lane.step(now: now, isHeld: isHeld) {
        case .idle: return false
        case .advanced: if kind == leader { nextOpening = (.distantPast, Self.shortestPause) }
        case .failed(let failure, let isInVain):
            // If the input has ended, it is opened again anyway.
            if isInterrupted { return true }
            if failure.isMissingLibrary, kind == leader {
                openAgain(after: .decoding(name, failure))
            } else if isInVain, kind == leader, clock.now >= nextOpening.from {
                nextOpening.from = clock.now + nextOpening.pause
                nextOpening.pause = min(nextOpening.pause * 2, Self.longestPause)
                openAgain(after: .decoding(name, failure))
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
