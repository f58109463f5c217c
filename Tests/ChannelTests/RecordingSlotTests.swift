// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Foundation
import Glibc
import Status
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("A channel's recording that cannot be set up")
struct RecordingSlotTests {
    /// The reason why there is no recording.
    private struct NoRecording: Error, Equatable, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// Counts the attempts to set up a recording, and how many were concurrent.
    private final class Tries: Sendable {
        private let state = Mutex((total: 0, now: 0, most: 0))
        var total: Int { state.withLock { $0.total } }
        var most: Int { state.withLock { $0.most } }

        /// Fails to set a recording up.
        func fail(_ reason: String) throws -> Recording {
            state.withLock { $0 = ($0.total + 1, $0.now + 1, max($0.most, $0.now + 1)) }
            for _ in 0..<50 { sched_yield() }
            state.withLock { $0.now -= 1 }
            throw NoRecording(reason)
        }
    }

    /// A start on a thread of its own, which is blocked in setting its recording up until the test makes it fail.
    private final class SlowStart: Sendable {
        private let begun = DispatchSemaphore(value: 0)
        private let release = DispatchSemaphore(value: 0)
        private let ended = DispatchSemaphore(value: 0)
        private let thrown = Mutex("")

        /// Returns when the recording is being set up, or the start was refused.
        init(in slot: RecordingSlot) {
            Thread.detachNewThread { [self] in
                do {
                    try slot.start {
                        begun.signal()
                        release.wait()
                        throw NoRecording("too slow")
                    }
                } catch {
                    thrown.withLock { $0 = "\(error)" }
                }
                begun.signal()
                ended.signal()
            }
            _ = begun.wait(timeout: .now() + 60)
        }

        /// Makes the start fail, and returns its error.
        func fail() -> String {
            release.signal()
            ended.wait()
            return thrown.withLock { $0 }
        }
    }

    /// The part of a status that is shown while nothing is recorded.
    private struct Shown: Decodable, Equatable {
        struct Recorder: Decodable, Equatable {
            let state: String
            let lastError: String?
        }

        let recorder: Recorder?

        /// The error that an operator sees because nothing is recorded; nil if no error is shown.
        static func reason(_ slot: RecordingSlot) throws -> String? {
            let recorder = try JSONDecoder().decode(Shown.self, from: try JSONEncoder().encode(slot.status)).recorder
            #expect(recorder == nil || recorder?.state == "failed")
            return recorder?.lastError
        }
    }

    private let group = DispatchGroup()
    private let slot: RecordingSlot

    init() { slot = RecordingSlot(hub: PacketStream(), group: group) }

    @Test("A recording start that fails throws its error, and the channel has no recording afterwards")
    func failedStart() throws {
        let tries = Tries()
        for number in 1...3 {
            #expect(throws: NoRecording("no disk \(number)")) { try slot.start { try tries.fail("no disk \(number)") } }
            #expect(tries.total == number)
            #expect(slot.current == nil && !slot.hasRecorded && !slot.isBusy)
            #expect(try Shown.reason(slot) == nil)
            #expect(throws: RecordingSlotError.notRecording) { try slot.stop() }
            #expect(group.wait(timeout: .now()) == .success)
        }
    }

    /// The documented behavior of a slot while nothing can be recorded.
    private struct Model {
        var reason: String?
        var isOver = false

        mutating func start(_ error: String) -> String {
            if isOver { return "\(RecordingSlotError.over)" }
            if reason != nil { reason = error }
            return error
        }

        mutating func stop() -> String {
            defer { reason = nil }
            return reason == nil ? "\(RecordingSlotError.notRecording)" : ""
        }

        mutating func lack(_ why: String) -> Bool {
            if !isOver { reason = why }
            return !isOver
        }

        mutating func finish() { (reason, isOver) = (nil, true) }
    }

    /// The error that `action` throws, as text; empty if it throws nothing.
    private func thrown(_ action: () throws -> Void) -> String {
        do {
            try action()
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test("After any sequence of starts, stops and failures a channel's recording has the state that a model predicts")
    func anyOrder() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let (slot, tries) = (RecordingSlot(hub: PacketStream(), group: group), Tries())
            var model = Model()
            for step in 0..<Int.random(in: 1...15, using: &random) {
                let word = "step \(step)"
                switch Int.random(in: 0..<16, using: &random) {
                case 0..<5:
                    let calls = tries.total + (model.isOver ? 0 : 1)
                    let (said, meant) = (thrown { try slot.start { try tries.fail(word) } }, model.start(word))
                    #expect(said == meant && tries.total == calls)
                case 5..<9:
                    let (said, meant) = (thrown { try slot.stop() }, model.stop())
                    #expect(said == meant)
                case 9..<13:
                    let (isLacking, meant) = (slot.lack(word) { try tries.fail(word) }, model.lack(word))
                    #expect(isLacking == meant)
                case 13:
                    let said = thrown { try slot.replace { try tries.fail("other") } }
                    #expect(said == "other")
                case 14: slot.begin()
                default:
                    slot.finish()
                    model.finish()
                }
                #expect(try Shown.reason(slot) == model.reason)
                #expect(slot.current == nil && !slot.hasRecorded)
                #expect(slot.isBusy == (model.reason != nil))
            }
        }
        #expect(group.wait(timeout: .now()) == .success)
    }

    @Test("While a recording is being started, another start or stop is refused at once")
    func whileStarting() throws {
        let (slow, tries) = (SlowStart(in: slot), Tries())
        #expect(throws: RecordingSlotError.alreadyRecording) { try slot.start { try tries.fail("second") } }
        #expect(throws: RecordingSlotError.notRecording) { try slot.stop() }
        let isLacking = slot.lack("lack") { try tries.fail("lack") }
        #expect(!isLacking)
        #expect(tries.total == 0 && slot.current == nil && slot.isBusy)
        #expect(slow.fail() == "too slow")
        #expect(throws: NoRecording("third")) { try slot.start { try tries.fail("third") } }
        #expect(try Shown.reason(slot) == nil)
    }

    @Test("A recording start that is stopped while it sets the recording up changes nothing afterwards")
    func stoppedStart() throws {
        let (slow, tries) = (SlowStart(in: slot), Tries())
        try slot.stop(stopsStart: true)
        #expect(slot.current == nil && !slot.isBusy)
        // While the stopped start is still under way, another start can begin, and the stop does not apply to it.
        let next = SlowStart(in: slot)
        #expect(slow.fail() == "\(RecordingSlotError.alreadyRecording)" && slot.isBusy)
        #expect(next.fail() == "too slow" && !slot.isBusy)
        let last = SlowStart(in: slot)
        try slot.stop(stopsStart: true)
        #expect(last.fail() == "\(RecordingSlotError.notRecording)")
        #expect(throws: RecordingSlotError.notRecording) { try slot.stop(stopsStart: true) }
        #expect(throws: NoRecording("last")) { try slot.start { try tries.fail("last") } }
    }

    @Test("If the program ends while a recording is being set up, no recording starts afterwards")
    func overWhileStarting() throws {
        let (slow, tries) = (SlowStart(in: slot), Tries())
        slot.finish()
        #expect(throws: RecordingSlotError.over) { try slot.start { try tries.fail("second") } }
        #expect(slow.fail() == "too slow")
        #expect(throws: RecordingSlotError.over) { try slot.start { try tries.fail("third") } }
        let isLacking = slot.lack("lack") { try tries.fail("lack") }
        #expect(!isLacking)
        #expect(tries.total == 0 && slot.current == nil)
        #expect(try Shown.reason(slot) == nil)
        #expect(group.wait(timeout: .now()) == .success)
    }

    /// Counts events on any thread.
    private final class Counter: Sendable {
        private let value = Mutex(0)
        var count: Int { value.withLock { $0 } }
        func note() { value.withLock { $0 += 1 } }
    }

    @Test("A channel never sets up two recordings concurrently, and each of many threads gets the correct error")
    func manyThreads() throws {
        let (slot, tries, refused, failed) = (slot, Tries(), Counter(), Counter())
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<100 {
                switch thrown({ try slot.start { try tries.fail("no disk") } }) {
                case "no disk": failed.note()
                case "\(RecordingSlotError.alreadyRecording)": refused.note()
                case let other: Issue.record("\(other)")
                }
                // No recording ever starts here, so a stop is always refused, whatever the other threads do.
                let said = thrown { try slot.stop() }
                #expect(said == "\(RecordingSlotError.notRecording)")
            }
        }
        #expect(tries.most == 1 && tries.total == failed.count)
        #expect(failed.count + refused.count == 800)
        #expect(throws: NoRecording("at last")) { try slot.start { try tries.fail("at last") } }
        #expect(group.wait(timeout: .now()) == .success)
    }

    /// An error that calls a closure while its description is read for the first time.
    private final class SlowWords: Error, CustomStringConvertible {
        private let isSaid = Mutex(false)
        private let meanwhile: @Sendable () -> Void

        init(_ meanwhile: @escaping @Sendable () -> Void) { self.meanwhile = meanwhile }

        var description: String {
            let isFirst = isSaid.withLock { said in
                defer { said = true }
                return !said
            }
            if isFirst { meanwhile() }
            return "no disk"
        }
    }

    /// A ``SlowStart`` that a test begins later.
    private final class SecondStart: Sendable {
        private let slot: RecordingSlot
        private let start = Mutex<SlowStart?>(nil)

        init(in slot: RecordingSlot) { self.slot = slot }

        func begin() {
            let begun = SlowStart(in: slot)
            start.withLock { $0 = begun }
        }

        /// Makes the start fail, and returns its error; nil if it never began.
        func fail() -> String? { start.withLock { $0 }?.fail() }
    }

    @Test("A channel still retries its missing recording after two concurrent starts have failed")
    func lackBesideStarts() throws {
        let (tries, second) = (Tries(), SecondStart(in: slot))
        slot.lack("no mount") { try tries.fail("no mount") }
        #expect(throws: SlowWords.self) { try slot.start { throw SlowWords { second.begin() } } }
        #expect(second.fail() != nil)
        #expect(try Shown.reason(slot) != nil)
    }

    /// Takes twenty seconds, because a recording is retried after ten seconds.
    @Test("A retry that hangs on a disk does not prevent retries of the recording that is wanted now")
    func hungRetry() throws {
        let (hung, tries, release) = (Counter(), Tries(), DispatchSemaphore(value: 0))
        defer { release.signal() }
        slot.lack("hung disk") {
            hung.note()
            release.wait()
            throw NoRecording("hung disk")
        }
        try eventually("the retry hangs") { hung.count > 0 }
        slot.lack("another disk") { try tries.fail("another disk") }
        try eventually("the other recording is tried again") { tries.total > 0 }
        try slot.stop()
        #expect(hung.count == 1 && slot.current == nil)
    }

    /// Takes ten seconds, because a recording is retried after ten seconds.
    @Test("A channel retries only its newest missing recording, not one that was stopped, replaced or ended")
    func retry() async throws {
        let (stopped, replaced, newest, ended) = (Tries(), Tries(), Tries(), Tries())
        let over = RecordingSlot(hub: PacketStream(), group: group)
        over.lack("over") { try ended.fail("over") }
        over.finish()
        slot.lack("stopped") { try stopped.fail("stopped") }
        try slot.stop()
        slot.lack("replaced") { try replaced.fail("replaced") }
        slot.lack("newest") { try newest.fail("still no disk") }
        // After a failed start, the earlier recording is still retried.
        #expect(throws: NoRecording("start")) { try slot.start { throw NoRecording("start") } }
        #expect(try Shown.reason(slot) == "start")
        try await eventually("the newest is tried again") { newest.total > 0 }
        try await eventually("its reason is shown") { try Shown.reason(slot) == "still no disk" }
        #expect(stopped.total == 0 && replaced.total == 0 && ended.total == 0)
        try slot.stop()
        #expect(try Shown.reason(slot) == nil)
        #expect(try Shown.reason(over) == nil)
    }
}
