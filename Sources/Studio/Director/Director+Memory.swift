// SPDX-License-Identifier: Apache-2.0

internal import Program
internal import Synchronization

// MARK: What an operator chose, for the next time

extension Director {
    /// What an operator chose. It holds when the channel is opened again.
    package struct Memory {
        fileprivate var scene: Named
        fileprivate var preview: Named
        fileprivate var transition: TransitionRequest
        fileprivate var faders: [String: Fader.Memory]
        fileprivate var overlays: [Overlays.Memory]
        fileprivate var runDown: RunDownMemory?

        /// The channel failed while this was on air.
        package mutating func noteFailure() { runDown?.noteFailure() }
    }

    /// What was chosen so far.
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

    /// Does again what was chosen before. What does not fit any more is left out, and of audio and overlays what the
    /// configuration says otherwise now.
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
        // In place of what cannot be shown, as a run-down's own file, that with which a program begins.
        let scene = isRight(memory.scene) ? memory.scene : Self.single(names.seen.first)
        _ = show(by: .cut, at: nil) { _ in scene }
    }
}
