// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import FanOut

@Suite("An output's primary, backup, redirection and pause")
struct OutputEndpointTests {
    private let lost = OutputFailure(.lost, step: "send", reason: "connection reset")
    private let away = OutputFailure(.unreachable, step: "connect", reason: "connection refused")
    private let refused = OutputFailure(.refused, step: "publish", reason: "bad key")

    /// A state machine whose attempt 4 went on air at the backup at 10 s.
    private func machineAtBackup() -> OutputStateMachine {
        var machine = OutputStateMachine(policy: RetryPolicy(hasBackup: true))
        _ = machine.handle(.start)
        for attempt in 1...3 {
            _ = machine.handle(.failed(attempt: attempt, away, at: 0))
            _ = machine.handle(.retryDue(attempt: attempt + 1))
        }
        _ = machine.handle(.accepted(attempt: 4, at: .seconds(10)))
        return machine
    }

    private func liveMachine() -> OutputStateMachine {
        var machine = OutputStateMachine()
        _ = machine.handle(.start)
        _ = machine.handle(.accepted(attempt: 1, at: 0))
        return machine
    }

    @Test("After three consecutive failures of the primary the backup is tried, and then both in turn")
    func alternates() {
        var machine = OutputStateMachine(policy: RetryPolicy(hasBackup: true))
        var begins = machine.handle(.start)
        for attempt in 1...6 {
            _ = machine.handle(.failed(attempt: attempt, away, at: 0))
            begins += machine.handle(.retryDue(attempt: attempt + 1))
        }
        let endpoints = begins.map {
            if case .begin(_, let endpoint) = $0 { endpoint } else { OutputEndpoint.redirected }
        }
        #expect(endpoints == [.primary, .primary, .primary, .backup, .primary, .backup, .primary])
    }

    @Test("After a refusal by the primary the backup is tried at once; after refusals by both the wait is long")
    func refusal() {
        var machine = OutputStateMachine(policy: RetryPolicy(hasBackup: true))
        _ = machine.handle(.start)
        #expect(machine.handle(.failed(attempt: 1, refused, at: 0)).last == .wait(until: .seconds(1), attempt: 2))
        #expect(machine.handle(.retryDue(attempt: 2)) == [.begin(attempt: 2, at: .backup)])
        #expect(machine.handle(.failed(attempt: 2, refused, at: 0)).last == .wait(until: .seconds(60), attempt: 3))
    }

    @Test("While the backup is on air the primary is tried, and takes over at a keyframe when it answers")
    func returns() {
        var machine = machineAtBackup()
        #expect(machine.endpoint == .backup)
        #expect(machine.handle(.primaryDue(probe: 1)) == [.begin(attempt: 5, at: .primary)])
        #expect(machine.handle(.accepted(attempt: 5, at: .seconds(30))) == [.handOver(to: 5)])
        #expect(machine.endpoint == .backup)
        #expect(machine.handle(.handedOver(attempt: 5, at: .seconds(31))).isEmpty)
        #expect(machine.endpoint == .primary)
        #expect(machine.state == .live(since: .seconds(31)))
        #expect(machine.handle(.failed(attempt: 4, lost, at: .seconds(32))).isEmpty)
    }

    @Test("While the backup is on air the primary is tried again once per interval until it answers")
    func probesAgain() {
        var machine = machineAtBackup()
        _ = machine.handle(.primaryDue(probe: 1))
        let actions = machine.handle(.failed(attempt: 5, away, at: .seconds(30)))
        #expect(actions == [.abandon(attempt: 5), .probe(after: .seconds(15), number: 2)])
        #expect(machine.handle(.primaryDue(probe: 1)).isEmpty)
        #expect(machine.state == .live(since: .seconds(10)))
        #expect(machine.handle(.primaryDue(probe: 2)) == [.begin(attempt: 6, at: .primary)])
    }

    @Test("If the primary is lost soon after it took over, the backup is used, and the primary is tried more rarely")
    func lossAfterFailback() {
        var machine = machineAtBackup()
        _ = machine.handle(.primaryDue(probe: 1))
        _ = machine.handle(.accepted(attempt: 5, at: .seconds(30)))
        _ = machine.handle(.handedOver(attempt: 5, at: .seconds(30)))
        _ = machine.handle(.failed(attempt: 5, lost, at: .seconds(40)))
        #expect(machine.handle(.retryDue(attempt: 6)) == [.begin(attempt: 6, at: .backup)])
        let actions = machine.handle(.accepted(attempt: 6, at: .seconds(41)))
        #expect(actions == [.goLive(attempt: 6), .probe(after: .seconds(30), number: 2)])
    }

    @Test("An operator's retry tries the primary at once while the backup is on air")
    func retryOnBackup() {
        var machine = machineAtBackup()
        #expect(machine.handle(.retryNow) == [.begin(attempt: 5, at: .primary)])
        #expect(machine.handle(.retryNow).isEmpty)
    }

    @Test("If the backup fails while the primary is being tried, the attempt at the primary continues")
    func promotes() {
        var machine = machineAtBackup()
        _ = machine.handle(.primaryDue(probe: 1))
        #expect(
            machine.handle(.failed(attempt: 4, lost, at: .seconds(20))) == [.abandon(attempt: 4), .promote(attempt: 5)])
        #expect(machine.state == .connecting(attempt: 5))
        #expect(machine.handle(.accepted(attempt: 5, at: .seconds(21))) == [.goLive(attempt: 5)])
    }

    @Test("If the backup fails after the primary has accepted the stream, the primary is on air at once")
    func promotesAccepted() {
        var machine = machineAtBackup()
        _ = machine.handle(.primaryDue(probe: 1))
        _ = machine.handle(.accepted(attempt: 5, at: .seconds(20)))
        #expect(
            machine.handle(.failed(attempt: 4, lost, at: .seconds(21)))
                == [.abandon(attempt: 4), .promote(attempt: 5), .goLive(attempt: 5)])
        #expect(machine.handle(.handedOver(attempt: 5, at: .seconds(22))).isEmpty)
        #expect(machine.state == .live(since: .seconds(20)))
    }

    @Test("After a server's reconnect request a second connection is tried; if that fails, the first one continues")
    func redirection() {
        var machine = liveMachine()
        #expect(machine.handle(.reconnectRequested(attempt: 1, at: 0)) == [.begin(attempt: 2, at: .redirected)])
        #expect(machine.handle(.reconnectRequested(attempt: 1, at: 0)).isEmpty)
        #expect(machine.handle(.failed(attempt: 2, away, at: .seconds(1))) == [.abandon(attempt: 2)])
        #expect(machine.state == .live(since: 0))
        _ = machine.handle(.reconnectRequested(attempt: 1, at: 0))
        _ = machine.handle(.accepted(attempt: 3, at: .seconds(1)))
        _ = machine.handle(.handedOver(attempt: 3, at: .seconds(2)))
        #expect(machine.endpoint == .redirected)
        _ = machine.handle(.failed(attempt: 3, lost, at: .seconds(90)))
        #expect(machine.handle(.retryDue(attempt: 4)) == [.begin(attempt: 4, at: .primary)])
    }

    @Test("At the program's end a second connection attempt is dropped, and the connection on air sends its queue")
    func finishWithCandidate() {
        var machine = machineAtBackup()
        _ = machine.handle(.primaryDue(probe: 1))
        _ = machine.handle(.accepted(attempt: 5, at: .seconds(20)))
        #expect(
            machine.handle(.finish(deadline: 99))
                == [.abandon(attempt: 5), .drain(attempt: 4, deadline: 99), .watch(deadline: 99)])
    }

    @Test("A pause ends the stream cleanly and lasts until an operator resumes the output")
    func pause() {
        var machine = liveMachine()
        #expect(machine.handle(.pause(at: 0)) == [.retire(attempt: 1), .close])
        #expect(machine.state.name == .paused)
        #expect(machine.handle(.pause(at: 0)).isEmpty)
        #expect(machine.handle(.retryNow).isEmpty)
        #expect(machine.handle(.resume) == [.open, .begin(attempt: 2, at: .primary)])
        #expect(machine.handle(.pause(at: 0)) == [.abandon(attempt: 2), .close])
        #expect(machine.handle(.finish(deadline: 5)) == [.ended])
    }

    @Test("An output that was on air retries each second after a pause or a redirection")
    func wasLive() {
        func waits(of machine: inout OutputStateMachine, from first: Int, at now: MonotonicInstant) -> [Int64] {
            (first..<first + 3).map { attempt in
                let actions = machine.handle(.failed(attempt: attempt, away, at: now))
                _ = machine.handle(.retryDue(attempt: attempt + 1))
                guard case .wait(let until, _)? = actions.last else { return 0 }
                return (until - now).inMilliseconds
            }
        }
        var paused = liveMachine()
        _ = paused.handle(.pause(at: .seconds(100)))
        _ = paused.handle(.resume)
        #expect(waits(of: &paused, from: 2, at: .seconds(101)) == [1000, 1000, 1000])
        var moved = liveMachine()
        _ = moved.handle(.reconnectRequested(attempt: 1, at: .seconds(99)))
        _ = moved.handle(.accepted(attempt: 2, at: .seconds(100)))
        _ = moved.handle(.handedOver(attempt: 2, at: .seconds(100)))
        #expect(waits(of: &moved, from: 2, at: .seconds(100)) == [1000, 1000, 1000])
    }

    @Test("If an output is paused while it waits to retry, the retry is cancelled")
    func pauseWhileWaiting() {
        var machine = liveMachine()
        _ = machine.handle(.failed(attempt: 1, lost, at: 0))
        #expect(machine.handle(.pause(at: 0)) == [.close])
        #expect(machine.handle(.retryDue(attempt: 2)).isEmpty)
    }

    @Test("An output that reaches its retry limit gives up until an operator retries it")
    func givesUp() {
        var machine = OutputStateMachine(policy: RetryPolicy(attemptLimit: 2))
        _ = machine.handle(.start)
        for attempt in 1...2 {
            #expect(machine.handle(.failed(attempt: attempt, away, at: 0)).count == 3)
            _ = machine.handle(.retryDue(attempt: attempt + 1))
        }
        #expect(machine.handle(.failed(attempt: 3, away, at: 0)) == [.abandon(attempt: 3), .hold])
        #expect(machine.state == .givenUp(cause: away))
        #expect(machine.handle(.retryNow) == [.begin(attempt: 4, at: .primary)])
        #expect(machine.handle(.failed(attempt: 4, away, at: 0)).count == 3)
    }

    @Test("An operator's retry ends the wait after a refusal")
    func retryNow() {
        var machine = liveMachine()
        _ = machine.handle(.failed(attempt: 1, refused, at: 0))
        #expect(machine.handle(.retryNow) == [.begin(attempt: 2, at: .primary)])
        #expect(machine.handle(.retryDue(attempt: 2)).isEmpty)
    }

    @Test("A refusal by the backup does not delay the next attempt at the primary")
    func refusedBackup() {
        var machine = machineAtBackup()
        let actions = machine.handle(.failed(attempt: 4, refused, at: .seconds(20)))
        #expect(actions.last == .wait(until: .seconds(21), attempt: 5))
        #expect(machine.handle(.retryDue(attempt: 5)) == [.begin(attempt: 5, at: .primary)])
        // The backup is not tried for a minute; the primary is tried each second.
        #expect(
            machine.handle(.failed(attempt: 5, away, at: .seconds(22))).last == .wait(until: .seconds(23), attempt: 6))
        #expect(machine.handle(.retryDue(attempt: 6)) == [.begin(attempt: 6, at: .primary)])
    }

    @Test("If the backup server redirects an output, the output still returns to the primary later")
    func redirectedFromBackup() {
        var machine = machineAtBackup()
        _ = machine.handle(.reconnectRequested(attempt: 4, at: .seconds(11)))
        #expect(machine.handle(.primaryDue(probe: 1)) == [.probe(after: .seconds(15), number: 2)])
        _ = machine.handle(.accepted(attempt: 5, at: .seconds(12)))
        #expect(machine.handle(.handedOver(attempt: 5, at: .seconds(13))) == [.probe(after: .seconds(15), number: 3)])
        #expect(machine.handle(.primaryDue(probe: 3)) == [.begin(attempt: 6, at: .primary)])
    }

    @Test("The primary is probed even if the output follows the backup's redirection only after it lost the backup")
    func unmetRedirectionFromBackup() {
        var machine = machineAtBackup()
        _ = machine.handle(.reconnectRequested(attempt: 4, at: .seconds(11)))
        let busy = OutputFailure(.rejected, step: "publish", reason: "already publishing")
        _ = machine.handle(.failed(attempt: 5, busy, at: .seconds(12)))
        _ = machine.handle(.failed(attempt: 4, lost, at: .seconds(13)))
        #expect(machine.handle(.retryDue(attempt: 6)) == [.begin(attempt: 6, at: .redirected)])
        let actions = machine.handle(.accepted(attempt: 6, at: .seconds(14)))
        #expect(actions.first == .goLive(attempt: 6))
        guard case .probe(_, let probe)? = actions.last else {
            Issue.record("the primary is not probed: \(actions)")
            return
        }
        #expect(machine.handle(.primaryDue(probe: probe)) == [.begin(attempt: 7, at: .primary)])
    }

    @Test("If a redirection's server refuses a second publisher, it is tried again when the first connection has ended")
    func redirectionRejected() {
        var machine = liveMachine()
        _ = machine.handle(.reconnectRequested(attempt: 1, at: 0))
        let busy = OutputFailure(.rejected, step: "publish", reason: "already publishing")
        _ = machine.handle(.failed(attempt: 2, busy, at: .seconds(1)))
        _ = machine.handle(.failed(attempt: 1, lost, at: .seconds(5)))
        #expect(machine.handle(.retryDue(attempt: 3)) == [.begin(attempt: 3, at: .redirected)])
        _ = machine.handle(.failed(attempt: 3, away, at: .seconds(6)))
        #expect(machine.handle(.retryDue(attempt: 4)) == [.begin(attempt: 4, at: .primary)])
    }

    /// A machine whose redirected address rejected the candidate beside attempt 1, which is on air.
    private func machineWithUnmetRedirection() -> OutputStateMachine {
        var machine = liveMachine()
        _ = machine.handle(.reconnectRequested(attempt: 1, at: 0))
        let busy = OutputFailure(.rejected, step: "publish", reason: "already publishing")
        _ = machine.handle(.failed(attempt: 2, busy, at: .seconds(1)))
        return machine
    }

    @Test("If a server to which an output was redirected refuses it, the primary is tried without a long wait")
    func redirectionRefused() {
        var machine = machineWithUnmetRedirection()
        _ = machine.handle(.failed(attempt: 1, lost, at: .seconds(5)))
        #expect(machine.handle(.retryDue(attempt: 3)) == [.begin(attempt: 3, at: .redirected)])
        let actions = machine.handle(.failed(attempt: 3, refused, at: .seconds(6)))
        #expect(actions.last == .wait(until: .seconds(7.5), attempt: 4))
        #expect(machine.state.name == .backingOff && machine.lastFailure == refused)
        #expect(machine.handle(.retryDue(attempt: 4)) == [.begin(attempt: 4, at: .primary)])
    }

    @Test("An output that is paused forgets a redirection that it could not follow")
    func redirectionForgotten() {
        var machine = machineWithUnmetRedirection()
        _ = machine.handle(.pause(at: .seconds(5)))
        _ = machine.handle(.resume)
        _ = machine.handle(.accepted(attempt: 3, at: .seconds(10)))
        _ = machine.handle(.failed(attempt: 3, lost, at: .seconds(90)))
        #expect(machine.handle(.retryDue(attempt: 4)) == [.begin(attempt: 4, at: .primary)])
    }

    @Test("If servers redirect an output to each other, it follows at most three times in half a minute")
    func redirectionLimit() {
        var machine = liveMachine()
        for attempt in 1...3 {
            let now = MonotonicInstant.seconds(Double(attempt))
            #expect(machine.handle(.reconnectRequested(attempt: attempt, at: now)).count == 1)
            _ = machine.handle(.accepted(attempt: attempt + 1, at: now))
            _ = machine.handle(.handedOver(attempt: attempt + 1, at: now))
        }
        #expect(machine.handle(.reconnectRequested(attempt: 4, at: .seconds(5))).isEmpty)
        #expect(machine.handle(.reconnectRequested(attempt: 4, at: .seconds(32))).count == 1)
    }
}
