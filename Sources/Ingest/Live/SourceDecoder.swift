// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes the packets in the inbox of a live source and delivers frames and audio into a sink until the source ends.
/// All live input is decoded here, regardless of the type of its feed. Used by the source's decoding thread only.
final class SourceDecoder {
    /// While a track has more than this many bytes queued for decoding (16 MiB), no packets are taken from the inbox,
    /// if unread media stays available on the server.
    private static let pauseBytes = CompressedQueue.usualByteLimit / 4

    private let inbox: PacketInbox
    private let feed: any LiveFeed
    private let sink: any SourceSink
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let name: String
    private let watch: DecodingWatch
    private let lanes: [TrackKind: DecodingLane]
    /// The track that decides whether the input is opened again because decoding failed: video, or audio if there is no
    /// video.
    private var leader = TrackKind.video
    /// Passes on the packets without decoding them, if the sink wants packets.
    private let taps: TapFeeder?
    private let clock: any MonotonicClock
    private var backlog: BacklogWatch
    private var canWait = false
    /// Whether the sender has disconnected since the last opening, so that none of its packets follow.
    private var isInterrupted = false
    private var hasEnded = false
    /// Why the feed was asked to open the input again; nil once the feed has reported the interruption.
    private var refusal: IngestError?
    /// The pause after the first time that the input is opened again because it cannot be decoded. It doubles each
    /// time until the leading track is decoded, because each reopening interrupts the other track, which may be good.
    private static let shortestPause = Duration.seconds(10)
    /// The longest of these pauses.
    private static let longestPause = Duration.seconds(300)
    /// From when on the input may be opened again because it cannot be decoded, and the pause after that.
    private var nextOpening = (from: Int64.min, pause: SourceDecoder.shortestPause)

    /// A decoder of the packets that `feed` puts into `inbox`. It delivers frames in the formats `video` and `audio`;
    /// without a format the track is not decoded. `options` select and delay the audio. `name` stands for the source
    /// in error messages.
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
            // Audio is held until the program has begun, because it is placed on the program's timeline.
            let hasBegun = sink.programTime.line != nil
            backlog.begin()
            let now = Timestamp(nanoseconds: clock.now)
            let moved = [step(.audio, now: now, isHeld: !hasBegun), step(.video, now: now, isHeld: false)]
            if moved.contains(true) { continue }
            let isIdle = isInterrupted && isDelivered
            if isIdle {
                if hasEnded { break }
                for lane in lanes.values { lane.rest() }
                inbox.markDelivered()
            }
            backlog.end()
            // A read might have begun just after the feed was asked to open the input again, so the request is
            // repeated.
            if let refusal { _ = feed.openAgain(after: refusal) }
            // Between two openings nothing is due, and any entry in the inbox ends the wait.
            inbox.wait(.milliseconds(isIdle ? 500 : hasBegun ? 20 : 5))
            watch.rest()
        }
    }

    /// Whether all packets that arrived are decoded. If the due times of the packets were never known, the packets do
    /// not count.
    private var isDelivered: Bool { !timing.isPlaced || lanes.values.allSatisfy(\.isEmpty) }

    private func takeItems() {
        // The queue is not paused before the due times are known, or after the input has ended: the next packets make
        // the due times known, or open the next input.
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

    /// Decodes a frame or a run of audio samples if it is due. Returns whether anything was done.
    private func step(_ kind: TrackKind, now: Timestamp, isHeld: Bool) -> Bool {
        guard refusal == nil, let lane = lanes[kind] else { return false }
        switch lane.step(now: now, isHeld: isHeld) {
        case .idle: return false
        case .advanced: if kind == leader { nextOpening = (.min, Self.shortestPause) }
        case .failed(let failure, let isInVain):
            // An input that has ended is opened again anyway.
            if isInterrupted { return true }
            if failure.isMissingLibrary, kind == leader {
                openAgain(after: .missingLibrary(input: name, reason: failure.message))
            } else if isInVain, kind == leader, clock.now >= nextOpening.from {
                nextOpening.from = clock.now + nextOpening.pause.inNanoseconds
                nextOpening.pause = min(nextOpening.pause * 2, Self.longestPause)
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
