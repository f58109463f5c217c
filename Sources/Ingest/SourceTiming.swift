// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media
internal import SourceClock
internal import Synchronization

/// How a track is stamped: the time base of its stamps, and after how many bits they wrap; nil if they do not.
typealias TrackStamps = (timeBase: TimeBase, bits: Int?)

/// A live source's clock, shared by the thread that reads, the one that decodes and the program's; for the source's
/// whole life, however often it is opened again. Tells the source's monitor what happens.
final class SourceTiming: SourceTimes {
    /// Where a run of audio belongs, and what happened to the map since the run before.
    struct AudioPlace {
        /// When it is due.
        let due: Timestamp
        /// By how much it is to be stretched to last as long as on our clock.
        let stretch: Double
        /// What the map moved at once since the run before.
        let step: Duration
        /// How often the source was placed: another number than before makes the run the first of a new placement.
        let placement: Int
    }

    private struct State {
        var clock: SourceClock
        /// What was due by these when the source was opened again stays due until there is a new map.
        var lastLines: [TrackKind: ClockLine] = [:]
        var placements = 0
        var step = Duration.zero
        /// Whether the map moved, so that frames may have another phase in the program than before.
        var isOffPhase = false
        /// When the newest frame is shown on the source's timeline; nil before the first, also of a source that was opened
        /// again or whose video fell silent.
        var newestFrame: Timestamp?
    }

    /// What a frame takes from its tick's beginning to its place in the program, because the audio of a whole frame is taken
    /// when it begins, and a frame is shown up to half a frame before it is due; and what the source is to be later.
    private let preparation: Duration
    private let monitor: SourceMonitor
    private let name: String
    private let frameRate: FrameRate
    private let programTime: ProgramTime
    private let state: Mutex<State>

    /// The clock of a source that logs name `name`, in a program of `frameRate` whose time is `programTime`. All of the
    /// source is `delay` later than its clock says.
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

    /// Takes in a packet that was read at `arrival`; nil if it has no place. Called by the thread that reads.
    func note(_ stamp: SourceClock.Stamp, arrival: Timestamp) -> SourceClock.Noted? {
        let (noted, status) = state.withLock { state in
            let noted = state.clock.note(stamp, arrival: arrival)
            Self.take(noted?.events ?? [], &state)
            if let noted, stamp.track == .video { state.newestFrame = noted.time }
            align(&state, isMoved: stamp.track == .video && noted?.isMoved == true)
            return (noted, state.clock.status)
        }
        tell(noted?.events ?? [], status)
        return noted
    }

    /// Says how the tracks of an input that was opened again are stamped, and collects its packets from the start. If
    /// it is to be treated otherwise than before, `settings` say how.
    func restart(
        _ tracks: [TrackKind: TrackStamps], as settings: SourceClockSettings? = nil
    ) {
        state.withLock { state in
            for track in TrackKind.timed {
                if let line = state.clock.line(of: track) { state.lastLines[track] = line }
            }
            state.clock.restart(as: settings)
            state.newestFrame = nil
            for (track, description) in tracks {
                state.clock.declare(track, description.timeBase, bits: description.bits)
            }
        }
    }

    /// Says how a track is stamped that was not known before. Called by the thread that reads.
    func declare(_ track: TrackKind, _ timeBase: TimeBase, bits: Int?) {
        state.withLock { $0.clock.declare(track, timeBase, bits: bits) }
    }

    /// How long a track may be silent.
    var patience: Duration { state.withLock { $0.clock.settings.patience } }

    /// How often the source was placed; nil while it is not.
    var placement: Int? { state.withLock { $0.clock.isPlaced ? $0.placements : nil } }

    /// Whether packets can be decoded: it is known when they are due.
    var isPlaced: Bool { placement != nil }

    /// Whether a packet that is decoded at `time` is to be given to the decoder at `now`.
    func isTimeToDecode(_ time: Timestamp, of track: TrackKind, now: Timestamp) -> Bool {
        state.withLock { state in
            guard let due = state.clock.due(time, of: track) else { return false }
            return state.clock.decoding(of: due + preparation).map { $0 <= now } ?? true
        }
    }

    /// Where audio at `time` belongs; nil while there is no map. What the map moved is told once.
    func placeAudio(_ time: Timestamp) -> AudioPlace? {
        state.withLock { state in
            guard let due = state.clock.due(time, of: .audio) else { return nil }
            defer { state.step = .zero }
            return AudioPlace(
                due: due + preparation, stretch: state.clock.stretch(of: .audio), step: state.step,
                placement: state.placements)
        }
    }

    func advance(to moment: Timestamp) {
        let (events, status) = state.withLock { state in
            let events = state.clock.advance(to: moment)
            Self.take(events, &state)
            align(&state, isMoved: false)
            return (events, state.clock.status)
        }
        tell(events, status)
    }

    func due(_ time: Timestamp, of track: TrackKind) -> Timestamp? {
        state.withLock { state in
            (state.clock.due(time, of: track) ?? state.lastLines[track]?.image(of: time)).map { $0 + preparation }
        }
    }

    func stretch(of track: TrackKind) -> Double { state.withLock { $0.clock.stretch(of: track) } }

    /// After the map was moved or made again, moves it once more, by less than a frame and together with what was made
    /// of the audio, so that frames fall in the middle of their ticks as before. Otherwise the program's clock would
    /// glide there, and audio would be off by up to half a frame for half a minute. This is done at once, by the
    /// newest frame that there was: audio that is heard before the next frame would be moved behind it.
    private func align(_ state: inout State, isMoved: Bool) {
        guard state.isOffPhase || isMoved, let frame = state.newestFrame, let due = state.clock.due(frame, of: .video)
        else { return }
        state.isOffPhase = false
        guard let line = programTime.line else { return }
        let position = line.image(of: due + preparation)
        var distance = frameRate.start(of: frameRate.frame(at: position)) - position
        guard distance.inNanoseconds.magnitude > 1_000_000 else { return }
        // What came too late, or was placed behind its buffer, is not to come earlier.
        if distance < .zero, !isMoved { distance = distance + frameRate.timeBase.duration(1) }
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
            // What comes after a pause may have another phase.
            case .silent(.video): state.newestFrame = nil
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
