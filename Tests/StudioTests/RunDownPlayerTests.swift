// SPDX-License-Identifier: Apache-2.0

import Kernels
import Media
import Program
import Status
import Testing

@testable import Studio

/// A player without a clock, and its collected actions.
private struct Deck {
    var player: RunDownPlayer
    /// The next frame.
    var frame: FrameIndex = 0
    /// The views that went on air: frame and name.
    var shown: [String] = []
    var actions: [RunDownPlayer.Action] = []
    /// The files in the order in which they were requested.
    var clips: [RunDownPlayer.ClipID] = []
    /// Whether files are ready as soon as they are requested.
    var isPrompt = true
    /// The number of frames of each file; files that are not listed have no end.
    var lengths: [String: Int64] = [:]
    private var paths: [RunDownPlayer.ClipID: String] = [:]

    init(_ runDown: RunDown, rate: FrameRate = FrameRate(25)) { player = RunDownPlayer(runDown, rate: rate) }

    mutating func run(to end: FrameIndex, step: Int64 = 1) {
        while frame < end {
            var said = player.tick(frame)
            for action in said { take(action) }
            // A program begins when the first file is ready.
            while frame == 0, said.contains(where: \.isPreparation) {
                said = player.tick(frame)
                for action in said { take(action) }
            }
            frame = frame + step
        }
    }

    private mutating func take(_ action: RunDownPlayer.Action) {
        actions.append(action)
        switch action {
        case .prepare(let clip, let file):
            clips.append(clip)
            paths[clip] = file.path
            if isPrompt { player.ready(clip) }
        case .start(let clip, let frame):
            if let path = paths[clip], let length = lengths[path] { player.ended(clip, at: frame + length) }
        case .show(let showing, let frame): shown.append("\(frame.number) \(showing.view.name)")
        case .release, .skip: break
        }
    }
}

extension RunDownPlayer.Action {
    fileprivate var isPreparation: Bool {
        if case .prepare = self { true } else { false }
    }

    /// The position at which a prepared file begins.
    fileprivate var start: Duration? {
        if case .prepare(_, let clip) = self { clip.start } else { nil }
    }
}

@Suite("Playing a run-down")
struct RunDownPlayerTests {
    private func view(_ name: String) -> RunDown.View { RunDown.View(SceneLayout(.single, [name]), name: name) }

    private func segment(_ name: String, _ length: RunDown.Length) -> RunDown.Segment {
        RunDown.Segment(name: name, views: [view(name)], length: length)
    }

    private func seconds(_ name: String, _ seconds: Int) -> RunDown.Segment { segment(name, .time(.seconds(seconds))) }

    private func file(_ name: String, _ length: RunDown.Length, start: Duration = .zero) -> RunDown.Segment {
        RunDown.Segment(
            name: name, views: [RunDown.View(SceneLayout(.single, [RunDown.clipName]), name: name)],
            clip: RunDown.Clip(name, start: start), length: length)
    }

    private func deck(_ segments: [RunDown.Segment], loops: Bool = false, rate: FrameRate = FrameRate(25)) throws
        -> Deck
    {
        var runDown = RunDown(name: "show", segments)
        runDown.loops = loops
        var deck = Deck(runDown, rate: rate)
        try deck.player.start()
        return deck
    }

    @Test("A run-down begins each segment at its frame, and its last view stays on air at the end")
    func frames() throws {
        var deck = try deck([seconds("a", 1), segment("b", .frames(7)), segment("c", .time(.milliseconds(500)))])
        deck.run(to: 100)
        #expect(deck.shown == ["0 a", "25 b", "32 c"])
        #expect(deck.player.state == .over)
    }

    @Test("A run-down's segments do not drift in ten hours even if their lengths are not whole frames")
    func drift() throws {
        let rate = FrameRate(30000, 1001)
        var deck = try deck([seconds("a", 5), segment("b", .time(.milliseconds(3333)))], loops: true, rate: rate)
        let end = rate.frame(at: .zero + .seconds(36_000))
        deck.run(to: end)
        var (time, wanted) = (Duration.zero, [String]())
        while case let frame = rate.timeBase.ticks(time), frame < end.number {
            wanted.append("\(frame) \(wanted.count % 2 == 0 ? "a" : "b")")
            time += wanted.count % 2 == 1 ? .seconds(5) : .milliseconds(3333)
        }
        #expect(deck.shown == wanted && wanted.count > 8000)
    }

    @Test("A run-down's later segments are not delayed by frames that the program skips")
    func skippedFrames() throws {
        var deck = try deck([seconds("a", 1), seconds("b", 1), seconds("c", 1)])
        deck.run(to: 20)
        deck.frame = 33
        deck.run(to: 100)
        #expect(deck.shown == ["0 a", "33 b", "50 c"])
    }

    @Test("A segment shows its views in turn, each from the frame nearest to its time")
    func views() throws {
        var several = seconds("several", 60)
        several.views = [view("x"), view("y"), view("z")]
        several.every = .seconds(5)
        var deck = try deck([several, seconds("b", 1)], rate: FrameRate(30000, 1001))
        deck.run(to: 1820)
        let wanted = [0, 150, 300, 450, 599, 749, 899, 1049, 1199, 1349, 1499, 1648]
        #expect(deck.shown == zip(wanted, "xyzxyzxyzxyz").map { "\($0) \($1)" } + ["1798 b"])
    }

    @Test("A random order of views depends only on its seed, and shows all views in each round")
    func chance() throws {
        let orders = (0..<20).map { seed in
            let order = RunDownOrder(count: 5, seed: UInt64(seed))
            return (Int64(0)..<500).map { order.view($0) }
        }
        for order in orders {
            #expect(zip(order, order.dropFirst()).allSatisfy { $0 != $1 })
            for round in stride(from: 0, to: 500, by: 5) { #expect(Set(order[round..<round + 5]).count == 5) }
        }
        #expect(Set(orders).count == 20)
        let again = RunDownOrder(count: 5, seed: 7)
        #expect((Int64(0)..<500).map { again.view($0) } == orders[7])
        let two = RunDownOrder(count: 2, seed: 1)
        #expect((Int64(0)..<9).allSatisfy { two.view($0) != two.view($0 + 1) })
    }

    @Test("A random order of views never begins with the view on air")
    func seams() throws {
        var several = seconds("several", 3)
        (several.views, several.order) = (["x", "y", "z", "a"].map(view), .random)
        several.every = .seconds(1)
        var deck = try deck([segment("a", .time(.seconds(1))), several, several], loops: true)
        deck.run(to: 7000)
        let names = deck.shown.map { $0.split(separator: " ")[1] }
        #expect(names.count == 280)
        // Listed views keep their order.
        let twice = zip(names, names.dropFirst()).enumerated().filter { $1.0 == $1.1 && ($0 + 1) % 7 != 0 }
        #expect(twice.isEmpty, "\(twice)")
        for seed in 0..<20 {
            let two = RunDownOrder(count: 2, seed: UInt64(seed), seen: 1)
            #expect((Int64(0)..<4).map { two.view($0) } == [0, 1, 0, 1])
            let three = RunDownOrder(count: 3, seed: UInt64(seed), seen: 2)
            let order = (Int64(0)..<60).map { three.view($0) }
            #expect(order[0] != 2 && zip(order, order.dropFirst()).allSatisfy { $0 != $1 })
            for round in stride(from: 0, to: 60, by: 3) { #expect(Set(order[round..<round + 3]).count == 3) }
        }
    }

    @Test("A segment whose length is 'take' ends at the first frame after the operator's command")
    func take() throws {
        var deck = try deck([segment("a", .take), seconds("b", 1), segment("c", .take)])
        deck.run(to: 40)
        try deck.player.next()
        deck.run(to: 80)
        #expect(deck.shown == ["0 a", "40 b", "65 c"])
        try deck.player.next()
        deck.run(to: 90)
        #expect(deck.player.state == .over && deck.shown.count == 3)
        #expect(throws: RunDownPlayer.Refusal.notRunning) { try deck.player.next() }
    }

    @Test("A segment's file is opened during the previous segment, starts at its frame, and is closed after its end")
    func files() throws {
        var deck = try deck([seconds("a", 1), file("intro", .end, start: .seconds(2)), seconds("b", 1)])
        deck.lengths = ["intro": 10]
        deck.run(to: 1)
        let clip = try #require(deck.clips.first)
        #expect(deck.actions.contains(.prepare(clip, RunDown.Clip("intro", start: .seconds(2)))))
        deck.run(to: 100)
        #expect(deck.shown == ["0 a", "25 intro", "35 b"])
        #expect(deck.actions.contains(.start(clip, at: 25)) && deck.actions.last == .release(clip))
    }

    @Test("A file that opens late delays its segment, and a segment whose file fails is skipped")
    func lateFiles() throws {
        var deck = try deck([seconds("a", 1), file("slow", .frames(5)), file("broken", .end), seconds("b", 1)])
        deck.isPrompt = false
        deck.run(to: 30)
        deck.player.ready(deck.clips[0])
        deck.run(to: 34)
        deck.player.failed(deck.clips[1], "no video")
        deck.run(to: 50)
        #expect(deck.shown == ["0 a", "30 slow", "35 b"])
        #expect(deck.actions.contains(.skip(segment: 2, reason: "no video")))
        let status = deck.player.status(at: deck.frame)
        #expect(status.lateFrames == 5 && status.failure == "broken: no video")
    }

    @Test("A looped run-down in which all files fail keeps its view on air, and retries one file each second")
    func nothingToPlay() throws {
        for loops in [true, false] {
            var deck = try deck([file("a", .end), file("b", .end)], loops: loops)
            deck.isPrompt = false
            for _ in 0..<2 {
                deck.run(to: deck.frame + 2)
                for clip in deck.clips { deck.player.failed(clip, "gone") }
            }
            deck.run(to: 29)
            #expect(deck.player.state == (loops ? .running : .over))
            #expect(deck.clips.count == 2 && deck.shown.isEmpty)
            deck.run(to: 30)
            #expect(deck.clips.count == (loops ? 3 : 2))
            guard loops, let again = deck.clips.last else { continue }
            deck.player.failed(again, "gone")
            deck.run(to: 56)
            #expect(deck.clips.count == 4)
            deck.player.ready(deck.clips[3])
            deck.run(to: 57)
            #expect(deck.shown == ["56 b"] && deck.player.status(at: 57).failure == "a: gone")
        }
    }

    @Test("A file that ended before an operator cut away from it is resumed with its last frame")
    func resumedAfterEnd() throws {
        var deck = try deck([file("a", .time(.seconds(4))), seconds("b", 1)])
        deck.lengths = ["a": 50]
        deck.run(to: 75)
        deck.player.cut(at: 75, fade: 0)
        deck.run(to: 80)
        #expect(deck.actions.contains { $0.start == .milliseconds(1960) })
        try deck.player.resume(at: deck.frame)
        deck.run(to: 110)
        #expect(deck.shown == ["0 a", "80 a", "105 b"])
    }

    @Test("If a file fails while it is played, this is reported, and its segment ends")
    func broken() throws {
        var deck = try deck([file("a", .end), seconds("b", 1)])
        deck.run(to: 10)
        deck.player.ended(deck.clips[0], at: 8, fault: "a: Input/output error")
        deck.run(to: 20)
        #expect(deck.shown == ["0 a", "10 b"])
        #expect(deck.player.status(at: 20).failure == "a: Input/output error")
    }

    @Test("A file that is faded out stays open until the transition has ended")
    func transition() throws {
        var next = seconds("b", 3)
        next.change = RunDown.Change(.fade, .seconds(1))
        var deck = try deck([file("intro", .frames(10)), next])
        deck.run(to: 35)
        let clip = try #require(deck.clips.first)
        #expect(!deck.actions.contains(.release(clip)))
        deck.run(to: 37)
        #expect(deck.actions.contains(.release(clip)))
        guard
            case .show(let showing, at: 10)? = deck.actions.last(where: { if case .show = $0 { true } else { false } })
        else { return _ = Issue.record("\(deck.actions)") }
        #expect(showing.frames == 25 && showing.change.kind == .fade)
    }

    @Test("Files in an interrupted transition stay open until the interrupting transition has ended")
    func interrupted() throws {
        var (second, third) = (segment("b", .frames(30)), segment("c", .take))
        (second.change, third.change) = (RunDown.Change(.fade, .seconds(2)), RunDown.Change(.fade, .seconds(2)))
        var deck = try deck([file("intro", .frames(10)), second, third])
        deck.run(to: 90)
        let clip = try #require(deck.clips.first)
        #expect(!deck.actions.contains(.release(clip)))
        deck.run(to: 92)
        #expect(deck.actions.contains(.release(clip)))
    }

    @Test("Files are closed even if each segment is shorter than its transition")
    func alwaysInterrupted() throws {
        let segments = (0..<3).map { index in
            var segment = file("\(index)", .frames(10))
            segment.change = RunDown.Change(.fade, .seconds(1))
            return segment
        }
        var deck = try deck(segments, loops: true)
        deck.run(to: 1000)
        let released = deck.clips.count { deck.actions.contains(.release($0)) }
        #expect(deck.clips.count > 99 && deck.clips.count - released <= 11, "\(released) of \(deck.clips.count)")
    }

    // MARK: The operator

    @Test("Resuming after an operator's cut continues with the rest of the segment")
    func resume() throws {
        var deck = try deck([seconds("a", 4), seconds("b", 1)])
        deck.run(to: 30)
        deck.player.cut(at: 30, fade: 0)
        deck.run(to: 200)
        #expect(deck.shown == ["0 a"] && deck.player.state == .held)
        try deck.player.resume(at: 200)
        deck.run(to: 400)
        #expect(deck.shown == ["0 a", "200 a", "270 b"])
    }

    @Test("The command 'follow' after an operator's cut continues where the run-down would be without the cut")
    func follow() throws {
        var deck = try deck([seconds("a", 4), seconds("b", 4), seconds("c", 1)])
        deck.run(to: 30)
        deck.player.cut(at: 32, fade: 0)
        deck.run(to: 150)
        #expect(deck.player.status(at: 150).follows == 1)
        try deck.player.follow(at: 150)
        deck.run(to: 400)
        #expect(deck.shown == ["0 a", "150 b", "200 c"])
    }

    @Test("After an operator's cut, 'resume' continues a file at the cut, and 'follow' as if there had been no cut")
    func cutFiles() throws {
        for resumes in [true, false] {
            var deck = try deck([file("intro", .time(.seconds(4)), start: .seconds(10)), seconds("b", 1)])
            deck.run(to: 25)
            deck.player.cut(at: 25, fade: 10)
            deck.run(to: 50)
            let again = try #require(deck.clips.last)
            #expect(deck.actions.contains(.prepare(again, RunDown.Clip("intro", start: .seconds(11)))))
            if resumes { try deck.player.resume(at: 50) } else { try deck.player.follow(at: 50) }
            deck.run(to: 200)
            #expect(deck.shown == ["0 intro", "50 intro", resumes ? "125 b" : "100 b"])
            #expect(deck.actions.contains(.start(again, at: 50)) == resumes)
            for clip in deck.clips { #expect(deck.actions.contains(.release(clip))) }
        }
    }

    @Test(
        "If an operator cuts away from a segment, or holds it again, while its file reopens, its position is kept",
        arguments: [true, false])
    func resumedTwice(cuts: Bool) throws {
        var deck = try deck([file("intro", .time(.seconds(4)), start: .seconds(10)), seconds("b", 1)])
        deck.run(to: 25)
        deck.isPrompt = false
        deck.player.cut(at: 25, fade: 0)
        deck.run(to: 50)
        try deck.player.resume(at: 50)
        deck.run(to: 60)
        if cuts { deck.player.cut(at: 60, fade: 0) } else { try deck.player.hold(at: 60) }
        deck.run(to: 70)
        #expect(deck.player.status(at: 70).isCutAway == true && deck.player.currentSegment == 0)
        for clip in deck.clips { deck.player.ready(clip) }
        deck.run(to: 100)
        try deck.player.resume(at: 100)
        deck.run(to: 300)
        #expect(deck.shown == ["0 intro", "100 intro", "175 b"])
    }

    @Test("A hold keeps the view on air, and after the resume the segment continues without a cut")
    func hold() throws {
        var deck = try deck([seconds("a", 2), seconds("b", 2), seconds("c", 1)])
        deck.run(to: 40)
        try deck.player.hold(at: 40)
        deck.run(to: 80)
        #expect(deck.shown == ["0 a"])
        try deck.player.resume(at: 80)
        deck.run(to: 100)
        #expect(deck.shown == ["0 a", "90 b"])
        try deck.player.hold(at: 100)
        deck.run(to: 110)
        try deck.player.follow(at: 110)
        deck.run(to: 300)
        #expect(deck.shown == ["0 a", "90 b", "140 c"])
        #expect(throws: RunDownPlayer.Refusal.notHeld) { try deck.player.resume(at: 300) }
    }

    @Test("The command 'next' during a hold continues with the segment after the held one")
    func nextWhileHeld() throws {
        var deck = try deck([seconds("a", 1), file("b", .frames(20)), seconds("c", 1), seconds("d", 1)])
        deck.run(to: 10)
        deck.player.cut(at: 10, fade: 0)
        deck.run(to: 60)
        #expect(deck.player.status(at: 60).follows == 2)
        try deck.player.next()
        deck.run(to: 120)
        // The file was released, and needs a frame to be ready again.
        #expect(deck.shown == ["0 a", "61 b", "81 c", "106 d"])
    }

    @Test("A cut scheduled for the frame at which a segment begins takes place, and the segment is not shown")
    func cutAtBoundary() throws {
        var deck = try deck([seconds("a", 1), seconds("b", 1)])
        deck.player.cut(at: 25, fade: 0)
        deck.run(to: 40)
        #expect(deck.shown == ["0 a"])
        try deck.player.resume(at: 40)
        deck.run(to: 70)
        #expect(deck.shown == ["0 a", "40 b"])
    }

    @Test("Under random commands a run-down opens only the files that it needs, and its views are in order of time")
    func anyOrder() throws {
        for seed in UInt64(0)..<200 {
            let order = RunDownOrder(count: 7, seed: seed)
            var deck = try deck(
                [file("a", .frames(9)), seconds("b", 1), file("c", .end), segment("d", .take)], loops: true)
            deck.lengths = ["c": 13]
            for step in Int64(0)..<60 {
                deck.run(to: deck.frame + 1 + step % 6)
                switch order.view(step) {
                case 0: try? deck.player.next()
                case 1: try? deck.player.hold(at: deck.frame)
                case 2: try? deck.player.resume(at: deck.frame)
                case 3: try? deck.player.follow(at: deck.frame)
                case 4: deck.player.cut(at: deck.frame, fade: step % 9)
                case 5: if step % 5 == 0 { deck.player.stop() }
                default: if deck.player.state == .idle { try deck.player.start(at: Int(step % 4)) }
                }
                #expect(deck.player.openClips.count <= 6)
            }
            let frames = deck.shown.compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
            #expect(zip(frames, frames.dropFirst()).allSatisfy { $0 < $1 }, "\(seed): \(deck.shown)")
            deck.player.stop()
            deck.player.cut(at: deck.frame, fade: 0)
            deck.run(to: deck.frame + 20)
            #expect(deck.player.openClips.isEmpty)
        }
    }

    @Test("A segment that starts held lasts its full length after the resume")
    func beginsHeld() throws {
        for isCutAway in [false, true] {
            var deck = try deck([seconds("a", 1), seconds("b", 1)])
            try deck.player.start(held: 1, isCutAway: isCutAway, at: 0)
            deck.run(to: 60)
            #expect(deck.shown == (isCutAway ? [] : ["0 b"]) && deck.player.state == .held)
            #expect(deck.player.hold.isCutAway == isCutAway && deck.player.currentSegment == 1)
            try deck.player.resume(at: deck.frame)
            deck.run(to: 85)
            #expect(deck.player.state == .running)
            deck.run(to: 86)
            #expect(deck.player.state == .over && deck.shown == [isCutAway ? "60 b" : "0 b"])
        }
    }

    @Test("A hold of a segment that has not begun applies to that segment only")
    func heldOnce() throws {
        var deck = try deck([seconds("a", 1), seconds("b", 1)])
        try deck.player.start(held: 0, isCutAway: false, at: 0)
        #expect(deck.player.hold.isHeld && deck.player.state == .running)
        try deck.player.hold(at: 0)
        deck.run(to: 10)
        #expect(deck.shown.isEmpty && deck.player.state == .held)
        try deck.player.resume(at: deck.frame)
        deck.run(to: 30)
        #expect(deck.shown == ["10 a", "25 b"] && deck.player.state == .running && !deck.player.hold.isHeld)
        try deck.player.start(held: 0, isCutAway: false, at: deck.frame)
        try deck.player.resume(at: deck.frame)
        deck.run(to: 60)
        #expect(deck.shown.suffix(2) == ["30 a", "55 b"] && deck.player.state == .running)
    }

    // MARK: Status

    @Test("A run-down's status has the current segment, the remaining time and the next segment with its frame")
    func status() throws {
        var deck = try deck([seconds("a", 2), file("b", .end), segment("c", .take)])
        deck.run(to: 26)
        var status = deck.player.status(at: 25)
        #expect(
            status.current?.name == "a" && status.current?.elapsedSeconds == 1 && status.current?.remainingSeconds == 1)
        #expect(status.next == .init(index: 1, name: "b", frame: 50, isReady: true))
        #expect(status.remainingSeconds == nil && status.segments?.map(\.until) == [nil, "end", "take"])
        deck.player.ready(deck.clips[0], frames: 100)
        deck.run(to: 51)
        status = deck.player.status(at: 51)
        #expect(status.current?.remainingSeconds == 99.0 / 25 && status.next?.frame == nil)
        #expect(status.state == .running && status.rounds == 0 && status.segments?.count == 3)
    }

    @Test("A run-down's remaining time includes the lengths of later files, counted from their start positions")
    func lengths() throws {
        var deck = try deck([
            seconds("a", 2), file("b", .end, start: .seconds(3)), segment("c", .frames(50)), file("b", .end),
        ])
        deck.run(to: 26)
        #expect(deck.player.status(at: 25).remainingSeconds == nil)
        let status = deck.player.status(at: 25, lengths: ["b": .seconds(10)])
        // The sum of 1 s of the first segment, 7 s of the 10 s file, 50 frames (2 s), and the complete 10 s file.
        #expect(status.remainingSeconds == 20)
        #expect(status.segments?.map(\.seconds) == [2, 7, 2, 10])
        #expect(status.segments?.map(\.until) == [nil, "end", nil, "end"])
    }

    @Test("An invalid segment is refused with the key at fault and the possible names")
    func faults() {
        let sources = ["cam1", "cam2"]
        #expect(segment("cam1", .take).fault(sources: sources) == nil)
        #expect(segment("cam3", .take).fault(sources: sources)?.text.contains("cam1, cam2") == true)
        #expect(segment("cam1", .end).fault(sources: sources)?.key == "duration")
        #expect(segment("cam1", .time(.milliseconds(50))).fault(sources: sources)?.key == "duration")
        var long = seconds("cam1", 2)
        long.change = RunDown.Change(.fade, .seconds(3))
        #expect(long.fault(sources: sources)?.key == "transition")
        var several = seconds("cam1", 20)
        several.views = [view("cam1"), view("cam2")]
        #expect(several.fault(sources: sources)?.key == "every")
        #expect(file("x", .end).fault(sources: sources) == nil)
        var hidden = file("x", .end)
        hidden.views = [view("cam1")]
        #expect(hidden.fault(sources: sources)?.key == "scene")
    }
}
