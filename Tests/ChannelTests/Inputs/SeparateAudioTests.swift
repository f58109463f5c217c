// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import Status
import TestSupport
import Testing

@testable import Channel
@testable import Program
@testable import Studio

@Suite("The separate audio input of a program")
struct SeparateAudioTests {
    private static let (file, live) = ("voice.wav", "srt://voice:1")
    private let media = FakeMedia()

    private func description(hasAudio: Bool = true, isLive: Bool = false) -> SourceDescription {
        SourceDescription(video: nil, hasAudio: hasAudio, isLive: isLive, duration: nil)
    }

    private func open(
        _ location: String?, loops: Bool = false, ofFile pacing: SourceFeed.Pacing = .waits, isAwaited: Bool = false
    ) throws(ChannelFailure) -> SeparateAudio? {
        var configuration = ChannelConfiguration()
        (configuration.audioInput, configuration.loops) = (location.map { InputLocation($0) }, loops)
        return try SeparateAudio(
            configuration, ofFile: pacing, frameRate: FrameRate(25), isAwaited: isAwaited, common: nil,
            listening: media, clock: ManualClock(), logger: quiet)
    }

    @Test("Without a configured audio input there is no separate audio")
    func none() throws { #expect(try open(nil) == nil) }

    @Test("An audio file is opened at once, looped if that is configured, and read for its audio when it is started")
    func ofFile() throws {
        media.set(Self.file, description())
        for loops in [false, true] {
            let audio = try #require(try open(Self.file, loops: loops, ofFile: .paced, isAwaited: true))
            let opened = try #require(media[Self.file])
            #expect(opened.options.needs == .audio && opened.options.loop == loops)
            #expect(audio.feed.pacing == .paced && !audio.feed.hasVideo && !audio.isLive && !opened.isStarted)
            audio.start()
            #expect(opened.isStarted && opened.formats.video == nil && opened.formats.audio != nil)
            #expect(audio.status.state == .running)
            audio.stop()
            #expect(!opened.isStarted)
        }
    }

    @Test("A program that shows nothing else waits for live audio; a program with other inputs does not wait")
    func awaited() throws {
        let failure = #expect(throws: ChannelFailure.self) { try open(Self.live) }
        #expect(failure?.cause == .inputUnreadable)
        let audio = try #require(try open(Self.live, isAwaited: true))
        defer { audio.stop() }
        #expect(audio.feed.pacing == .live(frameRate: nil) && audio.isLive)
        try eventually("opening fails") { audio.status.lastError != nil }
        media.set(Self.live, description(isLive: true))
        // The audio is read as soon as it arrives, without a call that starts it.
        try eventually("the audio is read") { media[Self.live]?.isStarted == true }
        #expect(media[Self.live]?.formats.video == nil && media[Self.live]?.options.loop == false)
    }

    @Test("An awaited live input without audio is closed, and the status says why there is no audio")
    func silent() throws {
        media.set(Self.live, description(hasAudio: false, isLive: true))
        let audio = try #require(try open(Self.live, isAwaited: true))
        defer { audio.stop() }
        try eventually("the input is refused") { audio.status.lastError?.contains("it has no audio") == true }
        try eventually("the input is closed") { media[Self.live]?.status.state == .ended }
        #expect(media.running(Self.live) == 0)
    }

    @Test("In a program with scenes the audio is a source without video, which is named while audio arrives")
    func directed() throws {
        media.set(Self.file, description())
        let audio = try #require(try open(Self.file))
        let source = audio.source(on: Bus())
        #expect(source.name == "audio" && !source.hasVideo && source.input() == nil)
        #expect(source.bus.scene == Scene(layers: [], audio: [.feed(audio.feed)]))
        audio.start()
        #expect(source.input() == "audio")
        media[Self.file]?.silence()
        #expect(source.input() == nil)
        audio.stop()
        #expect(source.input() == nil)
    }
}
