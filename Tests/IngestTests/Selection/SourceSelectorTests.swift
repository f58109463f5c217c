// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import TestSupport
import Testing

@Suite("Selection of a source")
struct SourceSelectorTests {
    private typealias Action = SourceSelector.Action

    /// A selector with a clock in milliseconds, which gets only the ticks that it asked for.
    private struct Driver {
        var selector: SourceSelector
        var now: Int64 = 0
        var actions: [(at: Int64, action: SourceSelector.Action)] = []

        init(count: Int, _ options: SourceSelector.Options = .init()) {
            selector = SourceSelector(count: count, options: options)
            note(selector.handle(.started(at: .zero)))
        }

        var moment: MonotonicInstant { MonotonicInstant(nanoseconds: now * 1_000_000) }

        mutating func note(_ done: [SourceSelector.Action]) { actions += done.map { (now, $0) } }

        mutating func handle(_ event: (MonotonicInstant) -> SourceSelector.Event) {
            note(selector.handle(event(moment)))
        }

        /// Advances the clock, while these sources have a frame every 40 ms.
        mutating func pass(_ milliseconds: Int64, video: Set<Int> = []) {
            let end = now + milliseconds
            while now < end {
                let frame = (now / 40 + 1) * 40
                let deadline = selector.nextDeadline.map { ($0.nanoseconds + 999_999) / 1_000_000 } ?? .max
                now = min(end, frame, max(deadline, now + 1))
                if now == deadline { handle { .tick(at: $0) } }
                guard now == frame else { continue }
                for source in video.sorted() { handle { .video(source, at: $0) } }
            }
        }

        /// The actions since the last call; their times are in milliseconds.
        mutating func take() -> [SourceSelector.Action] {
            defer { actions = [] }
            return actions.map(\.action)
        }

        var switches: [Int64] {
            actions.compactMap { entry in
                if case .air = entry.action { entry.at } else { nil }
            }
        }
    }

    @Test("The first source is opened and goes on air with its first frame; cold backups are not opened")
    func start() {
        var driver = Driver(count: 3)
        #expect(driver.take() == [.open(0, .all)])
        driver.handle { .connected(0, at: $0) }
        #expect(driver.take() == [])
        driver.pass(5000, video: [0])
        #expect(driver.take() == [.air(.source(0), .start)])
    }

    @Test("Hot backups are opened at the start and decoded in full, keyframe backups only at their keyframes")
    func standby() {
        var hot = Driver(count: 2, .init(standby: .hot))
        #expect(hot.take() == [.open(0, .all), .open(1, .all)])
        var keyframes = Driver(count: 2, .init(standby: .keyframes))
        #expect(keyframes.take() == [.open(0, .keyframes), .open(1, .keyframes)])
        keyframes.pass(100, video: [0, 1])
        #expect(keyframes.take() == [.decode(0, .all), .air(.source(0), .start)])
        keyframes.handle { .lost(0, at: $0) }
        #expect(keyframes.take() == [.decode(1, .all), .air(.source(1), .disconnected), .decode(0, .keyframes)])
    }

    @Test("If a source on air is not visible, only its keyframes are decoded; all frames once it is visible again")
    func unseenKeyframes() {
        var driver = Driver(count: 2, .init(standby: .keyframes, unseen: .keyframes))
        driver.handle { .wanted(false, at: $0) }
        driver.pass(100, video: [0, 1])
        #expect(driver.take() == [.open(0, .keyframes), .open(1, .keyframes), .air(.source(0), .start)])
        driver.handle { .wanted(true, at: $0) }
        driver.handle { .wanted(true, at: $0) }
        #expect(driver.take() == [.decode(0, .all)])
        driver.handle { .wanted(false, at: $0) }
        #expect(driver.take() == [.decode(0, .keyframes)])
        driver.handle { .lost(0, at: $0) }
        #expect(driver.take() == [.air(.source(1), .disconnected)])
        driver.handle { .wanted(true, at: $0) }
        #expect(driver.take() == [.decode(1, .all)])
    }

    @Test("If invisible sources are cold, an invisible one is closed, and opened before it is visible again")
    func unseenCold() {
        var driver = Driver(count: 2, .init(unseen: .cold))
        driver.handle { .wanted(false, at: $0) }
        driver.pass(80, video: [0])
        #expect(driver.take() == [.open(0, .all), .air(.source(0), .start)])
        driver.handle { .wanted(false, at: $0) }
        #expect(driver.take() == [.close(0)] && driver.selector.onAir == nil)
        driver.handle { .wanted(false, at: $0) }
        driver.pass(10_000, video: [0, 1])
        driver.handle { .tick(at: $0) }
        #expect(driver.take() == [] && !driver.selector.isOpen(0))
        driver.handle { .wanted(true, at: $0) }
        #expect(driver.take() == [.open(0, .all)])
        driver.pass(2000)
        #expect(driver.take() == [.air(.slate, .start), .open(1, .all)])
        // The source has not had any frame yet, so it stays open even if it is not wanted.
        driver.handle { .wanted(false, at: $0) }
        #expect(driver.take() == [])
        driver.pass(40, video: [0])
        driver.handle { .wanted(false, at: $0) }
        #expect(driver.take() == [.air(.source(0), .video), .close(0), .close(1)])
    }

    @Test("If invisible sources are to be hot, a source that is not visible stays open and decoded")
    func unseenHot() {
        var driver = Driver(count: 1)
        driver.pass(100, video: [0])
        _ = driver.take()
        driver.handle { .wanted(false, at: $0) }
        driver.pass(5000, video: [0])
        #expect(driver.take() == [])
    }

    @Test("If the first source has no video from the start, a hot backup or else the slate is on air after the timeout")
    func absent() {
        var driver = Driver(count: 1)
        driver.pass(1999)
        #expect(driver.take() == [.open(0, .all)])
        driver.pass(1)
        #expect(driver.take() == [.air(.slate, .start)])
        driver.pass(40, video: [0])
        #expect(driver.take() == [.air(.source(0), .video)])
        var hot = Driver(count: 2, .init(standby: .hot))
        _ = hot.take()
        hot.pass(1960, video: [1])
        #expect(hot.take() == [])
        hot.pass(40, video: [1])
        #expect(hot.take() == [.air(.source(1), .start)])
    }

    @Test("If the source on air has no video for the timeout, a hot backup replaces it then, and not earlier")
    func frozen() {
        var driver = Driver(count: 2, .init(standby: .hot))
        driver.pass(4000, video: [0, 1])
        _ = driver.take()
        driver.pass(1999, video: [1])
        #expect(driver.take() == [])
        driver.pass(1, video: [1])
        #expect(driver.take() == [.air(.source(1), .noVideo)])
    }

    @Test("After a disconnect, a backup with video is on air at once, and the slate only after the timeout")
    func disconnected() {
        var driver = Driver(count: 2, .init(standby: .hot))
        driver.pass(4000, video: [0, 1])
        _ = driver.take()
        driver.handle { .lost(0, at: $0) }
        #expect(driver.take() == [.air(.source(1), .disconnected)])
        driver.handle { .lost(1, at: $0) }
        driver.pass(1999)
        #expect(driver.take() == [])
        driver.pass(1)
        #expect(driver.take() == [.air(.slate, .disconnected)])
    }

    @Test("A publisher that reconnects within the timeout causes no slate")
    func quickReconnect() {
        var driver = Driver(count: 1)
        driver.pass(4000, video: [0])
        driver.handle { .lost(0, at: $0) }
        driver.pass(1500)
        driver.handle { .connected(0, at: $0) }
        driver.pass(4000, video: [0])
        #expect(driver.switches.count == 1)
    }

    @Test(
        "Cold backups are opened in turn: the next at once after a failure, or after the timeout without frames"
    )
    func cold() {
        var driver = Driver(count: 4)
        driver.pass(4000, video: [0])
        _ = driver.take()
        driver.pass(2000)
        #expect(driver.take() == [.air(.slate, .noVideo), .open(1, .all)])
        driver.handle { .lost(1, at: $0) }
        #expect(driver.take() == [.open(2, .all)])
        driver.handle { .connected(2, at: $0) }
        driver.pass(2000)
        #expect(driver.take() == [.open(3, .all)])
        driver.pass(40, video: [2])
        #expect(driver.take() == [.air(.source(2), .video)])
        driver.pass(20_000, video: [2])
        #expect(driver.take() == [.close(3)])
        #expect(driver.selector.isOpen(1))
    }

    @Test("The first source returns after it was healthy for 10 s, and the backup opened in its place is closed")
    func back() {
        var driver = Driver(count: 2)
        driver.pass(4000, video: [0])
        driver.pass(3000)
        driver.pass(1000, video: [1])
        #expect(driver.selector.onAir == .source(1))
        _ = driver.take()
        driver.pass(40, video: [0, 1])
        driver.pass(9960, video: [0, 1])
        #expect(driver.take() == [])
        driver.pass(40, video: [0, 1])
        #expect(driver.take() == [.air(.source(0), .recovered), .close(1)])
    }

    @Test("An unstable first source does not return on air, and a backup that opens slowly is still opened")
    func flapping() {
        var driver = Driver(count: 2)
        driver.pass(1000, video: [0])
        _ = driver.take()
        // 2.5 s without video, then 1 s with video; the backup takes 6 s to open.
        driver.pass(2500)
        driver.pass(1000, video: [0])
        driver.pass(2500)
        driver.pass(1000, video: [0])
        #expect(driver.selector.isOpen(1))
        #expect(!driver.take().contains(.close(1)))
        driver.pass(2500, video: [1])
        #expect(driver.selector.onAir == .source(1))
        _ = driver.take()
        for _ in 0..<20 {
            driver.pass(9000, video: [0, 1])
            driver.pass(2500, video: [1])
        }
        #expect(driver.take() == [])
    }

    @Test("If automatic return is off, a preferred source returns only when the source on air is lost")
    func never() {
        var driver = Driver(count: 2, .init(returnAfter: nil, standby: .hot))
        driver.pass(1000, video: [0, 1])
        driver.handle { .lost(0, at: $0) }
        driver.pass(60_000, video: [0, 1])
        #expect(driver.selector.onAir == .source(1))
        _ = driver.take()
        driver.handle { .lost(1, at: $0) }
        #expect(driver.selector.onAir == .source(0))
    }

    @Test("Without a slate the last frame stays on air until there is video again")
    func noSlate() {
        var driver = Driver(count: 1, .init(hasSlate: false))
        driver.pass(5000)
        #expect(driver.selector.onAir == nil)
        driver.pass(1000, video: [0])
        driver.pass(5000)
        driver.pass(1000, video: [0])
        #expect(driver.switches.count == 1)
    }

    @Test("Events of closed or unknown sources, and a second start, are ignored")
    func strangers() {
        var driver = Driver(count: 2)
        driver.pass(1000, video: [0, 1, 7])
        driver.handle { .lost(1, at: $0) }
        driver.handle { .lost(-1, at: $0) }
        driver.handle { .connected(5, at: $0) }
        driver.handle { .started(at: $0) }
        #expect(driver.take() == [.open(0, .all), .air(.source(0), .start)])
        var selector = SourceSelector(count: 1)
        #expect(selector.handle(.video(0, at: .zero)) == [])
        #expect(selector.nextDeadline == nil)
    }
}
