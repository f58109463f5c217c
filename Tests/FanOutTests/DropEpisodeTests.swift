// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FanOut

@Suite("Episodes of dropping")
struct DropEpisodeTests {
    private let second: Int64 = 1_000_000_000

    private func counts(_ causes: [DropCause: Int]) -> DropCounts {
        var counts = DropCounts()
        counts.causes = causes
        counts.frames = counts.packets
        return counts
    }

    @Test("An episode begins with the first drop of any cause on air and is over 10 s behind the last, each told once")
    func episode() {
        for cause in DropCause.allCases where cause != .notConnected {
            var episode = DropEpisode()
            #expect(episode.note(counts([:]), at: 0) == nil)
            #expect(episode.note(counts([cause: 2]), at: second) == .began(counts([cause: 2])))
            #expect(episode.note(counts([cause: 5]), at: 8 * second) == nil)
            #expect(episode.note(counts([cause: 5]), at: 17 * second) == nil)
            #expect(episode.note(counts([cause: 5]), at: 19 * second) == .over(counts([cause: 5])))
            #expect(episode.note(counts([cause: 5]), at: 40 * second) == nil)
            #expect(episode.note(counts([cause: 6]), at: 50 * second) == .began(counts([cause: 1])))
        }
    }

    @Test("What was dropped off air is no episode; going off air was told as recovery, and cuts an episode short")
    func offAir() {
        var episode = DropEpisode()
        #expect(episode.note(counts([.notConnected: 9]), at: 0) == nil)
        episode.begin(from: counts([.notConnected: 9, .awaitingKeyframe: 4]))
        #expect(episode.note(counts([.notConnected: 9, .awaitingKeyframe: 4]), at: second) == nil)
        let more = counts([.notConnected: 9, .awaitingKeyframe: 4, .overflow: 3])
        #expect(episode.note(more, at: 2 * second) == .began(counts([.overflow: 3])))
        #expect(episode.end(more) == .cut(counts([.overflow: 3])))
        #expect(episode.end(more) == nil)
    }

    @Test("What was dropped last before an output or a receiver left was told nowhere: nobody had looked at it")
    func unseen() {
        var episode = DropEpisode()
        #expect(episode.note(counts([.notConnected: 9]), at: 0) == nil)
        #expect(
            episode.end(counts([.notConnected: 10, .overflow: 3])) == .cut(counts([.notConnected: 10, .overflow: 3])))
        #expect(episode.end(counts([.notConnected: 12, .overflow: 3])) == nil)
    }

    @Test("Causes are listed with their counts, in a fixed order")
    func summary() {
        #expect(counts([.awaitingKeyframe: 40, .congestion: 3]).summary == "congestion=3 awaiting_keyframe=40")
    }
}
