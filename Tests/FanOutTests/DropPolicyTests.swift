// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import FanOut

@Suite("The policy that refuses packets of a live output")
struct DropPolicyTests {
    /// The decision about `packet` when this much media time, in milliseconds, is queued with it.
    private func decide(
        _ policy: inout DropPolicy, _ packet: EncodedPacket, milliseconds: Int64, bytes: Int = 1000
    ) -> DropPolicy.Decision {
        policy.decide(packet, depth: milliseconds * 1_000_000, bytes: bytes)
    }

    /// The policy of an output that is on air, has sent its backlog, and has accepted frames 0 and 1.
    private func livePolicy() -> DropPolicy {
        var policy = DropPolicy(limits: .live)
        #expect(decide(&policy, Packets.video(0, key: true), milliseconds: 0, bytes: 0) == .accept)
        policy.connected()
        #expect(decide(&policy, Packets.video(1), milliseconds: 33) == .accept && policy.mode == .live)
        return policy
    }

    @Test("An output that was never on air keeps the program's start; later it begins at the newest keyframe")
    func holding() {
        var policy = DropPolicy(limits: .live)
        #expect(decide(&policy, Packets.audio(0), milliseconds: 0, bytes: 0) == .accept)
        #expect(decide(&policy, Packets.video(0, key: true), milliseconds: 0) == .accept)
        #expect(decide(&policy, Packets.video(60, key: true), milliseconds: 2000) == .accept)
        policy.disconnected()
        #expect(decide(&policy, Packets.video(120, key: true), milliseconds: 2500) == .flush)
        policy.flushed(keyframeRemains: true)
        #expect(decide(&policy, Packets.video(120, key: true), milliseconds: 0, bytes: 0) == .accept)
    }

    @Test("A congested output refuses disposable frames first, and then all frames until the next keyframe")
    func congestion() {
        var policy = livePolicy()
        #expect(decide(&policy, Packets.video(2, disposable: true), milliseconds: 699) == .accept)
        #expect(decide(&policy, Packets.video(3, disposable: true), milliseconds: 700) == .refuse(.disposable))
        #expect(decide(&policy, Packets.video(4), milliseconds: 899) == .accept)
        #expect(decide(&policy, Packets.video(5), milliseconds: 900) == .refuse(.congestion))
        #expect(decide(&policy, Packets.video(6), milliseconds: 0) == .refuse(.awaitingKeyframe))
        #expect(decide(&policy, Packets.audio(9), milliseconds: 1000) == .accept)
        #expect(policy.needsKeyframe(depth: 699_999_999) && !policy.needsKeyframe(depth: 700_000_000))
        #expect(decide(&policy, Packets.video(60, key: true), milliseconds: 1500) == .accept)
        #expect(!policy.needsKeyframe(depth: 0))
    }

    @Test("A receiver's video is frozen if all frames after a keyframe are refused, until the next frame")
    func standsStill() {
        var policy = livePolicy()
        #expect(decide(&policy, Packets.video(2), milliseconds: 900) == .refuse(.congestion) && !policy.standsStill)
        #expect(decide(&policy, Packets.video(60, key: true), milliseconds: 900) == .accept)
        #expect(decide(&policy, Packets.video(61), milliseconds: 900) == .refuse(.congestion) && policy.standsStill)
        #expect(decide(&policy, Packets.video(120, key: true), milliseconds: 0) == .accept && policy.standsStill)
        #expect(decide(&policy, Packets.video(121), milliseconds: 0) == .accept && !policy.standsStill)
    }

    @Test("The backlog of an output that goes on air is no congestion, but at its limit the queue is emptied")
    func backlog() {
        var policy = DropPolicy(limits: .live)
        #expect(decide(&policy, Packets.video(0, key: true), milliseconds: 0, bytes: 0) == .accept)
        policy.connected()
        #expect(decide(&policy, Packets.video(1, disposable: true), milliseconds: 2999) == .accept)
        #expect(policy.mode == .catchingUp)
        #expect(decide(&policy, Packets.video(2), milliseconds: 3000) == .flush)
        #expect(decide(&policy, Packets.video(2), milliseconds: 0, bytes: QueueLimits.live.maximumBytes) == .flush)
    }

    @Test("An output that joins with a long GOP may queue that much more until it has caught up")
    func joined() {
        var policy = DropPolicy(limits: .live, mode: .holding)
        policy.joined(depth: 5_000_000_000, bytes: 9 << 20)
        #expect(decide(&policy, Packets.video(1), milliseconds: 7999, bytes: 9 << 20) == .accept)
        #expect(decide(&policy, Packets.video(2), milliseconds: 8000, bytes: 9 << 20) == .flush)
        #expect(decide(&policy, Packets.video(2), milliseconds: 699) == .accept && policy.mode == .live)
        #expect(decide(&policy, Packets.video(3), milliseconds: 3000) == .flush)
    }

    @Test("An output that joins a running program gets no packet before its first keyframe")
    func begins() {
        var policy = DropPolicy(limits: .live, mode: .holding)
        #expect(decide(&policy, Packets.audio(0), milliseconds: 0, bytes: 0) == .refuse(.awaitingKeyframe))
        policy.connected()
        #expect(decide(&policy, Packets.audio(1), milliseconds: 0, bytes: 0) == .refuse(.awaitingKeyframe))
        #expect(decide(&policy, Packets.video(1), milliseconds: 0, bytes: 0) == .refuse(.awaitingKeyframe))
        #expect(decide(&policy, Packets.video(60, key: true), milliseconds: 0, bytes: 0) == .accept)
        #expect(decide(&policy, Packets.audio(94), milliseconds: 0) == .accept)
    }
}
