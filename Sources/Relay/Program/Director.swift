// SPDX-License-Identifier: Apache-2.0

internal import Control
internal import LibAV
internal import Media
internal import Program
internal import Synchronization

/// Says what a program of several sources shows: turns scenes as people write them into those of the stage, and knows what
/// is on air, what is in the preview, and what comes at which frame.
///
/// All calls may come from any thread and return at once.
final class Director: Sendable {
    /// One of the sources.
    struct Source: Sendable {
        let name: String
        let stage: Stage
        /// Whether it can be seen.
        var hasVideo = true
        /// What of it is on air.
        let input: @Sendable () -> String?
    }

    /// Whose audio is heard.
    enum AudioChoice: Sendable, Equatable {
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
        var kind = Transition.Kind.cut
        let scene: Named
    }

    struct Named {
        var layout: SceneLayout
        var name: String?
    }

    struct State {
        /// By frame; the first one is on air.
        var changes: [Change]
        var preview: Named
        var transition = TransitionRequest(.fade)
        /// The run-down that is loaded.
        var desk: RunDownDesk?
        var told: Told?
    }

    /// How far ahead a change may be asked for, in seconds.
    private static let farthest = 3600.0
    /// How many may wait for their frames.
    private static let mostChanges = 64

    let stage: Stage
    let sources: [Source]
    private let audio: AudioChoice
    private let slate: VideoFrame
    let format: VideoFormat
    let scenes: [(name: String, layout: SceneLayout)]
    let recordings: RecordingSlot
    /// What run-downs need.
    let playing: RunDownPlaying
    let state: Mutex<State>

    /// A director of `stage`, which shows the first of `sources` from now on, or the slate where there is none. Each of
    /// `scenes` is right.
    init(
        _ stage: Stage, sources: [Source], audio: AudioChoice, slate: VideoFrame, format: VideoFormat,
        scenes: [(name: String, layout: SceneLayout)], recordings: RecordingSlot, playing: RunDownPlaying
    ) {
        (self.stage, self.sources, self.audio, self.slate) = (stage, sources, audio, slate)
        (self.format, self.scenes, self.recordings, self.playing) = (format, scenes, recordings, playing)
        let single = { (index: Int) in
            Named(layout: sources.isEmpty ? SceneLayout(.slate, []) : SceneLayout(.single, [sources[index].name]))
        }
        let (first, second) = (single(0), single(max(0, min(1, sources.count - 1))))
        state = Mutex(
            State(changes: [Change(frame: 0, frames: 0, scene: first)], preview: second))
        stage.show(scene(of: first.layout))
        stage.beforeEachFrame { [weak self] frame in
            self?.play(frame)
            self?.tellRecording(frame)
        }
    }

    // MARK: What a scene is made of

    /// A scene, in which `clip` has the name of a run-down's own file.
    func scene(of layout: SceneLayout, clip: Stage? = nil, audio: RunDown.Audio = .standard) -> Scene {
        let named = { [sources] (name: String) -> Stage? in
            if let clip, name == RunDown.clipName { return clip }
            return sources.first { $0.name == name }?.stage
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
            case .mix: sources.map(\.stage) + [clip].compactMap(\.self)
            case .source(let name): [named(name)].compactMap(\.self)
            }
        return Scene(layers: layers.isEmpty ? [Scene.Layer(.still(slate))] : layers, audio: heard.map { .source($0) })
    }

    private func named(_ choice: ProgramRequest.SceneChoice) throws(ControlFailure) -> Named {
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
                throw ControlFailure(
                    .unusable, "There is no scene \(name). There are \(known.joined(separator: ", ")).")
            }
        }
        try check(found.layout)
        return found
    }

    private func check(_ layout: SceneLayout) throws(ControlFailure) {
        do {
            try layout.check()
        } catch {
            throw ControlFailure(.unusable, "\(error)")
        }
        for name in layout.sources where try !source(name).hasVideo {
            throw ControlFailure(.unusable, "The source \(name) has no video.")
        }
    }

    private func source(
        _ name: String, otherwise kind: ControlFailure.Kind = .unusable
    ) throws(ControlFailure) -> Source {
        guard let source = sources.first(where: { $0.name == name }) else {
            let known = sources.map(\.name).joined(separator: ", ")
            throw ControlFailure(kind, "There is no source \(name). There are \(known).")
        }
        return source
    }

    private func transition(
        _ request: TransitionRequest?
    ) throws(ControlFailure) -> (look: Transition, frames: Int64) {
        guard let request else { return (Transition(.cut), 0) }
        let seconds = request.seconds ?? 1
        guard (0...TransitionRequest.longest).contains(seconds) else {
            throw ControlFailure(.unusable, "A transition lasts 0 to \(Int(TransitionRequest.longest)) s.")
        }
        let frames = Int64((seconds * format.frameRate.value).rounded())
        return (Transition(request.type, easing: request.easing ?? .linear), request.type == .cut ? 0 : frames)
    }
}

// MARK: What is asked for

extension Director: ControlledProgram {
    func put(_ request: ProgramRequest) throws(ControlFailure) -> Int64 {
        guard let choice = request.scene else { throw ControlFailure(.malformed, "The body lacks scene.") }
        let (scene, transition) = (try named(choice), try transition(request.transition))
        let latest = stage.nextFrame + Int64(Self.farthest * format.frameRate.value)
        if let frame = request.at, !(0...latest.number).contains(frame) {
            throw ControlFailure(.unusable, "at is the number of a frame, from 0 to an hour ahead: \(latest.number).")
        }
        guard state.withLock({ $0.changes.count }) < Self.mostChanges else {
            throw ControlFailure(.tooMany, "\(Self.mostChanges) changes wait for their frames already.")
        }
        return show(by: transition, at: request.at.map { FrameIndex($0) }) { _ in scene }
    }

    func prepare(_ request: ProgramRequest) throws(ControlFailure) {
        let scene = try request.scene.map { (choice) throws(ControlFailure) in try named(choice) }
        _ = try transition(request.transition)
        guard request.at == nil else {
            throw ControlFailure(.unusable, "at is for the program: the preview changes at once.")
        }
        state.withLock { state in
            if let scene { state.preview = scene }
            if let transition = request.transition { state.transition = transition }
        }
    }

    func take() throws(ControlFailure) -> Int64 { swap(by: (Transition(.cut), 0)) }

    func auto() throws(ControlFailure) -> Int64 {
        let transition = try transition(state.withLock { $0.transition })
        return swap(by: transition)
    }

    func snapshot(of name: String, width: Int) throws(ControlFailure) -> [UInt8] {
        guard let frame = try source(name, otherwise: .notFound).stage.thumbnail(width: width) else {
            throw ControlFailure(.conflict, "The source \(name) shows nothing yet.")
        }
        do throws(AVFailure) {
            return try Snapshot.jpeg(of: frame, color: format.color)
        } catch {
            throw ControlFailure(.conflict, "The source \(name) cannot be shown as an image: \(error)")
        }
    }

    func change(_ name: String, _ request: SourceRequest) throws(ControlFailure) {
        let source = try source(name, otherwise: .notFound)
        if let gain = request.gain, !(-60...20).contains(gain) {
            throw ControlFailure(.unusable, "gain is from -60 to 20 dB.")
        }
        source.stage.fader.change { settings in
            if let gain = request.gain { settings.gain = gain }
            if let isMuted = request.muted { settings.isMuted = isMuted }
        }
    }

    private func swap(by transition: (look: Transition, frames: Int64)) -> Int64 {
        show(by: transition, at: nil) { state in
            defer { state.preview = onAir(&state).now.scene }
            return state.preview
        }
    }

    /// Puts the scene that `choose` names on air. Returns the frame at which it begins.
    private func show(
        by transition: (look: Transition, frames: Int64), at frame: FrameIndex?, _ choose: (inout State) -> Named
    ) -> Int64 {
        state.withLock { state in
            let scene = choose(&state)
            let start = stage.show(
                self.scene(of: scene.layout), by: transition.look, frames: transition.frames, at: frame)
            state.note(Change(frame: start, frames: transition.frames, kind: transition.look.kind, scene: scene))
            state.desk?.player.cut(at: start, fade: transition.frames)
            state.desk?.noteChange(at: start, frames: transition.frames)
            _ = onAir(&state)
            return start.number
        }
    }

    /// What is on air, and what was before if a transition from it is under way. Forgets what was before that.
    private func onAir(_ state: inout State) -> (now: Change, before: Change?) {
        let next = stage.nextFrame
        let current = state.changes.lastIndex { $0.frame <= next } ?? 0
        state.changes.removeFirst(max(0, current - 1))
        let index = min(current, 1)
        let now = state.changes[index]
        return (now, index > 0 && next - now.frame < now.frames ? state.changes[0] : nil)
    }
}

// MARK: What an operator chose, for the next time

extension Director {
    /// What an operator chose. It holds when the channel is opened again.
    struct Memory {
        fileprivate var scene: Named
        fileprivate var preview: Named
        fileprivate var transition: TransitionRequest
        fileprivate var faders: [String: Fader.Settings]
        fileprivate var runDown: RunDown?
        /// The segment that was under way, or held.
        fileprivate var segment: Int?
    }

    /// What was chosen so far.
    var memory: Memory {
        state.withLock { state in
            Memory(
                scene: onAir(&state).now.scene, preview: state.preview, transition: state.transition,
                faders: Dictionary(sources.map { ($0.name, $0.stage.fader.settings) }) { $1 },
                runDown: state.desk?.player.runDown, segment: state.desk?.player.currentSegment)
        }
    }

    /// Does again what was chosen before; what does not fit any more is left out.
    func restore(_ memory: Memory) {
        for source in sources {
            if let settings = memory.faders[source.name] { source.stage.fader.change { $0 = settings } }
        }
        let isRight = { (scene: Named) in (try? self.check(scene.layout)) != nil }
        state.withLock { state in
            if isRight(memory.preview) { state.preview = memory.preview }
            state.transition = memory.transition
        }
        if restoreRunDown(memory.runDown, at: memory.segment) { return }
        if isRight(memory.scene) { _ = show(by: (Transition(.cut), 0), at: nil) { _ in memory.scene } }
    }
}

// MARK: What is on air

extension Director {
    var report: ProgramReport {
        let next = stage.nextFrame
        let (change, before, preview, transition) = state.withLock { state in
            let (now, before) = onAir(&state)
            return (now, before, state.preview, state.transition)
        }
        let seen = change.scene.layout.sources + (before?.scene.layout.sources ?? [])
        var report = ProgramReport(
            frame: next.number, scene: change.scene.layout, preview: preview.layout, transition: transition,
            audioFrom: audio.text,
            sources: sources.map { source in
                let settings = source.stage.fader.settings
                return ProgramReport.Source(
                    name: source.name, input: source.input(),
                    isOnAir: seen.contains(source.name),
                    isInPreview: preview.layout.sources.contains(source.name), gain: settings.gain,
                    isMuted: settings.isMuted, levels: source.stage.meter.levels)
            }, scenes: scenes.map(\.name))
        (report.sceneName, report.previewName) = (change.scene.name, preview.name)
        report.runDown = runDownStatus(withSegments: false)
        if before != nil { report.progress = Double(max(0, next - change.frame)) / Double(change.frames) }
        return report
    }
}

extension Director.State {
    mutating func note(_ change: Director.Change) {
        changes.removeAll { $0.frame == change.frame }
        changes.append(change)
        changes.sort { $0.frame < $1.frame }
    }
}
