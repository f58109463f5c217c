// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import TestSupport
import Testing

@Suite("Packet queue of a live output")
struct PacketQueueTests {
    private func connectedQueue() -> PacketQueue {
        let queue = PacketQueue(limits: .live)
        queue.push(Packets.video(0, key: true))
        _ = queue.connected()
        _ = queue.drain()
        return queue
    }

    @Test("An output that connects before its queue is full gets the whole program, and no packet is dropped")
    func holdsTheStart() {
        let queue = PacketQueue(limits: .live)
        queue.push(Packets.audio(-1))
        for packet in Packets.video(0..<80) { queue.push(packet) }
        #expect(queue.connected())
        // The backlog is not congestion: packets that come while it drains are accepted as well.
        for packet in Packets.video(80..<85) { queue.push(packet) }
        let packets = queue.drain()
        #expect(packets.count == 86)
        #expect(packets.first?.track == .audio)
        #expect(queue.status.drops.isEmpty)
    }

    @Test("Packets are taken from the queue in order, in batches of limited bytes, and the last batch reports the end")
    func batches() {
        let queue = connectedQueue()
        for packet in Packets.video(1..<8) { queue.push(packet) }
        var batch: [EncodedPacket] = []
        #expect(!queue.pop(upTo: 250, into: &batch))
        #expect(batch.map(\.pts) == [1, 2, 3])
        #expect(!queue.pop(upTo: 0, into: &batch))
        #expect(queue.pop(upTo: 1_000_000, into: &batch))
        #expect(batch.map(\.pts) == Array(1..<8))
        #expect(queue.status.bytes == 0)
        #expect(queue.pop(upTo: 1, into: &batch))
    }

    @Test("Drops of an output that waits for receivers are counted only from its first receiver on")
    func awaitsCallers() {
        let queue = PacketQueue(limits: .live, awaitsCallers: true)
        for packet in Packets.video(0..<200) { queue.push(packet) }
        _ = queue.connected()
        #expect(queue.drain().first?.pts == 180)
        #expect(queue.status.drops.isEmpty)
        queue.disconnected()
        queue.push(Packets.video(200))
        #expect(queue.status.droppedFrames == 1)
    }

    @Test("An output that connects late begins at the newest keyframe")
    func trimsToTheNewestKeyframe() {
        let queue = PacketQueue(limits: .live)
        for packet in Packets.video(0..<200) { queue.push(packet) }
        _ = queue.connected()
        let packets = queue.drain()
        #expect(packets.first?.isKeyframe == true)
        #expect(packets.first?.pts == 180)
        #expect(packets.map(\.pts) == Array(180..<200))
        #expect(queue.status.drops == [.notConnected: 180])
    }

    @Test("A queue drops disposable frames from 700 ms on, all video until a keyframe from 900 ms on, and never audio")
    func thresholds() {
        let queue = connectedQueue()
        for packet in Packets.video(61..<120) { queue.push(packet) }
        let frames = queue.drain().map(\.pts)
        // The queue begins at frame 61. It is 700 ms long at frame 61 + 21, and 900 ms long at frame 61 + 27.
        #expect(frames.prefix(21) == ArraySlice(61...81))
        #expect(frames.dropFirst(21) == [82, 84, 86])
        #expect(queue.push(Packets.audio(200)) == .queued)
        #expect(queue.push(Packets.video(121)) == .dropped(.awaitingKeyframe))
        #expect(queue.push(Packets.video(122, key: true)) == .queued)
        #expect(queue.push(Packets.video(123)) == .queued)
    }

    @Test("A queue that reaches 3 s is emptied up to its newest keyframe, and the following packets can be decoded")
    func overflow() {
        let queue = connectedQueue()
        for packet in Packets.video(60..<152) { queue.push(packet) }
        let packets = queue.drain()
        #expect(packets.first?.pts == 120)
        #expect(packets.first?.isKeyframe == true)
        #expect(queue.status.drops[.overflow] ?? 0 > 0)
        #expect(queue.push(Packets.video(153)) == .dropped(.awaitingKeyframe))
    }

    @Test("A queue never exceeds its limit in bytes, however short its duration is")
    func bytes() {
        var limits = QueueLimits.live
        limits.maximumBytes = 1000
        let queue = PacketQueue(limits: limits)
        queue.push(Packets.video(0, key: true, size: 10))
        _ = queue.connected()
        for index in Int64(1)..<40 {
            queue.push(Packets.video(index, size: 100))
            #expect(queue.status.bytes <= 1000)
        }
        _ = queue.pop()
        #expect(queue.needsKeyframe)
    }

    @Test("However slowly a queue is read, no packet that refers to a dropped packet is sent")
    func neverUndecodable() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let queue = connectedQueue()
            var previous: Int64?
            var index: Int64 = 60
            for _ in 0..<300 {
                if Bool.random(using: &random) {
                    for _ in 0..<Int.random(in: 1...40, using: &random) {
                        queue.push(Packets.video(index..<index + 1).first ?? Packets.video(index))
                        index += 1
                    }
                }
                for _ in 0..<Int.random(in: 0...30, using: &random) {
                    guard let packet = queue.pop() else { break }
                    // Only keyframes may follow a gap, unless it consists of disposable frames only.
                    if let previous, !packet.isKeyframe {
                        let missing = (previous + 1)..<packet.pts
                        #expect(missing.allSatisfy { $0 % 60 % 2 == 1 })
                    }
                    previous = packet.pts
                }
            }
        }
    }

    @Test("After a lost connection the queue keeps only packets from the newest keyframe on")
    func reconnect() {
        let queue = connectedQueue()
        for packet in Packets.video(60..<70) { queue.push(packet) }
        queue.disconnected()
        #expect(queue.status.packets == 10)
        for packet in Packets.video(70..<130) { queue.push(packet) }
        #expect(queue.connected())
        #expect(queue.drain().map(\.pts) == Array(120..<130))
    }

    @Test("If a connection is lost during congestion, no old keyframe is kept without the frames that follow it")
    func reconnectAfterCongestion() {
        let queue = connectedQueue()
        for packet in Packets.video(60..<150) { queue.push(packet) }
        queue.disconnected()
        #expect(queue.status.packets == 0)
        for packet in Packets.video(150..<190) { queue.push(packet) }
        #expect(queue.connected())
        #expect(queue.drain().map(\.pts) == Array(180..<190))
    }

    @Test("A queue whose video waits for a keyframe requests one as soon as there is room")
    func needsKeyframe() {
        let queue = connectedQueue()
        for packet in Packets.video(61..<119) { queue.push(packet) }
        #expect(!queue.needsKeyframe)
        _ = queue.drain()
        #expect(queue.needsKeyframe)
        queue.push(Packets.video(120, key: true))
        #expect(!queue.needsKeyframe)
    }

    @Test("If a server reads nothing and the queue is emptied, no keyframe is requested until the server reads again")
    func unreadQueue() {
        let queue = connectedQueue()
        for packet in Packets.video(1..<100, gop: 1000) { queue.push(packet) }
        #expect(queue.drops.causes[.overflow] ?? 0 > 0 && queue.status.packets == 0)
        #expect(!queue.needsKeyframe)
        _ = queue.pop()
        #expect(queue.needsKeyframe && queue.standsStill)
    }

    @Test("Video counts as frozen from the drop of the frame after a keyframe until another frame is accepted")
    func standsStill() {
        let queue = connectedQueue()
        for packet in Packets.video(1..<60) { queue.push(packet) }
        #expect(!queue.standsStill)
        // The keyframe is queued, and the frames after it are refused.
        for packet in Packets.video(60..<70) { queue.push(packet) }
        #expect(queue.standsStill && !queue.needsKeyframe)
        _ = queue.drain()
        #expect(queue.standsStill && queue.needsKeyframe)
        queue.push(Packets.video(70, key: true))
        queue.push(Packets.video(71))
        #expect(!queue.standsStill && !queue.needsKeyframe)
    }

    @Test("A queue that joins a running program begins with a keyframe, and earlier packets do not count as drops")
    func joining() {
        let queue = PacketQueue(limits: .live, isFromStart: false)
        for packet in Packets.video(10..<20) { queue.push(packet) }
        #expect(!queue.connected())
        for packet in [Packets.audio(40), Packets.video(20), Packets.video(60, key: true), Packets.audio(95)] {
            queue.push(packet)
        }
        #expect(queue.drain().map(\.pts) == [60, 95 * 1024])
        #expect(queue.status.drops.isEmpty)
        queue.disconnected()
        queue.push(Packets.video(61))
        #expect(queue.status.droppedFrames == 1)
    }

    @Test("While a server accepts no data the newest GOP is kept, and the stream continues with that GOP")
    func holding() {
        let queue = connectedQueue()
        for packet in [Packets.video(1), Packets.audio(2), Packets.video(4, key: true), Packets.video(5)] {
            queue.push(packet)
        }
        queue.hold()
        #expect(queue.status.drops == [.overflow: 2])
        // These frames are longer than the maximum queue of an output on air.
        for packet in Packets.video(6..<50, gop: 1000) { queue.push(packet) }
        #expect(queue.status.packets == 46 && !queue.needsKeyframe)
        for packet in [Packets.video(50, key: true), Packets.audio(51), Packets.video(51)] { queue.push(packet) }
        queue.hold()
        #expect(queue.connected())
        #expect(queue.drain().map(\.pts) == [50, 51 * 1024, 51])
        #expect(queue.status.drops == [.overflow: 2, .notConnected: 46])
    }

    @Test("If the queue is empty when the server stops accepting data, the queue begins again with a keyframe")
    func holdingNothing() {
        let queue = connectedQueue()
        queue.hold()
        #expect(!queue.needsKeyframe)
        #expect(!queue.connected())
        #expect(queue.needsKeyframe)
        for packet in [Packets.video(1), Packets.audio(2), Packets.video(8, key: true), Packets.audio(9)] {
            queue.push(packet)
        }
        #expect(queue.drain().map(\.pts) == [8, 9 * 1024])
    }

    @Test(
        "An output that joins in a GOP longer than the queue gets that GOP; the limits apply once it has caught up"
    )
    func joinsWithLongGOP() {
        let queue = PacketQueue(limits: .live, isFromStart: false)
        _ = queue.connected()
        queue.join(with: Packets.video(0..<300, gop: 1000))
        for packet in Packets.video(300..<380, gop: 1000) { #expect(queue.push(packet) == .queued) }
        #expect(queue.drops.packets == 0)
        // These frames are 3 s longer than the GOP.
        for packet in Packets.video(380..<400, gop: 1000) { queue.push(packet) }
        #expect(queue.drops.causes[.overflow] ?? 0 > 300)
        let caughtUp = PacketQueue(limits: .live, isFromStart: false)
        _ = caughtUp.connected()
        caughtUp.join(with: Packets.video(0..<300, gop: 1000))
        #expect(caughtUp.drain().count == 300)
        for packet in Packets.video(300..<340, gop: 1000) { caughtUp.push(packet) }
        #expect(caughtUp.drops.causes[.congestion] == 1)
    }

    @Test("A queue that joins before the first keyframe begins with it, and earlier packets do not count as drops")
    func joinsWithoutGOP() {
        let queue = PacketQueue(limits: .live, isFromStart: false)
        _ = queue.connected()
        queue.join(with: [Packets.audio(0), Packets.video(1)])
        queue.push(Packets.audio(1))
        queue.push(Packets.video(60, key: true))
        queue.push(Packets.audio(90))
        #expect(queue.drain().map(\.dts) == [60, 90 * 1024] && queue.drops.packets == 0)
    }

    /// Pushes segments of 6 s into a live output's queue, and takes frames from it at `share` of the frame rate.
    /// Returns the number of frames taken after `segments` segments, and the queue.
    private func play(_ segments: Int64, share: Double, takesBursts: Bool = true) -> (got: Int, queue: PacketQueue) {
        let clock = ManualClock()
        var limits = QueueLimits.live
        limits.takesBursts = takesBursts
        let queue = PacketQueue(limits: limits, clock: clock)
        _ = queue.connected()
        var (got, due) = (0, 0.0)
        for frame in 0..<segments * 180 {
            if frame % 180 == 0 { for packet in Packets.video(frame..<frame + 180) { queue.push(packet) } }
            clock.sleep(until: MonotonicInstant(frame + 1, in: FrameRate(30).timeBase))
            due += share
            while due >= 1, queue.pop() != nil { (got, due) = (got + 1, due - 1) }
        }
        return (got, queue)
    }

    @Test("If all frames of a playlist segment arrive at once, this is not congestion, and no frame is dropped")
    func bursts() {
        let (got, queue) = play(20, share: 1.01)
        #expect(got == 20 * 180 && queue.drops == DropCounts())
        #expect(play(20, share: 1.01, takesBursts: false).queue.drops.frames > 0)
    }

    @Test("If input comes in bursts, a slow output gets as much as it can send, and its delay does not grow")
    func slowWithBursts() {
        let (got, queue) = play(20, share: 0.7)
        #expect(queue.drops.frames > 600 && got + queue.drops.frames + queue.status.packets == 20 * 180)
        #expect(queue.status.milliseconds < 3000)
    }
}
