// SPDX-License-Identifier: Apache-2.0

import Ingest
import Kernels
import Logging
import Media
import Status
import Testing

@testable import Program
@testable import Studio

@Suite("Restoring run-down and scene when a channel is reopened")
struct DirectorMemoryTests {
    /// A director of two sources, whose configuration names `runDown`, which has begun.
    private func director(
        _ runDown: RunDown?, sources names: [String] = ["cam1", "cam2"], audio: String? = nil
    ) throws -> Director {
        let format = VideoFormat(width: 64, height: 36, frameRate: FrameRate(25))
        let bus = Bus()
        var sources = names.map { name in Director.Source(name: name, bus: Bus()) { nil } }
        if let audio { sources.append(Director.Source(name: audio, bus: Bus(), hasVideo: false) { nil }) }
        for source in sources { bus.add(source.bus) }
        let director = Director(
            bus, sources: sources, audio: .follow, slate: SlateScene(SlatePattern.frame(format, lines: [])),
            format: format,
            scenes: [], overlays: try Overlays([], format: format), stingers: [],
            recordings: { [] },
            playing: RunDownPlaying(
                clock: SystemClock(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        if let runDown {
            director.load(runDown, isConfigured: true)
            try director.beginRunDown(patience: .zero)
        }
        return director
    }

    private func runDown(_ name: String, _ sources: [String]) -> RunDown {
        RunDown(
            name: name,
            sources.map {
                RunDown.Segment(
                    name: $0, views: [RunDown.View(SceneLayout(.single, [$0]), name: $0)], length: .take)
            })
    }

    /// The director of a reopened channel, which has made its first frame.
    private func reopened(_ before: Director, _ runDown: RunDown?) throws -> Director {
        let after = try director(runDown)
        // Closing the channel releases the files, after which the memory is read; closing it twice must do no harm.
        before.endRunDown()
        before.endRunDown()
        after.restore(before.memory)
        after.play(0)
        return after
    }

    private func state(_ director: Director) -> RunDownStatus? { director.runDownStatus(withSegments: false) }

    @Test("A reopened channel continues the run-down that an operator loaded, not the configured one")
    func loaded() throws {
        let first = runDown("first", ["cam1", "cam2"])
        let before = try director(first)
        try before.loadRunDown("{name: second, segments: [{source: cam1, duration: take}, {source: cam2}]}")
        _ = try before.perform(.start(segment: 1))
        before.play(0)
        let after = try reopened(before, first)
        #expect(state(after)?.name == "second" && state(after)?.state == .running && state(after)?.current?.index == 1)
        #expect(after.report.scene.sources == ["cam2"])
        // The loaded run-down also continues after a second reopening, because the configured run-down is remembered
        // together with it.
        #expect(state(try reopened(after, first))?.name == "second")
        // A newly configured run-down takes precedence.
        let other = try reopened(before, runDown("third", ["cam1"]))
        #expect(state(other)?.name == "third" && other.report.scene.sources == ["cam1"])
    }

    @Test("A reopened channel has the same scene on air, and loads a run-down that was not playing without playing it")
    func idle() throws {
        let first = runDown("first", ["cam1", "cam2"])
        let before = try director(first)
        _ = try before.perform(.next)
        before.play(0)
        try before.loadRunDown("{name: second, segments: [{source: cam1}]}")
        let after = try reopened(before, first)
        #expect(state(after)?.name == "second" && state(after)?.state == .idle)
        #expect(after.report.scene.sources == ["cam2"])
    }

    @Test("A reopened channel keeps an operator's scene on air, and pauses the run-down until it is resumed")
    func cutAway() throws {
        let first = runDown("first", ["cam1", "cam1"])
        let before = try director(first)
        _ = try before.perform(.start(segment: 1))
        before.play(0)
        _ = before.show(by: .cut, at: nil) { _ in Director.Named(layout: SceneLayout(.single, ["cam2"])) }
        before.play(0)
        let after = try reopened(before, first)
        #expect(state(after)?.state == .held && state(after)?.isCutAway == true)
        #expect(state(after)?.current?.index == 1 && after.report.scene.sources == ["cam2"])
        _ = try after.perform(.resume)
        after.play(0)
        #expect(state(after)?.state == .running && after.report.scene.sources == ["cam1"])
    }

    @Test("A reopened channel drops a run-down that names a missing source")
    func unknown() throws {
        let before = try director(nil)
        try before.loadRunDown("{name: second, segments: [{source: cam2, duration: take}]}")
        _ = try before.perform(.start(segment: 0))
        before.play(0)
        let after = try director(nil, sources: ["cam1", "cam3"])
        after.restore(before.memory)
        after.play(0)
        #expect(state(after) == nil)
    }

    @Test("A source that provides a run-down's audio stays open, even after the run-down stopped")
    func heard() throws {
        var first = runDown("first", ["cam1"])
        first.segments[0].audio = .source("cam3")
        let director = try director(first, sources: ["cam1", "cam2", "cam3"])
        _ = try director.perform(.stop)
        director.play(0)
        #expect(director.isWanted("cam3", orHeard: true) && !director.isWanted("cam3", orHeard: false))
    }

    /// The director of a channel that failed and was reopened, which has made its first frame.
    private func failed(_ before: Director, _ runDown: RunDown) throws -> Director {
        var memory = before.memory
        memory.noteFailure()
        let after = try director(runDown)
        after.restore(memory)
        after.play(0)
        return after
    }

    @Test("If a channel failed twice during the same segment, that segment is skipped until an operator starts it")
    func failedTwice() throws {
        let first = runDown("first", ["cam1", "cam2", "cam1"])
        var director = try director(first)
        _ = try director.perform(.start(segment: 1))
        director.play(0)
        director = try failed(director, first)
        #expect(state(director)?.current?.index == 1 && director.runDownFailure == nil)
        director = try failed(director, first)
        #expect(state(director)?.current?.index == 2)
        #expect(director.runDownFailure?.contains("failed 2 times") == true)
        // The segment stays skipped for as long as the process lasts, even if it is due again.
        director = try failed(director, first)
        _ = try director.perform(.start(segment: 0))
        director.play(0)
        _ = try director.perform(.next)
        director.play(1)
        #expect(state(director)?.current?.index == 2)
        _ = try director.perform(.start(segment: 1))
        director.play(2)
        #expect(state(director)?.current?.index == 1)
    }

    @Test("An earlier failure does not count against a segment that was completed since or interrupted by an operator")
    func failedOnce() throws {
        let first = runDown("first", ["cam1", "cam2", "cam1"])
        var director = try director(first)
        for frame in [FrameIndex(1), 2] {
            director = try failed(director, first)
            #expect(state(director)?.current?.index == 0, "\(frame)")
            _ = try director.perform(.next)
            director.play(1)
            _ = try director.perform(.start(segment: 0))
            director.play(2)
        }
        for _ in 0..<3 {
            _ = director.show(by: .cut, at: nil) { _ in Director.Named(layout: SceneLayout(.single, ["cam2"])) }
            director.play(3)
            director = try failed(director, first)
            #expect(state(director)?.current?.index == 0 && state(director)?.isCutAway == true)
        }
    }

    @Test("A reopened channel shows and holds the segment that was held before")
    func held() throws {
        let first = runDown("first", ["cam1", "cam2"])
        let before = try director(first)
        _ = try before.perform(.next)
        before.play(0)
        _ = try before.perform(.hold)
        let after = try reopened(before, first)
        #expect(state(after)?.state == .held && state(after)?.isCutAway == false)
        #expect(state(after)?.current?.index == 1 && after.report.scene.sources == ["cam2"])
    }

    @Test("If a reopened channel cannot show its scene any more, it shows its first source")
    func gone() throws {
        let first = runDown("first", ["cam2"])
        let before = try director(first, sources: ["cam1", "cam2", "cam3"])
        _ = try before.perform(.stop)
        _ = before.show(by: .cut, at: nil) { _ in Director.single("cam3") }
        let after = try reopened(before, first)
        #expect(state(after)?.state == .idle && after.report.scene.sources == ["cam1"])
    }

    @Test("A program without video sources begins with the slate, and ends with its run-down")
    func onlyAudio() throws {
        let slate = RunDown.View(SceneLayout(.slate, []), name: "slate")
        let first = RunDown(name: "first", [RunDown.Segment(name: "a", views: [slate], length: .frames(2))])
        let director = try director(first, sources: [], audio: "audio")
        #expect(director.report.scene.layout == .slate && director.report.preview.layout == .slate)
        for frame in Int64(0)..<3 { director.play(FrameIndex(frame)) }
        #expect(director.bus.isOver)
    }

    @Test("The source of an interrupted transition stays visible until the interrupting transition has ended")
    func interrupted() throws {
        let director = try director(nil, sources: ["cam1", "cam2", "cam3"])
        let fade = try director.transition(TransitionRequest(.fade))
        let show = { name in
            director.show(by: fade, at: nil) { _ in Director.Named(layout: SceneLayout(.single, [name])) }
        }
        _ = director.bus.takeCue(for: 0)
        let second = FrameIndex(show("cam2"))
        _ = director.bus.takeCue(for: second + 10)
        let third = FrameIndex(show("cam3"))
        #expect(Set(director.seen) == ["cam1", "cam2", "cam3"] && director.isWanted("cam1", orHeard: false))
        _ = director.bus.takeCue(for: third + 30)
        #expect(director.seen == ["cam3"] && !director.isWanted("cam1", orHeard: false))
    }

    @Test("A reopened channel keeps an operator's audio settings, unless their configuration has changed")
    func faders() throws {
        let before = try director(nil)
        let (faders, settings) = (
            before.sources.map(\.bus.fader),
            { (gain: Double) in
                var settings = Fader.Settings()
                settings.gain = gain
                return settings
            }
        )
        faders[0].begin(with: settings(-3))
        faders[0].change { ($0.isMuted, $0.gain) = (true, -9) }
        faders[1].begin(with: settings(-3))
        faders[1].change { $0.isMuted = true }
        let after = try director(nil)
        // The new configuration has another gain for both sources.
        for source in after.sources { source.bus.fader.begin(with: settings(-6)) }
        after.restore(before.memory)
        for source in after.sources {
            #expect(source.bus.fader.settings.gain == -6 && source.bus.fader.settings.isMuted, "\(source.name)")
        }
        // The configuration is unchanged, and an operator has changed the gain again.
        after.sources[0].bus.fader.change { $0.gain = 2 }
        let last = try director(nil)
        for source in last.sources { source.bus.fader.begin(with: settings(-6)) }
        last.restore(after.memory)
        #expect(last.sources.map(\.bus.fader.settings.gain) == [2, -6])
        #expect(last.sources.map(\.bus.fader.settings.isMuted) == [true, true])
    }
}
