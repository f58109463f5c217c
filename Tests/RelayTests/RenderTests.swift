// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Ingest
import Media
import Program
import TestSupport
import Testing

@testable import Relay

@Suite("What a show is rendered from, and where")
struct RenderTests {
    @Test("What a render left that was killed is removed by the next one, and what is in use is not")
    func leftovers() throws {
        let directory = try TemporaryDirectory()
        let output = directory.path("show.mp4")
        var mine: RenderDirectory? = try RenderDirectory(beside: output)
        let path = try #require(mine?.path)
        let files = FileManager.default
        try files.createDirectory(atPath: directory.path(".show.mp4.7-9.part/rec"), withIntermediateDirectories: true)
        try files.createDirectory(atPath: directory.path(".show.mp4.seven-9.part"), withIntermediateDirectories: true)
        try directory.write([], to: ".show.mp4.7-8.part")
        // One that was just made may not be locked yet.
        RenderDirectory.removeLeftovers(of: output)
        #expect(files.fileExists(atPath: directory.path(".show.mp4.7-9.part")))
        RenderDirectory.removeLeftovers(of: output, olderThan: 0)
        let left = try files.contentsOfDirectory(atPath: directory.path).sorted()
        let name = String(path.split(separator: "/").last ?? "")
        #expect(left == [name, ".show.mp4.7-8.part", ".show.mp4.seven-9.part"].sorted())
        mine = nil
        #expect(!files.fileExists(atPath: path))
    }

    @Test("The test pattern alone, which a run-down needs no more than none, is refused as an input")
    func pattern() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array("{name: show, segments: [{scene: slate, duration: 1s}]}".utf8), to: "show.yaml")
        let arguments = [directory.path("show.yaml"), "-o", directory.path("show.mp4")]
        #expect(try RenderCommand.parse(arguments).channelConfiguration().sources.isEmpty)
        let command = try RenderCommand.parse(arguments + ["--input", "test:"])
        let error = #expect(throws: ValidationError.self) { try command.channelConfiguration() }
        #expect(error?.message.contains("--input test:") == true)
    }

    @Test("Frames are counted at the rate that is said, or else at that of the first input")
    func counted() throws {
        var configuration = ChannelConfiguration()
        configuration.sources = [.init(name: "a", input: InputLocation("test:"))]
        let view = RunDown.View(SceneLayout(.single, ["a"]), name: "a")
        configuration.runDown = RunDown(
            name: "show",
            [
                RunDown.Segment(name: "a", views: [view], length: .frames(60)),
                RunDown.Segment(name: "b", views: [view], length: .time(.seconds(1))),
            ])
        #expect(try RenderLength(configuration).duration == .seconds(3))
        configuration.frameRate = FrameRate(20)
        #expect(try RenderLength(configuration).duration == .seconds(4))
    }

    @Test("An input may say how much later than the show it begins")
    func leads() throws {
        let input = try RenderedInput("cam1.mp4#name=cam1,at=2.5s,audio=no")
        #expect(input.text == "cam1.mp4#name=cam1,audio=no" && input.lead == .milliseconds(2500))
        let bare = try RenderedInput("cam1.mp4#at=2.5s")
        #expect(bare.text == "cam1.mp4" && bare.lead == .milliseconds(2500))
        #expect(try RenderedInput("a,at=1.mp4").text == "a,at=1.mp4")
        #expect(try RenderedInput("cam1.mp4#name=cam1").lead == .zero)
        #expect(throws: (any Error).self) { try RenderedInput("cam1.mp4#name=cam1,at=soon") }
        #expect(throws: (any Error).self) { try RenderedInput("cam1.mp4#name=cam1,at=1s,at=2s") }
    }
}
