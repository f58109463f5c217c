// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import FanOutBench

@Suite("The delay that the fan-out benchmark measures")
struct DelayProbeTests {
    /// When frame number `frame` is published.
    private func moment(_ frame: Int) -> MonotonicInstant { .zero + .milliseconds(33 * frame) }

    private func published(_ count: Int) -> Feed.Published {
        var published = Feed.Published()
        for frame in 0..<count { published.times[frame] = moment(frame) }
        published.count = count
        return published
    }

    @Test("The benchmark counts a frame's delay from its publishing, even for an output that began later")
    func counts() throws {
        var probe = DelayProbe(outputs: 2)
        for frame in 0..<30 {
            let base = moment(frame)
            // Output 0 sends 2 ms after the publishing, output 1 has missed ten frames and needs 5 ms.
            probe.note(sent: frame, by: 0, at: base + .milliseconds(1), published: published(frame + 1))
            probe.note(sent: frame + 1, by: 0, at: base + .milliseconds(2), published: published(frame + 1))
            probe.note(sent: max(0, frame - 9), by: 1, at: base + .milliseconds(5), published: published(frame + 1))
        }
        let delay = try #require(probe.result)
        #expect(delay.maximum == 5)
        #expect(delay.samples == 30 + 20)
        #expect(delay.median == 2)
    }

    @Test("If no frame was sent, the benchmark has no delay to report")
    func empty() {
        var probe = DelayProbe(outputs: 1)
        probe.note(sent: 0, by: 0, at: .zero, published: published(1))
        #expect(probe.result == nil)
    }
}
