// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import PacketSamples
import Testing

@testable import Publisher

/// A receiver that was sent `frames` frames of 100 bytes, and whose queue has frames that wait.
private final class Receiver: CountedReceiver {
    let packets = PacketQueue(limits: .live)
    let progress: AttemptProgress

    init(sent frames: UInt64, waiting: Int64) {
        var progress = AttemptProgress()
        (progress.bytes, progress.frames) = (frames * 100, frames)
        self.progress = progress
        for index in 0..<waiting { packets.push(Samples.video(pts: index, dts: index, isKeyframe: index == 0)) }
    }
}

@Suite("Totals of an output's receivers")
struct ReceiverTotalsTests {
    @Test("The totals are sums over all receivers; the queue is that of the slowest one")
    func sums() throws {
        let totals = ReceiverTotals(.players)
        for receiver in [Receiver(sent: 10, waiting: 31), Receiver(sent: 5, waiting: 2)] {
            _ = totals.nextNumber()
            totals.add(receiver)
        }
        let progress = totals.progress
        #expect(progress.bytes == 1500 && progress.frames == 15)
        #expect(progress.waitingFrames == 33 && progress.drops.packets == 0)
        let receivers = try #require(progress.details.receivers)
        #expect(receivers == .init(.players, count: 2, total: 2, queueMilliseconds: 1000))
        #expect(progress.details.srt == nil)
    }

    @Test("When a receiver leaves, its sent frames stay in the totals, and its waiting frames count as dropped")
    func leaves() throws {
        let totals = ReceiverTotals(.players)
        let receiver = Receiver(sent: 10, waiting: 3)
        #expect(totals.nextNumber() == 1)
        totals.add(receiver)
        totals.remove(receiver)
        #expect(totals.nextNumber() == 2)
        let progress = totals.progress
        #expect(progress.bytes == 1000 && progress.frames == 10 && progress.waitingFrames == 0)
        #expect(progress.drops.causes == [.notConnected: 3] && progress.drops.frames == 3)
        #expect(try #require(progress.details.receivers) == .init(.players, total: 2))
    }

    @Test("Refused receivers are counted one by one, or set to the number that the server has counted")
    func refusals() throws {
        let totals = ReceiverTotals(.callers)
        totals.countRefusal()
        #expect(totals.progress.details.receivers?.refused == 1)
        #expect(totals.setRefused(5) == 1 && totals.setRefused(7) == 5)
        #expect(totals.progress.details.receivers?.refused == 7)
    }
}
