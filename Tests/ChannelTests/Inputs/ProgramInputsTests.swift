// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Ingest
import Logging
import Media
import Status
import Studio
import TestSupport
import Testing

@testable import Channel
@testable import Program

@Suite("The inputs of an encoded program")
struct ProgramInputsTests {
    private static let (a, b, voice) = ("srt://a:1", "srt://b:1", "voice.wav")
    private let media = FakeMedia()
    private let clock = SteppedClock()

    private func description(
        _ width: Int?, hasAudio: Bool = true, isLive: Bool = false, rate: Int32 = 25
    ) -> SourceDescription {
        SourceDescription(
            video: width.map { VideoFormat(width: $0, height: 180, frameRate: FrameRate(rate), color: .unspecified) },
            hasAudio: hasAudio, isLive: isLive, duration: nil)
    }

    private func configuration(_ inputs: String..., backups: [String] = []) -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        configuration.sources = inputs.enumerated().map { index, input in
            .init(name: "cam\(index + 1)", input: InputLocation(input), backups: backups.map { InputLocation($0) })
        }
        return configuration
    }

    private func open(_ configuration: ChannelConfiguration) throws(ChannelFailure) -> ProgramInputs {
        try ProgramInputs(
            configuration, listening: media, recordings: ChannelRecordings(hub: PacketStream(), group: DispatchGroup()),
            clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// The feed that `inputs` show; nil if they show no feed.
    private func feed(of inputs: ProgramInputs) -> SourceFeed? {
        if case .feed(let feed) = inputs.bus.scene?.layers.first?.video { feed } else { nil }
    }

    // MARK: One input

    @Test("A program with one input has that input's format, and reads the input only once the program is started")
    func one() throws {
        media.set(Self.a, description(320))
        let inputs = try open(configuration(Self.a))
        let source = try #require(media[Self.a])
        #expect(inputs.format.width == 320 && inputs.director == nil && inputs.parts == nil)
        #expect(inputs.selection == nil && inputs.canReadAhead && !source.isStarted)
        #expect(inputs.bus.isFixed, "the program ends with its input")
        let scene = try #require(inputs.bus.scene)
        let feed = try #require(self.feed(of: inputs))
        #expect(scene == Scene(video: .feed(feed), audio: feed) && feed.pacing == .waits)
        inputs.start()
        #expect(source.isStarted && source.formats.video?.width == 320 && source.formats.audio != nil)
        #expect(inputs.feedStatuses.audio != nil && inputs.failure == nil)
        source.end(failure: "It is gone.")
        #expect(inputs.failure == "It is gone." && inputs.lastVideoError == "It is gone.")
        inputs.stop()
        #expect(!source.isStarted)
    }

    @Test("If an input has no audio, the program is silent; a live input is not read ahead")
    func silent() throws {
        media.set(Self.a, description(320, hasAudio: false, isLive: true))
        let inputs = try open(configuration(Self.a))
        defer { inputs.stop() }
        inputs.start()
        #expect(inputs.feedStatuses.audio == nil && !inputs.canReadAhead)
        #expect(inputs.bus.scene?.layers.count == 1 && media[Self.a]?.formats.audio == nil)
    }

    @Test("If an input is missing or has no video, the program fails and closes all inputs")
    func unreadable() throws {
        let missing = #expect(throws: ChannelFailure.self) { try open(configuration(Self.a)) }
        #expect(missing?.cause == .inputUnreadable && missing?.attempt == .openInput(Self.a))
        media.set(Self.a, description(nil))
        let failure = #expect(throws: ChannelFailure.self) { try open(configuration(Self.a)) }
        #expect(failure?.cause == .inputUnreadable && failure?.attempt == .openInput(Self.a))
        #expect(media[Self.a]?.status.state == .ended)
        media.set(Self.a, description(320))
        var separate = configuration(Self.a)
        separate.audioInput = InputLocation(Self.voice)
        media.set(Self.voice, description(nil, hasAudio: false))
        let silent = #expect(throws: ChannelFailure.self) { try open(separate) }
        #expect(silent?.cause == .inputUnreadable && silent?.attempt == .openAudioInput(Self.voice))
        #expect(media[Self.a]?.status.state == .ended && media[Self.voice]?.status.state == .ended)
    }

    @Test("If a program has a separate audio input, the audio of its other input is not decoded")
    func separateAudio() throws {
        media.set(Self.a, description(320))
        media.set(Self.voice, description(nil))
        var configuration = configuration(Self.a)
        configuration.audioInput = InputLocation(Self.voice)
        let inputs = try open(configuration)
        defer { inputs.stop() }
        inputs.start()
        let (video, voice) = (try #require(media[Self.a]), try #require(media[Self.voice]))
        #expect(video.formats.audio == nil && video.formats.video != nil)
        #expect(voice.formats.audio != nil && voice.formats.video == nil)
        #expect(inputs.statuses.count == 2 && inputs.canReadAhead)
        let feed = try #require(self.feed(of: inputs))
        #expect(inputs.bus.scene != Scene(video: .feed(feed), audio: feed))
    }

    @Test("A separate audio file is played at the program's frame rate, with and without backup inputs")
    func audioRate() throws {
        media.set(Self.a, description(320, rate: 50))
        media.set(Self.voice, description(nil))
        for backups in [[], [Self.b]] {
            var configuration = configuration(Self.a, backups: backups)
            configuration.audioInput = InputLocation(Self.voice)
            let inputs = try open(configuration)
            defer { inputs.stop() }
            inputs.start()
            media[Self.a]?.deliver(0)
            try eventually("the input is shown") {
                media[Self.a]?.deliver(1)
                return inputs.bus.scene != nil
            }
            let feed = try #require(inputs.bus.scene?.audio.first?.feeds.first)
            #expect(feed.frameRate == FrameRate(50) && feed.pacing == .waits)
        }
    }

    @Test("A program that is not paced in real time refuses a live input, and closes it")
    func unpaced() throws {
        media.set(Self.a, description(320, isLive: true))
        var configuration = configuration(Self.a)
        configuration.isPaced = false
        let failure = #expect(throws: ChannelFailure.self) { try open(configuration) }
        #expect(failure?.cause == .configuration && media[Self.a]?.status.state == .ended)
    }

    @Test("An unpaced program and a rendered show refuse a live audio input, and close all inputs")
    func unpacedAudio() throws {
        media.set(Self.a, description(320))
        media.set(Self.voice, description(nil, isLive: true))
        for inputs in [[Self.a], [Self.a, Self.a]] {
            var configuration = ChannelConfiguration()
            configuration.sources = inputs.enumerated().map { .init(name: "cam\($0)", input: InputLocation($1)) }
            (configuration.isPaced, configuration.audioInput) = (false, InputLocation(Self.voice))
            let failure = #expect(throws: ChannelFailure.self) { try open(configuration) }
            #expect(failure?.cause == .configuration && failure?.attempt == .openAudioInput(Self.voice))
            #expect(media[Self.a]?.status.state == .ended && media[Self.voice]?.status.state == .ended)
        }
    }

    // MARK: A choice

    @Test("A program with backup inputs has the format of the first input that can be opened, and shows its frames")
    func backup() throws {
        media.set(Self.b, description(640))
        let inputs = try open(configuration(Self.a, backups: [Self.b]))
        defer { inputs.stop() }
        #expect(!inputs.bus.isFixed)
        #expect(inputs.format.width == 640 && !inputs.canReadAhead)
        inputs.start()
        try eventually("the backup reads") { media[Self.b]?.isStarted == true }
        media[Self.b]?.deliver(0)
        // A program begins with a backup only after it has waited for the first input.
        clock.set(3_000_000_000)
        try eventually("the backup is on air") { inputs.selection?.onAir == Self.b }
        try eventually("the backup is shown") {
            if case .feed = inputs.bus.scene?.layers.first?.video { true } else { false }
        }
        // The missing first input is no failure: opening it is retried.
        #expect(inputs.failure == nil && inputs.lastVideoError != nil)
    }

    @Test("If no input can be opened, the slate is shown in the default format, or the program fails without a slate")
    func noAnswer() throws {
        var configuration = configuration(Self.a, backups: [Self.b])
        let failure = #expect(throws: ChannelFailure.self) { try open(configuration) }
        #expect(failure?.cause == .inputUnreadable)
        configuration.slate = .bars
        let inputs = try open(configuration)
        defer { inputs.stop() }
        #expect(inputs.format.width == VideoFormat.usual.width)
        clock.set(60_000_000_000)
        try eventually("the slate is on air") { inputs.selection?.onAir == "slate" }
        try eventually("the slate is shown") {
            if case .still = inputs.bus.scene?.layers.first?.video { true } else { false }
        }
    }

    @Test("If no input of a program with backups can be opened, the program fails with the first input's error")
    func failures() throws {
        let refusal = ChannelFailure(.configuration, .openInput(Self.a), because: "its address is wrong")
        media.fail(Self.a, with: refusal)
        let first = #expect(throws: ChannelFailure.self) { try open(configuration(Self.a, backups: [Self.b])) }
        #expect(first?.cause == .configuration && first?.attempt == .openInput(Self.a))
        #expect(first?.description == "The input \(Self.a) cannot be opened: its address is wrong.")
        // If an input has no video, the layer below throws an error of its own, which the failure contains.
        media.fail(Self.a, with: nil)
        media.set(Self.a, description(nil))
        let second = #expect(throws: ChannelFailure.self) { try open(configuration(Self.a, backups: [Self.b])) }
        #expect(second?.cause == .inputUnreadable && second?.attempt == .openInput("cam1"))
        #expect(second?.error as? IngestError == .invalidOption(input: Self.a, reason: "it has no video"))
        #expect(media[Self.a]?.status.state == .ended)
    }

    @Test("After random losses of inputs, the first input that has video is on air, or else the slate")
    func losses() throws {
        var random = SeededRandom()
        media.set(Self.a, description(320))
        media.set(Self.b, description(320))
        var configuration = configuration(Self.a, backups: [Self.b])
        configuration.slate = .bars
        configuration.sources[0].selection.standby = .hot
        configuration.sources[0].selection.returnAfter = .milliseconds(500)
        let inputs = try open(configuration)
        defer { inputs.stop() }
        inputs.start()
        let lists: [Set<String>] = [[Self.a], [Self.b], [Self.a, Self.b], []]
        var (frame, order) = (Int64(0), lists)
        order.shuffle(using: &random)
        for living in order {
            for location in [Self.a, Self.b] where !living.contains(location) {
                media.set(location, nil)
                media[location]?.end(failure: "gone")
            }
            for location in living { media.set(location, description(320)) }
            let expected = living.contains(Self.a) ? "cam1" : living.contains(Self.b) ? Self.b : "slate"
            try eventually("\(expected) is on air of \(living)") {
                for location in living { media[location]?.deliver(frame) }
                frame += 1
                clock.set(MonotonicInstant(milliseconds: frame * 40))
                return inputs.selection?.onAir == expected
            }
            try eventually("\(expected) is shown") {
                for location in living { media[location]?.deliver(frame) }
                frame += 1
                clock.set(MonotonicInstant(milliseconds: frame * 40))
                return switch inputs.bus.scene?.layers.first?.video {
                case .feed: expected != "slate"
                case .still: expected == "slate"
                default: false
                }
            }
        }
    }

    // MARK: Scenes

    @Test("Several sources are opened in parallel under their names, and the first one is shown")
    func several() throws {
        media.set(Self.a, description(640))
        media.set(Self.b, description(320))
        let inputs = try open(configuration(Self.a, Self.b))
        defer { inputs.stop() }
        #expect(!inputs.bus.isFixed)
        #expect(inputs.format.width == 640 && inputs.selection == nil)
        #expect(inputs.director?.sources.map(\.name) == ["cam1", "cam2"])
        #expect(inputs.parts?.map(\.name) == ["cam1", "cam2"] && inputs.parts?.map(\.isOnAir) == [true, false])
        try eventually("both read") { media[Self.a]?.isStarted == true && media[Self.b]?.isStarted == true }
        // A source that ends is reopened, and does not end the program.
        media[Self.a]?.end(failure: "gone")
        #expect(inputs.failure == nil && inputs.feedStatuses.audio != nil)
    }

    @Test("A separate audio input of a program with scenes is a source that is audible and never visible")
    func studioAudio() throws {
        media.set(Self.a, description(640))
        media.set(Self.voice, description(nil))
        var configuration = configuration(Self.a, Self.a)
        configuration.audioInput = InputLocation(Self.voice)
        let inputs = try open(configuration)
        defer { inputs.stop() }
        inputs.start()
        #expect(inputs.director?.sources.map(\.name) == ["cam1", "cam2", "audio"])
        #expect(inputs.director?.sources.map(\.hasVideo) == [true, true, false])
        #expect(inputs.parts?.count == 2 && inputs.statuses.count == 3)
        #expect(media[Self.voice]?.formats.audio != nil)
    }

    @Test("A rendered show opens its files before it begins, fails if one cannot be opened, and refuses live inputs")
    func rendered() throws {
        media.set(Self.a, description(640))
        media.set(Self.b, description(320))
        var configuration = configuration(Self.a, Self.b)
        (configuration.isPaced, configuration.sources[1].lead) = (false, .seconds(2))
        let inputs = try open(configuration)
        #expect(inputs.canReadAhead && inputs.parts == nil && inputs.director?.sources.count == 2)
        inputs.start()
        let sources = try [#require(media[Self.a]), #require(media[Self.b])]
        #expect(sources.allSatisfy { $0.isStarted && $0.formats.video?.width == 640 })
        sources[1].end(failure: "It is gone.")
        #expect(inputs.failure == "It is gone.")
        inputs.stop()
        #expect(sources.allSatisfy { !$0.isStarted })
        media.set(Self.b, description(320, isLive: true))
        let failure = #expect(throws: ChannelFailure.self) { try open(configuration) }
        #expect(failure?.cause == .configuration)
        #expect(media[Self.a]?.status.state == .ended && media[Self.b]?.status.state == .ended)
    }

    @Test("A program has the configured frame size and frame rate, with square pixels only if the input is scaled")
    func shape() throws {
        var native = VideoFormat(width: 1440, height: 1080, frameRate: FrameRate(50), color: .bt709)
        native.sampleAspectRatio = SampleAspectRatio(4, 3)
        let (own, other) = (FrameSize(width: 1440, height: 1080), FrameSize(width: 1280, height: 720))
        media.set(Self.a, SourceDescription(video: native, hasAudio: true, isLive: false, duration: nil))
        let settings: [(FrameSize?, FrameRate?)] = [
            (nil, nil), (nil, FrameRate(25)), (own, nil), (other, nil), (other, FrameRate(25)),
        ]
        for backups in [[], [Self.b]] {
            for (size, rate) in settings {
                var configuration = configuration(Self.a, backups: backups)
                (configuration.size, configuration.frameRate) = (size, rate)
                let inputs = try open(configuration)
                defer { inputs.stop() }
                var expected = native
                expected.frameRate = rate ?? native.frameRate
                // An input of the configured size keeps the shape of its pixels: it is not scaled.
                if size == other {
                    (expected.width, expected.height, expected.sampleAspectRatio) = (1280, 720, .square)
                }
                #expect(inputs.format == expected)
                inputs.start()
                try eventually("the input is read") { media[Self.a]?.isStarted == true }
                let source = try #require(media[Self.a])
                #expect(source.formats.video == expected)
                #expect(source.options.size == size && source.options.frameRate == rate)
            }
        }
    }
}
