// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport

@testable import FanOut

/// One walk of the simulation of outputs. A program is published to an output whose target has no faults, and to
/// outputs whose peers, networks and operators are disturbed as the seed determines. All outputs are checked after each
/// frame.
final class OutputWalk {
    /// How long a removed output may take to end.
    static let teardown = Duration.milliseconds(2600)

    let context: SimulationContext
    var random: SeededRandom
    /// The outputs that are disturbed.
    private(set) var outputs: [SimulatedOutput] = []
    /// Removed outputs that have not ended.
    private var leaving: [SimulatedOutput] = []
    private let steady: SimulatedOutput
    let stream: PacketStream
    /// Whether supervisors handle an event before the attempts do the work that was posted earlier. Both run at the same
    /// time, so either may be first.
    private let isSupervisorFirst: Bool
    private let witness = DeliveryWitness()
    /// Whether the encoder makes the keyframes that are requested.
    var isGranted = true
    /// The time before which nothing is disturbed.
    var calmUntil = MonotonicInstant.zero
    /// The disturbances that are due later, of peers that are disturbed several times in a row.
    var series: [(time: MonotonicInstant, peer: SimulatedPeer)] = []
    private var number = 0

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let program = SimulatedProgram(Self.program(&random))
        context = SimulationContext(clock: SimulatedClock(), program: program, faults: SimulationFaults())
        stream = PacketStream(delivery: Bool.random(using: &random) ? .withFrames : .immediate)
        stream.begin(program.description, keyframes: program)
        steady = SimulatedOutput("steady", SimulatedOutput.Shape(), context, keyframes: stream, seed: seed)
        isSupervisorFirst = Bool.random(using: &random)
        self.random = random
        stream.add(witness)
        stream.add(steady.supervisor)
        steady.supervisor.start()
        for _ in 0..<2 { addOutput() }
    }

    /// Simulates `steps` frames, or fewer if there is a fault, and then ends all outputs. Returns the faults.
    func run(steps: Int) -> [String] {
        for _ in 0..<steps where context.faults.isEmpty { step() }
        if context.faults.isEmpty { finish() }
        return context.faults.all
    }

    private static func program(_ random: inout SeededRandom) -> SimulatedProgram.Shape {
        var shape = SimulatedProgram.Shape()
        shape.framesPerSecond = random.pick([5, 10, 25, 50])
        shape.gop = Self.gop(shape.framesPerSecond, &random)
        shape.hasDisposables = Bool.random(using: &random)
        let tracks = Int.random(in: 0..<10, using: &random)
        (shape.hasVideo, shape.hasAudio) = (tracks != 0, tracks != 1)
        return shape
    }

    /// The number of frames in a GOP of 0.2 s to 20 s, or of 200 s, so that regular keyframes are rare.
    static func gop(_ framesPerSecond: Int64, _ random: inout SeededRandom) -> Int64 {
        framesPerSecond * random.pick([1, 5, 10, 20, 50, 100, 1000]) / 5
    }
}

// MARK: Outputs

extension OutputWalk {
    /// Adds an output. If frames were already published, the output joins the running program.
    func addOutput() {
        number += 1
        var shape = SimulatedOutput.Shape()
        shape.transport = random.pick([.stream, .stream, .stream, .recovering, .recovering, .datagrams, .listener])
        shape.hasBackup = shape.transport.connects && Bool.random(using: &random)
        shape.limits = random.pick([.live, .live, limits(.milliseconds(500)), limits(.seconds(10)), tight])
        shape.attemptLimit = random.pick([nil, nil, nil, 5])
        shape.backupAfter = random.pick([1, 3])
        shape.primaryInterval = random.pick([.seconds(2), .seconds(15)])
        shape.joinsRunningProgram = context.program.count > 0
        let output = SimulatedOutput(
            "output \(number)", shape, context, keyframes: stream, seed: random.next())
        outputs.append(output)
        stream.add(output.supervisor)
        output.supervisor.start()
        output.settle()
    }

    private func limits(_ duration: Duration) -> QueueLimits { .live.scaled(to: duration) }

    /// Queue limits of only a few keyframes.
    private var tight: QueueLimits {
        var limits = QueueLimits.live
        limits.maximumBytes = 40_000
        return limits
    }

    /// Removes `output`, as an operator does.
    func remove(_ output: SimulatedOutput) {
        outputs.removeAll { $0 === output }
        leaving.append(output)
        stream.remove(output.supervisor)
        output.finish(by: context.clock.now + Self.teardown)
        output.settle()
    }

    /// Waits until the attempts and the outputs have handled earlier events, and the events that these caused.
    private func settle() {
        let all = outputs + leaving + [steady]
        if isSupervisorFirst { for output in all { output.supervisor.waitUntilDone() } }
        for _ in 0..<3 {
            context.attempts.run()
            for output in all { output.supervisor.waitUntilDone() }
        }
    }
}

// MARK: Steps

extension OutputWalk {
    private func step() {
        context.clock.run(until: context.program.nextTime, afterEach: settle)
        disturb()
        settle()
        let fed = (outputs + [steady]).filter(\.isFed)
        for packet in context.program.packets() { stream.publish(packet) }
        let delivered = witness.take()
        for output in fed { output.note(fed: delivered) }
        check()
        checkSteady()
    }

    private func check() {
        settle()
        for output in outputs + leaving + [steady] { output.wakeAttempts() }
        settle()
        for output in outputs + leaving + [steady] { output.check(isGranted: isGranted) }
        leaving.removeAll(where: \.hasEnded)
    }

    /// Checks that disturbances of other outputs do not affect the undisturbed output: it must have sent each delivered
    /// packet once.
    private func checkSteady() {
        let now = context.clock.now
        guard now > .seconds(1) else { return }
        let snapshot = steady.snapshot
        guard snapshot.machine.state.name == .live, snapshot.waiting == 0, snapshot.dropped == 0 else {
            return context.faults.add("is \(snapshot.machine.state.name), and drops or waits", of: steady.name, at: now)
        }
        let tracks = context.program.description.tracks.count
        // With ``PacketStream/Delivery/withFrames``, one audio packet may still wait for the next frame.
        let least = Int(context.program.count) * tracks - 1
        guard steady.record.sentCount >= least else {
            return context.faults.add("misses a packet", of: steady.name, at: now)
        }
    }

    /// Ends all outputs at the end of the program. No more packets are published, and the clock continues to run.
    private func finish() {
        let start = context.clock.now
        stream.finish()
        let delivered = witness.take()
        for output in outputs + [steady] where output.isFed { output.note(fed: delivered) }
        for output in outputs + [steady] { output.finish(by: start + .seconds(5)) }
        let all = outputs + leaving + [steady]
        for tenth in 1...60 where context.faults.isEmpty {
            context.clock.run(until: start + .milliseconds(100 * tenth), afterEach: settle)
            for output in all { output.wakeAttempts() }
            settle()
            for output in all { output.check(isGranted: false) }
            disturbTheEnd()
        }
        for output in all where !output.hasEnded {
            context.faults.add("has not ended", of: output.name, at: context.clock.now)
        }
    }
}
