// SPDX-License-Identifier: Apache-2.0

import LibAV
import Logging
import Media
import TestSupport
import Testing

@testable import Ingest

@Suite("Reopening of inputs whose coding changes again and again")
struct ReopenWalkTests {
    /// Simulates a live playlist whose coding changes and whose server fails. A source reads it through ``ReopenLoop``
    /// until `end`. Only the simulation advances the clock.
    private final class World {
        /// The behavior of the input, which changes after 1 to 120 s.
        enum Weather: CaseIterable { case steady, calm, hasty, broken }

        let clock = ManualClock()
        let log = CollectedLog(from: .notice)
        let monitor: SourceMonitor
        var random: SeededRandom
        /// When each opening began, and when each line was logged.
        private(set) var (openings, lines): ([MonotonicInstant], [MonotonicInstant]) = ([], [])
        /// For each time at which the input became steady: that time, and how long the source then took to read the
        /// input.
        private(set) var returns: [(from: MonotonicInstant, time: Duration)] = []
        private var (weather, until): (Weather, MonotonicInstant) = (.steady, .zero)
        private var kinds: [Weather]
        private let end: MonotonicInstant
        /// When the input became steady; nil once the source reads the steady input.
        private var steadySince: MonotonicInstant?
        private var isReading = false

        init(_ kinds: [Weather], for time: Duration, _ random: SeededRandom) {
            (self.kinds, self.random, end) = (kinds, random, .zero + time)
            monitor = SourceMonitor(logger: log.logger, clock: clock)
        }

        func run() {
            let loop = ReopenLoop(
                "in", monitor: monitor, clock: clock,
                wait: { [self] in
                    noteLines()
                    pass($0)
                })
            loop.run(lasts: { _ in true }) { [self] in play(loop) }
        }

        /// Lets `time` pass. The behavior of the input may change during that time.
        private func pass(_ time: Duration) {
            let target = clock.now + time
            while until <= target {
                clock.sleep(until: until)
                (weather, until) = (random.pick(kinds), clock.now + .seconds(Int64.random(in: 1...120, using: &random)))
                steadySince = weather == .steady ? steadySince ?? clock.now : nil
                noteReading()
            }
            clock.sleep(until: target)
            if clock.now >= end { monitor.stop() }
        }

        private func noteReading() {
            guard isReading, let from = steadySince else { return }
            returns.append((from, clock.now - from))
            steadySince = nil
        }

        private func noteLines() {
            let count = log.lines.count
            while lines.count < count { lines.append(clock.now) }
        }

        private func play(_ loop: ReopenLoop) -> IngestError? {
            do throws(IngestError) {
                if loop.isFirst { try open() } else { try loop.reopen(open, streams: { [] }) }
            } catch {
                return error
            }
            noteLines()
            isReading = true
            defer { isReading = false }
            noteReading()
            return read()
        }

        private func open() throws(IngestError) {
            openings.append(clock.now)
            _ = monitor.playlist.takeChange()
            let isBroken = weather == .broken && Int.random(in: 0..<3, using: &random) > 0
            pass(.milliseconds(Int64.random(in: 0...(isBroken ? 3000 : 300), using: &random)))
            if isBroken, weather != .steady { throw .cannotBeOpened(input: "in", reason: "HTTP 503") }
        }

        /// Reads until the input changes or fails. This does not happen while the input is steady.
        private func read() -> IngestError? {
            while true {
                if monitor.isStopped { return nil }
                var (least, most): (Int64, Int64) = (0, 20_000)
                switch weather {
                case .steady:
                    pass(until - clock.now)
                    continue
                case .calm: least = 2000
                case .hasty: most = random.pick([0, 40, 1900, 4000])
                case .broken: most = random.pick([0, 1000, 20_000])
                }
                pass(.milliseconds(Int64.random(in: least...most, using: &random)))
                if weather == .steady { continue }
                if weather == .broken, Bool.random(using: &random) {
                    return .unreadable(input: "in", reason: "the connection is reset")
                }
                monitor.playlist.resume(at: [InitializationAddress(url: "http://a/\(openings.count).mp4", offset: nil)])
                return nil
            }
        }
    }

    /// The highest number of `moments` within a minute.
    private func mostPerMinute(_ moments: [MonotonicInstant]) -> Int {
        var (first, most) = (0, 0)
        for (last, moment) in moments.enumerated() {
            while moment - moments[first] > .seconds(60) { first += 1 }
            most = max(most, last - first + 1)
        }
        return most
    }

    @Test("In hours of changes and failures, openings and log lines stay few, and a steady input is read again soon")
    func hours() {
        var random = SeededRandom()
        for _ in 0..<10 {
            let world = World(World.Weather.allCases, for: .seconds(2 * 3600), random)
            world.run()
            // At most 5 changes at once, and 30 a minute, are followed without a pause. Failures cause pauses of 1, 2,
            // 4 and then 5 s, which begin with 1 s again after 10 s of reading.
            #expect(mostPerMinute(world.openings) <= 5 + 30 + 18)
            #expect(mostPerMinute(world.lines) <= 30)
            // The sum of the longest pause, an opening that fails, and one that succeeds.
            let slow = world.returns.filter { $0.time > .seconds(5 + 3 + 1) }
            #expect(slow.isEmpty && world.returns.count > 5, "\(slow)")
            random = world.random
        }
    }

    @Test("An input that always changes at once is opened 30 times a minute, and logged some times in an hour")
    func hasty() {
        for most in [1, 40, 900] as [Int64] {
            var random = SeededRandom("hasty \(most)")
            let (clock, log) = (ManualClock(), CollectedLog(from: .notice))
            let monitor = SourceMonitor(logger: log.logger, clock: clock)
            var openings = 0
            let loop = ReopenLoop("in", monitor: monitor, clock: clock, wait: { clock.advance(by: $0) })
            loop.run(lasts: { _ in true }) {
                openings += 1
                if !loop.isFirst { try? loop.reopen({ _ = monitor.playlist.takeChange() }, streams: { [] }) }
                clock.advance(by: .milliseconds(Int64.random(in: 1...most, using: &random)))
                if clock.now > .zero + .seconds(3600) { monitor.stop() }
                monitor.playlist.resume(at: [InitializationAddress(url: "http://a/\(openings).mp4", offset: nil)])
                return nil
            }
            #expect(openings < 60 * 45, "\(openings)")
            #expect(log.lines.count < 50, "\(log.lines.count)")
            #expect(monitor.status.lastError?.contains("its coding changes too often") == true)
        }
    }
}
