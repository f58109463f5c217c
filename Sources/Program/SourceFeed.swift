// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Synchronization

/// The buffer between a source's thread and the program's thread.
///
/// A source that can wait is blocked while the buffer is full, and the program waits for it, so nothing is lost. A live
/// source is never blocked, and the program never waits for it: if frames come too fast, the oldest are dropped.
package final class SourceFeed: SourceSink {
    /// Whether the source and the program wait for each other.
    package enum Pacing: Sendable, Equatable {
        /// The source waits for the program, and the program waits for the source.
        case waits
        /// The source waits for the program, but the program never waits for the source. The source is played from the
        /// program frame at which it started, and after a stall it continues later.
        case paced
        /// Like ``paced``, but never late, because the program waits for the source, too, even if the source is not
        /// visible. For a program that is made faster than real time.
        case rendered
        /// The source delivers in real time, and its clock determines when its frames are shown. They come at
        /// `frameRate`; nil for a source with audio only.
        case live(frameRate: FrameRate?)
    }

    struct State {
        var frames = FrameStore()
        var live: LiveVideo
        var audio: AudioStore
        /// The number of samples of audio that were taken ahead of time.
        var audioAhead: Int64 = 0
        /// When a source that can wait delivered its newest frame.
        var newest: Timestamp?
        /// The program frame of a paced source's first frame, corrected for stalls; nil before the source is played.
        var origin: FrameIndex?
        /// The last program frame requested from a paced source, or skipped while it was paused.
        var asked: FrameIndex?
        /// Whether a paced source had no frame for the current program frame, so that its audio waits, too. Also set if
        /// it must not be played yet.
        var isStalled = false
        var status = FeedStatus()
        var ended: Set<TrackKind> = []
        var starved: Set<TrackKind> = []
        /// The end of the audio at the time when the video was last marked as starved: no frame comes before that
        /// position.
        var audioAlone: Int64 = 0
        /// The end of the audio of a source that can wait, when that is known.
        var audioEnd: Int64 = 0
        var isClosed = false
        var isProducerWaiting = false
        var isConsumerWaiting = false
    }

    /// How the source is paced.
    package let pacing: Pacing
    package let programTime = ProgramTime()
    /// Whether the source has video. If it has, the video determines when a paced source is played.
    let hasVideo: Bool
    /// Whether the program's clock should follow this source, if it is live, even while its frames are not shown.
    let leads: Bool
    /// Whether a paced source is paused while it is neither visible nor audible.
    let standsUnseen: Bool
    /// A live source's packets, if they may be needed.
    private let packetBuffer: PacketBuffer?

    static let frameRoom = 4
    /// The maximum number of waiting frames of a live source, regardless of their timestamps.
    private static let liveFrameLimit = 200
    /// The program's frame rate.
    let frameRate: FrameRate
    let audioFormat: AudioFormat
    private let clock: any MonotonicClock
    let state: Mutex<State>
    private let room = DispatchSemaphore(value: 0)
    private let news = DispatchSemaphore(value: 0)

    /// An empty buffer for a program with these formats. If the source `leads` and is live, the program's clock follows
    /// it even while its frames are not shown. `standsUnseen` pauses a paced source while it is neither visible nor
    /// audible. With `keepsPackets`, which is the delay of the source, the packets of a live source are also stored
    /// until the program reaches them, while they are `wanted`.
    package init(
        pacing: Pacing, frameRate: FrameRate, audio: AudioFormat, leads: Bool = false, hasVideo: Bool = true,
        standsUnseen: Bool = false, keepsPackets: Duration? = nil, wanted: PacketSwitch = PacketSwitch(),
        clock: any MonotonicClock = SystemClock()
    ) {
        packetBuffer = keepsPackets.map { PacketBuffer(delay: $0, wanted: wanted) }
        self.standsUnseen = standsUnseen && pacing == .paced
        self.hasVideo = hasVideo
        self.pacing = pacing
        self.leads = leads
        self.clock = clock
        (self.frameRate, audioFormat) = (frameRate, audio)
        state = Mutex(State(live: LiveVideo(frameRate: frameRate), audio: AudioStore(format: audio)))
    }

    // MARK: The source's side

    var isLive: Bool {
        if case .live = pacing { true } else { false }
    }

    /// Whether the program waits for the source.
    var isAwaited: Bool { pacing == .waits || pacing == .rendered }

    /// How much audio a source that can wait delivers ahead of the program, in samples: one second, or, if frames are
    /// longer, as much as a rendered program waits for.
    var audioRoom: Int64 {
        max(Int64(audioFormat.sampleRate), 2 * frameSamples + audioFormat.timeBase.ticks(Self.padding))
    }

    package func hasRoom(for track: TrackKind) -> Bool {
        if isLive { return true }
        return state.withLock { state in
            // A closed feed accepts all media and stores none, so that no source waits for it.
            if state.isClosed { return true }
            return switch track {
            case .video: state.frames.count < Self.frameRoom
            case .audio: state.audio.end - state.audio.consumed < audioRoom
            case .data: true
            }
        }
    }

    package func waitForRoom(timeout: Duration) {
        let isClosed = state.withLock { state in
            state.isProducerWaiting = true
            return state.isClosed
        }
        if isClosed { return }
        _ = room.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds)))
    }

    package func attach(_ times: any SourceTimes) { state.withLock { $0.live.times = times } }

    package func deliver(_ frame: VideoFrame) {
        let time = Timestamp(frame.pts, in: frame.timeBase)
        let end = Timestamp(frame.pts + frame.duration, in: frame.timeBase)
        state.withLock { state in
            if state.isClosed { return }
            state.status.framesIn += 1
            state.starved.remove(.video)
            if isLive {
                state.live.add(frame, limit: Self.liveFrameLimit, at: now, hasBegun: programTime.line != nil)
            } else {
                state.newest = now
                state.frames.add(frame, at: frameRate.frame(at: time), until: frameRate.frame(at: end))
            }
            wakeConsumer(&state)
        }
    }

    package func deliver(_ audio: AudioBuffer) {
        state.withLock { state in
            if state.isClosed { return }
            state.starved.remove(.audio)
            state.status.cutSamples += state.audio.add(audio)
            wakeConsumer(&state)
        }
    }

    package func moveAudio(by samples: Int64) {
        state.withLock { state in
            state.status.resyncs += 1
            state.status.cutSamples += state.audio.move(by: samples)
        }
    }

    package func markStarved(_ track: TrackKind) {
        state.withLock { state in
            state.starved.insert(track)
            if track == .video { state.audioAlone = state.audio.end }
            wakeConsumer(&state)
        }
    }

    package func markBehind() { state.withLock { $0.live.markBehind(at: now) } }

    package func markCaughtUp() {
        state.withLock { state in
            state.live.markCaughtUp()
            wakeConsumer(&state)
        }
    }

    package func end(_ track: TrackKind) {
        state.withLock { state in
            if track == .audio, !state.ended.contains(.audio) { state.audioEnd = state.audio.end }
            state.ended.insert(track)
            wakeConsumer(&state)
        }
    }

    // MARK: The program's side

    var now: Timestamp { Timestamp(nanoseconds: clock.now) }

    /// Whether the program's clock follows the source.
    var isReference: Bool {
        get { state.withLock { $0.live.isReference } }
        set { state.withLock { $0.live.isReference = newValue } }
    }

    /// How much longer a live source's video lasts on our clock than its timestamps say, as a fraction; for a source
    /// without video, the same for its audio.
    var stretch: Double {
        let track: TrackKind = if case .live(nil) = pacing { .audio } else { .video }
        return state.withLock { $0.live.times }?.stretch(of: track) ?? 0
    }

    /// How far the frames of the reference source are after the middle of their program frames.
    var referencePhase: Duration {
        get { state.withLock { $0.live.referencePhase } }
        set { state.withLock { $0.live.referencePhase = newValue } }
    }

    /// Adopts the program's clock, at the beginning and at each tick, and advances a live source's clock mapping.
    func follow(_ line: ClockLine) {
        programTime.line = line
        guard isLive else { return }
        state.withLock { $0.live.times }?.advance(to: now)
    }

    /// Ends all waiting on both sides, permanently.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            wakeConsumer(&state)
            wakeProducer(&state)
        }
    }

    /// A snapshot of the status, for status and metrics.
    package var status: FeedStatus {
        state.withLock { state in
            var status = state.status
            status.framesDropped = state.frames.dropped + state.live.dropped
            status.framesRepeated = state.frames.repeated + state.live.repeated
            status.framesLate += state.live.late
            return status
        }
    }

    // MARK: Waiting

    func waitForNews(until isEnough: (borrowing State) -> Bool) {
        while true {
            let isDone = state.withLock { state in
                if isEnough(state) { return true }
                state.isConsumerWaiting = true
                return false
            }
            if isDone { return }
            news.wait()
        }
    }

    private func wakeConsumer(_ state: inout State) {
        guard state.isConsumerWaiting else { return }
        state.isConsumerWaiting = false
        news.signal()
    }

    func wakeProducer(_ state: inout State) {
        guard state.isProducerWaiting else { return }
        state.isProducerWaiting = false
        room.signal()
    }
}

// MARK: The first frame

extension SourceFeed {
    /// How long a program waits for the first frame of a live source that is not late: the frames that were collected
    /// while the input was opened are decoded first.
    private static let patience = Duration.seconds(2)

    /// Waits for the first frame and returns the time at which the program should begin: now, or when the first frame
    /// of a live source that is not late is due. Returns nil if the source ended or the feed was closed without a
    /// frame, or as soon as `isWanted` returns false, which is called repeatedly.
    func waitForFirstFrame(while isWanted: () -> Bool) -> Timestamp? {
        while isWanted() {
            let (hasCome, isOver) = state.withLock { state in
                state.isConsumerWaiting = true
                let isOver = state.isClosed || state.ended.contains(.video)
                return (isLive ? !state.live.isEmpty : !state.frames.isEmpty, isOver)
            }
            if hasCome || isOver { return isLive ? waitForLiveFrame(while: isWanted) : firstMoment }
            _ = news.wait(timeout: .now() + .milliseconds(20))
        }
        return nil
    }

    /// The present time, if the source can wait and has a frame; otherwise nil.
    private var firstMoment: Timestamp? { state.withLock { !$0.frames.isEmpty && !$0.isClosed } ? now : nil }

    private func waitForLiveFrame(while isWanted: () -> Bool) -> Timestamp? {
        let deadline = now + Self.patience
        while isWanted() {
            let now = now
            let (moment, isReady, isOver) = state.withLock { state -> (Timestamp?, Bool, Bool) in
                state.isConsumerWaiting = true
                let moment = state.live.firstMoment(after: now)
                return (moment, state.live.isCaughtUp, state.isClosed || state.ended.contains(.video))
            }
            // While a backlog is decoded, its newest frame does not show how much time there is: the program would
            // begin with a frame that is almost late, and whose audio is not decoded yet.
            if let moment, isReady || isOver || now >= deadline { return moment }
            if isOver { return state.withLock { !$0.live.isEmpty && !$0.isClosed } ? now : nil }
            if now >= deadline { return now }
            _ = news.wait(timeout: .now() + .milliseconds(20))
        }
        return nil
    }
}

// MARK: Packets

extension SourceFeed: PacketTap {
    package var wantsPackets: Bool { packetBuffer != nil }

    package func beginPackets(refusal: String?) { packetBuffer?.begin(refusal: refusal) }

    package func deliver(packet: EncodedPacket) { packetBuffer?.put(packet) }

    /// Why the source's packets are unavailable; nil if they are available, or if that is not known yet.
    package var packetRefusal: String? {
        guard let packetBuffer else { return isLive ? "its packets are not kept" : "it waits to be read" }
        return packetBuffer.refusal
    }

    /// Lets the next consumer of packets begin with the newest keyframe that another consumer has taken.
    package func rewindPackets() { packetBuffer?.rewind() }

    /// Forgets the packets with decoding times before program time `time`.
    package func dropPackets(before time: Timestamp) {
        _ = packetBuffer?.take { packet in target(of: packet, before: time).map { _ in packet } }
    }

    /// Takes the packets whose decoding times are before the program time `end`. `placing` converts their times. They
    /// are in the order of their decoding times.
    package func takePackets(before end: Timestamp, by placing: inout PacketPlacing) -> [EncodedPacket] {
        guard let packetBuffer else { return [] }
        let taken = packetBuffer.take { packet in
            target(of: packet, before: end).map { placing.place(packet, target: $0) }
        }
        return taken.sorted { $0.dtsNanoseconds < $1.dtsNanoseconds }
    }

    /// Returns how much later the time of `packet` is in the program than on the source's timeline, at present and in
    /// nanoseconds. Nil if its decoding time is not before `end`, or if the difference is unknown.
    private func target(of packet: EncodedPacket, before end: Timestamp) -> Int64? {
        guard let line = programTime.line, let times = state.withLock({ $0.live.times }),
            let due = times.due(Timestamp(packet.pts, in: packet.timeBase), of: packet.track)
        else { return nil }
        let target = line.image(of: due).nanoseconds - packet.ptsNanoseconds
        return packet.dtsNanoseconds + target < end.nanoseconds ? target : nil
    }
}
