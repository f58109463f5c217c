// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import TestSupport
import Testing

@testable import Channel
@testable import Program

@Suite("A source that is opened before its program begins")
struct OpenedSourceTests {
    private static let (film, live) = ("film.mp4", "srt://cam:1")
    private static let format = VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: .bt709)
    private let media = FakeMedia()

    init() {
        for location in [Self.film, Self.live] {
            let isLive = location == Self.live
            media.set(
                location, SourceDescription(video: Self.format, hasAudio: true, isLive: isLive, duration: nil))
        }
    }

    /// Opens the first source of a program of these inputs.
    private func open(
        _ inputs: String..., audio: String? = nil, lead: Duration = .zero
    ) throws(ChannelFailure) -> OpenedSource {
        var configuration = ChannelConfiguration()
        configuration.sources = inputs.map { .init(input: InputLocation($0), lead: lead) }
        configuration.audioInput = audio.map { InputLocation($0) }
        return try OpenedSource(
            configuration.sources[0], of: configuration, listening: media, clock: ManualClock(), logger: quiet)
    }

    private func feed(of source: OpenedSource) throws -> SourceFeed { try #require(source.bus.scene?.mainFeed) }

    @Test("Video is delayed if separate live audio must be played earlier than it arrives, but not for an audio file")
    func delay() throws {
        for (audio, delay) in [
            (nil, .zero), ("srt://voice:1#audio-offset=-300ms", .milliseconds(300)),
            ("srt://voice:1#audio-offset=300ms", .zero), ("voice.wav#audio-offset=-300ms", .zero),
        ] as [(String?, Duration)] {
            let source = try open(Self.live, audio: audio)
            #expect(media[Self.live]?.options.delay == delay, "\(audio ?? "no audio")")
            source.stop()
        }
        // A file of a rendered show is not delayed: its audio waits for it.
        let source = try open(Self.film, Self.film, audio: "srt://voice:1#audio-offset=-300ms")
        #expect(media[Self.film]?.options.delay == .zero)
        source.stop()
    }

    @Test("A file is waited for, live video keeps its own time, and the files of a show are rendered")
    func pacing() throws {
        let cases: [(source: OpenedSource, pacing: SourceFeed.Pacing)] = [
            (try open(Self.film), .waits), (try open(Self.live), .live(frameRate: FrameRate(25))),
            (try open(Self.film, Self.film), .rendered),
        ]
        for (source, pacing) in cases {
            try source.prepare(Self.format, audio: nil)
            #expect(try feed(of: source).pacing == pacing)
            #expect(source.isLive == (pacing == .live(frameRate: FrameRate(25))) && source.hasAudio)
            #expect(source.selection == nil && source.file == nil && source.statuses.count == 1)
        }
    }

    @Test("A source is read only when it is prepared and started, and counts what it delivers from then on")
    func started() throws {
        let source = try open(Self.film)
        let opened = try #require(media[Self.film])
        source.start()
        #expect(!opened.isStarted && source.feedStatus.framesIn == 0 && source.bus.scene == nil)
        try source.prepare(Self.format, audio: nil)
        #expect(!opened.isStarted)
        source.start()
        #expect(opened.isStarted && opened.formats.audio != nil)
        opened.deliver(0)
        opened.deliver(1)
        #expect(source.feedStatus.framesIn == 2)
        source.stop()
        #expect(!opened.isStarted)
    }

    @Test("A file of a show begins at its place in the show, at the program's frame rate")
    func lead() throws {
        let source = try open(Self.film, Self.film, lead: .seconds(2))
        let format = VideoFormat(width: 320, height: 180, frameRate: FrameRate(50), color: .bt709)
        try source.prepare(format, audio: nil)
        source.start()
        let feed = try feed(of: source)
        media[Self.film]?.deliver(0)
        feed.end(.video)
        #expect(feed.frame(for: 99) == nil)
        #expect(feed.frame(for: 100) != nil)
    }
}
