// SPDX-License-Identifier: Apache-2.0

import Archive
import ArgumentParser
import Foundation
import Program
import Studio
import TestSupport
import Testing

@testable import Catalogue
@testable import Channel
@testable import Library
@testable import Relay

@Suite("Making a run-down from a recorded program")
struct RecordedShowTests {
    /// When the program began, in milliseconds since 1970.
    private static let begin: Int64 = 1_800_000_000_000

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Returns a file of the program's first four seconds, at 25 frames per second.
    private func segment(_ channel: String, run: String) throws -> CatalogueSegment {
        let text = """
            {"name":"\(channel)","channel":"\(channel)","run":"\(run)","start":\(Self.begin),"program_start":0,
             "duration":4000000000,"late_frames":0,"frame_duration":40000000,"frames":100,"audio_samples":0,"bytes":1}
            """
        return try JSONDecoder().decode(CatalogueSegment.self, from: Data(text.utf8))
    }

    /// Returns the configuration that `relay render` makes of `text` with the flags in it.
    private func rendered(_ text: String) throws -> ChannelConfiguration {
        let show = directory.path("show.yaml")
        try directory.write(Array(text.utf8), to: "show.yaml")
        try directory.write([], to: "wipe.mov")
        let command = try #require(text.split(separator: "\n").first { $0.hasPrefix("#   relay render ") })
        let filled = command.replacing("wipe=SPECIFICATION", with: "wipe=\(directory.path("wipe.mov"))#cut=0.5")
            .replacing("=SPECIFICATION", with: "=text:LIVE")
        let words = filled.split(separator: " ").dropFirst(3).map { $0 == "show.yaml" ? show : String($0) }
        return try RenderCommand.parse(words).channelConfiguration()
    }

    @Test("A run-down made from a recorded program has the program's files, audio, overlays, stingers and transitions")
    func details() throws {
        try directory.write([], to: "a b.mp4")
        let path = directory.path("a b.mp4")
        let file = SceneEvent.detail("file", path)
        let events = [
            ("single file audio=mix \(file) in=1.5s from frame 0 of a (cut)", 0),
            ("pip cam1 file overlays=logo+clock audio=cam2 \(file) in=0s from frame 50 of a (stinger wipe 1.0 s)", 50),
            ("single cam1 easing=in-out audio=audio from frame 60 of a (fade 1.0 s)", 60),
            ("single file from frame 70 of a (cut)", 70),
        ].map { text, frame in
            CatalogueEvent(
                channel: "relay", at: UTCTime(milliseconds: Self.begin + frame * 40 as Int64), words: text)
        }
        let segments = try [("relay", "a"), ("relay-cam1", "a.1"), ("relay-cam2", "a.2"), ("relay-cam3", "a.3")].map {
            try segment($0, run: $1)
        }
        let text = { (limits: Range<Int64>?) in
            try RecordedShow(of: segments, events, channel: "relay", limits: limits)
                .text(directory: "rec", from: "A", to: "B", size: (320, 180))
        }
        let all = try text(nil)
        let pip = #"scene: {layout: pip, sources: ["cam1", "file"], overlays: ["logo", "clock"]}"#
        let stinger = #"transition: {type: stinger, name: "wipe"}, audio: "cam2""#
        let fade = "transition: {type: fade, seconds: 1.0, easing: in-out}"
        #expect(
            all.hasSuffix(
                """
                segments:
                  - {file: "\(path)", in: 1.5s, frames: 50, audio: "mix"}
                  - {file: "\(path)", \(pip), frames: 10, \(stinger)}
                  - {source: "cam1", frames: 10, \(fade), audio: "audio"}
                  - {scene: slate, frames: 30} # a file, of which nothing says which

                """), "\(all)")
        // A mix contains all recorded sources; other audio is in the program's own recording.
        #expect(all.contains("--input cam3.mp4#name=cam3 --audio-input program.mp4 --audio-from follow --overlay"))
        #expect(all.contains("--stinger wipe=SPECIFICATION --size 320x180 --fps 25 -o show.mp4"))
        #expect(all.contains("export rec --channel relay --from A") && !all.contains("relay-file"))
        // A show that begins in the middle of a file plays the file from there.
        #expect(try text(Self.begin + 1000..<Self.begin + 1400).hasSuffix("in: 2.5s, frames: 10, audio: \"mix\"}\n"))
        let read = try rendered(all).runDown?.segments ?? []
        #expect(read.map(\.audio) == [.mix, .source("cam2"), .source("audio"), .standard])
        #expect(read.map(\.length) == [.frames(50), .frames(10), .frames(10), .frames(30)])
        #expect(read.map { "\($0.change.name)" } == ["cut", "stinger wipe", "fade", "cut"])
    }

    @Test("A recorded program with audio only from a separate input becomes a run-down that can be rendered")
    func separateAudio() throws {
        let scenes: [(String, Int64)] = [("cam1", 0), ("cam2", 40), ("cam1", 70)]
        let events = scenes.map { name, frame in
            CatalogueEvent(
                channel: "relay", at: UTCTime(milliseconds: Self.begin + frame * 40),
                words: "single \(name) audio=audio from frame \(frame) of a (cut)")
        }
        let segments = try [("relay", "a"), ("relay-cam1", "a.1"), ("relay-cam2", "a.2")].map {
            try segment($0, run: $1)
        }
        let show = try RecordedShow(of: segments, events, channel: nil, limits: nil)
        let configuration = try rendered(show.text(directory: "rec", from: "A", to: "B"))
        #expect(configuration.audioInput != nil && configuration.sources.map(\.name) == ["cam1", "cam2"])
        let read = configuration.runDown?.segments ?? []
        #expect(read.map(\.name) == scenes.map(\.0) && read.allSatisfy { $0.audio == .source("audio") })
    }
}
