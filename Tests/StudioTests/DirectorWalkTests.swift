// SPDX-License-Identifier: Apache-2.0

import Kernels
import Media
import TestSupport
import Testing

@testable import Program
@testable import Studio

/// Random requests to a director, and a model of the expected result: the scene that goes on air at each frame.
private struct Walk {
    struct Shown {
        var layout: SceneLayout
        var name: String?
    }

    let stage: DirectorStage
    var random: SeededRandom
    var next: Int64 = 0
    /// The scenes, by the frame at which each goes on air.
    var plan = [Int64(0): Shown(layout: SceneLayout(.single, ["cam1"]))]
    var preview = Shown(layout: SceneLayout(.single, ["cam2"]))
    var transition = TransitionRequest(.fade)
    var faders: [String: Fader.Settings] = [:]
    var (done, refused) = (0, 0)

    init(_ stage: DirectorStage, seed: UInt64) { (self.stage, random) = (stage, SeededRandom(seed: seed)) }

    var onAir: Shown? { plan[plan.keys.filter { $0 <= next }.max() ?? 0] }

    // MARK: Validity

    func isRight(_ layout: SceneLayout) -> Bool {
        let counts =
            switch layout.layout {
            case .slate: 0...0
            case .single: 1...1
            case .pip, .splitHorizontal, .splitVertical: 2...2
            case .grid: 1...9
            }
        let names = Set(layout.sources)
        return names.count == layout.sources.count && counts.contains(names.count)
            && names.isSubset(of: DirectorStage.cameras)
    }

    /// The scene that `choice` names; nil if it cannot be shown.
    func resolved(_ choice: ProgramRequest.SceneChoice) -> Shown? {
        switch choice {
        case .named("duo"): return Shown(layout: DirectorStage.duo, name: "duo")
        case .named("slate"): return Shown(layout: SceneLayout(.slate, []))
        case .named(let name):
            return DirectorStage.cameras.contains(name) ? Shown(layout: SceneLayout(.single, [name])) : nil
        case .laidOut(let layout): return isRight(layout) ? Shown(layout: layout) : nil
        }
    }

    // MARK: Requests

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    private mutating func anyChoice() -> ProgramRequest.SceneChoice {
        if Bool.random(using: &random) {
            return .named(pick(DirectorStage.cameras + ["voice", "ghost", "duo", "slate"]))
        }
        let kind = pick(SceneLayout.Kind.allCases)
        var sources: [String] = []
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            sources.append(pick(DirectorStage.cameras + DirectorStage.cameras + ["voice", "ghost"]))
        }
        return .laidOut(SceneLayout(kind, sources))
    }

    private mutating func anyTransition() -> TransitionRequest? {
        let transitions: [TransitionRequest?] = [
            nil, nil, TransitionRequest(.cut), TransitionRequest(.fade, seconds: 0.4), TransitionRequest(.wipeLeft),
            TransitionRequest(.move, seconds: 5), TransitionRequest(.dip, seconds: 5.04),
        ]
        return pick(transitions)
    }

    /// Calls `body`. If `fits` is true, it must succeed; otherwise it must be refused without any change. Returns
    /// whether it succeeded.
    private mutating func attempt(_ what: String, fits: Bool, _ body: () throws -> Void) throws -> Bool {
        let before = try stage.fingerprint()
        var isDone = true
        do { try body() } catch is Refusal { isDone = false }
        #expect(isDone == fits, "\(what)")
        if isDone {
            done += 1
        } else {
            refused += 1
            #expect(try stage.fingerprint() == before, "\(what)")
        }
        return isDone
    }

    private mutating func put() throws {
        let (choice, transition) = (anyChoice(), anyTransition())
        let near = next + Int64.random(in: -5...30, using: &random)
        let frames: [Int64?] = [nil, nil, near, near, -1, next + 90_001]
        let at = pick(frames)
        let reach = 0...(next + 90_000)
        let (shown, isNear) = (resolved(choice), at.map { reach.contains($0) } ?? true)
        let fits = shown != nil && isNear && (0...5).contains(transition?.seconds ?? 1)
        let request = try DirectorStage.request(choice, by: transition, at: at)
        let director = stage.director
        var frame: Int64 = -1
        guard try attempt("put \(request)", fits: fits, { frame = try director.put(request) }) else { return }
        #expect(frame == max(at ?? next, next))
        plan[frame] = shown
    }

    private mutating func prepare() throws {
        let choices: [ProgramRequest.SceneChoice?] = [nil, anyChoice()]
        let (choice, transition) = (pick(choices), anyTransition())
        let isLate = Int.random(in: 0..<8, using: &random) == 0
        let shown = choice.flatMap { resolved($0) }
        let fits = !isLate && (choice == nil || shown != nil) && (0...5).contains(transition?.seconds ?? 1)
        let request = try DirectorStage.request(choice, by: transition, at: isLate ? next : nil)
        let director = stage.director
        guard try attempt("prepare \(request)", fits: fits, { try director.prepare(request) }) else { return }
        preview = shown ?? preview
        self.transition = transition ?? self.transition
    }

    private mutating func swap() throws {
        let (director, before, isAuto) = (stage.director, onAir, Bool.random(using: &random))
        var frame: Int64 = -1
        // The prepared scene can be shown at any time.
        let isDone = try attempt("swap", fits: true) { frame = try isAuto ? director.auto() : director.take() }
        guard isDone else { return }
        #expect(frame == next)
        plan[next] = preview
        preview = before ?? preview
    }

    private mutating func withdraw() throws {
        let frame = next + Int64.random(in: -3...31, using: &random)
        let (director, waits) = (stage.director, frame > next && plan[frame] != nil)
        guard try attempt("withdraw \(frame)", fits: waits, { try director.withdraw(at: frame) }) else { return }
        plan[frame] = nil
    }

    private mutating func changeSource() throws {
        let name = pick(DirectorStage.cameras + ["voice", "ghost"])
        let (gains, offsets): ([Double?], [Double?]) = ([nil, -60, 3, 20, 20.5], [nil, nil, -0.5, 1, 2, 2.5])
        let isMuted: [Bool?] = [nil, true, false]
        let request = SourceRequest(gain: pick(gains), muted: pick(isMuted), audioOffset: pick(offsets))
        let fits = name != "ghost" && request.gain != 20.5 && request.audioOffset != 2.5
        let director = stage.director
        guard try attempt("\(name) \(request)", fits: fits, { try director.change(name, request) }) else { return }
        var settings = faders[name] ?? Fader.Settings()
        settings.gain = request.gain ?? settings.gain
        settings.isMuted = request.muted ?? settings.isMuted
        settings.offset = request.audioOffset ?? settings.offset
        faders[name] = settings
    }

    /// Makes some frames of the program; a late program skips all but the last one.
    private mutating func advance() {
        let last = next + Int64.random(in: 0...6, using: &random)
        for frame in Bool.random(using: &random) ? Array(next...last) : [last] {
            let due = plan.keys.filter { $0 >= next && $0 <= frame }.max().flatMap { plan[$0] }
            let seen = due.map { $0.layout.sources.isEmpty ? ["slate"] : $0.layout.sources } ?? []
            #expect(stage.seen(stage.make(frame)?.scene) == seen, "frame \(frame)")
            next = frame + 1
        }
    }

    /// Executes one command, or makes some frames.
    mutating func step() throws {
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1, 2: try put()
        case 3: try prepare()
        case 4: try swap()
        case 5: try withdraw()
        case 6: try changeSource()
        default: advance()
        }
    }

    /// Expects the planned scene in the report, a preview that can be shown, and no other changes.
    func check() {
        let report = stage.director.report
        #expect(report.frame == next && report.transition == transition)
        #expect(report.scene == onAir?.layout && report.sceneName == onAir?.name)
        #expect(report.preview == preview.layout && report.previewName == preview.name && isRight(report.preview))
        let waiting = plan.keys.filter { $0 > next }.sorted()
        #expect(report.changes.map(\.frame) == waiting)
        #expect(report.changes.map(\.scene) == waiting.compactMap { plan[$0]?.layout })
        if let progress = report.progress { #expect(progress >= 0 && progress < 1) }
        for source in report.sources {
            let settings = faders[source.name] ?? Fader.Settings()
            #expect(source.gain == settings.gain && source.isMuted == settings.isMuted)
            #expect(source.audioOffset == settings.offset)
            #expect(source.isOnAir || !report.scene.sources.contains(source.name))
            #expect(source.isInPreview == preview.layout.sources.contains(source.name))
        }
    }
}

@Suite("Random requests about scenes")
struct DirectorWalkTests {
    @Test("After random requests exactly the requested scenes are on air at their frames, and refusals have no effect")
    func walk() throws {
        var random = SeededRandom()
        var (done, refused) = (0, 0)
        for _ in 0..<20 {
            var walk = Walk(try DirectorStage(), seed: random.next())
            for _ in 0..<150 {
                try walk.step()
                walk.check()
            }
            (done, refused) = (done + walk.done, refused + walk.refused)
        }
        #expect(done > 100 && refused > 100)
    }
}
