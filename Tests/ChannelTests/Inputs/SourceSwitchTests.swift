// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Ingest
import Logging
import Media
import Status
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("The switch between a source's input and its backups")
struct SourceSwitchTests {
    /// Inputs whose state the test sets. They record the calls of the switch, and report calls in a wrong order.
    private final class Inputs: SwitchedSources {
        enum Call: Equatable {
            case open(Int), close(Int), air(SourceSelector.OnAir)
        }

        private struct State {
            var living: Set<Int> = []
            /// How often each open input failed.
            var failures: [Int: Int] = [:]
            var onAir: SourceSelector.OnAir?
            var calls: [Call] = []
            var faults: [String] = []
            var reports = 0
        }

        private let state = Mutex(State())
        var calls: [Call] { state.withLock { $0.calls } }
        var faults: [String] { state.withLock { $0.faults } }
        /// How often the switch has asked for a report.
        var reports: Int { state.withLock { $0.reports } }
        var open: [Int] { state.withLock { $0.failures.keys.sorted() } }

        /// Lets exactly these inputs deliver; all others fail.
        func live(_ living: Set<Int>) {
            state.withLock { state in
                for input in state.living.subtracting(living) { state.failures[input]? += 1 }
                state.living = living
            }
        }

        func report(of input: Int, at now: MonotonicInstant) -> InputReport {
            state.withLock { state in
                state.reports += 1
                guard let failures = state.failures[input] else { return InputReport() }
                let isRunning = state.living.contains(input)
                return InputReport(isRunning: isRunning, failures: failures, newest: isRunning ? now : nil)
            }
        }

        func open(_ input: Int, _ decoding: SourceSelector.Decoding) {
            state.withLock { state in
                if state.failures[input] != nil { state.faults.append("\(input) was open already") }
                state.failures[input] = state.living.contains(input) ? 0 : 1
                state.calls.append(.open(input))
            }
        }

        func decode(_ input: Int, _ decoding: SourceSelector.Decoding) {
            state.withLock { state in
                if state.failures[input] == nil { state.faults.append("\(input) is decoded, and is not open") }
            }
        }

        func close(_ input: Int) {
            state.withLock { state in
                if state.failures.removeValue(forKey: input) == nil { state.faults.append("\(input) was not open") }
                if state.onAir == .source(input) { state.faults.append("\(input) is closed on air") }
                state.calls.append(.close(input))
            }
        }

        func air(_ next: SourceSelector.OnAir) {
            state.withLock { state in
                if case .source(let input) = next, state.failures[input] == nil {
                    state.faults.append("\(input) is on air, and is not open")
                }
                if state.onAir == next { state.faults.append("\(next) was on air already") }
                state.onAir = next
                state.calls.append(.air(next))
            }
        }

        func refresh(_ onAir: SourceSelector.OnAir) {
            state.withLock { state in
                if state.onAir != onAir { state.faults.append("\(onAir) is refreshed, and is not on air") }
            }
        }
    }

    private let clock = SteppedClock()
    private let log = CollectedLog(from: .info)

    private func make(_ count: Int, _ options: SourceSelector.Options) -> SourceSwitch {
        SourceSwitch(
            (0..<count).map { "in\($0)" }, options: options, channel: "news",
            recordings: ChannelRecordings(hub: PacketStream(), group: DispatchGroup()), clock: clock, logger: log.logger
        )
    }

    /// Advances the clock until `condition` holds: by 200 ms each time the switch has checked its inputs.
    private func pass(_ inputs: Inputs, until what: String, _ condition: () -> Bool) throws {
        var reports = inputs.reports
        try eventually(what) {
            if inputs.reports > reports {
                reports = inputs.reports
                clock.set(clock.now + .milliseconds(200))
            }
            return condition()
        }
    }

    @Test("A lost input is replaced by the next one, which is opened then and closed when the first is healthy again")
    func replaced() throws {
        let inputs = Inputs()
        let choice = make(2, .init(returnAfter: .seconds(1), hasSlate: false))
        defer { choice.stop() }
        inputs.live([0, 1])
        choice.begin(inputs)
        #expect(choice.status.open == ["in0"])
        try pass(inputs, until: "the first input is on air") { choice.status.onAir == "in0" }
        #expect(inputs.calls == [.open(0), .air(.source(0))])
        inputs.live([1])
        try pass(inputs, until: "the second input is on air") { choice.status.onAir == "in1" }
        #expect(inputs.calls.dropFirst(2) == [.open(1), .air(.source(1))] && choice.status.reason == "disconnected")
        inputs.live([0, 1])
        try pass(inputs, until: "the second input is closed") { !log.lines(containing: "input is closed").isEmpty }
        #expect(inputs.calls.dropFirst(4) == [.air(.source(0)), .close(1)])
        #expect(choice.status.switches == 2 && choice.status.number == 0 && choice.status.reason == "recovered")
        let text = "another input is on air"
        #expect(log.lines(containing: text, at: .info) == ["\(text) before=nothing input=in0 reason=start"])
        #expect(log.lines(containing: text, at: .warning) == ["\(text) before=in0 input=in1 reason=disconnected"])
        #expect(log.lines(containing: text, at: .notice) == ["\(text) before=in1 input=in0 reason=recovered"])
        #expect(log.lines(containing: "input is closed") == ["input is closed input=in1"])
        #expect(inputs.faults == [])
    }

    @Test("After random losses of up to 5 inputs the first that delivers is on air, and no closed input is used")
    func walk() throws {
        var random = SeededRandom()
        for _ in 0..<8 {
            let count = Int.random(in: 1...5, using: &random)
            let standby = random.pick([SourceSelector.Standby.cold, .hot, .keyframes])
            let inputs = Inputs()
            let choice = make(
                count, .init(returnAfter: .milliseconds(random.pick([0, 300, 1000])), standby: standby, hasSlate: true))
            choice.begin(inputs)
            #expect(inputs.open == (standby == .cold ? [0] : Array(0..<count)))
            for _ in 0..<6 {
                let living = Set((0..<count).filter { _ in Bool.random(using: &random) })
                inputs.live(living)
                let expected = living.min().map { "in\($0)" } ?? "slate"
                try pass(inputs, until: "\(expected) of \(living), \(standby)") { choice.status.onAir == expected }
                #expect(choice.status.number == living.min())
                let onAir = living.min().map { SourceSelector.OnAir.source($0) } ?? .slate
                #expect(choice.onAir == onAir)
            }
            choice.stop()
            // When this work runs, the last check of the inputs is over.
            let isOver = Atomic(false)
            choice.afterwards { isOver.store(true, ordering: .relaxed) }
            try eventually("the switch is stopped") { isOver.load(ordering: .relaxed) }
            #expect(inputs.faults == [] && choice.status.open == inputs.open.map { "in\($0)" })
            let airs = inputs.calls.count { if case .air = $0 { true } else { false } }
            #expect(choice.status.switches == Int64(airs - 1))
        }
    }

    @Test("After a source switch was stopped, only work that was scheduled to follow its end is run")
    func stopped() throws {
        let (inputs, choice) = (Inputs(), make(2, .init()))
        choice.begin(inputs)
        let counts = Mutex((before: 0, after: 0))
        choice.perform { counts.withLock { $0.before += 1 } }
        try eventually("the work is done") { counts.withLock { $0.before } == 1 }
        choice.stop()
        inputs.live([0])
        choice.perform { counts.withLock { $0.before += 1 } }
        choice.afterwards { counts.withLock { $0.after += 1 } }
        try eventually("the last work is done") { counts.withLock { $0.after } == 1 }
        let before = counts.withLock { $0.before }
        #expect(before == 1 && choice.onAir == nil && inputs.calls == [.open(0)])
    }

    @Test("A source switch holds only a weak reference to its inputs")
    func released() throws {
        let choice = make(1, .init())
        defer { choice.stop() }
        weak var known: Inputs?
        do {
            let inputs = Inputs()
            known = inputs
            choice.begin(inputs)
        }
        try eventually("the inputs are released") { known == nil }
    }

    // MARK: Answers

    @Test("A program's first input determines the format; a later input does if the first has failed or time is up")
    func answers() throws {
        let choice = make(2, .init())
        let waiting = StandbySource(name: "waiting", logger: quiet) { _, _ in throw NotAsked() }
        let failing = StandbySource(name: "failing", logger: quiet) { _, _ in
            throw IngestError.noMedia(input: "failing")
        }
        defer { failing.stop() }
        failing.start()
        try eventually("opening fails") { failing.report.failures > 0 }
        for (first, isOverdue, known, expected) in [
            (waiting, false, ["a", "b"], "a"), (waiting, false, [nil, "b"], nil), (waiting, true, [nil, "b"], "b"),
            (failing, false, [nil, "b"], "b"), (failing, true, [nil, nil], nil), (failing, false, ["a", nil], "a"),
        ] as [(StandbySource, Bool, [String?], String?)] {
            #expect(choice.answer(of: [first, waiting], isOverdue: isOverdue, known: known) == expected)
        }
        // The error is that of the first input that has one.
        let failure = choice.noAnswer(of: [waiting, failing])
        #expect(failure.attempt == .openInput("in1") && failure.error as? IngestError == .noMedia(input: "failing"))
        #expect(choice.noAnswer(of: [waiting, waiting]).description == "The input in0 does not answer.")
    }

    private struct NotAsked: Error {}

    @Test("The wait for an input ends at its deadline, or at once if all inputs failed or the switch is stopped")
    func hopeless() throws {
        let failing = StandbySource(name: "failing", logger: quiet) { _, _ in
            throw IngestError.noMedia(input: "failing")
        }
        defer { failing.stop() }
        let inputs = Inputs()
        let manual = ManualClock()
        let choice = SourceSwitch(
            ["in0"], options: .init(), channel: "news",
            recordings: ChannelRecordings(hub: PacketStream(), group: DispatchGroup()), clock: manual, logger: quiet)
        let late = choice.answer(of: [failing], within: .seconds(1)) { [String?.none] }
        #expect(late == nil && manual.now >= 1_000_000_000)
        choice.begin(inputs)
        failing.start()
        try eventually("opening fails") { failing.report.failures > 0 }
        let before = manual.now
        let failed = choice.answer(of: [failing], within: .seconds(1000)) { [String?.none] }
        let known = choice.answer(of: [failing], within: .seconds(1000)) { [String?.some("a")] }
        #expect(failed == nil && known == "a" && manual.now == before)
        choice.stop()
        let waiting = StandbySource(name: "waiting", logger: quiet) { _, _ in throw NotAsked() }
        let stopped = choice.answer(of: [waiting], within: .seconds(1000)) { [String?.none] }
        #expect(stopped == nil && manual.now == before)
    }
}
