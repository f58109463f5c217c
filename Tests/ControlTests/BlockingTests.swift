// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Media
import Testing

@testable import Control

@Suite("Limits of requests that block", .serialized)
struct BlockingTests {
    @Test(
        "Slow requests of viewers, even at their limit, do not block commands, lists and clips",
        arguments: [
            (Blocking.disk, [Blocking.changes, .clips, .control, .thumbnails, .stills]),
            (.thumbnails, [.disk, .changes, .clips, .control, .stills]),
        ])
    func places(pool: Blocking, free: [Blocking]) async {
        // The limit for concurrent calls, and the number of calls. Calls beyond the limit are refused.
        let (most, asking) = (16, 40)
        let gate = DispatchSemaphore(value: 0)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<asking {
                group.addTask { (try? await pool.run { gate.wait() }) != nil }
            }
            // Each admitted call waits, so all others are refused.
            for _ in most..<asking {
                let isLetIn = await group.next()
                #expect(isLetIn == false)
            }
            await #expect(throws: Refusal.self) { try await pool.run {} }
            for other in free { await #expect(throws: Never.self) { try await other.run {} } }
            for _ in 0..<most { gate.signal() }
            let letIn = await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            #expect(letIn == most)
        }
    }
}
