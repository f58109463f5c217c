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
        #expect(receipts.acknowledged(upTo: 5) == 0 && receipts.acknowledged(upTo: 3) == 0)
        #expect(receipts.acknowledged(upTo: 2) == 1 && receipts.acknowledged(upTo: 2) == 0)
        #expect(receipts.acknowledged(upTo: 1) == 0 && receipts.frames == 2)
        #expect(receipts.acknowledged(upTo: 0) == 2 && receipts.frames == 0)
        #expect(receipts.giveUp() == 0)
    }

    @Test("A message without a frame, such as a probe, delays no acknowledgement and acknowledges nothing")
    func probes() {
        var receipts = SRTReceipts()
        receipts.handedOver()
        receipts.completed(1)
        receipts.handedOver()
        receipts.completed(0)
        #expect(receipts.acknowledged(upTo: 2) == 0)
        #expect(receipts.acknowledged(upTo: 1) == 1)
    }

    @Test("Acknowledged frames and frames that are given up are together all frames")
    func sums() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var (receipts, all, acknowledged, open) = (SRTReceipts(), 0, 0, 0)
            for _ in 0..<Int.random(in: 1...50, using: &random) {
                for _ in 0..<Int.random(in: 1...9, using: &random) {
                    receipts.handedOver()
                    open += 1
                }
                let frames = Int.random(in: 0...2, using: &random)
                receipts.completed(frames)
                all += frames
                open -= Int.random(in: 0...open, using: &random)
                acknowledged += receipts.acknowledged(upTo: open)
                #expect(acknowledged + receipts.frames == all)
            }
            #expect(acknowledged + receipts.giveUp() == all)
            #expect(receipts.frames == 0)
        }
    }
}
