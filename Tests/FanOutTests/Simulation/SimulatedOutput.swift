// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport

@testable import FanOut

/// One output of a simulation, with simulated targets and with the checks of the output. Only one thread may use it.
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

    /// Whether the output has reported, on any thread, that it ended.
    private final class End: Sendable {
        private let state = Mutex(false)
        var hasCome: Bool { state.withLock { $0 } }
        func come() { state.withLock { $0 = true } }
    }

    /// Random numbers for an output. Any thread may use them.
    private final class Jitter: Sendable {
        private let random: Mutex<SeededRandom>
        init(seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }
        func next() -> Double { random.withLock { random in Double.random(in: 0..<1, using: &random) } }
    }

    let name: String
    let shape: Shape
    /// The primary, the backup, and the peer to which these two redirect.
    let peers: [SimulatedPeer]
    let record: SentRecord
    let supervisor: OutputSupervisor
    private let context: SimulationContext
    private let end = End()
    private var endIsDue: MonotonicInstant?
    private var (fed, fedFrames) = (0, 0)
    private var wasPaused = false
    private var packetAccounting: AccountingCheck
    private var frameAccounting: AccountingCheck
    private var liveness = LivenessCheck()

    /// Creates an output that is not started yet and requests keyframes from `keyframes`.
    init(
        _ name: String, _ shape: Shape, _ context: SimulationContext, keyframes: any KeyframeRequester, seed: UInt64
    ) {
        let record = SentRecord(context.program)
        let peers = (0..<3).map { number in
            SimulatedPeer(usualRate: 50 * context.program.bytesPerSecond, seed: seed &* 3 &+ number)
        }
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
        let mayMiss = supervisor.state.withLock { $0.packets.isJoining }
        packetAccounting = AccountingCheck(of: "packets", mayMiss: mayMiss)
        frameAccounting = AccountingCheck(of: "frames", mayMiss: mayMiss)
    }

    var snapshot: OutputSnapshot { supervisor.state.withLock { OutputSnapshot($0) } }

    var isFed: Bool { supervisor.state.withLock { $0.isFed } }

    var state: OutputState.Name { snapshot.machine.state.name }

    /// Whether the output has ended and reported it.
    var hasEnded: Bool { end.hasCome }

    /// Waits until the output and the attempts have handled earlier events, and the events that these caused.
    func settle() {
        for _ in 0..<3 {
            context.attempts.run()
            supervisor.waitUntilDone()
        }
    }

    /// Records that the stream delivered `packets` to the output while the output accepted packets.
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
    func finish(by deadline: MonotonicInstant) {
        // A retired attempt may take two more seconds.
        endIsDue = max(deadline, context.clock.now + .seconds(2))
        supervisor.finish(deadline: deadline) { [end] in end.come() }
    }

    /// Wakes the attempts, as their sockets and timers do.
    func wakeAttempts() {
        for attempt in record.attempts { attempt.post { $0.tick() } }
    }

    /// Checks the output. `isGranted` tells whether the encoder makes the requested keyframes.
    func check(isGranted: Bool) {
        let (now, snapshot) = (context.clock.now, snapshot)
        let isOff = [.idle, .paused, .givenUp].contains(snapshot.machine.state.name)
        let isFavorable = isGranted && !isOff && peers.allSatisfy { $0.isFavorable(at: now) }
        var faults = liveness.faults(
            at: LivenessCheck.Moment(
                now: now, snapshot: snapshot, last: record.last, shown: record.shown, program: context.program,
                shape: shape,
                isFavorable: isFavorable, isPathFavorable: snapshot.attempt?.peer.isFavorable(at: now) == true))
        faults += accountingFaults(snapshot)
        if hasEnded { faults += faultsAtTheEnd(snapshot) }
        if let endIsDue, !hasEnded, now > endIsDue { faults.append("does not tell that it has ended") }
        for fault in faults { context.faults.add(fault, of: name, at: now) }
    }

    /// Checks that the output accounts for each packet and each frame that it was given.
    private func accountingFaults(_ snapshot: OutputSnapshot) -> [String] {
        let frames = snapshot.frames
        return [
            packetAccounting.fault(
                fed: fed, taken: record.taken(), dropped: snapshot.dropped, waiting: snapshot.waiting,
                isJoining: snapshot.isJoining),
            frameAccounting.fault(
                fed: fedFrames, taken: frames.sent + record.unheardFrames, dropped: frames.dropped,
                waiting: frames.waiting, isJoining: snapshot.isJoining),
        ].compactMap(\.self)
    }

    /// Checks the status of an output that has ended. Its sent and dropped frames must be all frames that it was given,
    /// which excludes those that came while it was paused. Not counted are those that it missed before it joined the
    /// program, and those that no receiver of an output that listens was to get.
    private func faultsAtTheEnd(_ snapshot: OutputSnapshot) -> [String] {
        var faults = snapshot.waiting == 0 ? [] : ["has ended, and \(snapshot.waiting) packets wait"]
        let status = supervisor.status
        let missed = frameAccounting.missing
        let expected = fedFrames - missed - record.unheardFrames
        if Int(status.frames) + status.queue.droppedFrames != expected {
            faults.append("sent \(status.frames) and dropped \(status.queue.droppedFrames) of \(expected) frames")
        }
        let mayMiss = shape.transport == .listener || shape.joinsRunningProgram || wasPaused
        if !mayMiss, missed > 0 { faults.append("began with the program, and \(missed) frames are not counted") }
        return faults
    }
}
