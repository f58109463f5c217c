// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import Media

/// Makes the frame and the audio of each program frame from the scene on air and a running transition. Only the
/// program's thread uses it.
struct MixEffect {
    /// What was on air when a transition began.
    private enum Origin {
        case scenes(SceneMix)
        /// The last frame of another transition, which the new transition interrupted.
        case still(VideoFrame)
    }

    /// The visible frame of a stinger that was interrupted by a new transition. It fades out during the new transition.
    private struct Leaving {
        let frame: VideoFrame
        let opacity: Double
    }

    private struct Running {
        let transition: Transition
        let frames: Int64
        let start: FrameIndex
        let origin: Origin
        let stinger: (any Stinger)?
        /// The scene that was in force before this transition; see ``MixEffect/inForce(at:)``.
        let former: Scene
        let leaving: Leaving?

        /// Returns the progress at frame `index`, from 0 to 1. It is never exactly 0 or 1, so the first and the last
        /// frame show both sides.
        func progress(at index: FrameIndex) -> Double {
            transition.easing.progress(at: Double(index - start + 1) / Double(frames + 1))
        }
    }

    /// The scene on air, or the target of the running transition.
    private(set) var scene: Scene
    private var compositor: Compositor?
    private var running: Running?
    /// The last frame that the program showed, without overlays. With a compositor, it is stored only if it was blended
    /// from two frames.
    private var last: VideoFrame?
    private var isBlended = false
    /// The frame of a stinger that is drawn in the current frame; nil without one.
    private var covering: VideoFrame?
    /// The layers from which a frame is composed. The array is kept between frames, to save memory allocations.
    private var layers: [(frame: VideoFrame?, placement: Placement)] = []
    /// For each visible feed, the frame that it has chosen for the current program frame.
    private var choices: [(feed: SourceFeed, choice: LiveFrames.Choice?)] = []
    /// The video that each visible source shows in the current frame. It is read only once per frame, because another
    /// thread may change it at any time.
    private var shown: [(source: Bus, video: Scene.Video?)] = []
    /// For each visible source, the last frame that it showed. The frame is repeated while the source changes to
    /// another input that has no frame yet.
    private var standing: [(source: Bus, frame: VideoFrame)] = []
    private var mixer: Mixer
    /// The limiter of the mix; nil if the scene never changes, because its single source is played unchanged.
    private var limiter: Limiter?
    /// The number of audio samples in a frame.
    private let frameSamples: Int64
    private let holdsLast: Bool
    private let overlays: [Overlay]
    /// The overlays that are visible in the current frame.
    private var looks: [(level: Double, art: OverlayArt)] = []

    /// Puts `scene` on air. A frame has `frameSamples` audio samples. Without a `compositor`, only one source is
    /// visible at a time, all changes are cuts, and there are no overlays. If `holdsLast` is true, the last frame of a
    /// source that has ended is repeated. The last of `overlays` is in front of the others.
    init(
        _ scene: Scene, audio: AudioFormat, frameSamples: Int64, compositor: Compositor?, holdsLast: Bool,
        overlays: [Overlay] = []
    ) {
        (self.scene, self.compositor, self.holdsLast) = (scene, compositor, holdsLast)
        (self.overlays, self.frameSamples) = (overlays, frameSamples)
        mixer = Mixer(format: audio)
        limiter = holdsLast ? Limiter(format: audio) : nil
    }

    /// Begins to put the scene of `cue` on air, with frame `index`. A running transition ends, and the new one starts
    /// from what was visible last.
    mutating func begin(_ cue: Bus.Cue, at index: FrameIndex) {
        endIfOver(at: index)
        let isSeen = cue.stinger != nil || (cue.transition.kind != .cut && (cue.scene != scene || running != nil))
        let next = Running(
            transition: cue.transition, frames: cue.frames, start: index, origin: origin(at: index),
            stinger: cue.stinger, former: inForce(at: index - 1), leaving: leaving(at: index))
        end()
        if compositor != nil, isSeen, cue.frames > 0 { running = next }
        scene = cue.scene
    }

    /// Returns the scene whose audio and overlays are used at frame `index`. While a stinger is played, this is the
    /// previous scene until the cut.
    func inForce(at index: FrameIndex) -> Scene {
        guard let running, let stinger = running.stinger, index - running.start < stinger.cut else { return scene }
        return running.former
    }

    private mutating func end() {
        running?.stinger?.rewind()
        (running, covering) = (nil, nil)
    }

    /// Returns what a transition that begins at frame `index` starts from: what was visible in the previous frame.
    private func origin(at index: FrameIndex) -> Origin {
        guard let running else { return .scenes(SceneMix(scene)) }
        if let stinger = running.stinger {
            return index - running.start <= stinger.cut ? running.origin : .scenes(SceneMix(scene))
        }
        if let mix = moved(running, at: index - 1) { return .scenes(mix) }
        return last.map { .still($0) } ?? .scenes(SceneMix(scene))
    }

    /// Returns the frame of a stinger that was visible in the previous frame, to fade it out during a new transition;
    /// nil if no stinger was visible.
    private func leaving(at index: FrameIndex) -> Leaving? {
        if let covering { return Leaving(frame: covering, opacity: 1) }
        guard let running else { return nil }
        return running.leaving.map { Leaving(frame: $0.frame, opacity: opacity(of: $0, running, at: index - 1)) }
    }

    private func opacity(of leaving: Leaving, _ running: Running, at index: FrameIndex) -> Double {
        leaving.opacity * (1 - running.progress(at: index))
    }

    /// Returns the mix of scenes at frame `index` of a transition that moves layers; nil if the transition blends
    /// frames instead.
    private func moved(_ running: Running, at index: FrameIndex) -> SceneMix? {
        guard running.transition.kind == .move, case .scenes(let origin) = running.origin else { return nil }
        return origin.moved(to: scene, fraction: running.progress(at: index), shaped: shaped)
    }

    /// The visible videos whose frames contain bars, because only a region of the frame has content.
    private var shaped: [Scene.Video] {
        scenes.flatMap(\.layers).map(\.video).filter { newest($0)?.region != nil }
    }

    private mutating func endIfOver(at index: FrameIndex) {
        if let running, index - running.start >= running.frames { end() }
    }

    /// Returns the frame to put on air at `index`; nil if there is no frame. `note` is called with the frame that the
    /// main feed has chosen.
    mutating func frame(for index: FrameIndex, note: (SourceFeed, LiveFrames.Choice) -> Void) -> VideoFrame? {
        endIfOver(at: index)
        look()
        let main = feed(of: inForce(at: index))
        choose(for: index, main: main, note)
        guard compositor != nil else { return keep(choices.first?.choice?.frame ?? still) }
        isBlended = false
        var frame: VideoFrame?
        if let running { frame = changing(running, at: index) } else { frame = compose(scene) }
        last = isBlended ? frame : nil
        frame?.captions = choices.first { $0.feed === main }?.choice?.frame.captions ?? []
        key(&frame, at: index)
        return frame
    }

    /// Returns the frame at `index` of the running transition, without overlays.
    private mutating func changing(_ running: Running, at index: FrameIndex) -> VideoFrame? {
        if let mix = moved(running, at: index) { return compose(mix) }
        if let stinger = running.stinger, index - running.start >= stinger.cut { return compose(scene) }
        let from: VideoFrame?
        switch running.origin {
        case .still(let still): from = still
        case .scenes(let origin): from = compose(origin)
        }
        if running.stinger != nil { return from }
        guard let from, let next = compose(scene) else { return nil }
        isBlended = true
        return compositor?.blend(from, next, by: running.transition, progress: running.progress(at: index))
    }

    /// Draws the visible overlays over `frame`, and then in front of them the stinger, or the rest of an interrupted
    /// one.
    private mutating func key(_ frame: inout VideoFrame?, at index: FrameIndex) {
        looks.removeAll(keepingCapacity: true)
        let named = inForce(at: index).overlays
        // Overlays fade during a transition. At a cut, and under a stinger, they change at once.
        let rest = running.map { $0.stinger == nil ? $0.frames - (index - $0.start) : 0 } ?? 0
        for overlay in overlays {
            let isNamed = named.contains { $0 === overlay }
            if let look = overlay.look(at: index, isNamed: isNamed, frames: rest) { looks.append(look) }
        }
        covering = running.flatMap { $0.stinger?.frame(index - $0.start) }
        let leaving = running.flatMap { running in
            running.leaving.map { Leaving(frame: $0.frame, opacity: opacity(of: $0, running, at: index)) }
        }
        guard let compositor, !looks.isEmpty || leaving != nil || covering != nil else { return }
        let time = OverlayTime(
            of: index, at: compositor.format.frameRate, secondOfDay: looks.isEmpty ? 0 : OverlayTime.secondOfDay)
        compositor.draw(over: &frame) { canvas in
            for look in looks { look.art.draw(on: &canvas, at: time, level: look.level) }
            if let leaving { canvas.draw(stinger: leaving.frame, opacity: leaving.opacity) }
            if let covering { canvas.draw(stinger: covering, opacity: 1) }
        }
    }

    /// Stores `frame` as the last frame and returns it. If `frame` is nil, returns the last frame again if `holdsLast`
    /// is true, and nil otherwise.
    private mutating func keep(_ frame: VideoFrame?) -> VideoFrame? {
        guard let frame else { return holdsLast ? last : nil }
        last = frame
        last?.captions = []
        return frame
    }

    private var still: VideoFrame? {
        if case .still(let frame) = scene.layers.first.flatMap({ resolved($0.video) }) { frame } else { nil }
    }

    /// The scenes from which the current frame is made: one, or several during a transition.
    private var scenes: [Scene] {
        if case .scenes(let origin) = running?.origin { [scene] + origin.shares.map(\.scene) } else { [scene] }
    }

    /// Reads for each visible source which video it shows now.
    private mutating func look() {
        shown.removeAll(keepingCapacity: true)
        for layer in scenes.flatMap(\.layers) {
            guard case .source(let bus) = layer.video, !shown.contains(where: { $0.source === bus }) else {
                continue
            }
            shown.append((bus, layer.video.resolved))
        }
        let seen = shown
        standing.removeAll { stood in !seen.contains { $0.source === stood.source } }
    }

    private func resolved(_ video: Scene.Video) -> Scene.Video? {
        guard case .source(let bus) = video else { return video }
        return shown.first { $0.source === bus }?.video
    }

    private func feed(of video: Scene.Video) -> SourceFeed? {
        if case .feed(let feed) = resolved(video) { feed } else { nil }
    }

    private func feed(of scene: Scene) -> SourceFeed? { scene.layers.first.flatMap { feed(of: $0.video) } }

    /// Lets each visible feed choose its frame for `index`, once. `note` is called with the frame that the main feed
    /// has chosen.
    private mutating func choose(
        for index: FrameIndex, main: SourceFeed?, _ note: (SourceFeed, LiveFrames.Choice) -> Void
    ) {
        choices.removeAll(keepingCapacity: true)
        for layer in scenes.flatMap(\.layers) {
            guard let feed = feed(of: layer.video), !choices.contains(where: { $0.feed === feed }) else { continue }
            let choice = feed.frame(for: index)
            if let choice, feed === main { note(feed, choice) }
            let last = choice == nil && holdsLast ? feed.lastFrame(for: index) : nil
            choices.append((feed, choice ?? last.map { LiveFrames.Choice(frame: $0, newlyDue: nil) }))
        }
    }

    private mutating func compose(_ scene: Scene, exchanged: Double = 0) -> VideoFrame? {
        for layer in scene.layers { layers.append((frame(of: layer.video), layer.placement)) }
        defer { layers.removeAll(keepingCapacity: true) }
        return compositor?.compose(layers, exchanged: exchanged)
    }

    private mutating func compose(_ mix: SceneMix) -> VideoFrame? {
        if let (scene, share) = mix.exchange { return compose(scene, exchanged: share) }
        guard let first = mix.shares.first, let last = mix.shares.last, let frame = compose(first.scene) else {
            return nil
        }
        guard mix.shares.count > 1, let other = compose(last.scene) else { return frame }
        return compositor?.blend(frame, other, by: Transition(.fade), progress: last.weight)
    }

    /// Returns the current frame of `video`. If a source has no frame now, returns its last one.
    private func newest(_ video: Scene.Video) -> VideoFrame? {
        let frame: VideoFrame? =
            switch resolved(video) {
            case .still(let still): still
            case .feed(let feed): choices.first { $0.feed === feed }?.choice?.frame
            default: nil
            }
        guard case .source(let bus) = video else { return frame }
        return frame ?? standing.first { $0.source === bus }?.frame
    }

    private mutating func frame(of video: Scene.Video) -> VideoFrame? {
        let frame = newest(video)
        guard let frame, case .source(let bus) = video else { return frame }
        let index = standing.firstIndex { $0.source === bus }
        if let index { standing[index].frame = frame } else { standing.append((bus, frame)) }
        return frame
    }

    /// Whether a frame of `feed` was taken for the current program frame.
    func isSeen(_ feed: SourceFeed) -> Bool { choices.contains { $0.feed === feed } }
}

// MARK: Audio

extension MixEffect {
    /// Mixes `parts` for `range`, the samples of the current frame, and returns audio that is ready. The returned audio
    /// directly follows the audio that was returned before. The audio fades as long as the transition lasts, or for
    /// half a frame at a cut and under a stinger. The length of the fade does not depend on whether frames were
    /// skipped.
    mutating func audio(_ range: Range<SampleIndex>, _ parts: [Mixer.Part]) -> AudioBuffer {
        let fade = running.flatMap { $0.stinger == nil ? $0.frames * frameSamples : nil }
        let mixed = mixer.mix(parts, range, fade: fade ?? frameSamples / 2)
        return limiter?.limit(mixed, alone: mixer.isAlone) ?? mixed
    }

    /// Returns the audio that the limiter still holds after the last frame, up to sample `end`; nil without a limiter.
    mutating func rest(upTo end: SampleIndex) -> AudioBuffer? { limiter?.finish(at: end.number) }

    /// Whether `feed` is audible in the current frame. A feed that fades out is still audible.
    func isHeard(_ feed: SourceFeed, _ parts: [Mixer.Part]) -> Bool {
        parts.contains { $0.feed === feed && $0.isHeard } || mixer.isHeard(feed)
    }

    /// Returns the audio of `source` for the current frame, without the operator's shift; nil if the source has no
    /// audio.
    func audio(of source: Bus) -> AudioBuffer? { mixer.audio(of: source) }

    /// Whether audio of `feed` was taken for the current program frame.
    func isTaken(_ feed: SourceFeed) -> Bool { mixer.isTaken(feed) }
}
