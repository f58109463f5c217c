// SPDX-License-Identifier: Apache-2.0

import Logging
import Media
import Networking
import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("Watch of the free file descriptors")
struct DescriptorWatchTests {
    private final class Limit: Sendable {
        let isReached = Mutex(false)
    }

    private let clock = ManualClock()
    private let log = CollectedLog(from: .notice)
    private let limit = Limit()

    private func watch() -> DescriptorWatch {
        DescriptorWatch(clock: clock, logger: log.logger) { [limit] in limit.isReached.withLock { $0 } }
    }

    /// Looks once a second for these seconds, in each of which the limit is reached or not.
    private func look(_ watch: DescriptorWatch, _ seconds: [Bool]) {
        for isReached in seconds {
            limit.isReached.withLock { $0 = isReached }
            watch.look()
            clock.advance(by: .seconds(1))
        }
    }

    @Test("A shortage is logged when it begins and when it ends")
    func shortage() {
        let watch = watch()
        look(watch, [false, false])
        #expect(log.lines.isEmpty)
        look(watch, [true, true, true])
        #expect(log.lines.count == 1 && log.lines[0].contains("no more files can be opened"))
        look(watch, [false, false])
        #expect(log.lines.count == 2 && log.lines[1] == "files can be opened again")
    }

    @Test("Shortages that follow each other are logged once a minute")
    func repeated() {
        let watch = watch()
        look(watch, (0..<150).map { $0.isMultiple(of: 2) })
        #expect(log.lines.count == 6, "\(log.lines)")
    }

    @Test("The process of the tests can open another file")
    func own() { #expect(!DescriptorLimit.isExhausted) }
}
