// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import Media
internal import Synchronization

/// What an operator sees of one source's way into the program.
public struct FeedStatus: Sendable, Codable {
    /// Frames delivered.
    public var framesIn = 0
    /// Frames that were never shown.
    public var framesDropped = 0
    /// Program frames for which the frame before was shown again.
    public var framesRepeated = 0
    /// Samples of silence put where audio was missing.
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
/// is never held back and never waited for: frames that come too fast push out the oldest.
public final class SourceFeed: SourceSink {
    /// How the source's time and the program's meet.
    public enum Pacing: Sendable, Equatable {
        /// The source waits for the program, and the program for the source.
        case waits
        /// The source comes at its own pace and is shown `latency` after it came, so that its jitter does not show.
        case live(latency: Duration)
    }

    private struct State {
        var frames = FrameStore()
        var audio: AudioStore
        var mapping = SourceMapping()
        var status = FeedStatus()
        var ended: Set<TrackKind> = []
        var starved: Set<TrackKind> = []
        /// When the program began, on the monotonic clock.
        var programStart: Timestamp?
        /// Samples by which audio is moved, besides the mapping.
        var audioCorrection: Int64 = 0
        var isClosed = false
        var isProducerWaiting = false
        var isConsumerWaiting = false
    }

    /// How the source is paced.
    public let pacing: Pacing

    private static let frameRoom = 4
    private let hasVideo: Bool
    private let liveFrameLimit: Int
    /// How much audio a source that can wait delivers ahead, in samples: a second.
    private let audioRoom: Int64
    private let frameRate: FrameRate
    private let audioTime: TimeBase
    private let clock: any MonotonicClock
    private let state: Mutex<State>
    private let room = DispatchSemaphore(value: 0)
    private let news = DispatchSemaphore(value: 0)

    /// An empty slot for a program of these formats. `hasVideo` is false for a source of audio alone.
    public init(
        pacing: Pacing, hasVideo: Bool = true, frameRate: FrameRate, audio: AudioFormat,
        clock: any MonotonicClock = SystemClock()
    ) {
        self.pacing = pacing
        self.hasVideo = hasVideo
        self.clock = clock
        self.frameRate = frameRate
        audioTime = audio.timeBase
        // A latency and the slack of its mapping: what lies further ahead is mapped anew anyway.
        liveFrameLimit = Int(frameRate.frames(atLeast: .milliseconds(500))) + 2
        audioRoom = Int64(audio.sampleRate)
        state = Mutex(State(audio: AudioStore(format: audio)))
    }

    // MARK: The source's side

    public func hasRoom(for track: TrackKind) -> Bool {
        guard pacing == .waits else { return true }
        return state.withLock { state in
            // A closed feed takes everything and keeps nothing, so that no source waits at it.
            if state.isClosed { return true }
            return switch track {
            case .video: state.frames.count < Self.frameRoom
            case .audio: state.audio.end - state.audio.consumed < audioRoom
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
        let time = Timestamp(frame.pts, in: frame.timeBase)
        let end = Timestamp(frame.pts + frame.duration, in: frame.timeBase)
        let arrival = Timestamp(nanoseconds: clock.now)
        state.withLock { state in
            if state.isClosed { return }
            state.status.framesIn += 1
            state.starved.remove(.video)
            map(time, arrival: arrival, &state)
            state.frames.trim(to: liveFrameLimit)
            let offset = state.mapping.offset
            state.frames.add(
                frame, at: frameRate.frame(at: time + offset), until: frameRate.frame(at: end + offset))
            wakeConsumer(&state)
        }
    }

    public func deliver(_ audio: AudioBuffer) {
        let arrival = Timestamp(nanoseconds: clock.now)
        state.withLock { state in
            if state.isClosed { return }
            state.starved.remove(.audio)
            if !hasVideo {
                // Audio alone follows the program; before the program began there is nothing to follow.
                guard pacing == .waits || state.programStart != nil else { return }
                map(Timestamp(audio.position, in: audioTime), arrival: arrival, &state)
            }
            guard pacing == .waits || state.mapping.isMapped else { return }
            var audio = audio
            audio.position += audioTime.ticks(state.mapping.offset)
            if pacing != .waits { correct(&audio, &state) }
            state.status.cutSamples += state.audio.add(audio)
            wakeConsumer(&state)
        }
    }

    private func map(_ time: Timestamp, arrival: Timestamp, _ state: inout State) {
        guard case .live(let latency) = pacing else { return }
        let isResynced = state.mapping.note(
            time, arrival: .zero + (arrival - (state.programStart ?? arrival)), latency: latency, opensProgram: hasVideo
        )
        guard isResynced else { return }
        state.status.resyncs += 1
        state.audioCorrection = 0
    }

    /// A live source's audio whose time has jumped away from its video's is put where the program is; otherwise it would
    /// be late for ever, or pile up.
    private func correct(_ audio: inout AudioBuffer, _ state: inout State) {
        audio.position += state.audioCorrection
        let second = audioRoom
        let lead = audio.position - state.audio.consumed
        guard state.audio.consumed > 0, lead < -second || lead > 2 * second else { return }
        state.status.resyncs += 1
        state.audioCorrection -= lead
        audio.position -= lead
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

    /// Waits for the first frame. False if the source ended, or the feed was closed, without one.
    func waitForFirstFrame() -> Bool {
        waitForNews { !$0.frames.isEmpty || $0.ended.contains(.video) || $0.isClosed }
        return state.withLock { !$0.frames.isEmpty && !$0.isClosed }
    }

    /// Says when the program began, on the monotonic clock. Before that, a live source's time is not mapped.
    func begin(at programStart: Timestamp) {
        state.withLock { $0.programStart = programStart }
    }

    /// The frame for program frame `index`; nil when the source is over and its last frame was shown.
    /// Waits for a source that waits for the program.
    func frame(for index: FrameIndex) -> VideoFrame? {
        if pacing == .waits {
            waitForNews { state in
                state.frames.canChoose(for: index) || state.ended.contains(.video)
                    || state.starved.contains(.video) || state.isClosed
            }
        }
        return state.withLock { state in
            let isOver = state.ended.contains(.video) || state.isClosed
            if isOver, !state.frames.hasVideo(from: index) { return nil }
            defer { wakeProducer(&state) }
            return state.frames.choose(for: index)
        }
    }

    /// The last frame once more, after the source's frames are over.
    func lastFrame(for index: FrameIndex) -> VideoFrame? {
        state.withLock { $0.frames.choose(for: index) }
    }

    /// The audio up to sample `end`, silence where there is none. Waits for a source that waits for the program.
    func audio(upTo end: SampleIndex) -> AudioBuffer {
        if pacing == .waits {
            waitForNews { state in
                state.audio.end >= end.number || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { state in
            let (audio, silence) = state.audio.take(upTo: end.number)
            state.status.silentSamples += silence
            wakeProducer(&state)
            return audio
        }
    }

    /// Whether more than `tail` samples follow, from sample `end` on. Waits for a source that waits for the program, until
    /// it has said so.
    func hasAudio(beyond end: SampleIndex, moreThan tail: Int64) -> Bool {
        if pacing == .waits {
            waitForNews { state in
                state.audio.end - end.number > tail || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { $0.audio.end - end.number > tail }
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
            status.framesDropped = state.frames.dropped
            status.framesRepeated = state.frames.repeated
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
