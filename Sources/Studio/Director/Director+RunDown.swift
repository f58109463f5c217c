// SPDX-License-Identifier: Apache-2.0

package import Logging
package import Media
internal import Program
package import Status
internal import Synchronization

/// The settings of a channel that are needed to play its run-downs.
package struct RunDownPlaying: Sendable {
    /// The directory of the files that are named in run-downs of API clients; nil if no directory is configured.
    var directory: String?
    /// Whether the program is rendered faster than real time: it waits for each file, and ends with the run-down.
    var isRendered = false
    let clock: any MonotonicClock
    let logger: Logger

    /// Creates the settings for a channel that runs by `clock`.
    package init(directory: String? = nil, isRendered: Bool = false, clock: any MonotonicClock, logger: Logger) {
        (self.directory, self.isRendered, self.clock, self.logger) = (directory, isRendered, clock, logger)
    }
}

extension Director {
    /// Carries out the run-down's actions for `frame`, the next frame. Runs on the program's thread; before the program
    /// begins, on any thread.
    func play(_ frame: FrameIndex) {
        if playing.isRendered { waitForFiles() }
        let (skipped, over, isOver) = state.withLock { state -> ([String], [RunDownClip], Bool) in
            guard var desk = state.desk else { return ([], [], false) }
            // The run-down's state is moved out of `state` while it is changed; otherwise each change would copy it.
            state.desk = nil
            defer { state.desk = desk }
            let wasRunning = desk.player.state == .running
            desk.look()
            var over = desk.takeFormer(by: frame)
            desk.next = frame + 1
            var skipped: [String] = []
            for action in desk.player.tick(frame) {
                switch action {
                case .show(let showing, let frame):
                    show(showing, at: frame, desk, &state)
                    desk.noteChange(at: frame, frames: showing.frames)
                case .skip(let segment, let reason):
                    skipped.append("\(desk.player.runDown.segments[segment].name): \(reason)")
                case .release(let id): if let clip = desk.clips.removeValue(forKey: id) { over.append(clip) }
                default: handle(action, &desk)
                }
            }
            desk.forgetFailures()
            return (skipped, over, wasRunning && desk.player.state == .over)
        }
        for clip in over { release(clip) }
        for text in skipped {
            playing.logger.warning("a segment of the run-down is left out", metadata: ["segment": "\(text)"])
        }
        // A rendered program ends with its run-down. So does a program none of whose sources has video, because all of
        // its video comes from the files of the run-down.
        if isOver, playing.isRendered || !sources.contains(where: \.hasVideo) { bus.finish() }
    }

    /// Waits until each file that is being opened has its first frames, or cannot be opened.
    private func waitForFiles() {
        while !bus.isOver {
            let isOpening = state.withLock { state in
                guard let desk = state.desk else { return false }
                return desk.player.openClips.contains { id, isStarted in
                    guard !isStarted, case .opening = desk.clips[id]?.condition else { return false }
                    return true
                }
            }
            guard isOpening else { return }
            playing.clock.sleep(until: playing.clock.now + .milliseconds(1))
        }
    }

    /// Carries out `action` of the run-down's player, except for the part that needs the director's state.
    private func handle(_ action: RunDownPlayer.Action, _ desk: inout RunDownState) {
        switch action {
        case .prepare(let id, let clip):
            desk.clips[id] = RunDownClip(
                clip, format: format, pacing: playing.isRendered ? .rendered : .paced, clock: playing.clock,
                logger: playing.logger)
        case .start(let id, let frame):
            guard let feed = desk.clips[id]?.feed else { return }
            feed.begin(at: frame)
            bus.add(feed)
        case .release, .show, .skip: break
        }
    }

    private func release(_ clip: RunDownClip) {
        if let feed = clip.feed { bus.remove(feed) }
        clip.stop()
    }

    private func show(
        _ showing: RunDownPlayer.Showing, at frame: FrameIndex, _ desk: RunDownState, _ state: inout State
    ) {
        let clip = showing.clip.flatMap { desk.clips[$0] }
        let start = bus.show(
            scene(of: showing.view.layout, clip: clip?.bus, audio: showing.audio),
            by: look(showing.change.kind, showing.change.easing, showing.change.color), frames: showing.frames,
            stinger: stingers.first { $0.name == showing.change.stinger }, at: frame)
        let scene = Named(layout: showing.view.layout, name: showing.view.name)
        var change = Change(
            frame: start, frames: showing.frames, scene: scene, transition: showing.change.name,
            easing: showing.change.easing, color: showing.change.color, audio: showing.audio.word)
        if let id = showing.clip, let clip {
            change.clip = RunDown.Clip(clip.clip.path, start: clip.clip.start + desk.player.played(id, by: start))
        }
        state.note(change)
    }
}

// MARK: Requests

extension Director {
    /// The status of the run-down. Throws if no run-down is loaded.
    package func runDown() throws(Refusal) -> RunDownStatus {
        guard let status = runDownStatus(withSegments: true) else { throw Self.noRunDown }
        return status
    }

    private static let noRunDown = Refusal(.notFound, "No run-down is loaded: name one by --rundown, or put one here.")

    package func runDownStatus(withSegments: Bool) -> RunDownStatus? {
        let frame = bus.nextFrame
        return state.withLock { state in
            state.desk.map { desk in
                desk.player.status(at: frame, withSegments: withSegments, lengths: desk.lengths?.known ?? [:])
            }
        }
    }

    /// The reason why a segment was skipped or ended early; also available after the run-down has ended.
    package var runDownFailure: String? { state.withLock { $0.desk?.player.failure ?? $0.runDownFailure } }

    /// Loads a run-down, in YAML or JSON, which replaces the current one. The scene on air does not change. Blocks on
    /// the disk, because each of the run-down's files is checked.
    package func loadRunDown(_ text: String) throws(Refusal) {
        let names = names
        let known = RunDownReader.Known(
            sources: names.seen, unseen: names.unseen,
            scenes: scenes, overlays: overlays.all.map(\.name), stingers: stingers.map(\.name))
        let files = RunDownFiles(directory: playing.directory ?? "/var/empty", isConfined: true)
        let runDown: RunDown
        do throws(ConfigurationFailure) {
            runDown = try RunDownReader.read(text, name: "rundown", known: known, files: files)
        } catch {
            throw Refusal(.unusable, error.lines[0], errors: error.lines)
        }
        if let fault = stingerFault(in: runDown) { throw Refusal(.unusable, fault, errors: [fault]) }
        load(runDown)
    }

    /// Describes which stinger of `runDown` cannot be used, and why; nil if all can be used.
    package func stingerFault(in runDown: RunDown) -> String? {
        for segment in timed(runDown).segments {
            if let place = segment.stingerPlace, let fault = segment.faultOfChange { return "\(place): \(fault)" }
        }
        return nil
    }

    /// Replaces the current run-down by `runDown`. The files of the current one are released when another scene is on
    /// air.
    package func load(_ runDown: RunDown, isConfigured: Bool = false) {
        state.withLock { state in
            if isConfigured { state.configured = runDown }
            let runDown = timed(runDown)
            let old = state.desk
            old?.lengths?.stop()
            var desk = RunDownState(player: RunDownPlayer(runDown, rate: format.frameRate))
            if !playing.isRendered { desk.lengths = RunDownLengths(of: runDown, logger: playing.logger) }
            desk.former = (old?.former ?? []) + (old?.clips.values.map(\.self) ?? [])
            // A change that an operator has already scheduled also replaces the scenes of the new run-down.
            let next = bus.nextFrame
            for change in state.changes where change.frame > next {
                desk.player.cut(at: change.frame, fade: change.frames)
                desk.noteChange(at: change.frame, frames: change.frames)
            }
            state.desk = desk
        }
    }

    /// Returns `runDown` with the length of each stinger set to the length of its file.
    private func timed(_ runDown: RunDown) -> RunDown {
        var runDown = runDown
        for index in runDown.segments.indices {
            guard let name = runDown.segments[index].change.stinger else { continue }
            let frames = stingers.first { $0.name == name }?.frames ?? 0
            runDown.segments[index].change.duration = format.frameRate.timeBase.duration(frames)
        }
        return runDown
    }

    /// Carries out a command for the run-down. Returns the first frame at which the effect can be visible.
    package func perform(_ command: RunDownCommand) throws(Refusal) -> Int64 {
        let result = state.withLock { state -> Result<FrameIndex, RunDownPlayer.Refusal>? in
            guard let next = state.desk?.next else { return nil }
            let frame = max(next, bus.nextFrame)
            do throws(RunDownPlayer.Refusal) {
                try state.desk?.player.perform(command, at: frame)
                return .success(frame)
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case nil: throw Self.noRunDown
        case .failure(let refusal):
            if case .noSegment = refusal { throw Refusal(.unusable, "\(refusal)") }
            throw Refusal(.conflict, "\(refusal)")
        case .success(let frame): return frame.number
        }
    }

    /// The maximum time that the program's beginning waits for the file of a run-down's segment.
    package static let patience = Duration.seconds(10)

    /// Starts the run-down before the program begins, so that the run-down's first segment is the program's first
    /// scene. Waits for the segment's file, for at most `patience`. Blocks.
    package func beginRunDown(patience: Duration) throws(Refusal) {
        _ = try perform(.start(segment: 0))
        waitForStart(patience)
    }

    /// Waits, for at most `patience`, until the started segment can be the program's first scene.
    private func waitForStart(_ patience: Duration) {
        let deadline = playing.clock.now + patience
        repeat {
            play(0)
            guard !bus.isOver, state.withLock({ $0.desk?.player.isStarting == true }) else { return }
            playing.clock.sleep(until: playing.clock.now + .milliseconds(5))
        } while playing.clock.now < deadline
    }

    /// The state of the run-down that is restored when the channel is reopened.
    var runDownMemory: RunDownMemory? { state.withLock { $0.runDownMemory } }

    /// Loads the previous run-down again, and starts or holds the segment that was current, from its beginning. Without
    /// a current segment, the run-down is stopped. If the configuration now names another run-down, or if the previous
    /// one cannot be shown any more, the run-down that is loaded now stays. A segment during which the channel has
    /// failed twice is skipped. Returns whether a run-down determines the scene on air.
    func restoreRunDown(_ memory: RunDownMemory?) -> Bool {
        let (configured, loaded) = state.withLock { ($0.configured, $0.desk?.player.runDown) }
        guard let memory, memory.configured == configured else { return loaded != nil }
        if loaded != memory.runDown {
            // When the stored run-down was loaded, it was checked against the sources and scenes that existed then.
            // Some of them might no longer exist.
            guard canShow(memory.runDown) else { return loaded != nil }
            load(memory.runDown)
        }
        guard let segment = memory.segment else {
            _ = try? perform(.stop)
            return false
        }
        if memory.isHeld {
            state.withLock { state in
                let frame = max(state.desk?.next ?? 0, bus.nextFrame)
                try? state.desk?.player.start(held: segment, isCutAway: memory.isCutAway, at: frame)
            }
        } else if (try? perform(.start(segment: segment))) == nil {
            return false
        }
        state.withLock { $0.desk?.restore(failures: memory.failures) }
        // Waits until the restored segment can begin: the configured run-down has already begun with its first segment,
        // which must not become visible.
        if !memory.isCutAway { waitForStart(Self.patience) }
        return !memory.isCutAway
    }

    /// Whether all sources and scenes that a run-down names exist.
    private func canShow(_ runDown: RunDown) -> Bool {
        let (seen, unseen) = names
        let overlays = overlays.all.map(\.name)
        return runDown.segments.allSatisfy { segment in
            let shown = segment.views.flatMap { $0.layout.overlays ?? [] }
            let stinger = segment.change.stinger
            return segment.fault(sources: seen, unseen: unseen) == nil && shown.allSatisfy(overlays.contains)
                && (stinger == nil || stingers.contains { $0.name == stinger })
        }
    }

    /// Releases all files of the run-down. The run-down's state is stored, so that it can be restored when the channel
    /// is reopened.
    package func endRunDown() {
        let clips = state.withLock { state in
            defer { state.desk = nil }
            state.endedRunDown = state.runDownMemory
            state.desk?.lengths?.stop()
            state.runDownFailure = state.desk?.player.failure ?? state.runDownFailure
            return state.desk.map { $0.former + $0.clips.values } ?? []
        }
        for clip in clips { clip.stop() }
    }
}

extension Director.State {
    /// The state of the run-down that is loaded now, or that was loaded when its files were released.
    fileprivate var runDownMemory: RunDownMemory? {
        guard let player = desk?.player else { return endedRunDown }
        return RunDownMemory(
            runDown: player.runDown, configured: configured, segment: player.currentSegment,
            isHeld: player.hold.isHeld, isCutAway: player.hold.isCutAway, failures: desk?.failures ?? [:])
    }
}

extension RunDownPlayer {
    /// Whether the run-down was started, but its first segment has not begun yet.
    fileprivate var isStarting: Bool {
        state == .running && !isResting && status(at: 0, withSegments: false).current == nil
    }

    fileprivate mutating func perform(_ command: RunDownCommand, at frame: FrameIndex) throws(Refusal) {
        switch command {
        case .start(let segment): try start(at: segment)
        case .stop: stop()
        case .next: try next()
        case .hold: try hold(at: frame)
        case .resume: try resume(at: frame)
        case .follow: try follow(at: frame)
        }
    }
}

extension RunDown.Audio {
    /// The name of this choice in a run-down; nil means the program's standard choice.
    fileprivate var word: String? {
        switch self {
        case .standard: nil
        case .follow: "follow"
        case .mix: "mix"
        case .source(let name): name
        }
    }
}
