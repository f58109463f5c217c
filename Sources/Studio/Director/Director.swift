// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import LibAV
package import Media
package import Program
internal import Synchronization

/// Says what a program of several sources shows: turns scenes as people write them into those of the bus, and knows what
/// is on air, what is in the preview, and what comes at which frame.
///
/// All calls may come from any thread and return at once.
package final class Director: Sendable {
    /// One of the sources.
    package struct Source: Sendable {
        package let name: String
        package let bus: Bus
        /// Whether it can be seen.
        package var hasVideo = true
        /// Plays the source's file; nil if the source is not a file.
        var file: (any PlayedFile)?
        /// Why only its keyframes are shown; nil if all of it is.
        var problem: @Sendable () -> String? = { nil }
        /// What became of its frames; nil where they are not counted.
        var delivered: (@Sendable () -> FeedStatus)?
        /// Returns which of its inputs is on air.
        let input: @Sendable () -> String?

        /// A source that shows what `bus` shows.
        package init(
            name: String, bus: Bus, hasVideo: Bool = true, file: (any PlayedFile)? = nil,
            problem: @escaping @Sendable () -> String? = { nil }, delivered: (@Sendable () -> FeedStatus)? = nil,
            input: @escaping @Sendable () -> String?
        ) {
            (self.name, self.bus, self.hasVideo, self.file) = (name, bus, hasVideo, file)
            (self.problem, self.delivered, self.input) = (problem, delivered, input)
        }
    }

    /// Whose audio is heard.
    package enum AudioChoice: Sendable, Equatable {
        /// That of the scene's main source.
        case follow
        /// All together.
        case mix
        /// One source, whatever is seen.
        case source(String)

        var text: String {
            switch self {
            case .follow: "follow"
            case .mix: "mix"
            case .source(let name): name
            }
        }
    }

    /// A scene that is on air, or will be.
    struct Change {
        let frame: FrameIndex
        /// How many frames the transition to it has.
        let frames: Int64
        let scene: Named
        /// How it comes on air, in a word.
        let kind: String
        var easing = Easing.linear
        var color: RGBColor?
        /// Whose audio is heard with it, in a word; nil for the program's standard choice.
        var audio: String?
        /// The run-down's file in the scene, from its position at ``frame`` on.
        var clip: RunDown.Clip?
    }

    struct Named {
        var layout: SceneLayout
        var name: String?
    }

    struct State {
        /// The changes in the order of their frames; the first one is on air.
        var changes: [Change]
        var preview: Named
        var transition = TransitionRequest(.fade)
        /// The run-down that is loaded, and the one that the configuration names.
        var desk: RunDownState?
        /// Why a segment of the one that has ended was not as it should be.
        var runDownFailure: String?
        /// What the one was at whose files were let go.
        var endedRunDown: RunDownMemory?
        var configured: RunDown?
        var told: Told?
    }

    /// How far ahead a change may be asked for, in seconds.
    private static let farthest = 3600.0
    /// How many may wait for their frames.
    private static let mostChanges = 64
    /// How many transitions that were interrupted one after the other may still be on the screen.
    private static let mostInterrupted = 8

    package let bus: Bus
    package let sources: [Source]
    let audio: AudioChoice
    let slate: SlateScene
    let format: VideoFormat
    let scenes: [(name: String, layout: SceneLayout)]
    let overlays: Overlays
    let stingers: [StingerReel]
    /// The recording under way, which is told what comes on air; nil while nothing is recorded.
    let recording: @Sendable () -> (any SceneRecording)?
    /// What run-downs need.
    let playing: RunDownPlaying
    let state: Mutex<State>

    /// A director of `bus`, which from now on shows the first of `sources` that can be seen, or the slate if none can.
    /// Each of `scenes` is right.
    package init(
        _ bus: Bus, sources: [Source], audio: AudioChoice, slate: SlateScene, format: VideoFormat,
        scenes: [(name: String, layout: SceneLayout)], overlays: Overlays, stingers: [StingerReel],
        recording: @escaping @Sendable () -> (any SceneRecording)?, playing: RunDownPlaying
    ) {
        (self.overlays, self.stingers) = (overlays, stingers)
        (self.bus, self.sources, self.audio, self.slate) = (bus, sources, audio, slate)
        (self.format, self.scenes, self.recording, self.playing) = (format, scenes, recording, playing)
        let seen = sources.filter(\.hasVideo).map(\.name)
        let first = Self.single(seen.first)
        let second = Self.single(seen.dropFirst().first ?? seen.first)
        state = Mutex(
            State(
                changes: [Change(frame: 0, frames: 0, scene: first, kind: "cut")], preview: second))
        for overlay in overlays.all { bus.add(overlay) }
        bus.show(scene(of: first.layout))
        bus.beforeEachFrame { [weak self] frame in
            guard let self else { return }
            play(frame)
            slate.refresh(isWanted: isSlateOnAir, at: Timestamp(nanoseconds: playing.clock.now))
            tellRecording(frame)
        }
    }

    // MARK: What a scene is made of

    /// The names of the sources that can be seen, and of those that are heard alone.
    var names: (seen: [String], unseen: [String]) {
        (sources.filter(\.hasVideo).map(\.name), sources.filter { !$0.hasVideo }.map(\.name))
    }

    /// The source of this name, or the slate without one.
    static func single(_ name: String?) -> Named {
        Named(layout: name.map { SceneLayout(.single, [$0]) } ?? SceneLayout(.slate, []))
    }

    /// A scene, in which `clip` has the name of a run-down's own file.
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

    private func named(_ choice: ProgramRequest.SceneChoice) throws(Refusal) -> Named {
        let found: Named
        switch choice {
        case .laidOut(let layout): found = Named(layout: layout)
        case .named(let name):
            if let scene = scenes.first(where: { $0.name == name }) {
                found = Named(layout: scene.layout, name: name)
            } else if name == SceneLayout.Kind.slate.rawValue {
                found = Named(layout: SceneLayout(.slate, []))
            } else if sources.contains(where: { $0.name == name }) {
                found = Named(layout: SceneLayout(.single, [name]))
            } else {
                let known = scenes.map(\.name) + sources.map(\.name) + ["slate"]
                throw Refusal(
                    .unusable, "There is no scene \(name). There are \(known.joined(separator: ", ")).")
            }
        }
        try check(found.layout)
        return found
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

    func source(
        _ name: String, otherwise kind: Refusal.Kind = .unusable
    ) throws(Refusal) -> Source {
        guard let source = sources.first(where: { $0.name == name }) else {
            let known = sources.map(\.name).joined(separator: ", ")
            throw Refusal(kind, "There is no source \(name). There are \(known).")
        }
        return source
    }
}

// MARK: What is asked for

extension Director {
    /// Puts a scene on air, by a cut unless a transition is given. Returns the frame at which that begins.
    package func put(_ request: ProgramRequest) throws(Refusal) -> Int64 {
        guard let choice = request.scene else { throw Refusal(.malformed, "The body lacks scene.") }
        let (scene, transition) = (try named(choice), try transition(request.transition))
        let latest = bus.nextFrame + Int64(Self.farthest * format.frameRate.value)
        if let frame = request.at, !(0...latest.number).contains(frame) {
            throw Refusal(.unusable, "at is the number of a frame, from 0 to an hour ahead: \(latest.number).")
        }
        let next = bus.nextFrame
        let waiting = state.withLock { state in state.changes.count { $0.frame > next } }
        guard waiting < Self.mostChanges else {
            throw Refusal(.tooMany, "\(Self.mostChanges) changes wait for their frames already.")
        }
        return show(by: transition, at: request.at.map { FrameIndex($0) }) { _ in scene }
    }

    /// Makes a scene, a transition or both ready.
    package func prepare(_ request: ProgramRequest) throws(Refusal) {
        let scene = try request.scene.map { (choice) throws(Refusal) in try named(choice) }
        _ = try transition(request.transition)
        guard request.at == nil else {
            throw Refusal(.unusable, "at is for the program: the preview changes at once.")
        }
        state.withLock { state in
            if let scene { state.preview = scene }
            if let transition = request.transition { state.transition = transition }
        }
    }

    /// Puts the preview on air by a cut, and what was on air into the preview. Returns the frame at which that begins.
    package func take() throws(Refusal) -> Int64 { try swap(by: .cut) }

    /// The same by the transition that was made ready.
    package func auto() throws(Refusal) -> Int64 {
        let transition = try transition(state.withLock { $0.transition })
        return try swap(by: transition)
    }

    /// What a source shows now, as a JPEG file of this width.
    package func snapshot(of name: String, width: Int) throws(Refusal) -> [UInt8] {
        let source = try source(name, otherwise: .notFound)
        guard source.hasVideo else { throw Refusal(.conflict, "The source \(name) has no video.") }
        guard let frame = source.bus.thumbnail(width: width) else {
            throw Refusal(.conflict, "The source \(name) shows nothing yet.")
        }
        do throws(AVFailure) {
            return try Snapshot.jpeg(of: frame, color: format.color)
        } catch {
            throw Refusal(.conflict, "The source \(name) cannot be shown as an image: \(error)")
        }
    }

    /// Changes the source of this name.
    package func change(_ name: String, _ request: SourceRequest) throws(Refusal) {
        let source = try source(name, otherwise: .notFound)
        if let gain = request.gain, !Fader.gains.contains(gain) {
            throw Refusal(.unusable, "gain is from -60 to 20 dB.")
        }
        if let offset = request.audioOffset { try check(offset: offset, of: source) }
        try play(source, request)
        source.bus.fader.change { settings in
            if let gain = request.gain { settings.gain = gain }
            if let isMuted = request.muted { settings.isMuted = isMuted }
            if let offset = request.audioOffset { settings.offset = offset }
        }
    }

    private func check(offset: Double, of source: Source) throws(Refusal) {
        guard (Fader.earliest...Fader.latest).contains(offset) else {
            throw Refusal(.unusable, "audioOffset is from \(Fader.earliest) to \(Int(Fader.latest)) s.")
        }
        guard let most = source.bus.mostAhead, -offset > most else { return }
        let text = (most * 1000).rounded(.down) / 1000
        throw Refusal(
            .unusable,
            "The audio of \(source.name) can be \(text) s earlier, half of what is buffered of it: a longer latency= of "
                + "its input allows more.")
    }

    /// Puts the preview on air, and what was there into the preview. A run-down's own file cannot be put back by its name, but
    /// by going on with the run-down: what was in the preview stays there then.
    private func swap(by transition: ResolvedTransition) throws(Refusal) -> Int64 {
        try check(state.withLock { $0.preview.layout })
        return show(by: transition, at: nil) { state in
            let (now, preview) = (onAir(&state).now, state.preview)
            if now.clip == nil { state.preview = now.scene }
            return preview
        }
    }

    /// Puts the scene that `choose` names on air. Returns the frame at which it begins.
    func show(
        by transition: ResolvedTransition, at frame: FrameIndex?, _ choose: (inout State) -> Named
    ) -> Int64 {
        state.withLock { state in
            let scene = choose(&state)
            let start = bus.show(
                self.scene(of: scene.layout), by: transition.look, frames: transition.frames,
                stinger: transition.stinger, at: frame)
            state.note(
                Change(
                    frame: start, frames: transition.frames, scene: scene, kind: transition.kind,
                    easing: transition.look.easing, color: transition.color))
            state.desk?.player.cut(at: start, fade: transition.frames)
            state.desk?.noteChange(at: start, frames: transition.frames)
            _ = onAir(&state)
            return start.number
        }
    }

    /// Returns what is on air, and what was before if a transition from it is under way: several scenes where one
    /// transition interrupted another, and so began with what was on the screen. Forgets what was before that.
    func onAir(_ state: inout State) -> (now: Change, before: [Change]) {
        let next = bus.nextFrame
        let current = state.changes.lastIndex { $0.frame <= next } ?? 0
        let least = max(0, current - Self.mostInterrupted)
        var (first, end) = (current, next)
        while first > least, case let change = state.changes[first], end - change.frame < change.frames {
            (first, end) = (first - 1, change.frame)
        }
        let (now, before) = (state.changes[current], Array(state.changes[first..<current]))
        // A change at the next frame may still be replaced, by one that begins with what is on the screen now.
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
