// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import TestSupport
import Testing

/// Tests a selector with sources that connect, disconnect and freeze at random, and checks rules that must always hold.
@Suite("Selection of a source under random events")
struct SourceSelectorRandomTests {
    private static let frame: Int64 = 40

    /// The real state of a source; times are in milliseconds.
    private struct Source {
        var isThere = true
        var changesAt: Int64 = 0
        var openedAt: Int64?
        var opensFor: Int64 = 0
        var lastVideo: Int64?
        var healthySince: Int64?
    }

    /// Simulates an hour of a selector and its sources.
    private struct World {
        let options: SourceSelector.Options
        var selector: SourceSelector
        var sources: [Source]
        var random: SeededRandom
        var now: Int64 = 0
        var onAir: SourceSelector.OnAir?
        /// Since when another source should be on air.
        var wrongSince: Int64?
        var failures: [String] = []
        var switches = 0
        /// A second selector, which gets a tick each millisecond, while the first gets only the ticks that it asked
        /// for.
        var twin: SourceSelector

        init(count: Int, _ options: SourceSelector.Options, _ random: SeededRandom) {
            self.options = options
            self.random = random
            selector = SourceSelector(count: count, options: options)
            twin = selector
            sources = Array(repeating: Source(), count: count)
            tell(.started(at: .zero))
        }

        var moment: MonotonicInstant { MonotonicInstant(nanoseconds: now * 1_000_000) }
        var timeout: Int64 { options.timeout.inNanoseconds / 1_000_000 }

        mutating func tell(_ event: SourceSelector.Event) {
            let before = onAir
            let actions = selector.handle(event)
            var other = twin.handle(event)
            if case .tick = event { other = actions }
            if actions != other || twin.onAir != selector.onAir { failures.append("\(now): \(actions), \(other)") }
            for action in actions { carryOut(action) }
            if onAir != before { switches += 1 }
            if onAir != selector.onAir { failures.append("\(now): what is on air was not told") }
        }

        private mutating func carryOut(_ action: SourceSelector.Action) {
            switch action {
            case .open(let index, _):
                if sources[index].openedAt != nil { failures.append("\(now): \(index) opened twice") }
                sources[index].openedAt = now
                sources[index].opensFor = .random(in: 0...5000, using: &random)
                (sources[index].lastVideo, sources[index].healthySince) = (nil, nil)
            case .close(let index):
                if onAir == .source(index) { failures.append("\(now): \(index) closed on air") }
                if sources[index].openedAt == nil { failures.append("\(now): \(index) closed twice") }
                sources[index].openedAt = nil
            case .decode(let index, _):
                if sources[index].openedAt == nil { failures.append("\(now): \(index) decoded while closed") }
            case .air(let next, let reason):
                judge(next, reason)
                onAir = next
            }
        }

        private mutating func judge(_ next: SourceSelector.OnAir, _ reason: SourceSelector.Reason) {
            guard case .source(let index) = next else {
                if case .source(let old) = onAir, isLive(old) { failures.append("\(now): slate instead of video") }
                return
            }
            if sources[index].openedAt == nil { failures.append("\(now): \(index) on air while closed") }
            guard case .source(let old) = onAir, old > index, isLive(old) else { return }
            let healthy = sources[index].healthySince.map { (sources[index].lastVideo ?? 0) - $0 } ?? 0
            let needed = options.returnAfter.map { $0.inNanoseconds / 1_000_000 } ?? .max
            if healthy < needed { failures.append("\(now): \(index) back after \(healthy) ms, because of \(reason)") }
        }

        private func isLive(_ index: Int) -> Bool {
            sources[index].openedAt != nil && sources[index].healthySince != nil
                && now - (sources[index].lastVideo ?? .min / 2) < timeout
        }

        mutating func step() {
            now += 10
            for index in sources.indices { live(index) }
            if let deadline = selector.nextDeadline, deadline <= moment { tell(.tick(at: moment)) }
            _ = twin.handle(.tick(at: moment))
            check()
        }

        /// Simulates ten milliseconds of one source.
        private mutating func live(_ index: Int) {
            if now >= sources[index].changesAt {
                sources[index].isThere.toggle()
                let longest: Int64 = Bool.random(using: &random) ? 3000 : 40_000
                sources[index].changesAt = now + .random(in: 1...longest, using: &random)
                if !sources[index].isThere, sources[index].openedAt != nil, Bool.random(using: &random) {
                    sources[index].healthySince = nil
                    tell(.lost(index, at: moment))
                }
            }
            guard let opened = sources[index].openedAt, now - opened >= sources[index].opensFor,
                sources[index].isThere, now % SourceSelectorRandomTests.frame == 0
            else { return }
            let last = sources[index].lastVideo ?? .min / 2
            if now - last >= timeout { sources[index].healthySince = nil }
            sources[index].healthySince = sources[index].healthySince ?? now
            sources[index].lastVideo = now
            tell(.video(index, at: moment))
        }

        /// Checks that no source without video is on air for longer than the timeout and a frame while another source
        /// has video.
        private mutating func check() {
            let others = sources.indices.contains(where: { isLive($0) && .source($0) != onAir })
            var isWrong = others
            if case .source(let index) = onAir { isWrong = others && !isLive(index) }
            if !isWrong { wrongSince = nil }
            if isWrong, wrongSince == nil { wrongSince = now }
            let limit = onAir == nil ? timeout : 0
            if let wrongSince, now - wrongSince > limit + SourceSelectorRandomTests.frame {
                failures.append("\(now): \(String(describing: onAir)) while another source has video")
            }
        }
    }

    @Test(
        "In an hour of random events, a source with video is on air, and only healthy sources return",
        arguments: SourceSelector.Standby.allCases, [Duration.seconds(10), nil])
    func hour(standby: SourceSelector.Standby, returnAfter: Duration?) {
        var random = SeededRandom("\(standby) \(String(describing: returnAfter))")
        for _ in 0..<4 {
            let options = SourceSelector.Options(
                timeout: .milliseconds(Int64.random(in: 100...4000, using: &random)), returnAfter: returnAfter,
                standby: standby, hasSlate: Bool.random(using: &random))
            var world = World(count: .random(in: 1...4, using: &random), options, random)
            while world.now < 3_600_000, world.failures.isEmpty { world.step() }
            #expect(world.failures == [], "\(options)")
            #expect(world.switches > 0)
            random = world.random
        }
    }
}
