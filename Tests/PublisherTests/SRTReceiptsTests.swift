// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Publisher

@Suite("Frames that an SRT receiver acknowledges")
struct SRTReceiptsTests {
    @Test("A frame is acknowledged with its last message, and each frame is counted once")
    func frames() {
        var receipts = SRTReceipts()
        // The first frame has three messages; the next two frames end with the same message.
        for _ in 0..<3 { receipts.handedOver() }
        receipts.completed(1)
        for _ in 0..<2 { receipts.handedOver() }
        receipts.completed(2)
        #expect(receipts.frames == 3)
        #expect(receipts.release(held: 5) == (0, 0) && receipts.release(held: 3) == (0, 0))
        #expect(receipts.release(held: 2) == (1, 0) && receipts.release(held: 2) == (0, 0))
        #expect(receipts.release(held: 1) == (0, 0) && receipts.frames == 2)
        #expect(receipts.release(held: 0) == (2, 0) && receipts.frames == 0)
        #expect(receipts.giveUp() == 0)
    }

    @Test("A message without a frame, such as a probe, delays no acknowledgement and acknowledges nothing")
    func probes() {
        var receipts = SRTReceipts()
        receipts.handedOver()
        receipts.completed(1)
        receipts.handedOver(isMedia: false)
        #expect(receipts.release(held: 2) == (0, 0))
        #expect(receipts.release(held: 1) == (1, 0))
    }

    @Test("A frame is lost if libsrt dropped any of its messages, and a dropped probe costs no frame")
    func dropped() {
        var receipts = SRTReceipts()
        // Two frames of two messages, a probe, and a frame of two messages.
        for _ in 0..<2 {
            for _ in 0..<2 { receipts.handedOver() }
            receipts.completed(1)
        }
        receipts.handedOver(isMedia: false)
        for _ in 0..<2 { receipts.handedOver() }
        receipts.completed(1)
        // libsrt drops the first frame and half of the second one.
        #expect(receipts.release(held: 4, dropped: 3) == (0, 1))
        #expect(receipts.release(held: 3, dropped: 3) == (0, 1))
        #expect(receipts.release(held: 2, dropped: 4) == (0, 0))
        #expect(receipts.release(held: 0, dropped: 4) == (1, 0))
        #expect(receipts.frames == 0)
    }

    @Test("A frame of which a part was passed on and dropped before its last message is lost")
    func droppedBeginning() {
        var receipts = SRTReceipts()
        for _ in 0..<2 { receipts.handedOver() }
        receipts.completed(1, isWhole: false)
        #expect(receipts.release(held: 0, dropped: 1) == (0, 1))
        receipts.handedOver()
        receipts.completed(1)
        #expect(receipts.release(held: 0, dropped: 1) == (0, 1))
        receipts.handedOver()
        receipts.completed(1)
        #expect(receipts.release(held: 0, dropped: 1) == (1, 0))
    }

    @Test("Acknowledged frames, lost frames, and frames that are given up are together all frames")
    func sums() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var (receipts, all, released, open, dropped) = (SRTReceipts(), 0, 0, 0, Int64(0))
            for _ in 0..<Int.random(in: 1...50, using: &random) {
                for _ in 0..<Int.random(in: 1...9, using: &random) {
                    receipts.handedOver()
                    open += 1
                }
                let frames = Int.random(in: 0...2, using: &random)
                receipts.completed(frames)
                all += frames
                let gone = Int.random(in: 0...open, using: &random)
                open -= gone
                dropped += Int64.random(in: 0...Int64(gone), using: &random)
                let (acknowledged, lost) = receipts.release(held: open, dropped: dropped)
                released += acknowledged + lost
                #expect(released + receipts.frames == all)
            }
            #expect(released + receipts.giveUp() == all)
            #expect(receipts.frames == 0)
        }
    }
}
