// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Media
import Synchronization
import TestSupport
import Testing

@testable import Studio

@Suite("Scene changes that are reported to recordings")
struct SceneRecordingTests {
    /// A recording that keeps the scenes that are reported to it.
    private final class NotedRecording: SceneRecording {
        let run: String
        private let noted = Mutex<[SceneEvent]>([])

        init(_ run: String) { self.run = run }

        func record(_ scene: SceneEvent) { noted.withLock { $0.append(scene) } }

        var scenes: [SceneEvent] { noted.withLock { $0 } }
    }

    /// The recordings that run at present.
    private final class CurrentRecordings: Sendable {
        private let state = Mutex<[any SceneRecording]>([])
        var all: [any SceneRecording] {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    @Test("Each of two recordings gets every scene once; one that begins later first gets the scene that is on air")
    func twoRecordings() throws {
        let (first, second, current) = (NotedRecording("1"), NotedRecording("2"), CurrentRecordings())
        let stage = try DirectorStage(recordings: { current.all })
        current.all = [first]
        stage.run(to: 3)
        #expect(first.scenes.map(\.frame) == [0] && second.scenes.isEmpty)
        current.all = [first, second]
        stage.run(to: 5)
        #expect(first.scenes.count == 1)
        #expect(second.scenes.map(\.frame) == [3] && second.scenes.map(\.transition) == ["cut"])
        try stage.put("duo")
        stage.run(to: 60)
        #expect(first.scenes.count == 2 && second.scenes.count == 2)
        #expect(first.scenes.last?.name == "duo" && first.scenes.last?.frame == second.scenes.last?.frame)
        #expect(first.scenes.last?.transition == second.scenes.last?.transition)
        #expect(first.scenes.allSatisfy { $0.run == "1" } && second.scenes.allSatisfy { $0.run == "2" })
        // A recording that has ended does not affect the other one.
        current.all = [second]
        stage.run(to: 65)
        #expect(second.scenes.count == 2)
        // If the recording is reported again, it counts as a new one, and first gets the scene that is on air.
        current.all = [second, first]
        stage.run(to: 70)
        #expect(second.scenes.count == 2 && first.scenes.last?.frame == 65 && first.scenes.last?.transition == "cut")
    }
}
