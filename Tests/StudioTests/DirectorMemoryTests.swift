// SPDX-License-Identifier: Apache-2.0

import Ingest
import Kernels
import Logging
import Media
import Status
import Testing

@testable import Program
@testable import Studio

@Suite("What a director remembers of its run-down")
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
            recording: { nil },
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

    /// A channel that was opened again: its director, which has made its first frame.
    private func reopened(_ before: Director, _ runDown: RunDown?) throws -> Director {
        let after = try director(runDown)
        // Its files are let go when it is closed, and what is remembered is asked for then; a second time is no harm.
        before.endRunDown()
        before.endRunDown()
        after.restore(before.memory)
        after.play(0)
        return after
    }

    private func state(_ director: Director) -> RunDownStatus? { director.runDownStatus(withSegments: false) }

    @Test("The run-down that an operator loaded continues, not the one that the configuration names")
    func loaded() throws {
        let first = runDown("first", ["cam1", "cam2"])
        let before = try director(first)
        try before.loadRunDown("{name: second, segments: [{source: cam1, duration: take}, {source: cam2}]}")
        _ = try before.perform(.start(segment: 1))
        before.play(0)
        let after = try reopened(before, first)
        #expect(state(after)?.name == "second" && state(after)?.state == .running && state(after)?.current?.index == 1)
        #expect(after.report.scene.sources == ["cam2"])
        // This holds a second time, too: the run-down of the configuration is remembered with it.
        #expect(state(try reopened(after, first))?.name == "second")
        // Another run-down that the configuration names by now takes precedence.
        let other = try reopened(before, runDown("third", ["cam1"]))
        #expect(state(other)?.name == "third" && other.report.scene.sources == ["cam1"])
    }

    @Test("What was loaded and not begun is there, and what was on air is on air")
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

    @Test("What an operator cut to stays on air, and the run-down is held until it is resumed")
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

    @Test("A run-down of a source that is there no more is not loaded again")
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

    @Test("A source that a run-down lets be heard is wanted as long as it is on air, also when the run-down is stopped")
    func heard() throws {
        var first = runDown("first", ["cam1"])
        first.segments[0].audio = .source("cam3")
        let director = try director(first, sources: ["cam1", "cam2", "cam3"])
        _ = try director.perform(.stop)
        director.play(0)
        #expect(director.isWanted("cam3", orHeard: true) && !director.isWanted("cam3", orHeard: false))
    }

    /// The director of the channel that is opened again after it failed, which has made its first frame.
    private func failed(_ before: Director, _ runDown: RunDown) throws -> Director {
        var memory = before.memory
        memory.noteFailure()
        let after = try director(runDown)
        after.restore(memory)
        after.play(0)
        return after
    }

    @Test("A segment during which the channel failed twice is left out, and an operator may start it again")
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
        // As long as the process lasts, also where it is its turn again.
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

    @Test("A segment that was played to its end after a failure is not held against it, nor what an operator cut to")
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

    @Test("A segment that was held is on air, and is held")
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

    @Test("What cannot be shown any more is no reason to show what the configuration's run-down begins with")
    func gone() throws {
        let first = runDown("first", ["cam2"])
        let before = try director(first, sources: ["cam1", "cam2", "cam3"])
        _ = try before.perform(.stop)
        _ = before.show(by: .cut, at: nil) { _ in Director.single("cam3") }
        let after = try reopened(before, first)
        #expect(state(after)?.state == .idle && after.report.scene.sources == ["cam1"])
    }

    @Test("Without a source that can be seen a program begins with the slate, and ends with its run-down")
    func onlyAudio() throws {
        let slate = RunDown.View(SceneLayout(.slate, []), name: "slate")
        let first = RunDown(name: "first", [RunDown.Segment(name: "a", views: [slate], length: .frames(2))])
        let director = try director(first, sources: [], audio: "audio")
        #expect(director.report.scene.layout == .slate && director.report.preview.layout == .slate)
        for frame in Int64(0)..<3 { director.play(FrameIndex(frame)) }
        #expect(director.bus.isOver)
    }

    @Test("What an interrupted transition came from is seen until the one that interrupted it is over")
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

    @Test("What an operator set of audio holds, but where the configuration says something else by now")
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
        // The file says another gain of both.
        for source in after.sources { source.bus.fader.begin(with: settings(-6)) }
        after.restore(before.memory)
        for source in after.sources {
            #expect(source.bus.fader.settings.gain == -6 && source.bus.fader.settings.isMuted, "\(source.name)")
        }
        // It still says so, and an operator changed it again.
        after.sources[0].bus.fader.change { $0.gain = 2 }
        let last = try director(nil)
        for source in last.sources { source.bus.fader.begin(with: settings(-6)) }
        last.restore(after.memory)
        #expect(last.sources.map(\.bus.fader.settings.gain) == [2, -6])
        #expect(last.sources.map(\.bus.fader.settings.isMuted) == [true, true])
    }
}
