// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Ingest
import Media
import Status
import Studio
import Synchronization
import TestSupport
import Testing

@testable import Channel
@testable import Program

@Suite("Backup inputs of a decoded source in a program with several sources")
struct SourceInputsTests {
    private static let (film, live) = ("film.mp4", "srt://live:1")
    private static let format = VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: .bt709)
    private let media = FakeMedia()
    private let clock = SteppedClock()

    private func description(isLive: Bool = false, lasts: Duration? = nil) -> SourceDescription {
        SourceDescription(video: Self.format, hasAudio: true, isLive: isLive, duration: lasts)
    }

    /// The inputs of `source` in a program of two sources.
    private func make(
        _ source: ChannelConfiguration.Source, loops: Bool = false, slate: SlateSpecification? = nil
    ) throws -> SourceInputs {
        var configuration = ChannelConfiguration()
        configuration.sources = [source, .init(name: "other", input: InputLocation("test:"))]
        (configuration.loops, configuration.slate) = (loops, slate)
        let inputs = SourceInputs(
            source, of: configuration, common: nil, listening: media,
            recordings: ChannelRecordings(hub: PacketStream(), group: DispatchGroup()), clock: clock, logger: quiet)
        try inputs.prepare(Self.format, audio: nil)
        return inputs
    }

    /// Waits until the source is on air with a frame. Returns how many frames that took.
    private func putOnAir(_ inputs: SourceInputs, _ location: String) throws -> Int {
        var frames = 0
        try eventually("\(location) is on air") {
            if let source = media[location], source.isStarted {
                source.deliver(Int64(frames))
                frames += 1
            }
            return inputs.choice.onAir == .source(0) && isFeed(inputs)
        }
        return frames
    }

    private func isFeed(_ inputs: SourceInputs) -> Bool {
        if case .feed = inputs.bus.scene?.layers.first?.video { true } else { false }
    }

    private func isStill(_ inputs: SourceInputs) -> Bool {
        if case .still = inputs.bus.scene?.layers.first?.video { true } else { false }
    }

    // MARK: Files

    @Test("Backup files are looped, the first input is looped only if that is configured, and live inputs never")
    func loops() throws {
        let locations = [Self.film, "loop.mp4", Self.live]
        for location in locations { media.set(location, description(isLive: location == Self.live)) }
        for loops in [false, true] {
            var source = ChannelConfiguration.Source(
                name: "film", input: InputLocation(Self.film), backups: locations.dropFirst().map { InputLocation($0) })
            source.selection.standby = .hot
            let inputs = try make(source, loops: loops)
            defer { inputs.stop() }
            try eventually("all inputs are read") { locations.allSatisfy { media[$0]?.isStarted == true } }
            #expect(locations.map { media[$0]?.options.loop } == [loops, true, false])
        }
    }

    @Test("A source's input is opened with the requirement that it has video")
    func needs() throws {
        media.set(Self.live, description(isLive: true))
        let inputs = try make(.init(name: "live", input: InputLocation(Self.live)))
        defer { inputs.stop() }
        try eventually("the input is read") { media[Self.live]?.isStarted == true }
        #expect(media[Self.live]?.options.needs == .video)
    }

    @Test("A file is played from the position that was requested last, and a position after its end is refused")
    func seeks() throws {
        media.set(Self.film, description(lasts: .seconds(60)))
        let inputs = try make(.init(name: "film", input: InputLocation(Self.film)))
        defer { inputs.stop() }
        var frames = try putOnAir(inputs, Self.film)
        let first = try #require(media[Self.film])
        #expect(first.options.start == .zero)
        try inputs.play(from: .seconds(10))
        try eventually("the file is read from 10 s on") {
            media.count(Self.film) == 2 && media[Self.film]?.isStarted == true
        }
        #expect(media[Self.film]?.options.start == .seconds(10) && !first.isStarted)
        frames += try putOnAir(inputs, Self.film)
        for moment in [Duration.seconds(60), .seconds(61)] {
            #expect(throws: Refusal.self) { try inputs.play(from: moment) }
        }
        try inputs.play(from: .seconds(20))
        try inputs.play(from: .seconds(59))
        try eventually("the file is read from 59 s on") {
            media[Self.film]?.options.start == .seconds(59) && media[Self.film]?.isStarted == true
        }
        #expect(media.running(Self.film) == 1)
        // The counts include the frames of all openings, and a seek is no switch to another input.
        frames += try putOnAir(inputs, Self.film)
        #expect(inputs.feedStatus.framesIn == frames && inputs.selection?.switches == 0)
    }

    @Test(
        "A file that is closed while it is not needed shows its first frame, and is reopened at the requested position"
    )
    func closed() throws {
        media.set(Self.film, description())
        let inputs = try make(.init(name: "film", input: InputLocation(Self.film), whenOff: .close))
        defer { inputs.stop() }
        let isWanted = Atomic(true)
        inputs.spareUnless { isWanted.load(ordering: .relaxed) }
        var frames = try putOnAir(inputs, Self.film)
        for start in [Duration.zero, .seconds(5)] {
            let count = media.count(Self.film)
            isWanted.store(false, ordering: .relaxed)
            try eventually("the file is closed") { media.running(Self.film) == 0 && isStill(inputs) }
            #expect(inputs.selection?.onAir == "film" && inputs.feedStatus.framesIn == frames)
            if start > .zero {
                try inputs.play(from: start)
                try eventually("the order is taken") { inputs.state.withLock { $0.file.start } == start }
            }
            #expect(media.count(Self.film) == count)
            isWanted.store(true, ordering: .relaxed)
            try eventually("the file is read again") { media.running(Self.film) == 1 }
            #expect(media.count(Self.film) == count + 1 && media[Self.film]?.options.start == start)
            #expect(isStill(inputs), "the first frame is shown until the file has one")
            frames += try putOnAir(inputs, Self.film)
        }
        #expect(inputs.selection?.switches == 0)
    }

    @Test("A file that is read to its end before it is shown is on air until its end, and an image stays on air")
    func short() throws {
        for frames in [1, 2] as [Int64] {
            media.set(Self.film, description())
            var source = ChannelConfiguration.Source(name: "film", input: InputLocation(Self.film))
            source.selection.unseen = .keyframes
            let inputs = try make(source, slate: .bars)
            defer { inputs.stop() }
            let looks = Atomic(0)
            inputs.spareUnless { looks.add(1, ordering: .relaxed).newValue > 0 }
            try eventually("the file is read") { media[Self.film]?.isStarted == true }
            for number in 0..<frames { media[Self.film]?.deliver(number) }
            let made = inputs.state.withLock { $0.inputs[0].feed }
            let feed = try #require(made)
            if frames == 1 { feed.markImage() }
            for track in [TrackKind.video, .audio] { feed.end(track) }
            media[Self.film]?.end()
            try eventually("the file is on air") { inputs.choice.onAir == .source(0) && isFeed(inputs) }
            for index in Int64(0)..<5 { _ = feed.frame(for: FrameIndex(index)) }
            clock.set(clock.now + .seconds(10))
            let before = looks.load(ordering: .relaxed)
            try eventually("the inputs are checked") { looks.load(ordering: .relaxed) > before + 2 }
            let expected: SourceSelector.OnAir = frames == 1 ? .source(0) : .slate
            #expect(inputs.choice.onAir == expected)
        }
    }

    // MARK: Live inputs

    @Test("If an input is closed because it is not visible, its last frame stays, and it is reopened when needed")
    func unseen() throws {
        media.set(Self.live, description())
        var source = ChannelConfiguration.Source(name: "cam", input: InputLocation(Self.live))
        source.selection.unseen = .cold
        let inputs = try make(source)
        defer { inputs.stop() }
        let isWanted = Atomic(true)
        inputs.spareUnless { isWanted.load(ordering: .relaxed) }
        var frames = try putOnAir(inputs, Self.live)
        for round in 1...2 {
            isWanted.store(false, ordering: .relaxed)
            try eventually("the input is closed") { media.running(Self.live) == 0 && inputs.choice.onAir == nil }
            #expect(isStill(inputs) && inputs.state.withLock { $0.inputs[0].feed == nil })
            #expect(inputs.selection?.open == [] && media.count(Self.live) == round)
            isWanted.store(true, ordering: .relaxed)
            frames += try putOnAir(inputs, Self.live)
            #expect(media.count(Self.live) == round + 1 && media.running(Self.live) == 1)
        }
        #expect(inputs.feedStatus.framesIn == frames && inputs.selection?.switches == 0)
    }

    @Test("An input that is closed while it is being opened does not become part of its source")
    func closedWhileOpening() throws {
        let inputs = try make(.init(name: "cam", input: InputLocation(Self.live)))
        defer { inputs.stop() }
        try eventually("opening fails") { inputs.statuses[0].lastError != nil }
        media.whenOpened { inputs.close(0) }
        media.set(Self.live, description(isLive: true))
        try eventually("the input was opened and closed") { media[Self.live]?.status.state == .ended }
        let (feed, known) = inputs.state.withLock { ($0.inputs[0].feed, $0.inputs[0].description) }
        #expect(feed == nil && known == nil && media[Self.live]?.isStarted == false)
        media.whenOpened {}
    }

    @Test("After random losses of three inputs, the first input that delivers is on air, or else the slate")
    func losses() throws {
        var random = SeededRandom()
        let locations = ["srt://a:1", "srt://b:1", "srt://c:1"]
        for standby in [SourceSelector.Standby.cold, .hot] {
            var source = ChannelConfiguration.Source(
                name: "a", input: InputLocation(locations[0]), backups: locations.dropFirst().map { InputLocation($0) })
            (source.selection.standby, source.selection.returnAfter) = (standby, .milliseconds(500))
            let inputs = try make(source, slate: .bars)
            var frame = clock.now.nanoseconds / 40_000_000
            for _ in 0..<3 {
                let living = locations.filter { _ in Int.random(in: 0..<3, using: &random) > 0 }
                for location in locations where !living.contains(location) {
                    media.set(location, nil)
                    media[location]?.end(failure: "gone")
                }
                for location in living { media.set(location, description()) }
                let first = living.first.flatMap { locations.firstIndex(of: $0) }
                let expected = first.map { source.inputNames[$0] } ?? "slate"
                try eventually("\(expected) is on air of \(living), \(standby)") {
                    for location in living { media[location]?.deliver(frame) }
                    frame += 1
                    clock.set(MonotonicInstant(milliseconds: frame * 40))
                    return inputs.selection?.onAir == expected && (first == nil ? isStill(inputs) : isFeed(inputs))
                }
                #expect(inputs.selection?.number == first)
            }
            inputs.stop()
            try eventually("all inputs are closed") { locations.allSatisfy { media.running($0) == 0 } }
        }
    }
}
