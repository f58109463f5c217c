// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// What a program shows, and what it may show next: the scene, which changes at the program's next frame, and the feeds
/// that play along unseen, so that a change to them costs one frame.
///
/// A stage whose scene may change outlasts its sources: where one has nothing, its last frame stands. All calls may come
/// from any thread.
package final class Stage: Sendable {
    private struct State {
        var scene: Scene?
        var standby: [SourceFeed] = []
        var isOver = false
    }

    /// Whether the program ends with its video: its scene never changes.
    let isFixed: Bool
    private let state: Mutex<State>
    private let changed = DispatchSemaphore(value: 0)

    /// A stage that waits for its first scene.
    package convenience init() { self.init(nil) }

    /// A stage with this scene, which never changes if it is there from the beginning.
    package init(_ scene: Scene?) {
        isFixed = scene != nil
        state = Mutex(State(scene: scene))
    }

    /// What is on air; nil before anything is.
    package var scene: Scene? { state.withLock { $0.scene } }

    /// Puts `scene` on air, from the program's next frame on.
    package func show(_ scene: Scene) {
        state.withLock { $0.scene = scene }
        changed.signal()
    }

    /// Lets a feed play along.
    package func add(_ feed: SourceFeed) { state.withLock { $0.standby.append(feed) } }

    /// Forgets a feed that was to play along, and ends waiting at it. What is on air stays.
    package func remove(_ feed: SourceFeed) {
        state.withLock { state in state.standby.removeAll { $0 === feed } }
        feed.close()
    }

    /// Ends the program after the frame under way.
    package func finish() {
        let feeds = state.withLock { state in
            state.isOver = true
            return (state.scene?.feeds ?? []) + state.standby
        }
        for feed in feeds { feed.close() }
        changed.signal()
    }

    /// Whether the program is to end.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits for a scene that is another than `gone`; nil if the program is to end before.
    func waitForScene(besides gone: Scene? = nil) -> Scene? {
        while true {
            let (scene, isOver) = state.withLock { ($0.scene, $0.isOver) }
            if isOver { return nil }
            if let scene, scene != gone { return scene }
            changed.wait()
        }
    }

    /// The feeds that are not in `scene`.
    func feeds(besides scene: Scene) -> [SourceFeed] {
        let shown = scene.feeds
        return state.withLock { $0.standby }.filter { feed in !shown.contains { $0 === feed } }
    }
}
