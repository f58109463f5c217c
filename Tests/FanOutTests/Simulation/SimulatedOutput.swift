// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport

@testable import FanOut

/// One output of a simulation, with the model of its targets and the checks of it. One thread uses it.
final class SimulatedOutput {
    /// How the output is configured.
    struct Shape: Sendable {
        var transport = SimulatedAttempt.Transport.stream
        var hasBackup = false
        var limits = QueueLimits.live
        var attemptLimit: Int?
        var backupAfter = 3
        var primaryInterval = Duration.seconds(15)
        var joinsRunningProgram = false
    }

    /// Whether the output has ended, as it tells on any thread.
    private final class End: Sendable {
        private let state = Mutex(false)
        var hasCome: Bool { state.withLock { $0 } }
        func come() { state.withLock { $0 = true } }
    }

    /// Random numbers for an output, on any thread.
    private final class Jitter: Sendable {
        private let random: Mutex<SeededRandom>
        init(seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }
        func next() -> Double { random.withLock { random in Double.random(in: 0..<1, using: &random) } }
    }

    let name: String
    let shape: Shape
    /// The primary, the backup, and the peer to which they redirect.
    let peers: [SimulatedPeer]
    let record: SentRecord
    let supervisor: OutputSupervisor
    private let context: SimulationContext
    private let end = End()
    private var endIsDue: Int64?
    private var (fed, fedFrames) = (0, 0)
    private var wasPaused = false
    private var accounting: AccountingCheck
    private var liveness = LivenessCheck()

    /// An output that is not started yet and asks `keyframes` for keyframes.
    init(
        _ name: String, _ shape: Shape, _ context: SimulationContext, keyframes: any KeyframeRequester, seed: UInt64
    ) {
        let record = SentRecord(context.program)
        let peers = (0..<3).map { _ in SimulatedPeer(usualRate: 50 * context.program.bytesPerSecond) }
        func target(_ role: String, _ peer: SimulatedPeer) -> SimulatedTarget {
            SimulatedTarget(
                displayAddress: "\(name) \(role)", transport: shape.transport, peer: peer, elsewhere: peers[2],
                context: context, record: record)
        }
        let jitter = Jitter(seed: seed)
        let description = context.program.description
        let supervisor = OutputSupervisor(
            name: name, target: target("primary", peers[0]),
            backup: shape.hasBackup ? target("backup", peers[1]) : nil, description: description,
            limits: shape.limits,
            retry: RetryPolicy(
                attemptLimit: shape.attemptLimit, backupAfter: shape.backupAfter,
                primaryInterval: shape.primaryInterval),
            joinsRunningProgram: shape.joinsRunningProgram, keyframes: keyframes, clock: context.clock,
            timers: context.clock, jitter: { jitter.next() }, logger: quiet)
        (self.name, self.shape, self.peers, self.record, self.context) = (name, shape, peers, record, context)
        self.supervisor = supervisor
        accounting = AccountingCheck(mayMiss: supervisor.state.withLock { $0.packets.isJoining })
    }

    var snapshot: OutputSnapshot { supervisor.state.withLock { OutputSnapshot($0) } }

    var isFed: Bool { supervisor.state.withLock { $0.isFed } }

    var state: OutputState.Name { snapshot.machine.state.name }

    /// Whether the output has ended, and told so.
    var hasEnded: Bool { end.hasCome }

    /// Waits until earlier events, and those that they cause, are handled.
    func settle() {
        for _ in 0..<2 { supervisor.waitUntilDone() }
    }

    /// Notes that the stream delivered `packets` to the output while it was fed.
    func note(fed packets: [EncodedPacket]) {
        fed += packets.count
        fedFrames += packets.count { $0.track == .video }
    }

    func pauseOrResume() {
        if state == .paused { return supervisor.resume() }
        wasPaused = true
        supervisor.pause()
    }

    /// Ends the output by `deadline`.
    func finish(by deadline: Int64) {
        // A retired attempt has two seconds of its own.
        endIsDue = max(deadline, context.clock.now + 2_000_000_000)
        supervisor.finish(deadline: deadline) { [end] in end.come() }
    }

    /// Moves the attempts on, and checks the output. `isGranted` tells whether requested keyframes are made.
    func step(isGranted: Bool) {
        for attempt in record.attempts { attempt.tick() }
        settle()
        let (now, snapshot) = (context.clock.now, snapshot)
        let isOff = [.idle, .paused, .givenUp].contains(snapshot.machine.state.name)
        let isFavorable = isGranted && !isOff && peers.allSatisfy { $0.isFavorable(at: now) }
        var faults = liveness.faults(
            at: LivenessCheck.Moment(
                now: now, snapshot: snapshot, last: record.last, program: context.program, shape: shape,
                isFavorable: isFavorable))
        let fault = accounting.fault(
            fed: fed, taken: record.taken(), dropped: snapshot.dropped, waiting: snapshot.waiting,
            isJoining: snapshot.isJoining)
        if let fault { faults.append(fault) }
        if hasEnded { faults += faultsAtTheEnd(snapshot) }
        if let endIsDue, !hasEnded, now > endIsDue { faults.append("does not tell that it has ended") }
        for fault in faults { context.faults.add(fault, of: name, at: now) }
    }

    /// What an output that has ended says of itself: frames and dropped frames are the program that it was given.
    private func faultsAtTheEnd(_ snapshot: OutputSnapshot) -> [String] {
        var faults = snapshot.waiting == 0 ? [] : ["has ended, and \(snapshot.waiting) packets wait"]
        let status = supervisor.status
        // What an output missed before it joined, or while it was paused, counts nowhere. A listener counts what its
        // receivers get.
        guard shape.transport != .listener, !shape.joinsRunningProgram, !wasPaused else { return faults }
        let counted = Int(status.frames) + status.queue.droppedFrames
        if counted != fedFrames {
            faults.append("sent \(status.frames) and dropped \(status.queue.droppedFrames) of \(fedFrames) frames")
        }
        return faults
    }
}
