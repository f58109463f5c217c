// SPDX-License-Identifier: Apache-2.0

import Logging
import Media
import TestSupport
import Testing

@testable import Studio

@Suite("Playing a stinger")
struct StingerReelTests {
    @Test("A stinger that is rewound while it is shown restarts at once, and its frames continue in order")
    func again() throws {
        let directory = try TemporaryDirectory()
        let specification = try StingerSpecification("card=\(try GrayVideo.make(in: directory))#cut=1")
        let reel = try StingerReel(specification, format: GrayVideo.format, logger: Logger(label: "test"))
        defer { reel.stop() }
        #expect(reel.frames == 50 && reel.cut == 25)
        try eventually("frame 30") { GrayVideo.isFrame(30, reel.frame(30)) }
        for _ in 0..<2 {
            reel.rewind()
            for number in 0..<Int64(12) { #expect(GrayVideo.isFrame(number, reel.frame(number)), "frame \(number)") }
            for number in 12..<Int64(40) {
                try eventually("frame \(number)") { GrayVideo.isFrame(number, reel.frame(number)) }
            }
        }
    }

    @Test("In a rendered program a stinger provides exactly the requested frames, however fast the requests come")
    func awaited() throws {
        let directory = try TemporaryDirectory()
        let specification = try StingerSpecification("card=\(try GrayVideo.make(in: directory))#cut=1")
        let reel = try StingerReel(
            specification, format: GrayVideo.format, isAwaited: true, logger: Logger(label: "test"))
        defer { reel.stop() }
        for _ in 0..<2 {
            for number in 0..<Int64(50) { #expect(GrayVideo.isFrame(number, reel.frame(number)), "frame \(number)") }
            #expect(GrayVideo.isFrame(49, reel.frame(50)))
            reel.rewind()
        }
        // Skipped frames are not waited for twice.
        #expect(GrayVideo.isFrame(40, reel.frame(40)))
    }
}
