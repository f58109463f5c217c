// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport

@testable import FanOut

/// Sends random events to a state machine, in any order, also events of attempts that ended long ago. A model carries
/// out the machine's actions and checks them.
struct MachineWalk {
    private var machine: OutputStateMachine
    private var random: SeededRandom
    /// Whether the output may listen for receivers. Only an output without a backup may.
    private let mayAwaitCallers: Bool
    private var now = MonotonicInstant.zero
    /// The attempts that have begun and not ended.
    private var attempts: Set<Int> = []
    private var begun = 0
    /// The times at which the next attempt, the next probe and the deadline of the end are due.
    private var waits: [(due: MonotonicInstant, attempt: Int)] = []
    private var probes: [(due: MonotonicInstant, number: Int)] = []
    private var deadline: MonotonicInstant?
    /// The candidate that takes over at the next keyframe.
    private var next: Int?
    private var hasEnded = false
    private var fault: String?

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let hasBackup = Bool.random(using: &random)
        machine = OutputStateMachine(
            policy: RetryPolicy(
                attemptLimit: random.pick([nil, nil, 3]), hasBackup: hasBackup, backupAfter: random.pick([1, 3])))
        (self.random, mayAwaitCallers) = (random, !hasBackup)
    }

    /// Sends up to `steps` events. Returns the first fault, with the number of events before it. When the output has
    /// ended, a new state machine continues the walk.
    mutating func run(steps: Int) -> String? {
        for step in 0..<steps {
            if hasEnded { self = MachineWalk(seed: random.next()) }
            now += .nanoseconds(Int64.random(in: 0...2_000_000_000, using: &random))
            let event = event()
            perform(machine.handle(event, jitter: Double.random(in: 0..<1, using: &random)))
            if case .handedOver(let attempt, _) = event { tookOver(attempt) }
            check()
            if let fault { return "step \(step): \(fault) after \(event) in \(machine.state)" }
        }
        return nil
    }
}

// MARK: Events

extension MachineWalk {
    private mutating func event() -> OutputStateMachine.Event {
        if let event = dueEvent() { return event }
        // Mostly the number of an attempt that exists, and sometimes of one that has ended or never existed.
        let attempt = attempts.sorted().randomElement(using: &random) ?? 0
        let isKnown = Int.random(in: 0..<5, using: &random) > 0
        let number = isKnown ? attempt : Int.random(in: 0...begun + 1, using: &random)
        switch Int.random(in: 0..<32, using: &random) {
        case 0, 1: return .start
        case 2...6: return .accepted(attempt: number, at: now)
        case 7, 8: return mayAwaitCallers && machine.candidate == nil ? .awaitsCallers(attempt: number) : .retryNow
        case 9...14: return .failed(attempt: number, failure(), at: now)
        case 15, 16: return .reconnectRequested(attempt: number, at: now)
        case 17...20:
            if let next { return .handedOver(attempt: next, at: now) }
            return .retryDue(attempt: number)
        case 21: return .primaryDue(probe: Int.random(in: 0...machine.probes, using: &random))
        case 22, 23: return .drained(attempt: number)
        case 24, 25: return .retryNow
        case 26: return .pause(at: now)
        case 27, 28: return .resume
        case 29: return Int.random(in: 0..<8, using: &random) == 0 ? .finish(deadline: now + .seconds(3)) : .resume
        case 30: return Int.random(in: 0..<8, using: &random) == 0 ? .stop : .start
        default:
            let times = waits.map { $0.due } + probes.map { $0.due } + [deadline].compactMap(\.self)
            now = max(now, times.min() ?? now)
            return dueEvent() ?? .start
        }
    }

    private mutating func dueEvent() -> OutputStateMachine.Event? {
        if let index = waits.firstIndex(where: { $0.due <= now }) {
            return .retryDue(attempt: waits.remove(at: index).attempt)
        }
        if let index = probes.firstIndex(where: { $0.due <= now }) {
            return .primaryDue(probe: probes.remove(at: index).number)
        }
        guard let due = deadline, due <= now else { return nil }
        deadline = nil
        return .deadlinePassed
    }

    private mutating func failure() -> OutputFailure {
        let kind = random.pick([OutputFailure.Kind.unreachable, .lost, .rejected, .refused])
        return OutputFailure(kind, step: "step", reason: "reason")
    }
}

// MARK: Actions

extension MachineWalk {
    private mutating func perform(_ actions: [OutputStateMachine.Action]) {
        for action in actions {
            if hasEnded { note("acts after its end: \(action)") }
            perform(action)
        }
    }

    private mutating func perform(_ action: OutputStateMachine.Action) {
        switch action {
        case .begin(let attempt, _):
            if attempt != begun + 1 { note("attempt \(attempt) follows \(begun)") }
            begun = attempt
            attempts.insert(attempt)
        case .goLive(let attempt), .promote(let attempt), .drain(let attempt, _):
            if !attempts.contains(attempt) { note("\(action) of an attempt that does not exist") }
            if case .promote = action { next = nil }
        case .handOver(let attempt):
            if attempt != machine.candidate?.attempt { note("attempt \(attempt) takes over and is no candidate") }
            next = attempt
        case .retire(let attempt), .abandon(let attempt): end(attempt)
        case .wait(let until, let attempt): waits.append((until, attempt))
        case .probe(let wait, let number): probes.append((now + wait, number))
        case .watch(let due): deadline = due
        case .ended: hasEnded = true
        case .hold, .close, .open: break
        }
    }

    private mutating func end(_ attempt: Int) {
        if attempts.remove(attempt) == nil { note("attempt \(attempt) ends and does not exist") }
        if next == attempt { next = nil }
    }

    /// Records that the candidate gets the new packets, and that the attempt that was on air is retired.
    private mutating func tookOver(_ attempt: Int) {
        guard machine.current?.attempt == attempt, machine.candidate == nil else { return }
        next = nil
        attempts = [attempt]
    }

    private mutating func note(_ text: String) { fault = fault ?? text }
}

// MARK: Checks

extension MachineWalk {
    private mutating func check() {
        let known = [machine.current, machine.candidate].compactMap { $0?.attempt }
        if Set(known) != attempts { note("knows the attempts \(known), and there are \(attempts.sorted())") }
        if machine.connections > machine.attempts { note("\(machine.connections) of \(machine.attempts) connected") }
        switch machine.state {
        case .connecting(let attempt):
            if machine.current?.attempt != attempt { note("connects without its attempt") }
        case .live:
            if machine.current?.liveSince == nil { note("is live and was not accepted") }
        case .waiting:
            if machine.current == nil { note("waits for a caller without an attempt") }
        case .draining:
            if machine.current == nil || deadline == nil && !hasEnded { note("drains without an end") }
        case .backingOff, .refused:
            if !waits.contains(where: { $0.attempt == machine.attempts + 1 }) { note("waits without an end") }
        case .idle, .givenUp, .paused, .stopped: break
        }
        let isOffAir = [.idle, .backingOff, .refused, .givenUp, .paused, .stopped].contains(machine.state.name)
        if isOffAir, !known.isEmpty { note("is off air and has attempts") }
        if hasEnded, machine.state != .stopped { note("has ended and is not stopped") }
        if machine.current?.isAway == true, machine.state.name == .live, machine.candidate == nil {
            if !probes.contains(where: { $0.number == machine.probes }) { note("the primary is not probed") }
        }
    }
}
