// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Program
@testable import Studio

@Suite("The slate")
struct SlateTests {
    private let directory: TemporaryDirectory
    private let bus = Bus()
    private let clock = SystemClock()

    init() throws { directory = try TemporaryDirectory() }

    private func slate(_ specification: SlateSpecification) throws -> Slate {
        try Slate(specification, channel: "one", format: GrayVideo.format, bus: bus, clock: clock, logger: quiet)
    }

    private func isPlaying(_ video: Scene.Video?) -> Bool { if case .feed = video { true } else { false } }

    @Test("Bars and an image are shown at once, and there is nothing to play")
    func stills() throws {
        let gray = ["-f", "lavfi", "-i", "color=0x7d7d7d:size=64x36", "-frames:v", "1"]
        let image = try slate(.file(path: try GrayVideo.ffmpeg(gray, "gray.png", in: directory)))
        #expect(GrayVideo.isFrame(25, image.still))
        for slate in [image, try slate(.bars)] {
            slate.start()
            #expect(!slate.plays && slate.video(at: clock.now) == .still(slate.still) && bus.feeds.isEmpty)
            slate.stop()
        }
    }

    @Test("A video file shows its first frame until it plays, and again when it is stopped")
    func video() throws {
        let slate = try slate(.file(path: try GrayVideo.make(in: directory)))
        #expect(slate.plays && GrayVideo.isFrame(0, slate.still))
        #expect(slate.video(at: clock.now) == .still(slate.still))
        for _ in 0..<2 {
            slate.start()
            try eventually("the file plays") { isPlaying(slate.video(at: clock.now)) }
            #expect(bus.feeds.count == 1)
            slate.stop()
            #expect(slate.video(at: clock.now) == .still(slate.still) && bus.feeds.isEmpty)
        }
    }

    @Test("A slate that cannot be read is refused")
    func missing() {
        let failure = #expect(throws: ChannelFailure.self) { try slate(.file(path: directory.path("none.mov"))) }
        #expect(failure?.cause == .inputUnreadable)
        #expect(failure.map { "\($0)" }?.contains("--slate cannot be shown.") == true)
    }

    @Test("A slate scene plays its file only while it is wanted")
    func scene() throws {
        let own = Bus()
        let slate = try Slate(
            .file(path: try GrayVideo.make(in: directory)), channel: "one", format: GrayVideo.format, bus: own,
            clock: clock, logger: quiet)
        let scene = SlateScene(slate, on: own, in: bus)
        #expect(scene.video == .source(own))
        scene.refresh(isWanted: false, at: clock.now)
        #expect(!isPlaying(own.scene?.layers.first?.video) && own.feeds.isEmpty)
        try eventually("the file plays") {
            scene.refresh(isWanted: true, at: clock.now)
            return isPlaying(own.scene?.layers.first?.video)
        }
        scene.refresh(isWanted: false, at: clock.now)
        #expect(own.scene?.layers.first?.video == .still(slate.still) && own.feeds.isEmpty)
        scene.stop()
    }
}
