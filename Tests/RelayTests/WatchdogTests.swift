// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Media
import TestSupport
import Testing

@testable import Relay

@Suite("Watchdog")
struct WatchdogTests {
    private func silence(_ length: Duration) -> Watchdog.Silence {
        Watchdog.Silence(channel: "one", thread: "program", length: length)
    }

    @Test("The watchdog is fed at the start, and then twice per timeout of the service manager")
    func interval() {
        var watchdog = Watchdog(interval: .seconds(10))
        let fed = (0..<40).filter { second in
            watchdog.look(at: .zero + .seconds(second), silences: [silence(.seconds(9))]).feeds
        }
        #expect(fed == [0, 10, 20, 30])
        #expect(watchdog.period == .seconds(1) && Watchdog(interval: .seconds(2)).period == .milliseconds(500))
    }

    @Test("The watchdog is still fed if the timer that checks heartbeats fires slightly early")
    func leeway() {
        var watchdog = Watchdog(interval: .seconds(1))
        let fed = (0..<20).filter { look in
            watchdog.look(at: .zero + .milliseconds(249) * look, silences: []).feeds
        }
        #expect(fed == [0, 4, 8, 12, 16])
    }

    @Test("The watchdog is not fed while a thread sends no heartbeat, and is fed at once when the thread sends one")
    func wedge() {
        var watchdog = Watchdog(interval: .seconds(10))
        #expect(watchdog.look(at: 0, silences: []) == Watchdog.Answer(feeds: true))
        let first = watchdog.look(at: 11_000_000_000, silences: [silence(.seconds(1)), silence(.seconds(11))])
        #expect(first == Watchdog.Answer(silent: silence(.seconds(11))))
        // The silence is reported once.
        #expect(watchdog.look(at: 12_000_000_000, silences: [silence(.seconds(12))]) == Watchdog.Answer())
        let last = watchdog.look(at: 13_000_000_000, silences: [silence(.milliseconds(20))])
        #expect(last == Watchdog.Answer(feeds: true, isOver: true))
        #expect(watchdog.look(at: 14_000_000_000, silences: []) == Watchdog.Answer())
    }

    @Test("A dispatch queue counts as silent from the first check that it does not answer")
    func probe() throws {
        let clock = ManualClock()
        let queue = DispatchQueue(label: "relay.test")
        let probe = QueueProbe(queue, clock: clock)
        #expect(probe.heartbeat.name == "relay.test" && probe.heartbeat.silence == nil)
        queue.suspend()
        probe.ask()
        clock.advance(by: .seconds(2))
        probe.ask()
        #expect(probe.heartbeat.silence == .seconds(2))
        queue.resume()
        try eventually { probe.heartbeat.silence == nil }
        queue.suspend()
        // The last step of the answer may still be running.
        try eventually {
            probe.ask()
            return probe.heartbeat.silence == .zero
        }
        queue.resume()
    }
}
