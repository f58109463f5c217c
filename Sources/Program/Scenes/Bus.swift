// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Kernels
package import Media
internal import Synchronization

/// Holds the scene that a program shows. The scene changes only between two frames. The bus also holds feeds and
/// sources that are kept running although they are not visible, so that the program can change to them within one
/// frame. A source with backup inputs is a bus, too: its scene says which input is shown.
///
/// If the scene of a bus may change, the bus outlives its sources: when a source has no frame, its last frame is
/// repeated. Any thread may use a bus.
package final class Bus: Sendable {
    /// A change of scene that begins at program frame `frame`.
    struct Cue {
        let scene: Scene
        let transition: Transition
        let frames: Int64
        let frame: FrameIndex
        /// The video that is played over the change, if there is one. The program cuts to the new scene while this
        /// video covers the frame.
        var stinger: (any Stinger)?
    }

    private struct State {
        var scene: Scene?
        /// Changes that have not begun yet, sorted by frame.
        var cues: [Cue] = []
        /// The first program frame at which a change can still begin.
        var next: FrameIndex = 0
        var standby: [SourceFeed] = []
        var sources: [Bus] = []
        var overlays: [Overlay] = []
        var isOver = false
    }

    /// Whether the scene never changes, so that the program ends when its video ends.
    let isFixed: Bool
    /// The operator's settings for the audio, if this bus is a source.
    package let fader = Fader()
    /// Measures the audio level: of the program, or of the source if this bus is one. A source is measured even while
    /// it is not audible.
    package let meter = LevelMeter()
    /// Whether the packets of the source are needed. The switch is shared by all inputs of the source.
    package let packets = PacketSwitch()
    private let state: Mutex<State>
    private let changed = DispatchSemaphore(value: 0)
    /// The watchers that get the content of sources, each with its source.
    let watches = Mutex<[SourceWatch]>([])
    /// The closure that was given to ``beforeEachFrame(_:)``; nil if none was.
    private let watcher = Mutex<(@Sendable (FrameIndex) -> Void)?>(nil)

    /// Creates a bus that waits for its first scene.
    package convenience init() { self.init(nil) }

    /// Creates a bus with a scene that never changes. If `scene` is nil, the bus waits for its first scene, and its
    /// scene may change.
    package init(_ scene: Scene?) {
        isFixed = scene != nil
        state = Mutex(State(scene: scene))
    }

    /// The scene on air, or the scene that was requested for the next frame; nil before the first scene. Scenes that
    /// were requested for later frames do not count.
    package var scene: Scene? { state.withLock { $0.scene } }

    /// The first program frame at which a change can still begin.
    package var nextFrame: FrameIndex { state.withLock { $0.next } }

    /// Cuts to `scene` at the next frame of the program.
    package func show(_ scene: Scene) { show(scene, by: Transition(.cut), frames: 0) }

    /// Puts `scene` on air at program frame `frame`, or at the next frame if `frame` is nil or has passed. The change
    /// is a transition of `frames` frames, or a cut under `stinger` if there is one. Returns the frame at which the
    /// change begins.
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

    /// Makes the program call `watch` before each frame, on the program's thread. If `watch` calls ``show(_:)``, that
    /// scene is on air from this frame on.
    package func beforeEachFrame(_ watch: @escaping @Sendable (FrameIndex) -> Void) {
        watcher.withLock { $0 = watch }
    }

    /// Calls the closure that was given to ``beforeEachFrame(_:)``, if there is one. Called before frame `index` is
    /// made.
    func announce(_ index: FrameIndex) { watcher.withLock { $0 }?(index) }

    /// Returns the change that begins at frame `index`; nil without such a change. A change for a frame that was
    /// skipped begins at `index`. If several changes are due, only the last of them begins. After this call, no new
    /// change can begin at frame `index`.
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

    /// Cancels the change that is scheduled for `frame`. Returns false if there is no such change, or if it has begun
    /// or begins with the next frame.
    package func withdraw(at frame: FrameIndex) -> Bool {
        state.withLock { state in
            guard frame > state.next, let index = state.cues.firstIndex(where: { $0.frame == frame }) else {
                return false
            }
            state.cues.remove(at: index)
            return true
        }
    }

    /// Adds an overlay in front of the overlays that were added before. Must be called before the program starts.
    package func add(_ overlay: Overlay) { state.withLock { $0.overlays.append(overlay) } }

    /// All overlays of the program, from back to front.
    var overlays: [Overlay] { state.withLock { $0.overlays } }

    /// Keeps `feed` running while it is not visible.
    package func add(_ feed: SourceFeed) { state.withLock { $0.standby.append(feed) } }

    /// Keeps `source` with all its inputs running while it is not visible.
    package func add(_ source: Bus) { state.withLock { $0.sources.append(source) } }

    /// No longer keeps `feed` running, and closes it. A scene on air that uses the feed stays on air.
    package func remove(_ feed: SourceFeed) {
        state.withLock { state in state.standby.removeAll { $0 === feed } }
        feed.close()
    }

    /// Ends the program after the current frame, and closes all feeds.
    package func finish() {
        let (feeds, sources) = state.withLock { state in
            state.isOver = true
            return ((state.scene?.feeds ?? []) + state.standby, state.sources)
        }
        for feed in feeds { feed.close() }
        for source in sources { source.finish() }
        changed.signal()
    }

    /// Whether ``finish()`` was called, so that the program must end.
    package var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits until there is a scene other than `gone`, and returns it; nil if the program ends first.
    func waitForScene(besides gone: Scene? = nil) -> Scene? {
        while true {
            let (scene, isOver) = state.withLock { ($0.scene, $0.isOver) }
            if isOver { return nil }
            if let scene, scene != gone { return scene }
            changed.wait()
        }
    }

    /// All feeds of the program, each once: the feeds of the scene, the feeds that are kept running, and the feeds of
    /// the sources.
    var feeds: [SourceFeed] {
        let (scene, standby, sources) = state.withLock { ($0.scene, $0.standby, $0.sources) }
        var feeds = scene?.feeds ?? []
        for feed in standby + sources.flatMap(\.feeds) where !feeds.contains(where: { $0 === feed }) {
            feeds.append(feed)
        }
        return feeds
    }

    /// Returns the inputs of the mixer for `scene`: the audible sources, and also all other sources, because their
    /// meters need the audio. The meters of sources that have no audio now fall for `seconds`.
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

    /// By how many seconds this source's audio can be played earlier than it arrives; nil if the source has no audio
    /// now.
    package var mostAhead: Double? {
        let feeds = scene?.audio.flatMap(\.feeds) ?? []
        return feeds.map { Double($0.mostAhead) / Double(AudioFormat.program.sampleRate) }.min()
    }

    /// The frame that this source shows now; nil before its first frame.
    var shown: VideoFrame? {
        switch scene?.layers.first?.video.resolved {
        case .feed(let feed): feed.newestFrame
        case .still(let still): still
        default: nil
        }
    }

    /// Returns the frame that this source shows now, scaled to a width of `width` pixels. Width and height are rounded
    /// down to even numbers. Nil before the source's first frame.
    package func thumbnail(width: Int) -> VideoFrame? {
        guard let frame = shown else { return nil }
        let size = (width: max(2, width / 2 * 2), height: max(2, frame.height * width / frame.width / 2 * 2))
        var canvas = FramePool(width: size.width, height: size.height).canvas()
        Scaler().draw(frame, at: .full, on: &canvas)
        return canvas.finish(pts: frame.pts, timeBase: frame.timeBase)
    }
}

/// A short video with alpha that is played over a change of scene. The scene is cut while the video covers the whole
/// frame.
package protocol Stinger: AnyObject, Sendable {
    /// The stinger's length in program frames.
    var frames: Int64 { get }
    /// The number of the stinger's frame with which the new scene begins.
    var cut: Int64 { get }
    /// Returns the stinger's frame `number`, with alpha and in the program's size. If this frame is not ready, returns
    /// the last frame that was ready; nil without one. Called on the program's thread, so it must not wait, except in a
    /// program that is made faster than real time.
    func frame(_ number: Int64) -> VideoFrame?
    /// Prepares the stinger to be played again from its first frame. Returns at once.
    func rewind()
}
