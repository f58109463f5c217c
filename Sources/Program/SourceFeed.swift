// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Synchronization

/// The buffer of video and audio between the thread of one source and the program's thread.
///
/// A source that can wait, like a file, is blocked while the buffer is full. A live source is never blocked: if its
/// frames come too fast, the oldest are dropped. The program waits for a live source only before its own first frame.
package final class SourceFeed: SourceSink {
    /// Whether the source and the program wait for each other, and what determines when frames are shown.
    package enum Pacing: Sendable, Equatable {
        /// The source waits for the program, and the program waits for the source, so nothing is lost.
        case waits
        /// The source waits for the program, but the program never waits for the source. The source is played from a
        /// chosen program frame on. If it has no media for a while, all its later frames are shown later.
        case paced
        /// Like ``paced``, but the program waits for the source, too, even while the source is not visible, so the
        /// source is never late. For a program that is made faster than real time.
        case rendered
        /// The source delivers in real time, and its clock determines when its frames are shown. `frameRate` is the
        /// source's frame rate; nil for a source with audio only.
        case live(frameRate: FrameRate?)
    }

    struct State {
        var frames = FrameStore()
        var live: LiveVideo
        var audio: AudioStore
        /// By how many samples the audio has been taken earlier than the program plays it.
        var audioAhead: Int64 = 0
        /// The time at which the source last had video, for a source whose reading can be paused; see
        /// ``SourceFeed/newestVideo(at:)``.
        var newest: MonotonicInstant?
        /// The program frame to which a paced source's first frame is assigned, moved later by all stalls; nil before
        /// the source is played, and the maximum while the source is parked.
        var origin: FrameIndex?
        /// The last program frame for which a paced source was asked for a frame, or was paused.
        var asked: FrameIndex?
        /// Whether a paced source has no frame for the current program frame, so that its audio must wait, too. Also
        /// true while the source is paused or must not be played yet.
        var isStalled = false
        var status = FeedStatus()
        var ended: Set<TrackKind> = []
        /// Whether the source has reported that it is an image.
        var isImage = false
        var starved: Set<TrackKind> = []
        /// The end of the stored audio, as a sample position, when the source last reported that it has no more video
        /// ready. Until this position, no further frame comes.
        var audioAlone: Int64 = 0
        /// The end of the audio of a source that can wait, as a sample position, after its audio has ended.
        var audioEnd: Int64 = 0
        var isClosed = false
        var isProducerWaiting = false
        var isConsumerWaiting = false
    }

    /// How the source and the program wait for each other.
    package let pacing: Pacing
    package let programTime = ProgramTime()
    /// Whether the source has video. A paced source with video begins to play when its video begins.
    let hasVideo: Bool
    /// Whether the program's clock should follow this source even while the source is not shown. Only for a live
    /// source.
    let leads: Bool
    /// Whether a paced source is paused while it is neither visible nor audible. Otherwise it continues to play unseen.
    let standsUnseen: Bool
    /// The packets of a live source; nil if no consumer can need them.
    private let packetBuffer: PacketBuffer?

    static let frameRoom = 4
    /// The maximum number of waiting frames of a live source, whatever their timestamps are.
    private static let liveFrameLimit = 200
    /// The program's frame rate.
    let frameRate: FrameRate
    let audioFormat: AudioFormat
    private let clock: any MonotonicClock
    let state: Mutex<State>
    private let spaceAvailable = DispatchSemaphore(value: 0)
    private let dataAvailable = DispatchSemaphore(value: 0)

    /// Creates an empty buffer for a program with these formats. If `leads` is true and the source is live, the
    /// program's clock follows this source even while the source is not shown. `standsUnseen` pauses a paced source
    /// while it is neither visible nor audible. If `keepsPackets` is not nil, a live source's packets are stored, too,
    /// until the program reaches their times; the value of `keepsPackets` is the delay with which the source is shown.
    /// Packets are stored only while `wanted` is on.
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

    /// Whether the program waits for the source's media.
    var isAwaited: Bool { pacing == .waits || pacing == .rendered }

    /// How much audio of a source that can wait is buffered, in samples: one second. At very low frame rates it is as
    /// much as the program waits for, if that is more.
    var audioRoom: Int64 {
        max(Int64(audioFormat.sampleRate), 2 * frameSamples + audioFormat.timeBase.ticks(Self.padding))
    }

    package func hasRoom(for track: TrackKind) -> Bool {
        if isLive { return true }
        return state.withLock { state in
            // A closed feed accepts all media and stores none of it, so that the source's thread does not wait.
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
        _ = spaceAvailable.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds)))
    }

    package func attach(_ times: any SourceTimes) { state.withLock { $0.live.times = times } }

    package func deliver(_ frame: VideoFrame) {
        // The times of a source that can wait begin with 0, so they are treated as program times. If the source begins
        // to play after the program, they are the times of a program that would begin at that moment.
        let time = ProgramInstant(frame.pts, in: frame.timeBase)
        let end = ProgramInstant(frame.pts + frame.duration, in: frame.timeBase)
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

    package func markImage() { state.withLock { $0.isImage = true } }

    package func end(_ track: TrackKind) {
        state.withLock { state in
            if track == .audio, !state.ended.contains(.audio) { state.audioEnd = state.audio.end }
            state.ended.insert(track)
            wakeConsumer(&state)
        }
    }

    // MARK: The program's side

    var now: MonotonicInstant { clock.now }

    /// Whether the program's clock follows the phase of this source's frames.
    var isReference: Bool {
        get { state.withLock { $0.live.isReference } }
        set { state.withLock { $0.live.isReference = newValue } }
    }

    /// By what fraction a live source's video is stretched to play at the sender's rate on our clock. For a source
    /// without video, the same for its audio.
    var stretch: Double {
        let track: TrackKind = if case .live(nil) = pacing { .audio } else { .video }
        return state.withLock { $0.live.times }?.stretch(of: track) ?? 0
    }

    /// How much later than the beginnings of their program frames the frames of the reference source are due; see
    /// ``LiveFrames/referencePhase``.
    var referencePhase: Duration {
        get { state.withLock { $0.live.referencePhase } }
        set { state.withLock { $0.live.referencePhase = newValue } }
    }

    /// Stores the present state of the program's clock, and advances the clock of a live source. Called at the
    /// program's beginning and at each tick.
    func follow(_ line: ProgramClockLine) {
        programTime.line = line
        guard isLive else { return }
        state.withLock { $0.live.times }?.advance(to: now)
    }

    /// Closes the feed for good. The source's thread and the program's thread no longer wait for each other.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            wakeConsumer(&state)
            wakeProducer(&state)
        }
    }

    /// A snapshot of the feed's status.
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

    func waitForData(until isEnough: (borrowing State) -> Bool) {
        while true {
            let isDone = state.withLock { state in
                if isEnough(state) { return true }
                state.isConsumerWaiting = true
                return false
            }
            if isDone { return }
            dataAvailable.wait()
        }
    }

    private func wakeConsumer(_ state: inout State) {
        guard state.isConsumerWaiting else { return }
        state.isConsumerWaiting = false
        dataAvailable.signal()
    }

    func wakeProducer(_ state: inout State) {
        guard state.isProducerWaiting else { return }
        state.isProducerWaiting = false
        spaceAvailable.signal()
    }
}

// MARK: The first frame

extension SourceFeed {
    /// How long a program waits for the first frame of a live source that is not late. The frames that were collected
    /// while the input was opened must be decoded first, and most of them are late.
    private static let patience = Duration.seconds(2)

    /// Waits for the source's first frame. Returns when the program should begin: at once or, for a live source, when
    /// its first frame that is not late is due. If there is no such frame 2 s after the source's first frame, the
    /// program should begin at once. Returns nil if the source ended, or the feed was closed, without a frame.
    /// `isWanted` is called repeatedly; when it returns false, this stops waiting and returns nil.
    func waitForFirstFrame(while isWanted: () -> Bool) -> MonotonicInstant? {
        while isWanted() {
            let (hasCome, isOver) = state.withLock { state in
                state.isConsumerWaiting = true
                let isOver = state.isClosed || state.ended.contains(.video)
                return (isLive ? !state.live.isEmpty : !state.frames.isEmpty, isOver)
            }
            if hasCome || isOver { return isLive ? waitForLiveFrame(while: isWanted) : firstMoment }
            _ = dataAvailable.wait(timeout: .now() + .milliseconds(20))
        }
        return nil
    }

    /// The present moment if a source that can wait has a frame; otherwise nil.
    private var firstMoment: MonotonicInstant? { state.withLock { !$0.frames.isEmpty && !$0.isClosed } ? now : nil }

    private func waitForLiveFrame(while isWanted: () -> Bool) -> MonotonicInstant? {
        let deadline = now + Self.patience
        while isWanted() {
            let now = now
            let (moment, isReady, isOver) = state.withLock { state -> (MonotonicInstant?, Bool, Bool) in
                state.isConsumerWaiting = true
                let moment = state.live.firstMoment(after: now)
                return (moment, state.live.isCaughtUp, state.isClosed || state.ended.contains(.video))
            }
            // While a backlog is being decoded, the program must not begin: its first frame would be almost late, and
            // the audio of that frame would not be decoded yet.
            if let moment, isReady || isOver || now >= deadline { return moment }
            if isOver { return state.withLock { !$0.live.isEmpty && !$0.isClosed } ? now : nil }
            if now >= deadline { return now }
            _ = dataAvailable.wait(timeout: .now() + .milliseconds(20))
        }
        return nil
    }
}

// MARK: Packets

extension SourceFeed: PacketTap {
    package var wantsPackets: Bool { packetBuffer != nil }

    package func beginPackets(refusal: String?) { packetBuffer?.begin(refusal: refusal) }

    package func deliver(packet: EncodedPacket) { packetBuffer?.put(packet) }

    /// Why the source's packets are unavailable, for operators; nil if they are available, or if this is not known yet.
    package var packetRefusal: String? {
        guard let packetBuffer else { return isLive ? "its packets are not kept" : "it waits to be read" }
        return packetBuffer.refusal
    }

    /// Makes the packets that were already taken available again, from the newest keyframe on, for a consumer that
    /// begins with this call.
    package func rewindPackets() { packetBuffer?.rewind() }

    /// Drops the packets whose decoding times are before `time`.
    package func dropPackets(before time: ProgramInstant) {
        _ = packetBuffer?.take { packet in target(of: packet, before: time).map { _ in packet } }
    }

    /// Returns the packets that were not taken yet and whose decoding times are before `end`, in the order of their
    /// decoding times. `placing` converts their times to program time.
    package func takePackets(before end: ProgramInstant, by placing: inout PacketPlacing) -> [EncodedPacket] {
        guard let packetBuffer else { return [] }
        let taken = packetBuffer.take { packet in
            target(of: packet, before: end).map { placing.place(packet, target: $0) }
        }
        return taken.sorted { $0.programDts < $1.programDts }
    }

    /// Returns program time minus source time for `packet` at present. Returns nil if the packet's
    /// decoding time in the program is not before `end`, or if the difference is unknown.
    private func target(of packet: EncodedPacket, before end: ProgramInstant) -> Duration? {
        guard let line = programTime.line, let times = state.withLock({ $0.live.times }),
            let due = times.due(Timestamp(packet.pts, in: packet.timeBase), of: packet.track)
        else { return nil }
        let target = Duration.nanoseconds(line.image(of: due).nanoseconds - packet.ptsNanoseconds)
        return packet.sourceDts.inProgram(target) < end ? target : nil
    }
}
