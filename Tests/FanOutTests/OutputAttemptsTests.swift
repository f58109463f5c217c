// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import FanOut

@Suite("Connection attempts of an output")
struct OutputAttemptsTests {
    private func lanes(isFromStart: Bool = true) -> OutputAttempts {
        OutputAttempts(machine: OutputStateMachine(), packets: PacketQueue(limits: .live, isFromStart: isFromStart))
    }

    private func lane(_ number: Int, _ packets: PacketQueue) -> OutputLane {
        OutputLane(
            attempt: ScriptedAttempt(queue: packets, report: { _ in }), number: number, target: ScriptedTarget(),
            packets: packets)
    }

    private func liveLanes() -> OutputAttempts {
        var lanes = lanes()
        _ = lanes.begin(lane(1, lanes.packets))
        _ = lanes.goLive(at: 0)
        return lanes
    }

    @Test("An output that is off air has only one attempt, and its queue is filled even after a connection has ended")
    func life() {
        var lanes = lanes()
        let early = lanes.goLive(at: 0)?.lane.number
        #expect(early == nil)
        #expect(lanes.begin(lane(1, lanes.packets)) == true)
        #expect(lanes.begin(lane(2, lanes.packets)) == false)
        lanes.note(step: "connect", of: 1)
        lanes.note(step: "publish", of: 2)
        #expect(lanes.step == "connect")
        #expect(lanes.live == nil && lanes.current?.number == 1)
        #expect(lanes.goLive(at: 0)?.lane.number == 1)
        #expect(lanes.live?.number == 1 && lanes.step == nil)
        #expect(lanes.remove(1)?.number == 1)
        #expect(lanes.current == nil && lanes.isFed)
        let again = lanes.remove(1)?.number
        #expect(again == nil)
    }

    @Test("An output that reconnects reports all packets that it missed off air, even after several failed attempts")
    func missed() {
        var lanes = liveLanes()
        for packet in Packets.video(0..<10) { lanes.packets.push(packet) }
        _ = lanes.remove(1)
        _ = lanes.hold()
        _ = lanes.begin(lane(2, lanes.packets))
        _ = lanes.remove(2)
        _ = lanes.hold()
        for packet in Packets.video(10..<70) { lanes.packets.push(packet) }
        _ = lanes.begin(lane(3, lanes.packets))
        #expect(lanes.goLive(at: 0)?.missed?.frames == 60)
    }

    @Test("If the connection on air is lost, a second connection that is being tried replaces it, with a filled queue")
    func candidate() {
        var lanes = liveLanes()
        let own = PacketQueue(limits: .live, isFromStart: false)
        #expect(lanes.begin(lane(2, own)) == true)
        #expect(lanes.begin(lane(3, own)) == false)
        _ = lanes.remove(1)
        #expect(lanes.live == nil && lanes.current?.number == 2)
        #expect(lanes.promote() == nil)
        #expect(lanes.packets === own)
        #expect(lanes.goLive(at: 0)?.lane.number == 2)
    }

    @Test("A second connection attempt that was given up causes no keyframe request")
    func candidateGone() {
        var lanes = liveLanes()
        _ = lanes.begin(lane(2, PacketQueue(limits: .live, isFromStart: false)))
        lanes.arrangeChange(at: 0)
        // The candidate still waits for a keyframe, whatever the receivers of the attempt on air need.
        lanes.stopWaiting(1)
        #expect(lanes.keyframes.isWaiting)
        _ = lanes.remove(2)
        #expect(!lanes.keyframes.isWaiting)
    }

    @Test("A second connection that replaces the one on air goes on air in the same step")
    func changeGoesLive() {
        var lanes = lanes()
        let next = lane(2, PacketQueue(limits: .live, isFromStart: false))
        _ = lanes.machine.handle(.start)
        _ = lanes.begin(lane(1, lanes.packets))
        _ = lanes.machine.handle(.accepted(attempt: 1, at: 0))
        _ = lanes.goLive(at: 0)
        _ = lanes.machine.handle(.reconnectRequested(attempt: 1, at: 0))
        _ = lanes.begin(next)
        _ = lanes.machine.handle(.accepted(attempt: 2, at: 0))
        lanes.arrangeChange(at: 0)
        let change = lanes.change(at: 0)
        #expect(change?.next.number == 2)
        #expect((next.attempt as? ScriptedAttempt)?.isLive == true)
    }

    @Test("A paused output accepts no packet, sends the rest of its queue, and connects again when it is resumed")
    func pause() {
        var lanes = liveLanes()
        let old = lanes.packets
        old.push(Packets.video(0, key: true))
        #expect(lanes.retire(1)?.number == 1)
        _ = lanes.pause(with: PacketQueue(limits: .live, isFromStart: false))
        let isRefused = !lanes.begin(lane(2, lanes.packets))
        #expect(!lanes.isFed && isRefused)
        #expect(old.status.packets == 1)
        lanes.open()
        let isTaken = lanes.begin(lane(2, lanes.packets))
        #expect(lanes.isFed && isTaken)
        #expect(lanes.remove(1)?.number == 1)
        #expect(old.status.packets == 0)
    }

    @Test("Frames that a connection took from the queue and did not send count as dropped when it is closed")
    func unsentFrames() {
        var lanes = liveLanes()
        (lanes.current?.attempt as? ScriptedAttempt)?.hold(7)
        #expect(lanes.queueStatus.droppedFrames == 0)
        _ = lanes.remove(1)
        #expect(lanes.queueStatus.droppedFrames == 7)
    }

    @Test("Each packet that waits when a connection is given up at the end counts as dropped and is not sent later")
    func lateReader() throws {
        var lanes = liveLanes()
        let attempt = try #require(lanes.live?.attempt)
        attempt.goLive()
        for packet in Packets.video(0..<5) { lanes.packets.push(packet) }
        _ = lanes.machine.handle(.stop)
        _ = lanes.remove(1)
        // The attempt's queue still has a pass over the packets to do, because the attempt has not closed yet.
        attempt.server.wake()
        _ = lanes.close()
        #expect(lanes.frames == 0 && lanes.queueStatus.droppedFrames == 5)
    }

    @Test("Packets that wait in the queue when the output ends count as dropped")
    func waitingAtTheEnd() {
        var lanes = liveLanes()
        for packet in Packets.video(0..<25) { lanes.packets.push(packet) }
        _ = lanes.remove(1)
        _ = lanes.close()
        #expect(lanes.queueStatus.packets == 0 && lanes.queueStatus.droppedFrames == 25)
    }

    @Test("Packets that a paused output's old connection still sends when the output ends do not count as dropped")
    func retiredAtTheEnd() {
        var lanes = liveLanes()
        let old = lanes.packets
        for packet in Packets.video(0..<20) { old.push(packet) }
        _ = lanes.retire(1)
        _ = lanes.pause(with: PacketQueue(limits: .live, isFromStart: false))
        _ = lanes.close()
        #expect(old.status.packets == 20 && lanes.queueStatus.droppedFrames == 0)
    }
}
