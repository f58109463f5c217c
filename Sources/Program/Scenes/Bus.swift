// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Kernels
package import Media
internal import Synchronization

/// Holds the scene that a program shows, which changes between two frames. It also holds the feeds and sources that are
/// kept running although they are not visible, so that a change to them takes effect within one frame. A source with
/// backups is a bus, too: its scene selects the visible input.
///
/// A bus whose scene may change exists longer than its sources: if a source has no frame, its last one is repeated. Any
/// thread may use it.
package final class Bus: Sendable {
    /// A change of scene, and the frame at which it begins.
    struct Cue {
        let scene: Scene
        let transition: Transition
        let frames: Int64
        let frame: FrameIndex
        /// The video that covers the change; under it, the change is a cut.
        var stinger: (any Stinger)?
    }

    private struct State {
        var scene: Scene?
        /// Changes that are not on air yet, sorted by frame.
        var cues: [Cue] = []
        /// The first frame at which a change can still begin.
        var next: FrameIndex = 0
        var standby: [SourceFeed] = []
        var sources: [Bus] = []
        var overlays: [Overlay] = []
        var isOver = false
    }

    /// Whether the program ends with its video, because its scene never changes.
    let isFixed: Bool
    /// The operator's settings for a source's audio.
    package let fader = Fader()
    /// The level of a source, whether it is audible or not; for a program's bus, the level of the program.
    package let meter = LevelMeter()
    /// Whether the packets of a source are needed, regardless of which of its inputs is visible.
    package let packets = PacketSwitch()
    private let state: Mutex<State>
    private let changed = DispatchSemaphore(value: 0)
    /// The watchers of the sources.
    let watches = Mutex<[SourceWatch]>([])
    /// The closure that is called before each frame.
    private let watcher = Mutex<(@Sendable (FrameIndex) -> Void)?>(nil)

    /// A bus that waits for its first scene.
    package convenience init() { self.init(nil) }

    /// A bus with this scene. Such a bus never changes its scene.
    package init(_ scene: Scene?) {
        isFixed = scene != nil
        state = Mutex(State(scene: scene))
    }

    /// The scene that was last requested for the next possible frame; nil before the first request. Scenes requested
    /// for later frames do not count.
    package var scene: Scene? { state.withLock { $0.scene } }

    /// The first program frame at which a change can still begin.
    package var nextFrame: FrameIndex { state.withLock { $0.next } }

    /// Cuts to `scene` at the program's next frame.
    package func show(_ scene: Scene) { show(scene, by: Transition(.cut), frames: 0) }

    /// Puts `scene` on air at program frame `frame`, or at the next frame if that is later, by a transition of `frames`
    /// frames, or by a cut under `stinger`. Returns the frame at which the change begins.
    @discardableResult
    package func show(
        _ scene: Scene, by transition: Transition, frames: Int64, stinger: (any Stinger)? = nil,
        at frame: FrameIndex? = nil
    ) -> FrameIndex {
        defer { changed.signal() }
        return state.withLock { state in
            let frame = max(frame ?? state.next, state.next)
            if frame == state.next { state.scene = scene }
            state.cues.removeAll { $0.frame == frame }
            state.cues.append(Cue(scene: scene, transition: transition, frames: frames, frame: frame, stinger: stinger))
            state.cues.sort { $0.frame < $1.frame }
            return frame
        }
    }

    /// Calls `watch` on the program's thread before each frame is made. A scene that `watch` shows is on air with that
    /// frame.
    package func beforeEachFrame(_ watch: @escaping @Sendable (FrameIndex) -> Void) {
        watcher.withLock { $0 = watch }
    }

    /// Calls the closure of ``beforeEachFrame(_:)``, if there is one, before frame `index` is made.
    func announce(_ index: FrameIndex) { watcher.withLock { $0 }?(index) }

    /// Returns the change that begins at frame `index`, or should have begun since the previous frame; nil without such
    /// a change. Later changes cannot begin at this frame any more.
    func takeCue(for index: FrameIndex) -> Cue? {
        state.withLock { state in
            state.next = index + 1
            guard let last = state.cues.lastIndex(where: { $0.frame <= index }) else { return nil }
            let cue = state.cues[last]
            state.cues.removeFirst(last + 1)
            state.scene = state.cues.first { $0.frame == state.next }?.scene ?? cue.scene
            return cue
        }
    }

    /// Cancels the change that is scheduled for `frame`. Returns false if there is no such change, or if it is already
    /// on air.
    package func withdraw(at frame: FrameIndex) -> Bool {
        state.withLock { state in
            guard frame > state.next, let index = state.cues.firstIndex(where: { $0.frame == frame }) else {
                return false
            }
            state.cues.remove(at: index)
            return true
        }
    }

    /// Adds an overlay in front of the overlays that were added before. Must be called before the program runs.
    package func add(_ overlay: Overlay) { state.withLock { $0.overlays.append(overlay) } }

    /// The overlays, from back to front.
    var overlays: [Overlay] { state.withLock { $0.overlays } }

    /// Keeps a feed running while it is not visible.
    package func add(_ feed: SourceFeed) { state.withLock { $0.standby.append(feed) } }

    /// Keeps a source running while it is not visible, with all its inputs.
    package func add(_ source: Bus) { state.withLock { $0.sources.append(source) } }

    /// Removes a feed that is kept running, and ends all waiting for it. A feed that is on air remains on air.
    package func remove(_ feed: SourceFeed) {
        state.withLock { state in state.standby.removeAll { $0 === feed } }
        feed.close()
    }

    /// Ends the program after the current frame.
    package func finish() {
        let (feeds, sources) = state.withLock { state in
            state.isOver = true
            return ((state.scene?.feeds ?? []) + state.standby, state.sources)
        }
        for feed in feeds { feed.close() }
        for source in sources { source.finish() }
        changed.signal()
    }

    /// Whether the program must end.
    package var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits for a scene other than `gone`; nil if the program ends first.
    func waitForScene(besides gone: Scene? = nil) -> Scene? {
        while true {
            let (scene, isOver) = state.withLock { ($0.scene, $0.isOver) }
            if isOver { return nil }
            if let scene, scene != gone { return scene }
            changed.wait()
        }
    }

    /// All feeds that may be visible or audible: the feeds of the scene, the feeds that are kept running, and the feeds
    /// of the sources.
    var feeds: [SourceFeed] {
        let (scene, standby, sources) = state.withLock { ($0.scene, $0.standby, $0.sources) }
        var feeds = scene?.feeds ?? []
        for feed in standby + sources.flatMap(\.feeds) where !feeds.contains(where: { $0 === feed }) {
            feeds.append(feed)
        }
        return feeds
    }

    /// Returns the mixer's inputs for `scene`: the audible sources, and also the other sources, for their meters. The
    /// meters of sources without audio fall by `seconds`.
    func parts(of scene: Scene, silentFor seconds: Double) -> [Mixer.Part] {
        let sources = state.withLock { $0.sources }
        var parts: [Mixer.Part] = []
        let unheard = sources.map { Scene.Audio.source($0) }.filter { !scene.audio.contains($0) }
        for (audio, isHeard) in scene.audio.map({ ($0, true) }) + unheard.map({ ($0, false) }) {
            let bus: Bus? = if case .source(let bus) = audio { bus } else { nil }
            if let bus, audio.feeds.isEmpty { bus.meter.fall(for: seconds) }
            for feed in audio.feeds where !parts.contains(where: { $0.feed === feed }) {
                let settings = bus?.fader.settings
                parts.append(
                    Mixer.Part(
                        feed: feed, isHeard: isHeard, gain: settings?.factor ?? 1,
                        offset: settings.map { Int64(($0.offset * Double(AudioFormat.program.sampleRate)).rounded()) },
                        source: bus))
            }
        }
        return parts
    }

    /// How much earlier than it arrives a source can be played, in seconds; nil if it has no audio now.
    package var mostAhead: Double? {
        let feeds = scene?.audio.flatMap(\.feeds) ?? []
        return feeds.map { Double($0.mostAhead) / Double(AudioFormat.program.sampleRate) }.min()
    }

    /// The frame that a source shows now; nil before its first frame.
    var shown: VideoFrame? {
        switch scene?.layers.first?.video.resolved {
        case .feed(let feed): feed.newestFrame
        case .still(let still): still
        default: nil
        }
    }

    /// Returns the frame that a source shows now, scaled to `width` columns (rounded to an even number); nil before its
    /// first frame.
    package func thumbnail(width: Int) -> VideoFrame? {
        guard let frame = shown else { return nil }
        let size = (width: max(2, width / 2 * 2), height: max(2, frame.height * width / frame.width / 2 * 2))
        var canvas = FramePool(width: size.width, height: size.height).canvas()
        Scaler().draw(frame, at: .full, on: &canvas)
        return canvas.finish(pts: frame.pts, timeBase: frame.timeBase)
    }
}

/// A short video with alpha that is shown over a change of scene. The scene changes while the video covers the whole
/// frame.
package protocol Stinger: AnyObject, Sendable {
    /// The stinger's length in program frames.
    var frames: Int64 { get }
    /// The number of the stinger's frame at which the new scene begins.
    var cut: Int64 { get }
    /// Returns the stinger's frame `number`, in the program's size and in memory with alpha. If that frame is not
    /// ready, returns the previous one; nil before the first frame is ready. Called on the program's thread; does not
    /// wait.
    func frame(_ number: Int64) -> VideoFrame?
    /// Prepares the stinger to be shown again. Returns at once.
    func rewind()
}
