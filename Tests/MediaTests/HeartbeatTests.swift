// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Media

@Suite("Heartbeats of threads")
struct HeartbeatTests {
    @Test("A thread's silence counts from its last heartbeat, and does not count while the thread rests")
    func silence() {
        let clock = ManualClock(now: 5)
        let heartbeat = Heartbeat("program", clock: clock)
        #expect(heartbeat.silence == nil)
        heartbeat.beat()
        clock.advance(by: .seconds(3))
        #expect(heartbeat.silence == .seconds(3))
        heartbeat.beat()
        #expect(heartbeat.silence == .zero)
        heartbeat.rest()
        clock.advance(by: .seconds(3000))
        #expect(heartbeat.silence == nil)
    }

    @Test("A thread does not count as silent during work marked as resting, even if that work throws an error")
    func resting() {
        struct Failure: Error {}
        let clock = ManualClock()
        let heartbeat = Heartbeat("program", clock: clock)
        heartbeat.beat()
        let silence = heartbeat.resting {
            clock.advance(by: .seconds(100))
            return heartbeat.silence
        }
        #expect(silence == nil && heartbeat.silence == .zero)
        clock.advance(by: .seconds(1))
        #expect(throws: Failure.self) { try heartbeat.resting { throw Failure() } }
        #expect(heartbeat.silence == .zero)
    }
}
