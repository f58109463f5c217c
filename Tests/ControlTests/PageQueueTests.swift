// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import NIOCore
import Testing

@testable import Control

/// The page's script contains copies of the drop policy's thresholds. They must have the same values.
@Suite("Queues of outputs on the web page")
struct PageQueueTests {
    @Test("The web page marks an output's queue at the thresholds at which a live output drops frames")
    func marks() throws {
        let text = String(buffer: try #require(BuiltInFile.named("page/outputs.js")).content)
        let marks = try #require(text.firstMatch(of: /queueTicks = \[(\d+), (\d+)\]/)).output
        let thresholds = [QueueLimits.live.disposableThreshold, QueueLimits.live.videoThreshold]
        #expect([marks.1, marks.2].compactMap { Int64($0) } == thresholds.map { $0.inNanoseconds / 1_000_000 })
    }
}
