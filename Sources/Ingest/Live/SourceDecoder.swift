// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes the packets in the inbox of a live source and delivers frames and audio into a sink until the source ends.
/// All live input is decoded here, whatever feed it has. Used by the source's decoding thread only.
final class SourceDecoder {
    /// If a server keeps unread media available, no packets are taken from the inbox while a track has more than this
    /// many bytes queued for decoding (16 MiB).
    private static let pauseBytes = CompressedQueue.byteLimit / 4

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
    /// Hands on the packets without decoding them, if the sink wants them.
    private let taps: TapFeeder?
    private let clock: any MonotonicClock
    private var backlog: BacklogWatch
    private var canWait = false
    /// Whether the sender of this opening is gone, so that no more of its packets follow.
    private var isInterrupted = false
    private var hasEnded = false
    /// Why the feed was asked to open the input again; nil once the feed has interrupted.
    private var refusal: IngestError?
    /// Whether the input may be opened again because it cannot be decoded: only if its leading track could be decoded
    /// since the last time.
    private var mayOpenAgain = true

    /// A decoder of the packets that `feed` puts into `inbox`. Video and audio are delivered in these formats; nil
    /// means that the track is not wanted. `options` select and move the audio; errors call the source `name`.
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
            // Audio is placed on the program's timeline, so the program must have begun.
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
            // A read may have begun just after the feed was asked to open the input again, so the request is repeated.
            if let refusal { _ = feed.openAgain(after: refusal) }
            // Between two openings nothing is due, and all that the inbox is given ends the wait.
            inbox.wait(.milliseconds(isIdle ? 500 : hasBegun ? 20 : 5))
            watch.rest()
        }
    }

    /// Whether all packets that arrived are decoded. Packets of a source that was never placed do not count.
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
                // The leading track may not reopen the input again and again: that would interrupt the other track,
                // which can be decoded.
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
