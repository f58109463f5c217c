// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Catalogue

/// Checks which frames the clips contain after commands that begin and end them.
@Suite struct ClipMachineTests {
    private func program(_ frames: Range<Int64>, run: String = "a") -> ClipMachine.Program {
        ClipMachine.Program(run: run, frames: frames, rate: FrameRate(25))
    }

    @Test func `A clip has the frames from the press of its button to the release`() throws {
        var machine = ClipMachine()
        let begun = try machine.start(.init(id: "x", at: 100), in: program(0..<110))
        #expect(begun == .init(id: "x", run: "a", first: 100, end: nil))
        let ended = try machine.stop("x", at: 180, in: program(0..<190))
        #expect(ended?.end == 180 && ended?.isComplete == false)
        #expect(machine.complete(program(0..<191), recordedUpTo: 179) == [])
        #expect(machine.complete(program(0..<200), recordedUpTo: 180) == ["x"])
        #expect(machine.clip("x")?.isComplete == true && machine.openRuns.isEmpty)
    }

    @Test func `A clip command without a frame number applies to the newest frame`() throws {
        var machine = ClipMachine()
        #expect(try machine.start(.init(id: "x"), in: program(0..<110)).first == 109)
        #expect(try machine.stop("x", at: nil, in: program(0..<150))?.end == 149)
    }

    @Test(arguments: [0, 99, 100, 101, 103] as [Int64])
    func `A clip has at least three frames, even if its button is released at once`(release: Int64) throws {
        var machine = ClipMachine()
        _ = try machine.start(.init(id: "x", at: 100), in: program(0..<101))
        #expect(try machine.stop("x", at: release, in: program(0..<104))?.end == 103)
    }

    @Test func `A repeated clip command changes nothing`() throws {
        var machine = ClipMachine()
        let first = try machine.start(.init(id: "x", at: 100), in: program(0..<110))
        #expect(try machine.start(.init(id: "x", at: 105), in: program(0..<120)) == first)
        let ended = try machine.stop("x", at: 115, in: program(0..<120))
        #expect(try machine.stop("x", at: 140, in: program(0..<150)) == ended)
        #expect(try machine.start(.init(id: "x", at: 160), in: program(0..<170)) == ended)
        #expect(machine.clips.count == 1)
    }

    @Test func `A button release that arrives before its press ends the clip at the release's frame`() throws {
        var machine = ClipMachine()
        #expect(try machine.stop("x", at: 120, in: program(0..<121)) == nil)
        #expect(try machine.stop("x", at: 130, in: program(0..<131)) == nil)
        #expect(try machine.start(.init(id: "x", at: 100), in: program(0..<125)).end == 120)
        #expect(!machine.isWaiting)
    }

    @Test func `A button release whose press never arrives is discarded`() throws {
        var machine = ClipMachine()
        for number in 0..<500 { #expect(try machine.stop("\(number)", at: 10, in: program(0..<20)) == nil) }
        machine.complete(program(0..<270), recordedUpTo: 260)
        #expect(machine.isWaiting)
        machine.complete(program(0..<271), recordedUpTo: 260)
        #expect(!machine.isWaiting)
        _ = try machine.stop("x", at: 275, in: program(0..<276))
        machine.complete(program(0..<10, run: "b"), recordedUpTo: 0)
        #expect(machine.isWaiting, "two runs may be recorded at the same time")
        #expect(machine.close(run: "b", at: 10) == [] && machine.isWaiting)
        #expect(machine.close(run: "a", at: 280) == [] && !machine.isWaiting && machine.openRuns.isEmpty)
    }

    @Test func `A button release ends the clip of its press, even if another run is recorded when it arrives`() throws {
        var machine = ClipMachine()
        #expect(try machine.stop("x", at: 120, in: program(0..<121)) == nil)
        machine.complete(program(90..<122, run: "b"), recordedUpTo: 100)
        let clip = try machine.start(.init(id: "x", at: 100), in: program(90..<125, run: "b"))
        #expect(clip.run == "b" && clip.end == 120 && !machine.isWaiting)
    }

    @Test
    func `A button release that arrives after the end of the recording ends the clip at the release's frame`() throws {
        var machine = ClipMachine()
        for id in ["x", "early", "y", "z"] { _ = try machine.start(.init(id: id, at: 900), in: program(0..<901)) }
        // At this time the file is being closed, and nothing is recorded any more.
        #expect(machine.release("early", at: 950, FrameRate(25))?.end == 950)
        #expect(machine.close(run: "a", at: 970) == ["x", "early", "y", "z"])
        #expect(machine.release("early", at: 940, FrameRate(25))?.end == 950)
        #expect(machine.release("x", at: 950, FrameRate(25))?.end == 950)
        #expect(machine.release("x", at: 910, FrameRate(25))?.end == 950, "the same again changes nothing")
        #expect(machine.release("y", at: 990, FrameRate(25))?.end == 970)
        #expect(machine.release("z", at: 5, FrameRate(25))?.end == 970, "another program's time")
        #expect(machine.release("none", at: 950, FrameRate(25)) == nil)
        #expect(machine.openRuns.isEmpty)
    }

    @Test func `If the disk accepts no more data, an ended clip has the frames recorded so far`() throws {
        var machine = ClipMachine()
        for (id, at) in [("runs", 100), ("ended", 110), ("later", 140)] as [(String, Int64)] {
            _ = try machine.start(.init(id: id, at: at), in: program(0..<141))
        }
        _ = try machine.stop("ended", at: 150, in: program(0..<151))
        _ = try machine.stop("later", at: 150, in: program(0..<151))
        #expect(machine.complete(program(0..<160), recordedUpTo: 130) == [])
        #expect(machine.complete(program(0..<160), recordedUpTo: 130, isSuspended: true) == ["ended", "later"])
        #expect(machine.clips.map(\.end) == [nil, 130, 140] && machine.clips.map(\.isComplete) == [false, true, true])
    }

    @Test func `A clip includes the requested frames before its press, as far as they were recorded`() throws {
        var machine = ClipMachine()
        let whole = try machine.start(.init(id: "x", at: 300, before: 250), in: program(10..<310))
        #expect(whole.first == 50 && whole.lacking == 0)
        let short = try machine.start(.init(id: "y", at: 300, before: 1500), in: program(10..<310))
        #expect(short.first == 10 && short.lacking == 1210)
    }

    @Test func `An impossible clip command is refused, and changes nothing`() throws {
        var machine = ClipMachine()
        #expect(throws: ClipMachine.Refusal.notRecorded) {
            try machine.start(.init(id: "x", at: 9, before: 20), in: program(10..<310))
        }
        #expect(throws: ClipMachine.Refusal.ahead) { try machine.start(.init(id: "x", at: 360), in: program(10..<310)) }
        #expect(throws: ClipMachine.Refusal.ahead) { try machine.stop("x", at: 360, in: program(10..<310)) }
        #expect(machine.clips.isEmpty && !machine.isWaiting)
        for number in 0..<ClipMachine.mostRunning {
            _ = try machine.start(.init(id: "\(number)", at: 20), in: program(0..<30))
        }
        #expect(throws: ClipMachine.Refusal.tooManyRunning) {
            try machine.start(.init(id: "x", at: 20), in: program(0..<30))
        }
        _ = try machine.stop("7", at: 25, in: program(0..<30))
        #expect(try machine.start(.init(id: "x", at: 20), in: program(0..<30)).first == 20)
    }

    @Test func `A channel's number of clips is limited`() throws {
        let kept = (0..<ClipMachine.mostClips).map {
            ClipMachine.Clip(id: "\($0)", run: "a", first: 0, end: 5, isComplete: true)
        }
        var machine = ClipMachine()
        machine.add(kept)
        #expect(throws: ClipMachine.Refusal.tooManyClips) {
            try machine.start(.init(id: "x", at: 20), in: program(0..<30))
        }
        #expect(machine.remove("3")?.id == "3" && machine.remove("3") == nil)
        #expect(try machine.start(.init(id: "x", at: 20), in: program(0..<30)).first == 20)
    }

    @Test func `When nothing is recorded any more, a release at a frame before the clip's press changes nothing`()
        throws
    {
        var machine = ClipMachine()
        _ = try machine.start(.init(id: "x", at: 100), in: program(0..<101))
        #expect(machine.release("x", at: 20, FrameRate(25))?.end == nil)
        #expect(machine.release("x", at: 150, FrameRate(25))?.end == 150)
    }

    @Test func `A clip that is never released ends after an hour`() throws {
        var machine = ClipMachine()
        _ = try machine.start(.init(id: "x", at: 100), in: program(0..<101))
        #expect(machine.complete(program(0..<90_099), recordedUpTo: 90_000) == [])
        #expect(machine.complete(program(0..<90_100), recordedUpTo: 90_000) == ["x"])
        #expect(machine.clip("x")?.end == 90_100)
        #expect(try machine.stop("x", at: 90_200, in: program(0..<90_201))?.end == 90_100)
    }

    @Test
    func `A recording run is still needed while it has an unfinished clip or a release without a press`() throws {
        var machine = ClipMachine()
        #expect(!machine.needs("a", isRecorded: true))
        #expect(try machine.stop("x", at: 120, in: program(0..<121)) == nil)
        #expect(machine.needs("a", isRecorded: false) && machine.openRuns == ["a"])
        _ = try machine.start(.init(id: "x", at: 100), in: program(0..<125))
        // If the disk accepts no more data, the clip needs no more frames, because none will be written.
        #expect(machine.needs("a", isRecorded: true) && !machine.needs("a", isRecorded: false))
        _ = try machine.start(.init(id: "y", at: 100), in: program(0..<125))
        #expect(machine.needs("a", isRecorded: false) && !machine.needs("b", isRecorded: true))
        _ = try machine.stop("y", at: 130, in: program(0..<131))
        machine.complete(program(0..<200), recordedUpTo: 130)
        #expect(!machine.needs("a", isRecorded: true))
    }

    @Test func `When a recording run ends, all clips of that run are completed`() throws {
        var machine = ClipMachine()
        for (id, at) in [("runs", 100), ("ended", 110), ("later", 150)] as [(String, Int64)] {
            _ = try machine.start(.init(id: id, at: at), in: program(0..<151))
        }
        _ = try machine.stop("ended", at: 120, in: program(0..<151))
        _ = try machine.start(.init(id: "other", at: 3), in: program(0..<9, run: "b"))
        #expect(machine.close(run: "a", at: 130) == ["runs", "ended", "later"])
        #expect(machine.clips.map(\.end) == [130, 120, 150, nil])
        #expect(machine.clips.map(\.isComplete) == [true, true, true, false])
        #expect(machine.close(run: "a", at: 200) == [])
        // A later command has no effect.
        #expect(try machine.stop("runs", at: 5, in: program(0..<9, run: "b"))?.end == 130)
    }
}

/// A thousand presses with human intervals and network delays.
@Suite struct ClipBurstTests {
    private enum Command {
        case press(Int64)
        case release(Int64)
    }

    /// Random numbers that are the same in each run of the test.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    /// Commands 20 ms to 3 s apart. Each is delayed by up to 2 s, so that about half of them arrive before the previous
    /// one took effect, and many in another order; one in ten arrives twice.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `A thousand delayed presses and releases make clips of the frames from press to release`(seed: UInt64) throws {
        var dice = Dice(state: seed)
        let rate = FrameRate(30_000, 1001)
        func frame(_ milliseconds: Int64) -> Int64 {
            TimeBase.milliseconds.rescale(milliseconds, to: rate.timeBase, rounding: .down)
        }
        var sent: [(arrival: Int64, id: String, command: Command)] = []
        var wanted: [String: Range<Int64>] = [:]
        var time: Int64 = 5000
        for number in 0..<1000 {
            let (id, press) = ("clip-\(number)", time)
            time += .random(in: 20...3000, using: &dice)
            wanted[id] = frame(press)..<max(frame(time), frame(press) + 3)
            for (moment, command) in [(press, Command.press(frame(press))), (time, .release(frame(time)))] {
                for _ in 0..<(Int.random(in: 0..<10, using: &dice) == 0 ? 2 : 1) {
                    sent.append((moment + .random(in: 0...2000, using: &dice), id, command))
                }
            }
            time += .random(in: 20...3000, using: &dice)
        }
        var machine = ClipMachine()
        for (arrival, id, command) in sent.sorted(by: { $0.arrival < $1.arrival }) {
            let program = ClipMachine.Program(run: "a", frames: 0..<frame(arrival) + 1, rate: rate)
            switch command {
            case .press(let at): _ = try machine.start(.init(id: id, at: at), in: program)
            case .release(let at): _ = try machine.stop(id, at: at, in: program)
            }
            // The recorder's data on disk is half a second behind.
            machine.complete(program, recordedUpTo: max(0, frame(arrival - 500)))
        }
        let end = frame(time + 60_000)
        machine.complete(.init(run: "a", frames: 0..<end, rate: rate), recordedUpTo: end)
        #expect(machine.clips.count == 1000 && !machine.isWaiting && machine.openRuns.isEmpty)
        for clip in machine.clips { #expect(wanted[clip.id] == clip.first..<(clip.end ?? 0), "\(clip.id)") }
    }
}
