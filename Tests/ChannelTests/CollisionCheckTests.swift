// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Channel

/// Answers the question whether two directories collide, each time only after ``answer()``.
final class HungDisk: Sendable {
    private let asked = Mutex(0)
    private let release = DispatchSemaphore(value: 0)
    private let collides: Bool

    init(collides: Bool) { self.collides = collides }

    /// How often the question was asked.
    var questions: Int { asked.withLock { $0 } }

    /// A check that asks this disk, and waits at most `patience` for it.
    func check(patience: Duration) -> CollisionCheck {
        CollisionCheck(patience: patience) { [self] _, _ in
            asked.withLock { $0 += 1 }
            release.wait()
            return collides
        }
    }

    /// Lets one question be answered.
    func answer() { release.signal() }
}

@Suite("The check whether two record directories collide")
struct CollisionCheckTests {
    @Test("While a disk hangs, the directories count as apart, and only one thread waits for the disk")
    func hung() throws {
        let disk = HungDisk(collides: true)
        let check = disk.check(patience: .milliseconds(20))
        for _ in 0..<5 { #expect(!check.collides("/a", "/b")) }
        try eventually("the disk is asked") { disk.questions > 0 }
        #expect(!check.collides("/a", "/b") && disk.questions == 1)
        try eventually("the disk's answer counts") {
            disk.answer()
            return check.collides("/a", "/b")
        }
    }

    @Test("Each pair of directories is checked separately")
    func pairs() {
        let check = CollisionCheck(patience: .seconds(60)) { first, second in first == second }
        for _ in 0..<2 { #expect(check.collides("/a", "/a") && !check.collides("/a", "/b")) }
    }
}
