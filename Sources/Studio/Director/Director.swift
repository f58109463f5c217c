// SPDX-License-Identifier: Apache-2.0

internal import Kernels
package import Media
package import Program
internal import Synchronization

/// Controls the scenes of a program of several sources: converts requested scenes to scenes of the bus, and stores the
/// scene on air, the preview, and the changes that are scheduled for frames.
///
/// All calls can be made on any thread. They return at once, unless their comments say that they block.
package final class Director: Sendable {
    /// One of the sources.
    package struct Source: Sendable {
        package let name: String
        package let bus: Bus
        /// Whether the source has video.
        package var hasVideo = true
        /// Plays the source's file; nil if the source is not a file.
        var file: (any PlayedFile)?
        /// Returns the reason why only keyframes of the source are shown; nil if all frames are shown.
        var problem: @Sendable () -> String? = { nil }
        /// Returns the counts of the source's frames; nil if its frames are not counted.
        var delivered: (@Sendable () -> FeedStatus)?
        /// Returns the name of the source's input that is on air.
        let input: @Sendable () -> String?

        /// Creates a source that shows the scene of `bus`.
        package init(
            name: String, bus: Bus, hasVideo: Bool = true, file: (any PlayedFile)? = nil,
            problem: @escaping @Sendable () -> String? = { nil }, delivered: (@Sendable () -> FeedStatus)? = nil,
            input: @escaping @Sendable () -> String?
        ) {
            (self.name, self.bus, self.hasVideo, self.file) = (name, bus, hasVideo, file)
            (self.problem, self.delivered, self.input) = (problem, delivered, input)
        }
    }

    /// Determines which sources are audible.
    package enum AudioChoice: Sendable, Equatable {
        /// The scene's main source is audible.
        case follow
        /// All sources are audible, mixed.
        case mix
        /// This source is always audible, even while others are visible.
        case source(String)

        var text: String {
            switch self {
            case .follow: "follow"
            case .mix: "mix"
            case .source(let name): name
            }
        }
    }

    /// A scene that is on air, or is scheduled.
    struct Change {
        let frame: FrameIndex
        /// The number of frames of the transition to the scene.
        let frames: Int64
        let scene: Named
        let transition: TransitionName
        var easing = Easing.linear
        var color: RGBColor?
        /// Which sources are audible in the scene, in the syntax of run-downs; nil means the program's standard choice.
        var audio: String?
        /// The file of a run-down's segment in the scene, and the position that it has at ``frame``.
        var clip: RunDown.Clip?
    }

    struct Named {
        var layout: SceneLayout
        var name: String?
    }

    struct State {
        /// The changes in the order of their frames: those that are still visible, then those that are scheduled.
        var changes: [Change]
        var preview: Named
        var transition = TransitionRequest(.fade)
        /// The run-down that is loaded.
        var desk: RunDownState?
        /// The reason why a segment was skipped or ended early, in a run-down that has ended.
        var runDownFailure: String?
        /// The state that the run-down had when its files were released; nil before that.
        var endedRunDown: RunDownMemory?
        var configured: RunDown?
        var told: [Told] = []
    }

    /// The maximum number of interrupted transitions that are still drawn.
    private static let mostInterrupted = 8

    package let bus: Bus
    package let sources: [Source]
    let audio: AudioChoice
    let slate: SlateScene
    let format: VideoFormat
    let scenes: [(name: String, layout: SceneLayout)]
    let overlays: Overlays
    let stingers: [StingerReel]
    /// The current recordings, to which scene changes are reported; empty while nothing is recorded.
    let recordings: @Sendable () -> [any SceneRecording]
    /// The settings that are needed to play run-downs.
    let playing: RunDownPlaying
    let state: Mutex<State>

    /// Creates a director of `bus`. The bus then shows the first of `sources` that has video, or the slate if no source
    /// has video. Each of `scenes` must be valid.
    package init(
        _ bus: Bus, sources: [Source], audio: AudioChoice, slate: SlateScene, format: VideoFormat,
        scenes: [(name: String, layout: SceneLayout)], overlays: Overlays, stingers: [StingerReel],
        recordings: @escaping @Sendable () -> [any SceneRecording], playing: RunDownPlaying
    ) {
        (self.overlays, self.stingers) = (overlays, stingers)
        (self.bus, self.sources, self.audio, self.slate) = (bus, sources, audio, slate)
        (self.format, self.scenes, self.recordings, self.playing) = (format, scenes, recordings, playing)
        let seen = sources.filter(\.hasVideo).map(\.name)
        let first = Self.single(seen.first)
        let second = Self.single(seen.dropFirst().first ?? seen.first)
        state = Mutex(
            State(changes: [Change(frame: 0, frames: 0, scene: first, transition: .kind(.cut))], preview: second))
        for overlay in overlays.all { bus.add(overlay) }
        bus.show(scene(of: first.layout))
        bus.beforeEachFrame { [weak self] frame in
            guard let self else { return }
            play(frame)
            slate.refresh(isWanted: isSlateOnAir, at: playing.clock.now)
            tellRecordings(frame)
        }
    }

    // MARK: The parts of a scene

    /// The names of the sources with video, and of those with audio only.
    var names: (seen: [String], unseen: [String]) {
        (sources.filter(\.hasVideo).map(\.name), sources.filter { !$0.hasVideo }.map(\.name))
    }

    /// A scene with the source `name` alone, or with the slate if `name` is nil.
    static func single(_ name: String?) -> Named {
        Named(layout: name.map { SceneLayout(.single, [$0]) } ?? SceneLayout(.slate, []))
    }

    /// Converts `layout` to a scene of the bus. `clip` shows the file of a run-down's segment, to which the layout
    /// refers as ``RunDown/clipName``.
    func scene(of layout: SceneLayout, clip: Bus? = nil, audio: RunDown.Audio = .standard) -> Scene {
        let named = { [sources] (name: String) -> Bus? in
            if let clip, name == RunDown.clipName { return clip }
            return sources.first { $0.name == name }?.bus
        }
        let seen = layout.sources.compactMap(named)
        let layers = zip(seen, layout.placements(in: format.color)).map { Scene.Layer(.source($0), at: $1) }
        let choice: AudioChoice =
            switch audio {
            case .standard: self.audio
            case .follow: .follow
            case .mix: .mix
            case .source(let name): .source(name)
            }
        let heard =
            switch choice {
            case .follow: Array(seen.prefix(1))
            case .mix: sources.map(\.bus) + [clip].compactMap(\.self)
            case .source(let name): [named(name)].compactMap(\.self)
            }
        return Scene(
            layers: layers.isEmpty ? [Scene.Layer(slate.video)] : layers, audio: heard.map { .source($0) },
            overlays: overlays.named(layout.overlays ?? []))
    }

    func check(_ layout: SceneLayout) throws(Refusal) {
        do {
            try layout.check()
        } catch {
            throw Refusal(.unusable, "\(error)")
        }
        for name in layout.sources where try !source(name).hasVideo {
            throw Refusal(.unusable, "The source \(name) has no video.")
        }
        for name in layout.overlays ?? [] { _ = try overlays.entry(name) }
    }

    func source(_ name: String, otherwise kind: Refusal.Kind = .unusable) throws(Refusal) -> Source {
        guard let source = sources.first(where: { $0.name == name }) else {
            let known = sources.map(\.name).joined(separator: ", ")
            throw Refusal(kind, "There is no source \(name). There are \(known).")
        }
        return source
    }
}

// MARK: Changes

extension Director {
    /// Puts the scene that `choose` returns on air. Returns the frame at which the change begins.
    func show(by transition: ResolvedTransition, at frame: FrameIndex?, _ choose: (inout State) -> Named) -> Int64 {
        state.withLock { state in
            let scene = choose(&state)
            let start = bus.show(
                self.scene(of: scene.layout), by: transition.look, frames: transition.frames,
                stinger: transition.stinger, at: frame)
            state.note(
                Change(
                    frame: start, frames: transition.frames, scene: scene, transition: transition.name,
                    easing: transition.look.easing, color: transition.color))
            state.desk?.player.cut(at: start, fade: transition.frames)
            state.desk?.noteChange(at: start, frames: transition.frames)
            _ = onAir(&state)
            return start.number
        }
    }

    /// Returns the change that is on air, and the earlier changes that are still visible because a transition from them
    /// is running. There are several earlier changes if a transition interrupted another one: the second transition
    /// then begins with the visible frame, which shows more than one scene. Forgets older changes.
    func onAir(_ state: inout State) -> (now: Change, before: [Change]) {
        let next = bus.nextFrame
        let current = state.changes.lastIndex { $0.frame <= next } ?? 0
        let least = max(0, current - Self.mostInterrupted)
        var (first, end) = (current, next)
        while first > least, case let change = state.changes[first], end - change.frame < change.frames {
            (first, end) = (first - 1, change.frame)
        }
        let (now, before) = (state.changes[current], Array(state.changes[first..<current]))
        // The change whose scene is visible now is kept, even if another change is scheduled for the next frame: that
        // other change can still be replaced, and the transition of its replacement then begins with the frame that is
        // visible now.
        let shown = state.changes.lastIndex { $0.frame < next } ?? 0
        state.changes.removeFirst(min(first, shown))
        return (now, before)
    }
}

extension Director.State {
    mutating func note(_ change: Director.Change) {
        changes.removeAll { $0.frame == change.frame }
        changes.append(change)
        changes.sort { $0.frame < $1.frame }
    }
}

// MARK: An operator's choices, for a reopened channel

extension Director {
    /// An operator's choices, which are restored when the channel is reopened.
    package struct Memory {
        fileprivate var scene: Named
        fileprivate var preview: Named
        fileprivate var transition: TransitionRequest
        fileprivate var faders: [String: Fader.Memory]
        fileprivate var overlays: [Overlays.Memory]
        fileprivate var runDown: RunDownMemory?

        /// Records that the channel failed while these choices were on air.
        package mutating func noteFailure() { runDown?.noteFailure() }
    }

    /// The choices that operators have made so far.
    package var memory: Memory {
        let runDown = runDownMemory
        return state.withLock { state in
            Memory(
                scene: onAir(&state).now.scene, preview: state.preview, transition: state.transition,
                faders: Dictionary(
                    sources.compactMap { source in source.bus.fader.memory.map { (source.name, $0) } }
                ) {
                    $1
                },
                overlays: overlays.memory, runDown: runDown)
        }
    }

    /// Restores the choices that operators made before the channel was reopened. Choices that no longer fit are
    /// dropped. Choices about audio and overlays are also dropped if their configuration has changed since. Blocks
    /// while texts are drawn, and for at most 10 s until the file of a run-down's segment is open.
    package func restore(_ memory: Memory) {
        for source in sources {
            if let kept = memory.faders[source.name] { source.bus.fader.restore(kept) }
        }
        overlays.restore(memory.overlays)
        let isRight = { (scene: Named) in (try? self.check(scene.layout)) != nil }
        state.withLock { state in
            if isRight(memory.preview) { state.preview = memory.preview }
            if (try? transition(memory.transition)) != nil { state.transition = memory.transition }
        }
        if restoreRunDown(memory.runDown) { return }
        // A scene that cannot be shown, such as one with the file of a run-down's segment, is replaced by the scene
        // with which a program begins.
        let scene = isRight(memory.scene) ? memory.scene : Self.single(names.seen.first)
        _ = show(by: .cut, at: nil) { _ in scene }
    }
}
