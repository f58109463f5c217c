// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media
internal import SourceClock
internal import Synchronization

/// The timestamps of a track: their time base, and the number of bits after which they wrap; nil if they do not wrap.
typealias TrackStamps = (timeBase: TimeBase, bits: Int?)

/// A live source's clock. Its mapping converts the source's times to due times. The clock is shared by the reading
/// thread, the decoding thread and the program's thread. It lives as long as the source, however often the source is
/// opened again, and reports clock events to the source's monitor.
///
/// The source counts as placed when the mapping becomes known, which is after the first packets were collected.
final class SourceTiming: SourceTimes {
    /// When a run of audio samples is due, and how the mapping has changed since the previous run.
    struct AudioPlace {
        /// When the run is due.
        let due: MonotonicInstant
        /// By what fraction the run is stretched, so that its duration is correct by relay's own clock: 0.0001 makes it
        /// 100 ppm longer.
        let stretch: Double
        /// The sum of the sudden moves of the mapping since the previous run.
        let step: Duration
        /// The number of times that the source was placed so far, which means that its mapping became known. If the
        /// number differs from the number at the previous run, this run is the first run of a new placement.
        let placement: Int
    }

    private struct State {
        var clock: SourceClock
        /// The mappings to due times from before the source was opened again. They are used for the media that arrived
        /// before the reopening, until there is a new mapping.
        var lastLines: [TrackKind: SourceClockLine] = [:]
        var placements = 0
        var step = Duration.zero
        /// Whether the mapping was made or moved since frames were last aligned with the program's. Frames might then
        /// be due at another point within the program's frame intervals than before.
        var isOffPhase = false
        /// The decoding and presentation times of up to three newest frames on the source's timeline. Empty before the
        /// first frame, and again after the source was reopened or its video fell silent.
        var newestFrames: [(decode: Timestamp, presentation: Timestamp)] = []

        /// The presentation time of one of the newest frames. If three are known, it is the one whose decoding time is
        /// in the middle: the timestamps of one of them may be wrong.
        var sureFrame: Timestamp? {
            let frames = newestFrames.sorted { $0.decode < $1.decode }
            return frames.isEmpty ? nil : frames[(frames.count - 1) / 2].presentation
        }

        /// Records a frame. Frames from before a jump of the sender's timestamps are forgotten.
        mutating func noteFrame(_ frame: SourceClock.Noted) {
            newestFrames = (frame.isMoved ? [] : newestFrames.suffix(2)) + [(frame.decodeTime, frame.time)]
        }
    }

    /// The offset that is added to the due times of the source's clock: the source's configured delay, plus the
    /// duration of one frame. The frame duration is needed because the audio of a whole frame is taken when the frame
    /// begins, and because a frame is shown up to half a frame before it is due.
    private let preparation: Duration
    private let monitor: SourceMonitor
    private let name: String
    private let frameRate: FrameRate
    private let programTime: ProgramTime
    private let state: Mutex<State>

    /// Creates the clock of a source in a program of `frameRate` whose time is `programTime`. The source is shown
    /// `delay` later than its clock requires. `name` is the source's name in logs.
    init(
        _ clock: SourceClock, frameRate: FrameRate, programTime: ProgramTime, delay: Duration = .zero, name: String,
        monitor: SourceMonitor
    ) {
        state = Mutex(State(clock: clock))
        preparation = frameRate.timeBase.duration(1) + delay
        (self.frameRate, self.programTime) = (frameRate, programTime)
        self.name = name
        self.monitor = monitor
    }

    /// Records a packet that was read at `arrival`, and returns its times on the source's timeline; nil if the packet's
    /// timestamps are implausible. Called by the reading thread.
    func note(_ stamp: SourceClock.Stamp, arrival: MonotonicInstant) -> SourceClock.Noted? {
        let (noted, status) = state.withLock { state in
            let noted = state.clock.note(stamp, arrival: arrival)
            Self.take(noted?.events ?? [], &state)
            if let noted, stamp.track == .video { state.noteFrame(noted) }
            align(&state, isMoved: stamp.track == .video && noted?.isMoved == true)
            return (noted, state.clock.status)
        }
        tell(noted?.events ?? [], status)
        return noted
    }

    /// Restarts the clock after the input was opened again, and declares the timestamps of its tracks. Packets are then
    /// collected until the source is placed again. `settings` replace the clock's settings; nil leaves them unchanged.
    func restart(_ tracks: [TrackKind: TrackStamps], as settings: SourceClockSettings? = nil) {
        state.withLock { state in
            for track in TrackKind.timed {
                if let line = state.clock.line(of: track) { state.lastLines[track] = line }
            }
            state.clock.restart(as: settings)
            state.newestFrames = []
            for (track, description) in tracks {
                state.clock.declare(track, description.timeBase, bits: description.bits)
            }
        }
    }

    /// Continues after a break, with a connection whose first packet has the timestamps `stamp` and arrived at `arrival`.
    /// Changes nothing if the clock must be restarted instead. Called by the reading thread, before the packet is
    /// recorded.
    func reconnect(with stamp: SourceClock.Stamp, at arrival: MonotonicInstant) -> Reconnection {
        state.withLock { state in
            let reconnection = state.clock.reconnect(with: stamp, at: arrival)
            if reconnection == .otherTimestamps {
                // The new frames can be due at another point within the program's frame intervals.
                (state.newestFrames, state.isOffPhase) = ([], true)
            }
            return reconnection
        }
    }

    /// Declares the timestamps of a track that was not known before. Called by the reading thread.
    func declare(_ track: TrackKind, _ timeBase: TimeBase, bits: Int?) {
        state.withLock { $0.clock.declare(track, timeBase, bits: bits) }
    }

    /// The time after which a silent track counts as missing.
    var patience: Duration { state.withLock { $0.clock.settings.patience } }

    /// The longest time that a packet can wait until it is due: the largest buffer, plus the source's delay and the
    /// duration of one frame.
    var longestWait: Duration { preparation + state.withLock { $0.clock.mostBuffer } }

    /// How many times the source was placed; nil while it is not placed.
    var placement: Int? { state.withLock { $0.clock.isPlaced ? $0.placements : nil } }

    /// Whether packets can be decoded, because it is known when they are due.
    var isPlaced: Bool { placement != nil }

    /// Whether a packet whose decoding time is `time` must be passed to the decoder at `now`.
    func isTimeToDecode(_ time: Timestamp, of track: TrackKind, now: MonotonicInstant) -> Bool {
        state.withLock { state in
            guard let due = state.clock.due(time, of: track) else { return false }
            return state.clock.decoding(of: due + preparation).map { $0 <= now } ?? true
        }
    }

    /// Returns when audio at `time` is due, and how the mapping has changed; nil while there is no mapping. Each move
    /// of the mapping is reported only once.
    func placeAudio(_ time: Timestamp) -> AudioPlace? {
        state.withLock { state in
            guard let due = state.clock.due(time, of: .audio) else { return nil }
            defer { state.step = .zero }
            return AudioPlace(
                due: due + preparation, stretch: state.clock.stretch(of: .audio), step: state.step,
                placement: state.placements)
        }
    }

    func advance(to moment: MonotonicInstant) {
        let (events, status) = state.withLock { state in
            let events = state.clock.advance(to: moment)
            Self.take(events, &state)
            align(&state, isMoved: false)
            return (events, state.clock.status)
        }
        tell(events, status)
    }

    func due(_ time: Timestamp, of track: TrackKind) -> MonotonicInstant? {
        state.withLock { state in
            (state.clock.due(time, of: track) ?? state.lastLines[track]?.image(of: time)).map { $0 + preparation }
        }
    }

    func stretch(of track: TrackKind) -> Double { state.withLock { $0.clock.stretch(of: track) } }

    /// Aligns the source's frames with the program's frames after the mapping was moved or made again. For this the
    /// mapping is moved once more, by less than a frame, so that frames are due exactly when program frames begin.
    /// Otherwise the program's clock would have to adjust gradually, and audio would be off by up to half a frame for
    /// half a minute. The move is made immediately, from one of the newest frames: otherwise audio that is played
    /// before the next frame would be moved afterwards.
    private func align(_ state: inout State, isMoved: Bool) {
        guard state.isOffPhase || isMoved, let frame = state.sureFrame, let due = state.clock.due(frame, of: .video)
        else { return }
        state.isOffPhase = false
        guard let line = programTime.line else { return }
        let position = line.image(of: due + preparation)
        var distance = frameRate.start(of: frameRate.frame(at: position)) - position
        guard distance.magnitude > .milliseconds(1) else { return }
        // Unless the sender's times jumped, frames must not become due earlier: they arrived too late, or they are due
        // exactly when their buffer time has elapsed.
        if distance < .zero, !isMoved { distance += frameRate.timeBase.duration(1) }
        state.clock.align(by: distance)
        state.step += distance
    }

    private static func take(_ events: [SourceClockEvent], _ state: inout State) {
        for event in events {
            switch event {
            case .placed:
                state.placements += 1
                (state.step, state.lastLines, state.isOffPhase) = (.zero, [:], true)
            case .stepped(let distance), .followed(let distance):
                state.step += distance
                state.isOffPhase = true
            // The newest frames are forgotten, because frames after a pause can be due at another point within the
            // program's frame intervals.
            case .silent(.video): state.newestFrames = []
            default: break
            }
        }
    }
}

extension SourceTiming {
    private func tell(_ events: [SourceClockEvent], _ clock: SourceClockStatus) {
        monitor.update { status in
            status.clock = clock
            for event in events {
                switch event {
                case .silent(let track): status.silentTracks.insert(track)
                case .resumed(let track), .joined(let track): status.silentTracks.remove(track)
                case .placed: status.silentTracks = []
                default: break
                }
            }
        }
        for event in events { event.log(of: name, by: monitor.logger) }
    }
}
