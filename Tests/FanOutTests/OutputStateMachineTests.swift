// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import FanOut

@Suite("Output state machine")
struct OutputStateMachineTests {
    private let lost = OutputFailure(.lost, step: "send", reason: "connection reset")

    private func liveMachine() -> OutputStateMachine {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        _ = machine.handle(.accepted(attempt: 1, at: 0))
        return machine
    }

    @Test("An output is live only after the peer accepted the stream")
    func start() {
        var machine = OutputStateMachine()
        #expect(machine.handle(.start) == [.begin(attempt: 1, at: .primary)])
        #expect(machine.state == .connecting(attempt: 1))
        #expect(machine.handle(.accepted(attempt: 1, at: 5)) == [.goLive(attempt: 1)])
        #expect(machine.state == .live(since: 5))
        #expect(machine.handle(.start).isEmpty)
    }

    @Test("A listening output waits before its first and after its last receiver, which does not count as a reconnect")
    func waits() {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        #expect(machine.handle(.awaitsCallers(attempt: 1)).isEmpty)
        #expect(machine.state == .waiting && machine.state.name == .waiting)
        #expect(machine.handle(.retryDue(attempt: 1)).isEmpty && machine.handle(.retryNow).isEmpty)
        #expect(machine.handle(.accepted(attempt: 1, at: 5)) == [.goLive(attempt: 1)])
        #expect(machine.state == .live(since: 5))
        #expect(machine.handle(.awaitsCallers(attempt: 1)).isEmpty)
        #expect(machine.state == .waiting)
        #expect(machine.handle(.accepted(attempt: 1, at: 9)).isEmpty)
        #expect(machine.state == .live(since: 9))
        #expect((machine.connections, machine.attempts) == (1, 1) && machine.lastFailure == nil)
    }

    @Test("If a listening port fails, the output opens it again, and ignores late reports about the old port")
    func waitingFails() {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        _ = machine.handle(.awaitsCallers(attempt: 1))
        #expect(machine.handle(.failed(attempt: 1, lost, at: 0)).contains(.hold))
        #expect(machine.state.name == .backingOff)
        #expect(machine.handle(.awaitsCallers(attempt: 1)).isEmpty)
        #expect(machine.state.name == .backingOff)
        #expect(machine.handle(.retryDue(attempt: 2)) == [.begin(attempt: 2, at: .primary)])
        #expect(machine.state == .connecting(attempt: 2))
    }

    @Test("An output that waits for a receiver ends with the program, and can be paused", arguments: [false, true])
    func waitingEnds(wasLive: Bool) {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        if wasLive { _ = machine.handle(.accepted(attempt: 1, at: 0)) }
        _ = machine.handle(.awaitsCallers(attempt: 1))
        var paused = machine
        #expect(
            machine.handle(.finish(deadline: 9)) == [.drain(attempt: 1, deadline: 9), .watch(deadline: 9)])
        #expect(machine.handle(.drained(attempt: 1)) == [.abandon(attempt: 1), .ended])
        #expect(paused.handle(.pause(at: 1)) == [wasLive ? .retire(attempt: 1) : .abandon(attempt: 1), .close])
    }

    @Test("After a failure the queue is kept, and the output connects again after a wait")
    func reconnect() {
        var machine = liveMachine()
        let actions = machine.handle(.failed(attempt: 1, lost, at: .seconds(10)))
        #expect(actions == [.abandon(attempt: 1), .hold, .wait(until: .seconds(11), attempt: 2)])
        #expect(machine.state == .backingOff(until: .seconds(11), cause: lost))
        #expect(machine.handle(.retryDue(attempt: 2)) == [.begin(attempt: 2, at: .primary)])
    }

    @Test("Late events of an earlier connection attempt and of its timer are ignored")
    func lateEvents() {
        var machine = liveMachine()
        _ = machine.handle(.failed(attempt: 1, lost, at: 0))
        _ = machine.handle(.retryDue(attempt: 2))
        let before = machine.state
        #expect(machine.handle(.failed(attempt: 1, lost, at: 1)).isEmpty)
        #expect(machine.handle(.accepted(attempt: 1, at: 1)).isEmpty)
        #expect(machine.handle(.drained(attempt: 1)).isEmpty)
        #expect(machine.handle(.retryDue(attempt: 2)).isEmpty)
        #expect(machine.state == before)
    }

    @Test("At a normal end the connection on air sends the rest of the queue within its deadline")
    func drain() {
        var machine = liveMachine()
        #expect(
            machine.handle(.finish(deadline: 99)) == [.drain(attempt: 1, deadline: 99), .watch(deadline: 99)])
        #expect(machine.handle(.drained(attempt: 1)) == [.abandon(attempt: 1), .ended])
        #expect(machine.state == .stopped)
        #expect(machine.handle(.deadlinePassed).isEmpty)
    }

    @Test("If a peer does not accept the remaining packets at the end, the connection is abandoned at the deadline")
    func drainDeadline() {
        var machine = liveMachine()
        _ = machine.handle(.finish(deadline: 99))
        #expect(machine.handle(.deadlinePassed) == [.abandon(attempt: 1), .ended])
    }

    @Test("If the program ends before an output has connected, the output may still connect until the deadline")
    func finishWhileConnecting() {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        #expect(
            machine.handle(.finish(deadline: 50)) == [.drain(attempt: 1, deadline: 50), .watch(deadline: 50)])
        #expect(
            machine.handle(.accepted(attempt: 1, at: 20))
                == [.goLive(attempt: 1), .drain(attempt: 1, deadline: 50)])
        #expect(machine.handle(.drained(attempt: 1)) == [.abandon(attempt: 1), .ended])
    }

    @Test("An output that is off air ends at once when the program ends")
    func finishWhileBackingOff() {
        var machine = liveMachine()
        _ = machine.handle(.failed(attempt: 1, lost, at: 0))
        #expect(machine.handle(.finish(deadline: 50)) == [.ended])
        #expect(machine.handle(.retryDue(attempt: 2)).isEmpty)
    }

    @Test("After a refusal the output is in the state 'refused' and retries once a minute")
    func refusal() {
        var machine = liveMachine()
        let refused = OutputFailure(.refused, step: "publish", reason: "bad key")
        let actions = machine.handle(.failed(attempt: 1, refused, at: 0))
        #expect(actions.last == .wait(until: .seconds(60), attempt: 2))
        #expect(machine.state.name == .refused)
        #expect(machine.handle(.retryDue(attempt: 2)) == [.begin(attempt: 2, at: .primary)])
    }

    @Test("After half a minute on air earlier failures no longer count")
    func reset() {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        let rejected = OutputFailure(.rejected, step: "publish", reason: "no")
        for attempt in 1...6 {
            _ = machine.handle(.failed(attempt: attempt, rejected, at: 0))
            _ = machine.handle(.retryDue(attempt: attempt + 1))
        }
        _ = machine.handle(.accepted(attempt: 7, at: 0))
        let actions = machine.handle(.failed(attempt: 7, rejected, at: .seconds(30)))
        #expect(actions.last == .wait(until: .seconds(31), attempt: 8))
    }

    @Test(
        "Retry intervals grow if a server accepts and drops each connection, and restart after it was unreachable")
    func accepting() {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        var waits: [Duration] = []
        for attempt in 1...4 {
            _ = machine.handle(.accepted(attempt: attempt, at: 0))
            if case .wait(let until, _)? = machine.handle(.failed(attempt: attempt, lost, at: .seconds(1))).last {
                waits.append(until - .seconds(1))
            }
            _ = machine.handle(.retryDue(attempt: attempt + 1))
        }
        #expect(waits == [.seconds(1), .milliseconds(1500), .milliseconds(2250), .milliseconds(3375)])
        let unreachable = OutputFailure(.unreachable, step: "connect", reason: "refused")
        for attempt in 5...60 {
            _ = machine.handle(.failed(attempt: attempt, unreachable, at: 0))
            _ = machine.handle(.retryDue(attempt: attempt + 1))
        }
        let rejected = OutputFailure(.rejected, step: "publish", reason: "busy")
        #expect(machine.handle(.failed(attempt: 61, rejected, at: 0)).last == .wait(until: .seconds(1), attempt: 62))
    }

    /// Lets every attempt from number `first` on fail without an answer, for ten minutes. Returns the times of these
    /// failures, in seconds from 0 on.
    private func unansweredAttempts(_ machine: inout OutputStateMachine, from first: Int) -> [Double] {
        let away = OutputFailure(.unreachable, step: "resolve", reason: "no such name")
        var (now, attempt, times): (MonotonicInstant, Int, [Double]) = (.zero, first, [])
        while now < .seconds(600) {
            times.append(Double(now.nanoseconds) / 1e9)
            guard case .wait(let until, _)? = machine.handle(.failed(attempt: attempt, away, at: now)).last else {
                break
            }
            now = until
            attempt += 1
            _ = machine.handle(.retryDue(attempt: attempt))
        }
        return times
    }

    @Test("A host name that does not exist is looked up again at intervals that grow to 15 s")
    func neverReached() {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        let times = unansweredAttempts(&machine, from: 1)
        #expect(times.count < 50)
        #expect(times.suffix(2).reduce(0) { $1 - $0 } == 15)
    }

    @Test("After a lost connection an output retries each second for half a minute, then at intervals of up to 5 s")
    func lostPeer() {
        var machine = liveMachine()
        _ = machine.handle(.failed(attempt: 1, lost, at: .seconds(100)))
        _ = machine.handle(.retryDue(attempt: 2))
        let away = OutputFailure(.unreachable, step: "connect", reason: "refused")
        var (now, waits): (MonotonicInstant, [Int64]) = (.seconds(101), [])
        for attempt in 2...60 {
            guard case .wait(let until, _)? = machine.handle(.failed(attempt: attempt, away, at: now)).last else {
                break
            }
            waits.append((until - now).inMilliseconds)
            now = until
            _ = machine.handle(.retryDue(attempt: attempt + 1))
        }
        #expect(waits.prefix(29).allSatisfy { $0 == 1000 })
        #expect(waits.dropFirst(29).prefix(5) == [1000, 1500, 2250, 3375, 5000])
        #expect(waits.suffix(20).allSatisfy { $0 == 5000 })
    }

    @Test("A server that accepts for a moment and then crashes is retried at growing intervals")
    func crashLoop() {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        let away = OutputFailure(.unreachable, step: "connect", reason: "refused")
        var (now, attempt, waits): (MonotonicInstant, Int, [Int64]) = (.zero, 1, [])
        func fail(_ failure: OutputFailure) {
            guard case .wait(let until, _)? = machine.handle(.failed(attempt: attempt, failure, at: now)).last else {
                return
            }
            waits.append((until - now).inMilliseconds)
            now = until
            attempt += 1
            _ = machine.handle(.retryDue(attempt: attempt))
        }
        for _ in 1...10 {
            waits = []
            _ = machine.handle(.accepted(attempt: attempt, at: now))
            now += .milliseconds(100)
            fail(lost)
            for _ in 1...6 { fail(away) }
        }
        #expect(waits == [1000, 1000, 1500, 2250, 3375, 5000, 5000])
    }

    @Test("If neither the primary nor the backup answers, the retry intervals grow")
    func nobodyAnywhere() {
        var machine = OutputStateMachine(policy: RetryPolicy(hasBackup: true))
        _ = machine.handle(.start)
        #expect(unansweredAttempts(&machine, from: 1).count < 50)
    }

    @Test("If an output has already ended, a request to finish completes at once")
    func finishAfterStop() {
        var machine = liveMachine()
        _ = machine.handle(.stop)
        #expect(machine.handle(.finish(deadline: 1)) == [.ended])
    }

    @Test("A stop ends an output once, whatever its state is")
    func stop() {
        var machine = liveMachine()
        #expect(machine.handle(.stop) == [.abandon(attempt: 1), .ended])
        #expect(machine.handle(.stop).isEmpty)
        #expect(machine.handle(.failed(attempt: 1, lost, at: 0)).isEmpty)
    }
}

@Suite("Retry intervals")
struct BackoffTests {
    @Test("A server that answers and refuses is retried at growing intervals, up to a limit")
    func grows() {
        let backoff = Backoff()
        let delays = (1...10).map { backoff.delay(afterFailure: $0, kind: .rejected, jitter: 0).inSeconds }
        #expect(delays[0] == 1)
        #expect(delays[1] == 1.5)
        #expect(delays[2] == 2.25)
        #expect(delays.suffix(3) == [15, 15, 15])
        #expect(zip(delays, delays.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(backoff.delay(afterFailure: .max, kind: .rejected, jitter: 0) == .seconds(15))
    }

    @Test("A server that never answered is retried at intervals that grow to 15 s")
    func neverReached() {
        let backoff = Backoff()
        let delays = (1...10).map { backoff.delay(afterFailure: $0, kind: .unreachable, jitter: 0).inSeconds }
        #expect(delays.prefix(3) == [1, 1.5, 2.25])
        #expect(delays.suffix(3) == [15, 15, 15])
        #expect(backoff.delay(afterFailure: .max, kind: .unreachable, jitter: 0) == .seconds(15))
    }

    @Test("A server that accepted the stream before is retried each second at first, then at intervals of up to 5 s")
    func lostPeer() {
        let backoff = Backoff()
        func delay(_ failures: Int, _ past: Backoff.Past) -> Duration {
            backoff.delay(afterFailure: failures, kind: .unreachable, past: past, jitter: 0)
        }
        #expect(delay(1000, .justLost) == .seconds(1))
        #expect(delay(1, .lostBefore) == .seconds(1))
        #expect(delay(1000, .lostBefore) == .seconds(5))
    }

    @Test("Jitter shortens a retry interval by at most a fifth and never lengthens it")
    func jitter() {
        let backoff = Backoff()
        #expect(backoff.delay(afterFailure: 1, kind: .lost, jitter: 1) == .milliseconds(800))
        #expect(backoff.delay(afterFailure: 1, kind: .lost, jitter: -3) == .seconds(1))
    }
}
