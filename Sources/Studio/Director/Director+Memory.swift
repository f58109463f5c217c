// SPDX-License-Identifier: Apache-2.0

internal import Program
internal import Synchronization

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
