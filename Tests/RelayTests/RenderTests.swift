// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Control
import Dispatch
import FanOut
import Foundation
import Ingest
import Logging
import Media
import Program
import Segmenter
import TestSupport
import Testing

@testable import Channel
@testable import Relay
@testable import Studio

@Suite("Inputs and output files of a render")
struct RenderTests {
    @Test("A render removes the temporary directory of a killed render, but not that of a running render")
    func leftovers() throws {
        let directory = try TemporaryDirectory()
        let output = directory.path("show.mp4")
        var mine: RenderDirectory? = try RenderDirectory(beside: output)
        let path = try #require(mine?.path)
        let files = FileManager.default
        try files.createDirectory(atPath: directory.path(".show.mp4.7-9.part/rec"), withIntermediateDirectories: true)
        try files.createDirectory(atPath: directory.path(".show.mp4.seven-9.part"), withIntermediateDirectories: true)
        try directory.write([], to: ".show.mp4.7-8.part")
        // A directory that was just created may not be locked yet.
        RenderDirectory.removeLeftovers(of: output)
        #expect(files.fileExists(atPath: directory.path(".show.mp4.7-9.part")))
        RenderDirectory.removeLeftovers(of: output, olderThan: 0)
        let left = try files.contentsOfDirectory(atPath: directory.path).sorted()
        let name = String(path.split(separator: "/").last ?? "")
        #expect(left == [name, ".show.mp4.7-8.part", ".show.mp4.seven-9.part"].sorted())
        mine = nil
        #expect(!files.fileExists(atPath: path))
    }

    @Test("The test pattern as the only input of a run-down is refused, because a run-down needs no input")
    func pattern() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array("{name: show, segments: [{scene: slate, duration: 1s}]}".utf8), to: "show.yaml")
        let arguments = [directory.path("show.yaml"), "-o", directory.path("show.mp4")]
        #expect(try RenderCommand.parse(arguments).channelConfiguration().sources.isEmpty)
        let command = try RenderCommand.parse(arguments + ["--input", "test:"])
        let error = #expect(throws: ValidationError.self) { try command.channelConfiguration() }
        #expect(error?.message.contains("--input test:") == true)
    }

    @Test("A render counts frames at the requested rate, or by default at the rate of the first input")
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

    @Test("The option at= sets when an input begins within a rendered show")
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

    /// Returns the configuration that `relay render` makes of a run-down and these flags.
    private func configuration(
        _ runDown: String, _ flags: [String], in directory: TemporaryDirectory
    ) throws -> ChannelConfiguration {
        try directory.write(Array(runDown.utf8), to: "show.yaml")
        let arguments = [directory.path("show.yaml"), "-o", directory.path("show.mp4")] + flags
        return try RenderCommand.parse(arguments).channelConfiguration()
    }

    @Test("A render does not overwrite its own sources, a directory, or a recording")
    func outputs() throws {
        let directory = try TemporaryDirectory()
        let own = ["cam1.mp4", "opener.mp4", "music.wav", "wipe.mov", "logo.png"]
        for name in own + ["other.mp4"] { try directory.write([], to: name) }
        try FileManager.default.createDirectory(
            atPath: directory.path("rec/2026"), withIntermediateDirectories: true)
        try directory.write([], to: "rec/.relay.sqlite")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("link.mp4"), withDestinationPath: directory.path("cam1.mp4"))
        let configuration = try configuration(
            "segments: [{source: cam1, frames: 9}, {file: opener.mp4, frames: 9}]",
            [
                "--input", "\(directory.path("cam1.mp4"))#name=cam1", "--audio-input", directory.path("music.wav"),
                "--stinger", "wipe=\(directory.path("wipe.mov"))#cut=0.2",
                "--overlay", "logo=image:\(directory.path("logo.png"))",
            ], in: directory)
        let objection = { (name: String, replaces: Bool) -> String in
            do throws(ChannelFailure) {
                try RenderOutput.check(
                    directory.path(name), of: configuration, in: directory.path("show.yaml"), replaces: replaces)
                return ""
            } catch {
                return error.cause == .cannotRecord ? error.description : "\(error.cause)"
            }
        }
        for replaces in [false, true] {
            for name in own + ["show.yaml", "link.mp4"] {
                #expect(objection(name, replaces).contains("one of the show's own files"), "\(name)")
            }
            #expect(objection("rec", replaces).contains("is a directory"))
            for name in ["rec/show.mp4", "rec/2026/show.mp4"] {
                #expect(objection(name, replaces).contains("would lie among the recordings"), "\(name)")
            }
            #expect(objection("new.mp4", replaces).isEmpty)
        }
        #expect(objection("other.mp4", false).contains("exists") && objection("other.mp4", true).isEmpty)
    }

    @Test("An input of a rendered show has its initial gain and muting, as on air")
    func faders() throws {
        let directory = try TemporaryDirectory()
        let configuration = try configuration(
            "segments: [{source: tone, frames: 9}]", ["--input", "test:#name=tone,gain=-6,muted=yes"], in: directory)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let inputs = try ProgramInputs(
            configuration,
            listening: ChannelListening(
                configuration, resources: HostResources(), opening: ChannelOpening(), logger: logger),
            recordings: ChannelRecordings(hub: PacketStream(), group: DispatchGroup()), clock: SystemClock(),
            logger: logger)
        defer { inputs.stop() }
        let source = try #require(inputs.director?.report.sources.first)
        #expect(source.gain == -6 && source.isMuted)
    }

    @Test(
        "Options that apply only to inputs off air are refused in a render",
        arguments: ["when-off=pause", "timeout=5s", "return=never"])
    func offAir(option: String) throws {
        let directory = try TemporaryDirectory()
        let show = "segments: [{source: cam1, frames: 9}]"
        let error = #expect(throws: ValidationError.self) {
            try configuration(show, ["--input", "cam1.mp4#name=cam1,\(option)"], in: directory)
        }
        #expect(error?.message.contains("--input cam1: when-off=") == true, "\(error?.message ?? "")")
        let usual = try configuration(show, ["--input", "cam1.mp4#name=cam1,when-off=keep"], in: directory)
        #expect(usual.sources.count == 1)
    }

    @Test("A render refuses a live audio input before any file is opened")
    func liveAudio() throws {
        let directory = try TemporaryDirectory()
        let show = "segments: [{source: cam1, frames: 9}]"
        let error = #expect(throws: ValidationError.self) {
            try configuration(show, ["--input", "cam1.mp4#name=cam1", "--audio-input", "alsa:default"], in: directory)
        }
        #expect(error?.message.contains("alsa:default comes at its own pace") == true, "\(error?.message ?? "")")
    }

    @Test("A rendered show is complete only if all of its frames were written without an interruption")
    func whole() throws {
        var status = RecorderStatus()
        (status.state, status.framesWritten) = (.recording, 90)
        #expect(!status.isInterrupted && status.lack(of: 90) == nil)
        #expect(status.lack(of: 100) == "90 of 100 frames were written")
        (status.state, status.suspension) = (.suspended, "/srv has only 3.0 MB free")
        #expect(status.isInterrupted)
        let full = "the disk was full, or could not be written to: "
        #expect(status.lack(of: 100) == full + "/srv has only 3.0 MB free")
        // A recording that continues later has a gap, too.
        (status.state, status.suspension, status.gapCount) = (.recording, nil, 1)
        for (cause, reason) in [("storage", full + "why"), ("failure", "why")] {
            let gap = #"{"from": 0, "to": 9, "reason": "why", "cause": "\#(cause)", "frames": 0, "run": ""}"#
            status.gaps = [try JSONDecoder().decode(RecordingGap.self, from: Data(gap.utf8))]
            #expect(status.isInterrupted && status.lack(of: 90) == reason)
        }
    }
}
