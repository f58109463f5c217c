// SPDX-License-Identifier: Apache-2.0

import Media
import Program
import TestSupport
import Testing

@testable import Studio

@Suite("The state of a run-down that is loaded")
struct RunDownStateTests {
    /// A run-down of three segments of the source cam1. `formerFiles` is the number of the previous run-down's files.
    private func state(formerFiles: Int = 0) -> RunDownState {
        let view = RunDown.View(SceneLayout(.single, ["cam1"]), name: "cam1")
        let segments = ["a", "b", "c"].map { RunDown.Segment(name: $0, views: [view], length: .take) }
        var state = RunDownState(player: RunDownPlayer(RunDown(name: "show", segments), rate: FrameRate(25)))
        state.former = (0..<formerFiles).map { _ in
            RunDownClip(
                RunDown.Clip("/nowhere/a.mov"), format: GrayVideo.format, pacing: .rendered, clock: SystemClock(),
                logger: quiet)
        }
        return state
    }

    @Test("The previous run-down's files are released once, when the transition that replaces them has ended")
    func former() {
        var state = state(formerFiles: 2)
        #expect(state.takeFormer(by: 1000).isEmpty)
        state.noteChange(at: 100, frames: 25)
        #expect(state.takeFormer(by: 125).isEmpty)
        #expect(state.takeFormer(by: 126).count == 2)
        #expect(state.takeFormer(by: 127).isEmpty && state.former.isEmpty)
    }

    @Test("A transition that interrupts the one that replaces the previous files keeps them to its own end")
    func interrupted() {
        var state = state(formerFiles: 1)
        state.noteChange(at: 100, frames: 25)
        state.noteChange(at: 110, frames: 50)
        #expect(state.takeFormer(by: 160).isEmpty)
        // The previous files are not visible in this later transition, so it does not keep them.
        state.noteChange(at: 161, frames: 50)
        #expect(state.takeFormer(by: 161).count == 1)
    }

    @Test("If the change that was to replace the previous files is cancelled, they stay until another change")
    func withdrawn() {
        var state = state(formerFiles: 1)
        state.noteChange(at: 100, frames: 0)
        state.withdraw(at: 90)
        #expect(state.formerEnd == 101)
        state.withdraw(at: 100)
        #expect(state.takeFormer(by: 1000).isEmpty)
        state.noteChange(at: 1000, frames: 0)
        #expect(state.takeFormer(by: 1001).count == 1)
    }

    @Test("A segment during which the channel failed twice is skipped; failures during other segments are forgotten")
    func failures() throws {
        var state = state()
        try state.player.start(at: 1)
        state.restore(failures: [0: 2, 1: 1, 2: 1])
        #expect(Array(state.player.barred.keys) == [0])
        #expect(state.player.barred[0]?.contains("failed 2 times") == true)
        state.forgetFailures()
        #expect(state.failures == [0: 2, 1: 1])
        // An operator starts the skipped segment, and then continues with the next one.
        try state.player.start(at: 0)
        #expect(state.player.barred.isEmpty)
        try state.player.start(at: 2)
        state.forgetFailures()
        #expect(state.failures.isEmpty)
    }

    @Test("A run-down's file that cannot be opened is reported to the player, which skips its segment")
    func broken() throws {
        let view = RunDown.View(SceneLayout(.single, [RunDown.clipName]), name: "file")
        let file = RunDown.Clip("/nowhere/a.mov")
        let segment = RunDown.Segment(name: "a", views: [view], clip: file, length: .end)
        var state = RunDownState(player: RunDownPlayer(RunDown(name: "show", [segment]), rate: FrameRate(25)))
        try state.player.start(at: 0)
        for case .prepare(let id, let clip) in state.player.tick(0) {
            state.clips[id] = RunDownClip(
                clip, format: GrayVideo.format, pacing: .rendered, clock: SystemClock(), logger: quiet)
        }
        let clip = try #require(state.clips.values.first)
        try eventually("the file has failed") { if case .failed = clip.condition { true } else { false } }
        state.look()
        let skipped = state.player.tick(1).contains { if case .skip = $0 { true } else { false } }
        #expect(skipped && state.player.failure != nil)
    }
}
