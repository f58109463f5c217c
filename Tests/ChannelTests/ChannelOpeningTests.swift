// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("Cancelling the opening of a channel")
struct ChannelOpeningTests {
    @Test("If the opening of a channel is cancelled, clean-up registered before or afterwards runs exactly once")
    func cancelled() {
        let opening = ChannelOpening()
        let done = Mutex<[String]>([])
        opening.whenCancelled { done.withLock { $0.append("first") } }
        opening.whenCancelled { done.withLock { $0.append("second") } }
        #expect(done.withLock { $0 }.isEmpty)
        opening.cancel()
        opening.cancel()
        #expect(done.withLock { $0 } == ["first", "second"])
        opening.whenCancelled { done.withLock { $0.append("late") } }
        #expect(done.withLock { $0 } == ["first", "second", "late"])
        // An opening that failed is also finished. This does not undo the cancellation.
        opening.finish()
        opening.whenCancelled { done.withLock { $0.append("later") } }
        #expect(done.withLock { $0.count } == 4)
    }

    @Test("If a channel is already open, cancelling its opening runs no clean-up, not even what is registered later")
    func finished() {
        let opening = ChannelOpening()
        let count = Atomic(0)
        opening.whenCancelled { count.add(1, ordering: .relaxed) }
        opening.finish()
        opening.cancel()
        opening.whenCancelled { count.add(1, ordering: .relaxed) }
        #expect(count.load(ordering: .relaxed) == 0)
    }

    @Test("Clean-up that many threads register during a cancellation runs exactly once")
    func concurrent() {
        for _ in 0..<50 {
            let opening = ChannelOpening()
            let counts = Mutex([Int](repeating: 0, count: 64))
            DispatchQueue.concurrentPerform(iterations: 65) { number in
                if number == 32 { return opening.cancel() }
                let index = number < 32 ? number : number - 1
                opening.whenCancelled { counts.withLock { $0[index] += 1 } }
            }
            #expect(counts.withLock { $0 } == [Int](repeating: 1, count: 64))
        }
    }
}
