// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Synchronization

/// The slot between a source's thread and the program's.
///
/// A source that can wait is held back when the slot is full, and the program waits for it; nothing is lost. A live source
/// is never held back and never waited for: frames that come too fast push out the oldest.
package final class SourceFeed: SourceSink {
    /// How the source's time and the program's meet.
    package enum Pacing: Sendable, Equatable {
        /// The source waits for the program, and the program for the source.
        case waits
        /// The source waits for the program, and the program never for it: it plays from where the program came to it,
        /// and after a stall it continues later.
        case paced
        /// Like a paced source that is never late: the program waits for the source, too, seen or not. This is for a
        /// program that is made faster than the clock.
        case rendered
        /// The source comes at its own pace and is shown when its clock says. Its frames come at `frameRate`; nil for a
        /// source of audio alone.
        case live(frameRate: FrameRate?)
    }

    struct State {
        var frames = FrameStore()
        var live: LiveVideo
        var audio: AudioStore
        /// How many samples of the audio were taken before their time.
        var audioAhead: Int64 = 0
        /// When the newest frame of a source that can wait was delivered.
        var newest: Timestamp?
        /// The program frame that the first frame of a paced source is, as far as it never stalled; nil before it plays.
        var origin: FrameIndex?
        /// The program frame that a paced source was asked for last, or stood for.
        var asked: FrameIndex?
        /// Whether a paced source had nothing for the frame under way, so that its audio waits, too; or is not to play yet.
        var isStalled = false
        var status = FeedStatus()
        var ended: Set<TrackKind> = []
        var starved: Set<TrackKind> = []
        /// Where the audio ended when the video was last marked starved: up to there no other frame is to come.
        var audioAlone: Int64 = 0
        /// Where the audio of a source that can wait ends, once it has ended.
        var audioEnd: Int64 = 0
        var isClosed = false
        var isProducerWaiting = false
        var isConsumerWaiting = false
    }

    /// How the source is paced.
    package let pacing: Pacing
    package let programTime = ProgramTime()
    /// Whether video comes, which says when a paced source plays.
    let hasVideo: Bool
    /// Whether the program's clock is to follow this source, if it is live, even while its frames are not shown.
    let leads: Bool
    /// Whether a paced source stands while it is neither seen nor heard.
    let standsUnseen: Bool
    /// A live source's packets as they came, if they can be wanted.
    let shelf: PacketBuffer?

    static let frameRoom = 4
    /// How many frames of a live source wait at most, whatever their stamps say.
    private static let liveFrameLimit = 200
    /// The program's frame rate.
    let frameRate: FrameRate
    let audioFormat: AudioFormat
    private let clock: any MonotonicClock
    let state: Mutex<State>
    private let room = DispatchSemaphore(value: 0)
    let news = DispatchSemaphore(value: 0)

    /// An empty slot for a program of these formats. If it `leads`, the program's clock follows this source, provided
    /// that it is live, even while its frames are not shown. A source that can wait may be stopped while it is neither
    /// seen nor heard. The packets of a live source may be kept, too, while they are `wanted`, until the program comes
    /// to them.
    package init(
        pacing: Pacing, frameRate: FrameRate, audio: AudioFormat, leads: Bool = false, hasVideo: Bool = true,
        standsUnseen: Bool = false, keepsPackets: Duration? = nil, wanted: PacketSwitch = PacketSwitch(),
        clock: any MonotonicClock = SystemClock()
    ) {
        shelf = keepsPackets.map { PacketBuffer(delay: $0, wanted: wanted) }
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

    /// Whether the program waits for it.
    var isAwaited: Bool { pacing == .waits || pacing == .rendered }

    /// How much audio a source that can wait delivers ahead, in samples: a second, or what a rendered program waits for where
    /// a frame is longer than that.
    var audioRoom: Int64 {
        max(Int64(audioFormat.sampleRate), 2 * frameSamples + audioFormat.timeBase.ticks(Self.padding))
    }

    package func hasRoom(for track: TrackKind) -> Bool {
        if isLive { return true }
        return state.withLock { state in
            // A closed feed takes everything and keeps nothing, so that no source waits at it.
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

    /// By how much a live source's video, or its audio if that is all, lasts longer on our clock than by its stamps.
    var stretch: Double {
        let track: TrackKind = if case .live(nil) = pacing { .audio } else { .video }
        return state.withLock { $0.live.times }?.stretch(of: track) ?? 0
    }

    /// How far behind their ticks the frames of the source lie that the program's clock follows.
    var referencePhase: Duration {
        get { state.withLock { $0.live.referencePhase } }
        set { state.withLock { $0.live.referencePhase = newValue } }
    }

    /// Says how the program's clock runs, at its beginning and at each tick, and lets a live source's map move on.
    func follow(_ line: ClockLine) {
        programTime.line = line
        guard isLive else { return }
        state.withLock { $0.live.times }?.advance(to: now)
    }

    /// Ends all waiting, on both sides, for good.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            wakeConsumer(&state)
            wakeProducer(&state)
        }
    }

    /// A snapshot for status and metrics.
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

    func wakeConsumer(_ state: inout State) {
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
