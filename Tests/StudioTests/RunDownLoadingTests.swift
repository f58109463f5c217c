// SPDX-License-Identifier: Apache-2.0

import Ingest
import Logging
import Media
import Program
import Status
import Testing

@testable import Studio

@Suite("Loading a run-down on air")
struct RunDownLoadingTests {
    @Test("A run-down loaded on air may use a separate audio input for a segment's audio, but not for its video")
    func unseen() throws {
        let format = VideoFormat(width: 64, height: 36, frameRate: FrameRate(25))
        let sources = [
            Director.Source(name: "cam1", bus: Bus()) { nil },
            Director.Source(name: "audio", bus: Bus(), hasVideo: false) { nil },
        ]
        let director = Director(
            Bus(), sources: sources, audio: .follow, slate: SlateScene(SlatePattern.frame(format, lines: [])),
            format: format, scenes: [], overlays: try Overlays([], format: format), stingers: [],
            recordings: { [] },
            playing: RunDownPlaying(
                clock: SystemClock(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        try director.loadRunDown("{name: first, segments: [{source: cam1, audio: audio}]}")
        let failure = #expect(throws: Refusal.self) {
            try director.loadRunDown("{name: second, segments: [{source: audio}]}")
        }
        #expect(failure?.errors.count == 1 && failure?.errors.first?.contains("audio has no video") == true)
        #expect(director.runDownStatus(withSegments: false)?.name == "first")
    }
}
