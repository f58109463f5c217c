// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport

@testable import FanOut

/// Pushes and pops packets of one queue at random, and puts its output on air and off air at random, as the seed
/// determines. The queue is checked after each step.
struct QueueWalk {
    private let clock = SimulatedClock()
    private let program: SimulatedProgram
    private let queue: PacketQueue
    private let limits: QueueLimits
    private var random: SeededRandom
    private var wire = WireCheck()
    private var accounting: AccountingCheck
    private var isOnAir = false
    /// The maximum number of packets that the output takes in a step.
    private var greed = 3
    private var (pushed, popped) = (0, 0)
    /// The size and the duration of the GOP with which the output joined. They may exceed the limits.
    private var head = (bytes: 0, duration: Duration.zero)
    /// The remaining steps of the present calm period. In a calm period the queue is emptied after each push, and
    /// nothing is disturbed.
    private var calmSteps = 0
    /// Whether a keyframe came in the present calm period, and the number of packets that were lost until then.
    private var (hasKeyframe, lossesBefore): (Bool, Int?) = (false, nil)
    private var fault: String?

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var shape = SimulatedProgram.Shape()
        shape.gop = random.pick([5, 25, 50, 250, 1000] as [Int64])
        shape.hasDisposables = Bool.random(using: &random)
        shape.hasAudio = Bool.random(using: &random)
        var limits = random.pick([QueueLimits.live, QueueLimits.live.scaled(to: .milliseconds(400))])
        limits.takesBursts = Bool.random(using: &random)
        if Bool.random(using: &random) { limits.maximumBytes = 40_000 }
        program = SimulatedProgram(shape)
        queue = PacketQueue(
            limits: limits, isFromStart: Bool.random(using: &random), awaitsCallers: Bool.random(using: &random),
            clock: clock)
        accounting = AccountingCheck(of: "packets", mayMiss: queue.isJoining)
        (self.limits, self.random) = (limits, random)
        if queue.isJoining, Bool.random(using: &self.random) { join() }
    }

    /// Makes up to `steps` steps. Returns the first fault and its step.
    mutating func run(steps: Int) -> String? {
        for step in 0..<steps {
            advance()
            check()
            if let fault { return "step \(step): \(fault)" }
        }
        return nil
    }

    /// Lets the output join a running program, with its current GOP.
    private mutating func join() {
        var history = PacketHistory()
        for _ in 0..<Int.random(in: 0..<300, using: &random) {
            for packet in program.packets() {
                history.append(packet, isKeyframe: packet.track == .video && packet.isKeyframe)
            }
        }
        let packets = history.currentGOP
        _ = queue.connected()
        queue.join(with: packets)
        (isOnAir, pushed) = (true, packets.count)
        let status = queue.status
        head = (status.bytes, .milliseconds(status.milliseconds))
    }
}

// MARK: Steps

extension QueueWalk {
    private mutating func advance() {
        if calmSteps == 0, Int.random(in: 0..<60, using: &random) == 0 { disturb() }
        let isCalm = calmSteps > 0
        // Either a burst of packets, like that of a playlist's segment, or the next frame.
        let frames = !isCalm && Int.random(in: 0..<50, using: &random) == 0 ? 100 : 1
        for _ in 0..<frames { push() }
        clock.run(until: clock.now + program.interval * frames, afterEach: {})
        guard isOnAir else { return }
        guard isCalm else { return pop(Int.random(in: 0...greed, using: &random)) }
        pop(.max)
        calmSteps -= 1
    }

    private mutating func push() {
        for packet in program.packets() {
            queue.push(packet)
            pushed += 1
            if packet.track == .video, packet.isKeyframe, calmSteps > 0 { hasKeyframe = true }
        }
    }

    private mutating func pop(_ most: Int) {
        var count = 0
        while count < most, let packet = queue.pop() {
            count += 1
            popped += 1
            let found = wire.fault(of: packet, in: program)
            fault = fault ?? found
        }
    }

    private mutating func disturb() {
        greed = random.pick([0, 1, 2, 6])
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            queue.disconnected()
            begin(onAir: false)
        case 2, 3, 4:
            _ = queue.connected()
            begin(onAir: true)
        case 5:
            queue.hold()
            begin(onAir: false)
        case 6: queue.discard()
        default:
            if !isOnAir { _ = queue.connected() }
            begin(onAir: true)
            pop(.max)
            (calmSteps, hasKeyframe, lossesBefore) = (300, false, nil)
        }
    }

    /// Starts to check for a new decoder if the output was off air or goes off air.
    private mutating func begin(onAir: Bool) {
        if !isOnAir || !onAir { wire = WireCheck() }
        isOnAir = onAir
    }

    /// The number of packets that the output did not get: the dropped packets and the packets that are not counted.
    private var losses: Int { queue.drops.packets + accounting.missing }
}

// MARK: Checks

extension QueueWalk {
    private mutating func check() {
        let status = queue.status
        let lost = accounting.fault(
            fed: pushed, taken: popped, dropped: queue.drops.packets, waiting: status.packets,
            isJoining: queue.isJoining)
        fault = fault ?? lost ?? bounds(status)
        guard calmSteps > 0, hasKeyframe else { return }
        let before = lossesBefore ?? losses
        lossesBefore = before
        if losses > before { fault = fault ?? "a packet is lost though all that is queued is read at once" }
    }

    private func bounds(_ status: QueueStatus) -> String? {
        if status.bytes > limits.maximumBytes + head.bytes { return "\(status.bytes) bytes are queued" }
        let longest = (limits.maximumDuration + head.duration).inMilliseconds
        // Media that arrived ahead of time does not count as queued.
        if !limits.takesBursts, status.milliseconds > longest { return "\(status.milliseconds) ms are queued" }
        return nil
    }
}
