// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Page
import Testing

/// The page's scripts have numbers of their own, which must be those of the drop policy.
@Suite("Queues of outputs on the web page")
struct PageQueueTests {
    @Test("The marks of a queue on the page are the thresholds at which a live output drops frames")
    func marks() throws {
        var count = 0
        let assets = UnsafeBufferPointer(start: relay_assets(&count), count: count)
        let asset = try #require(assets.first { String(cString: $0.path) == "page/outputs.js" })
        let text = String(decoding: UnsafeBufferPointer(start: asset.bytes, count: asset.count), as: UTF8.self)
        let marks = try #require(text.firstMatch(of: /queueTicks = \[(\d+), (\d+)\]/)).output
        let thresholds = [QueueLimits.live.disposableThreshold, QueueLimits.live.videoThreshold]
        #expect([marks.1, marks.2].compactMap { Int64($0) } == thresholds.map { $0.inNanoseconds / 1_000_000 })
    }
}
