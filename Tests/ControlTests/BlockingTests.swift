// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Media
import Testing

@testable import Control

@Suite("Limits of blocking work")
struct BlockingTests {
    @Test("Clip commands are admitted while reads of a disk that does not answer have reached their limit")
    func places() async {
        // The limit for concurrent reads of recordings; all further ones are refused.
        let (most, asking) = (16, 40)
        let gate = DispatchSemaphore(value: 0)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<asking {
                group.addTask { (try? await Blocking.disk.run { gate.wait() }) != nil }
            }
            // Each admitted call waits, so all others are refused.
            for _ in most..<asking {
                let isLetIn = await group.next()
                #expect(isLetIn == false)
            }
            await #expect(throws: Refusal.self) { try await Blocking.disk.run {} }
            await #expect(throws: Never.self) { try await Blocking.clips.run {} }
            for _ in 0..<most { gate.signal() }
            let letIn = await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            #expect(letIn == most)
        }
    }
}
