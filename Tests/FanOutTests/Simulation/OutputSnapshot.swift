// SPDX-License-Identifier: Apache-2.0

@testable import FanOut

/// The state of an output at one moment of a simulation.
struct OutputSnapshot: Sendable {
    let machine: OutputStateMachine
    /// The attempt on air, or the one that connects.
    let attempt: SimulatedAttempt?
    /// The attempt beside the one on air.
    let candidate: SimulatedAttempt?
    let isFed: Bool
    /// Whether some packets that the output does not get do not count.
    let isJoining: Bool
    /// Packets in the output's queues.
    let waiting: Int
    /// Packets that the queues dropped.
    let dropped: Int
    let needsKeyframe: Bool
    /// Whether receivers get at most still frames until that keyframe.
    let standsStill: Bool
    /// Number of keyframes that the output requested.
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
        needsKeyframe = lanes.packets.needsKeyframe
        standsStill = lanes.packets.standsStill
        requests = lanes.keyframes.requests
    }
}
