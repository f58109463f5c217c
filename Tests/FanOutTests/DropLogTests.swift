// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import FanOut

@Suite("The log of dropped packets")
struct DropLogTests {
    private func counts(_ causes: [DropCause: Int]) -> DropCounts {
        var counts = DropCounts()
        counts.causes = causes
        counts.frames = counts.packets
        return counts
    }

    @Test("The first drop on air and the recovery 10 s after the last drop are each logged once")
    func episode() {
        for cause in DropCause.allCases where cause != .notConnected {
            var log = DropLog()
            #expect(log.join(counts([:])) == nil)
            #expect(log.note(counts([:]), at: 0) == nil)
            #expect(log.note(counts([cause: 2]), at: .seconds(1)) == .began(counts([cause: 2])))
            #expect(log.note(counts([cause: 5]), at: .seconds(8)) == nil)
            #expect(log.note(counts([cause: 5]), at: .seconds(17)) == nil)
            #expect(log.note(counts([cause: 5]), at: .seconds(19)) == .over(counts([cause: 5])))
            #expect(log.note(counts([cause: 5]), at: .seconds(40)) == nil)
            #expect(log.note(counts([cause: 6]), at: .seconds(50)) == .began(counts([cause: 1])))
        }
    }

    @Test("Drops while an output is off air are not logged, and going off air does not count as a recovery")
    func offAir() {
        var log = DropLog()
        #expect(log.note(counts([.notConnected: 9]), at: 0) == nil)
        #expect(log.join(counts([.notConnected: 9, .awaitingKeyframe: 4])) == nil)
        #expect(log.note(counts([.notConnected: 9, .awaitingKeyframe: 4]), at: .seconds(1)) == nil)
        let more = counts([.notConnected: 9, .awaitingKeyframe: 4, .overflow: 3])
        #expect(log.note(more, at: .seconds(2)) == .began(counts([.overflow: 3])))
        #expect(log.leave(more) == .cut(counts([.overflow: 3])))
        #expect(log.leave(more) == nil)
    }

    @Test("The last drops before an output or a receiver disconnects are logged, even between two checks")
    func unseen() {
        var log = DropLog()
        _ = log.join(counts([:]))
        #expect(log.note(counts([.notConnected: 9]), at: 0) == nil)
        let last = counts([.notConnected: 10, .overflow: 3])
        #expect(log.leave(last) == .cut(last))
    }

    @Test("Packets that an output missed off air, up to the first keyframe, are logged when it is on air again")
    func missed() {
        var log = DropLog()
        _ = log.join(counts([:]))
        #expect(log.leave(counts([:])) == nil)
        // An attempt that ends before its first keyframe was not on air.
        #expect(log.leave(counts([.notConnected: 5, .awaitingKeyframe: 2])) == nil)
        let missed = counts([.notConnected: 8, .awaitingKeyframe: 4])
        #expect(log.note(missed, at: 0) == nil)
        #expect(log.join(missed) == missed)
        #expect(log.join(missed) == nil)
        #expect(log.note(missed, at: .seconds(1)) == nil)
    }

    @Test("The log lists the causes of drops with their counts, in a fixed order")
    func summary() {
        #expect(counts([.awaitingKeyframe: 40, .congestion: 3]).summary == "congestion=3 awaiting_keyframe=40")
    }
}
