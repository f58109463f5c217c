// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import Media
internal import Synchronization

/// What an operator sees of one source's way into the program.
public struct FeedStatus: Sendable, Codable {
    /// Pictures delivered.
    public var framesIn = 0
    /// Pictures that were never shown.
    public var framesDropped = 0
    /// Program frames for which the picture before was shown again.
    public var framesRepeated = 0
    /// Samples of silence put where sound was missing.
    public var silentSamples = 0
    /// Samples that came too late or overlapped.
    public var cutSamples = 0
    /// Times a live source's time was mapped anew.
    public var resyncs = 0

    /// Nothing delivered yet.
    public init() {}
}

/// The slot between a source's thread and the program's.
///
/// A source that can wait is held back when the slot is full, and the program waits for it; nothing is lost. A live source
/// is never held back and never waited for: pictures that come too fast push out the oldest.
public final class SourceFeed: SourceSink {
    /// How the source's time and the program's meet.
    public enum Pacing: Sendable, Equatable {
        /// The source waits for the program, and the program for the source.
        case waits
        /// The source comes at its own pace and is shown `latency` after it came, so that its jitter does not show.
        case live(latency: Duration)
    }

    private struct State {
        var pictures = PictureStore()
        var sound: SoundStore
        var mapping = SourceMapping()
        var status = FeedStatus()
        var ended: Set<TrackKind> = []
        var starved: Set<TrackKind> = []
        var programStart: Int64?
        var soundCorrection: Int64 = 0
        var isClosed = false
        var isProducerWaiting = false
        var isConsumerWaiting = false
    }

    /// How the source is paced.
    public let pacing: Pacing

    private static let pictureRoom = 4
    private let hasPicture: Bool
    private let livePictureLimit: Int
    private let soundRoom: Int64
    private let frameTime: TimeBase
    private let soundTime: TimeBase
    private let clock: any MonotonicClock
    private let state: Mutex<State>
    private let room = DispatchSemaphore(value: 0)
    private let news = DispatchSemaphore(value: 0)

    /// An empty slot for a program of these formats. `hasPicture` is false for a source of sound alone.
    public init(
        pacing: Pacing, hasPicture: Bool = true, frameRate: FrameRate, audio: AudioFormat,
        clock: any MonotonicClock = SystemClock()
    ) {
        self.pacing = pacing
        self.hasPicture = hasPicture
        self.clock = clock
        frameTime = frameRate.timeBase
        soundTime = audio.timeBase
        // A latency and the slack of its mapping: what lies further ahead is mapped anew anyway.
        livePictureLimit = Int(frameRate.frames(atLeast: .milliseconds(500))) + 2
        soundRoom = Int64(audio.sampleRate)
        state = Mutex(State(sound: SoundStore(format: audio)))
    }

    // MARK: The source's side

    public func hasRoom(for track: TrackKind) -> Bool {
        guard pacing == .waits else { return true }
        return state.withLock { state in
            // A closed feed takes everything and keeps nothing, so that no source waits at it.
            if state.isClosed { return true }
            return switch track {
            case .video: state.pictures.count < Self.pictureRoom
            case .audio: state.sound.end - state.sound.consumed < soundRoom
            }
        }
    }

    public func waitForRoom(timeout: Duration) {
        let isClosed = state.withLock { state in
            state.isProducerWaiting = true
            return state.isClosed
        }
        if isClosed { return }
        _ = room.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds)))
    }

    public func deliver(_ frame: VideoFrame) {
        let time = frame.timeBase.rescale(frame.pts, to: .nanoseconds)
        let arrival = clock.now
        state.withLock { state in
            if state.isClosed { return }
            state.status.framesIn += 1
            state.starved.remove(.video)
            map(time, arrival: arrival, &state)
            state.pictures.trim(to: livePictureLimit)
            let index = TimeBase.nanoseconds.rescale(time + state.mapping.offset, to: frameTime)
            let end = frame.timeBase.rescale(frame.pts + frame.duration, to: .nanoseconds)
            state.pictures.add(
                frame, at: index, until: TimeBase.nanoseconds.rescale(end + state.mapping.offset, to: frameTime))
            wakeConsumer(&state)
        }
    }

    public func deliver(_ sound: AudioBuffer) {
        let arrival = clock.now
        state.withLock { state in
            if state.isClosed { return }
            state.starved.remove(.audio)
            if !hasPicture {
                // Sound alone follows the program; before the program began there is nothing to follow.
                guard pacing == .waits || state.programStart != nil else { return }
                map(soundTime.rescale(sound.position, to: .nanoseconds), arrival: arrival, &state)
            }
            guard pacing == .waits || state.mapping.isMapped else { return }
            var sound = sound
            sound.position += TimeBase.nanoseconds.rescale(state.mapping.offset, to: soundTime)
            if pacing != .waits { correct(&sound, &state) }
            state.status.cutSamples += state.sound.add(sound)
            wakeConsumer(&state)
        }
    }

    private func map(_ time: Int64, arrival: Int64, _ state: inout State) {
        guard case .live(let latency) = pacing else { return }
        let isResynced = state.mapping.note(
            time, arrival: arrival - (state.programStart ?? arrival), latency: latency, opensProgram: hasPicture)
        guard isResynced else { return }
        state.status.resyncs += 1
        state.soundCorrection = 0
    }

    /// A live source's sound whose time has jumped away from its picture's is put where the program is; otherwise it would
    /// be late for ever, or pile up.
    private func correct(_ sound: inout AudioBuffer, _ state: inout State) {
        sound.position += state.soundCorrection
        let second = soundRoom
        let lead = sound.position - state.sound.consumed
        guard state.sound.consumed > 0, lead < -second || lead > 2 * second else { return }
        state.status.resyncs += 1
        state.soundCorrection -= lead
        sound.position -= lead
    }

    public func markStarved(_ track: TrackKind) {
        state.withLock { state in
            state.starved.insert(track)
            wakeConsumer(&state)
        }
    }

    public func end(_ track: TrackKind) {
        state.withLock { state in
            state.ended.insert(track)
            wakeConsumer(&state)
        }
    }

    public func restart() {
        state.withLock { $0.mapping.forget() }
    }

    // MARK: The program's side

    /// Waits for the first picture. False if the source ended, or the feed was closed, without one.
    func waitForFirstPicture() -> Bool {
        waitForNews { !$0.pictures.isEmpty || $0.ended.contains(.video) || $0.isClosed }
        return state.withLock { !$0.pictures.isEmpty && !$0.isClosed }
    }

    /// Says when the program began, on the monotonic clock. Before that, a live source's time is not mapped.
    func begin(at programStart: Int64) {
        state.withLock { $0.programStart = programStart }
    }

    /// The picture for program frame `index`; nil when the source is over and its last picture was shown.
    /// Waits for a source that waits for the program.
    func picture(for index: Int64) -> VideoFrame? {
        if pacing == .waits {
            waitForNews { state in
                state.pictures.canChoose(for: index) || state.ended.contains(.video)
                    || state.starved.contains(.video) || state.isClosed
            }
        }
        return state.withLock { state in
            let isOver = state.ended.contains(.video) || state.isClosed
            if isOver, !state.pictures.hasPicture(from: index) { return nil }
            defer { wakeProducer(&state) }
            return state.pictures.choose(for: index)
        }
    }

    /// The last picture once more, after the source's pictures are over.
    func lastPicture(for index: Int64) -> VideoFrame? {
        state.withLock { $0.pictures.choose(for: index) }
    }

    /// The sound up to sample `end`, silence where there is none. Waits for a source that waits for the program.
    func sound(upTo end: Int64) -> AudioBuffer {
        if pacing == .waits {
            waitForNews { state in
                state.sound.end >= end || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { state in
            let (sound, silence) = state.sound.take(upTo: end)
            state.status.silentSamples += silence
            wakeProducer(&state)
            return sound
        }
    }

    /// Whether more than `tail` samples follow position `end`. Waits for a source that waits for the program, until
    /// it has said so.
    func hasSound(beyond end: Int64, moreThan tail: Int64) -> Bool {
        if pacing == .waits {
            waitForNews { state in
                state.sound.end - end > tail || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { $0.sound.end - end > tail }
    }

    /// Ends all waiting, on both sides, for good.
    public func close() {
        state.withLock { state in
            state.isClosed = true
            wakeConsumer(&state)
            wakeProducer(&state)
        }
    }

    /// A snapshot for status and metrics.
    public var status: FeedStatus {
        state.withLock { state in
            var status = state.status
            status.framesDropped = state.pictures.dropped
            status.framesRepeated = state.pictures.repeated
            return status
        }
    }

    // MARK: Waiting

    private func waitForNews(until isEnough: (borrowing State) -> Bool) {
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

    private func wakeProducer(_ state: inout State) {
        guard state.isProducerWaiting else { return }
        state.isProducerWaiting = false
        room.signal()
    }
}
