// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport

@testable import FanOut

// Disturbances of outputs: of their networks and peers, and by their operators.
extension OutputWalk {
    /// Disturbs an output about once per second, except in a calm period.
    func disturb() {
        let now = context.clock.now
        continueSeries(at: now)
        guard now >= calmUntil,
            Int64.random(in: 0..<1_000_000_000, using: &random) < context.program.interval.inNanoseconds
        else {
            return
        }
        guard let output = outputs.randomElement(using: &random), let peer = output.peers.randomElement(using: &random)
        else { return }
        switch Int.random(in: 0..<30, using: &random) {
        case 0...4: disturbNetwork(of: peer)
        case 5...9: disturbServer(of: peer)
        case 24...26: disturbInSeries(peer)
        case 27...29: reportLate(output)
        case 10:
            let address: String? = random.pick([nil, "elsewhere"])
            for attempt in output.record.attempts { attempt.post { $0.askToReconnect(at: address) } }
        case 11, 12: output.pauseOrResume()
        case 13: output.supervisor.retryNow()
        case 14...16: for attempt in output.record.attempts { attempt.post { $0.callOrLeave() } }
        case 17: disturbProgram()
        case 18: stream.mark("mark", at: ProgramInstant(nanoseconds: context.clock.now.nanoseconds))
        case 19: replace(output)
        default: calm()
        }
    }

    /// A random time, from 0.05 s to 60 s. Short times are as likely as long ones.
    private func span() -> Duration {
        let longest: Double = random.pick([0.1, 0.3, 1, 3, 10, 60])
        return .seconds(Double.random(in: 0.5...1, using: &random) * longest)
    }

    private func disturbNetwork(of peer: SimulatedPeer) {
        let until = context.clock.now + span()
        let share: Double = random.pick([0, 0.2, 0.5, 0.9, 1.5])
        let bytes = context.program.bytesPerSecond * share
        let loss: Double = random.pick([0.01, 0.05, 0.2, 0.5])
        let jitter: Duration = random.pick([.milliseconds(30), .milliseconds(150), .milliseconds(600)])
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: peer.change { $0.cutUntil = until }
        case 2: peer.change { $0.rate = (bytes, until) }
        case 3: peer.change { $0.loss = (loss, until) }
        case 4: peer.change { $0.jitter = (jitter, until) }
        default: peer.endConnections(.forgotten)
        }
    }

    private func disturbServer(of peer: SimulatedPeer) {
        let until = context.clock.now + span()
        let answer = random.pick(SimulatedPeer.Answer.allCases)
        let wait = Duration.seconds(Double.random(in: 0...14, using: &random))
        switch Int.random(in: 0..<7, using: &random) {
        case 0: peer.endConnections(.closed)
        case 1, 2: peer.change { $0.answer = (answer, until) }
        case 3: peer.change { $0.delay = (wait, until) }
        case 4: peer.change { $0.isExclusive.toggle() }
        case 5:
            // An answer that comes too late leaves a connection that the output does not use.
            peer.change { conditions in
                (conditions.delay, conditions.isExclusive) = ((wait, until), true)
            }
        default: restart(peer, until: until)
        }
    }

    private func restart(_ peer: SimulatedPeer, until: MonotonicInstant) {
        peer.endConnections(.closed)
        peer.change { $0.answer = (.refuseConnection, until) }
    }

    /// Disturbs a peer and its network several times within a few seconds, so that faults meet one connection, or one
    /// attempt to connect again.
    private func disturbInSeries(_ peer: SimulatedPeer) {
        for _ in 0..<Int.random(in: 2...4, using: &random) {
            let time = context.clock.now + .seconds(Double.random(in: 0...5, using: &random))
            series.append((time, peer))
        }
    }

    /// Disturbs the peers whose next disturbance in a series is due.
    private func continueSeries(at now: MonotonicInstant) {
        guard !series.isEmpty else { return }
        for fault in series where fault.time <= now { disturb(fault.peer) }
        series.removeAll { $0.time <= now }
    }

    private func disturb(_ peer: SimulatedPeer) {
        if Bool.random(using: &random) { disturbNetwork(of: peer) } else { disturbServer(of: peer) }
    }

    /// Lets an attempt that is over report an event: another thread may have begun to report it just before the attempt
    /// was given up.
    private func reportLate(_ output: SimulatedOutput) {
        guard let report = output.record.lateReports.randomElement(using: &random) else { return }
        let failure = OutputFailure(.lost, step: "send", reason: "late")
        report(
            random.pick([
                .step("connect"), .accepted, .awaitsCallers, .wantsKeyframe, .needsKeyframe, .wantsNoKeyframe,
                .reconnectRequested(address: nil), .stoppedListening, .failed(failure), .failed(failure), .drained,
            ]))
    }

    /// Disturbs an output while the outputs end.
    func disturbTheEnd() {
        guard Int.random(in: 0..<4, using: &random) == 0, let output = outputs.randomElement(using: &random) else {
            return
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: reportLate(output)
        case 1: for peer in output.peers { restart(peer, until: context.clock.now + span()) }
        default: disturb(random.pick(output.peers))
        }
    }

    private func disturbProgram() {
        let gop = Self.gop(1_000_000_000 / context.program.interval.inNanoseconds, &random)
        isGranted.toggle()
        let grants = isGranted
        context.program.change { ($0.gop, $0.grantsRequests) = (gop, grants) }
    }

    /// Removes `output` and adds another output.
    private func replace(_ output: SimulatedOutput) {
        remove(output)
        addOutput()
    }

    /// Ends all disturbances for a while, so that every output must go on air.
    private func calm() {
        isGranted = true
        series = []
        context.program.change { $0.grantsRequests = true }
        for output in outputs {
            for peer in output.peers { peer.recover() }
            switch output.state {
            case .paused: output.pauseOrResume()
            case .givenUp: output.supervisor.retryNow()
            default: break
            }
        }
        calmUntil = context.clock.now + .seconds(random.pick([6, 12, 30, 100]))
    }
}
