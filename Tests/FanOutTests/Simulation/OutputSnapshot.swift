// SPDX-License-Identifier: Apache-2.0

@testable import FanOut

/// The state of an output at one moment of a simulation.
struct OutputSnapshot: Sendable {
    let machine: OutputStateMachine
    /// The attempt that is on air or connecting.
    let attempt: SimulatedAttempt?
    /// The candidate: a second attempt while another attempt is on air.
    let candidate: SimulatedAttempt?
    let isFed: Bool
    /// Whether the output has not joined the program, so that packets that it does not get are not counted.
    let isJoining: Bool
    /// The number of packets in the output's queues.
    let waiting: Int
    /// The number of packets that the queues dropped.
    let dropped: Int
    /// Whether the output has joined the program with its present queue.
    let hasJoined: Bool
    /// The numbers of frames that the attempts sent, that the queues and the attempts dropped, and that wait in either.
    let frames: (sent: Int, dropped: Int, waiting: Int)
    let needsKeyframe: Bool
    /// Whether the receivers' video is frozen until the next keyframe.
    let standsStill: Bool
    /// The number of keyframes that the output requested.
    let requests: Int

    init(_ lanes: OutputAttempts) {
        machine = lanes.machine
        attempt = lanes.current?.attempt as? SimulatedAttempt
        if case .live(_, let next?) = lanes.phase {
            candidate = next.lane.attempt as? SimulatedAttempt
        } else {
            candidate = nil
        }
        isFed = lanes.isFed
        let others = lanes.retired.map(\.packets).filter { $0 !== lanes.packets }
        let queues = [lanes.packets] + others
        isJoining = queues.contains { $0.isJoining }
        waiting = queues.reduce(0) { $0 + $1.status.packets }
        dropped = lanes.queueDrops.packets
        hasJoined = !lanes.packets.isJoining
        var attempts = lanes.retired.map(\.attempt)
        if let attempt { attempts.append(attempt) }
        if let candidate { attempts.append(candidate) }
        let queued = queues.reduce(0) { $0 + $1.waitingFrames }
        let held = attempts.reduce(0) { $0 + $1.progress.waitingFrames }
        frames = (sent: Int(lanes.frames), dropped: lanes.queueStatus.droppedFrames, waiting: queued + held)
        needsKeyframe = lanes.packets.needsKeyframe
        standsStill = lanes.packets.standsStill
        requests = lanes.keyframes.requests
    }
}
