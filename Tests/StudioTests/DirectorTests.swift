// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import Kernels
import Media
import Synchronization
import TestSupport
import Testing

@testable import Program
@testable import Studio

/// A director of three cameras, the last of which is a file, of a voice with audio only, and of a scene of two cameras.
/// The test makes the frames, as a program does.
struct DirectorStage {
    /// A file that records the positions from which it is played.
    final class NotedFile: PlayedFile {
        let whenOff = WhenOff.pause
        let moments = Mutex<[Duration]>([])
        func play(from moment: Duration) { moments.withLock { $0.append(moment) } }
    }

    static let cameras = ["cam1", "cam2", "cam3"]
    static let duo = SceneLayout(.pip, ["cam1", "cam2"])
    static let format = VideoFormat(width: 64, height: 36, frameRate: FrameRate(25))

    let director: Director
    let file: NotedFile

    init(audio: Director.AudioChoice = .follow) throws {
        let (bus, file) = (Bus(), NotedFile())
        var delivered = FeedStatus()
        (delivered.framesLate, delivered.framesDropped) = (3, 5)
        let counted = delivered
        let sources = [
            Director.Source(name: "cam1", bus: Bus(), delivered: { counted }, input: { "main" }),
            Director.Source(name: "cam2", bus: Bus(), problem: { "Only keyframes are shown." }, input: { nil }),
            Director.Source(name: "cam3", bus: Bus(), file: file, input: { "slate" }),
            Director.Source(name: "voice", bus: Bus(), hasVideo: false, input: { nil }),
        ]
        for source in sources { bus.add(source.bus) }
        self.file = file
        director = Director(
            bus, sources: sources, audio: audio, slate: SlateScene(SlatePattern.frame(Self.format, lines: [])),
            format: Self.format, scenes: [("duo", Self.duo)], overlays: try Overlays([], format: Self.format),
            stingers: [], recording: { nil }, playing: RunDownPlaying(clock: SystemClock(), logger: quiet))
    }

    /// Creates a client's request.
    static func request(
        _ scene: ProgramRequest.SceneChoice? = nil, by transition: TransitionRequest? = nil, at frame: Int64? = nil
    ) throws -> ProgramRequest {
        var request = try JSONDecoder().decode(ProgramRequest.self, from: Data("{}".utf8))
        (request.scene, request.transition, request.at) = (scene, transition, frame)
        return request
    }

    /// Puts the scene of this name on air.
    @discardableResult
    func put(_ name: String, by transition: TransitionRequest? = nil, at frame: Int64? = nil) throws -> Int64 {
        try director.put(Self.request(.named(name), by: transition, at: frame))
    }

    /// Makes frame `frame`, as the program's thread does: reports it, and takes the scene that begins with it.
    @discardableResult
    func make(_ frame: Int64) -> Bus.Cue? {
        director.bus.announce(FrameIndex(frame))
        return director.bus.takeCue(for: FrameIndex(frame))
    }

    /// Makes all frames before `frame`.
    func run(to frame: Int64) { for next in director.bus.nextFrame.number..<frame { make(next) } }

    /// The names of the sources that are visible in `scene`, from the back to the front.
    func seen(_ scene: Scene?) -> [String] {
        (scene?.layers ?? []).map { layer in
            director.sources.first { layer.video == .source($0.bus) }?.name ?? "slate"
        }
    }

    /// The names of the sources that are audible in `scene`.
    func heard(_ scene: Scene?) -> [String] {
        (scene?.audio ?? []).map { audio in director.sources.first { audio == .source($0.bus) }?.name ?? "another" }
    }

    /// The report without the values that change by themselves: the frame and the levels.
    func fingerprint() throws -> String {
        var report = director.report
        (report.frame, report.levels) = (0, [])
        for index in report.sources.indices { report.sources[index].levels = [] }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }
}

@Suite("Requests about scenes")
struct DirectorTests {
    private let stage: DirectorStage
    private var director: Director { stage.director }

    init() throws { stage = try DirectorStage() }

    private func single(_ name: String) -> SceneLayout { SceneLayout(.single, [name]) }

    @Test("A scene requested by name or by layout is on air with the program's next frame")
    func put() throws {
        let grid = SceneLayout(.grid, ["cam3", "cam1", "cam2"])
        let choices: [(ProgramRequest.SceneChoice, SceneLayout, String?)] = [
            (.named("cam2"), single("cam2"), nil), (.named("duo"), DirectorStage.duo, "duo"),
            (.named("slate"), SceneLayout(.slate, []), nil), (.laidOut(grid), grid, nil),
        ]
        for (index, (choice, layout, name)) in choices.enumerated() {
            let next = Int64(index) * 10
            stage.run(to: next)
            #expect(try director.put(DirectorStage.request(choice)) == next)
            #expect(director.report.scene == layout && director.report.sceneName == name)
            #expect(director.report.changes.isEmpty && director.report.progress == nil)
            let cue = stage.make(next)
            #expect(stage.seen(cue?.scene) == (layout.sources.isEmpty ? ["slate"] : layout.sources))
            #expect(cue?.frames == 0 && cue?.transition.kind == .cut)
        }
    }

    @Test("A scheduled scene change is reported as waiting, then as running with both scenes, then as done")
    func ahead() throws {
        #expect(try stage.put("cam3", by: TransitionRequest(.fade), at: 10) == 10)
        for next in Int64(0)..<50 {
            let report = director.report
            #expect(report.frame == next && report.preview == single("cam2"))
            let onAir = report.sources.filter(\.isOnAir).map(\.name)
            #expect(Set(director.seen) == Set(onAir))
            switch next {
            case ..<10:
                #expect(report.scene == single("cam1") && report.progress == nil && onAir == ["cam1"])
                #expect(report.changes.map(\.frame) == [10] && report.changes.map(\.scene) == [single("cam3")])
            case ..<35:
                #expect(report.scene == single("cam3") && report.changes.isEmpty && onAir == ["cam1", "cam3"])
                #expect(report.progress == Double(next - 10) / 25)
            default:
                #expect(report.scene == single("cam3") && report.progress == nil && onAir == ["cam3"])
            }
            // The scheduled source is wanted already, and the previous one stays wanted until the transition has ended.
            #expect(director.isWanted("cam3", orHeard: false))
            #expect(director.isWanted("cam1", orHeard: false) == (next < 35))
            #expect((stage.make(next) != nil) == (next == 0 || next == 10))
        }
    }

    @Test("A scene change can be cancelled while it is scheduled, but not when it is on air or was cancelled")
    func withdraw() throws {
        stage.run(to: 1)
        let asked: [(String, Int64)] = [("cam2", 5), ("cam3", 8), ("duo", 8), ("cam2", 0)]
        for (name, frame) in asked {
            #expect(try stage.put(name, at: frame) == max(1, frame))
        }
        #expect(director.report.changes.map(\.sceneName) == [nil, "duo"])
        try director.withdraw(at: 5)
        for frame in [Int64(5), 0, 1, 7, -1] {
            try refuses(.notFound, "No change waits for frame \(frame).") { try director.withdraw(at: frame) }
        }
        for frame in Int64(1)..<8 { #expect((stage.make(frame) != nil) == (frame == 1), "\(frame)") }
        #expect(director.report.scene == DirectorStage.duo && director.report.changes.isEmpty)
        try refuses(.notFound, "No change waits") { try director.withdraw(at: 8) }
        #expect(stage.seen(stage.make(8)?.scene) == ["cam1", "cam2"])
    }

    @Test("The commands 'take' and 'auto' swap the scene on air and the preview; 'auto' uses the prepared transition")
    func swap() throws {
        #expect(try director.take() == 0)
        #expect(director.report.scene == single("cam2") && director.report.preview == single("cam1"))
        stage.run(to: 4)
        let wipe = TransitionRequest(.wipeLeft, seconds: 0.4, easing: .inOut)
        try director.prepare(try DirectorStage.request(.named("duo"), by: wipe))
        #expect(director.report.scene == single("cam2") && director.report.previewName == "duo")
        #expect(try director.auto() == 4)
        #expect(director.report.sceneName == "duo" && director.report.preview == single("cam2"))
        #expect(director.report.previewName == nil && director.report.progress == 0)
        let cue = stage.make(4)
        #expect(stage.seen(cue?.scene) == ["cam1", "cam2"] && cue?.frames == 10)
        #expect(cue?.transition.kind == .wipeLeft && cue?.transition.easing == .inOut)
        // The prepared transition stays set, also for the way back.
        #expect(try director.auto() == 5 && director.report.transition == wipe)
        #expect(director.report.scene == single("cam2") && director.report.previewName == "duo")
        #expect(stage.make(5)?.frames == 10)
    }

    // MARK: Refusals

    /// Expects that `body` is refused with this text, and that nothing changes.
    private func refuses(_ kind: Refusal.Kind, _ words: String, _ body: () throws -> Void) throws {
        let before = try stage.fingerprint()
        let refusal = #expect(throws: Refusal.self, "\(words)") { try body() }
        #expect(refusal?.kind == kind && refusal?.detail.contains(words) == true, "\(words): \(refusal?.detail ?? "")")
        #expect(try stage.fingerprint() == before)
    }

    private func refusesScene(_ scene: ProgramRequest.SceneChoice, _ words: String) throws {
        let request = try DirectorStage.request(scene)
        try refuses(.unusable, words) { _ = try director.put(request) }
        try refuses(.unusable, words) { try director.prepare(request) }
    }

    @Test("An invalid scene is refused, both on air and in the preview")
    func scenes() throws {
        try refusesScene(.named("ghost"), "There is no scene ghost. There are duo, cam1, cam2, cam3, voice, slate.")
        try refusesScene(.named("voice"), "The source voice has no video.")
        try refusesScene(.laidOut(SceneLayout(.grid, ["cam1", "voice"])), "The source voice has no video.")
        try refusesScene(.laidOut(single("ghost")), "There is no source ghost. There are cam1, cam2, cam3, voice.")
        try refusesScene(.laidOut(SceneLayout(.pip, ["cam1"])), "takes 2 sources, not 1")
        try refusesScene(.laidOut(SceneLayout(.slate, ["cam1"])), "takes 0 sources, not 1")
        try refusesScene(.laidOut(SceneLayout(.pip, ["cam1", "cam1"])), "The source cam1 is in the scene twice.")
        try refusesScene(.laidOut(SceneLayout(.single, ["cam1"], overlays: ["title"])), "There is no overlay title.")
        try refuses(.malformed, "lacks scene") { _ = try director.put(try DirectorStage.request()) }
    }

    @Test("A transition of invalid length, an unknown stinger and a frame too far ahead are refused")
    func bounds() throws {
        stage.run(to: 3)
        var stinger = TransitionRequest(.cut)
        stinger.stinger = "sweep"
        let lengths: [Double] = [5.01, -0.01, .nan, .infinity]
        var wrong = lengths.map { (TransitionRequest(.fade, seconds: $0), "A transition lasts 0 to 5 s.") }
        wrong.append((stinger, "There is no stinger sweep."))
        for (transition, words) in wrong {
            let request = try DirectorStage.request(.named("cam2"), by: transition)
            try refuses(.unusable, words) { _ = try director.put(request) }
            try refuses(.unusable, words) { try director.prepare(request) }
        }
        for frame in [Int64(-1), 3 + 90_001, .max, .min] {
            try refuses(.unusable, "to an hour ahead: 90003.") { try stage.put("cam2", at: frame) }
        }
        let late = try DirectorStage.request(.named("cam3"), at: 20)
        try refuses(.unusable, "the preview changes at once") { try director.prepare(late) }
        // Values at the limits are accepted.
        #expect(try stage.put("cam2", by: TransitionRequest(.fade, seconds: 5), at: 3 + 90_000) == 90_003)
        #expect(try stage.put("cam2", by: TransitionRequest(.fade, seconds: 5), at: 0) == 3)
        #expect(stage.make(3)?.frames == 125)
    }

    @Test("At most 64 scene changes can be scheduled")
    func many() throws {
        for frame in Int64(1)...63 { try stage.put("cam2", at: frame) }
        #expect(director.report.changes.count == 63)
        #expect(throws: Never.self) { try stage.put("cam2", at: 64) }
        try refuses(.tooMany, "64 changes wait") { try stage.put("cam2", at: 100) }
    }

    @Test("A scene change that is on air no longer counts as scheduled")
    func over() throws {
        for frame in Int64(1)...63 { try stage.put("cam2", at: frame) }
        stage.run(to: 70)
        #expect(throws: Never.self) { try stage.put("cam3") }
        #expect(director.report.scene == single("cam3"))
    }

    @Test("A transition that replaces a cut at the same frame starts from the scene before the cut")
    func replaced() throws {
        stage.run(to: 10)
        try stage.put("cam2")
        try stage.put("cam3", by: TransitionRequest(.fade))
        #expect(stage.make(10)?.frames == 25)
        #expect(director.report.progress == 1.0 / 25)
        #expect(Set(director.seen) == ["cam1", "cam3"] && director.isWanted("cam1", orHeard: false))
    }
}
