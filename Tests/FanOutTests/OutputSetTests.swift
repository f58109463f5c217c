// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import FanOut

@Suite("The outputs of a channel")
struct OutputSetTests {
    private let hub = PacketStream()
    private let order: InterleavingSink
    private let time = ManualClock()
    private let log = CollectedLog(from: .debug)
    private let keyframes = KeyframeCounter()
    private let outputs: OutputSet

    init() {
        outputs = OutputSet(
            stream: hub, clock: time, timers: time, logger: log.logger)
        order = InterleavingSink(hub)
        hub.begin(.sample, keyframes: keyframes)
    }

    /// Publishes frames with a keyframe at each multiple of `gop`, and runs the clock at the program's pace.
    private func publish(_ range: Range<Int64>, gop: Int64 = 60) {
        for packet in Packets.video(range, gop: gop) {
            time.advance(by: .nanoseconds(1_000_000_000 / 30))
            order.publish(packet)
            order.publish(Packets.audio(packet.pts * 1600 / 1024 + 2))
        }
    }

    /// Queue limits with a maximum of 1000 bytes, which a few frames reach.
    private static let kilobyte = {
        var limits = QueueLimits.live
        limits.maximumBytes = 1000
        return limits
    }()

    private func state(_ name: String) -> OutputState.Name? { outputs.statuses.first { $0.name == name }?.state }

    /// Waits for attempt `number` of `target`, accepts it, and returns it when it is on air.
    @discardableResult
    private func accept(_ number: Int, of target: ScriptedTarget, line: Int = #line) async throws -> ScriptedAttempt {
        try await eventually("attempt \(number)", line: line) { target.attempts.count == number + 1 }
        let attempt = target.attempts[number]
        attempt.report(.accepted)
        try await eventually("attempt \(number) is on air", line: line) { attempt.isLive }
        return attempt
    }

    /// Replaces the output `name` by an output with the target `next`: in one step, or by removing the old output
    /// first.
    private func succeed(_ name: String, by next: ScriptedTarget, isReplaced: Bool) throws {
        if isReplaced {
            try outputs.replace(by: OutputDefinition(name: name, target: next))
        } else {
            try outputs.remove(name)
            try outputs.add(OutputDefinition(name: name, target: next))
        }
    }

    @Test(
        "An output that replaces another starts when the other has ended, and this does not count as a failure",
        arguments: [true, false])
    func successor(isReplaced: Bool) async throws {
        let (old, next, other) = (
            ScriptedTarget(place: OutputPlace("port 1")), ScriptedTarget(place: OutputPlace("port 1")),
            ScriptedTarget(place: OutputPlace("port 2"))
        )
        try outputs.add(OutputDefinition(name: "a", target: old))
        outputs.start()
        let attempt = try await accept(0, of: old)
        attempt.stall(true)
        publish(0..<1)
        try succeed("a", by: next, isReplaced: isReplaced)
        try outputs.add(OutputDefinition(name: "b", target: other))
        try await eventually("the old one drains") { attempt.isDraining }
        try await accept(0, of: other)
        #expect(next.attempts.isEmpty)
        attempt.stall(false)
        try await accept(0, of: next)
        #expect(outputs.statuses.first { $0.name == "a" }?.failures == 0)
    }

    @Test(
        "A listening output starts as soon as its predecessor has closed its socket, while old connections still end",
        arguments: [true, false])
    func handover(isReplaced: Bool) async throws {
        let place = OutputPlace("port 1", succession: "127.0.0.1")
        let (old, next) = (ScriptedTarget(place: place), ScriptedTarget(place: place))
        let other = ScriptedTarget(place: OutputPlace("port 1", succession: "0.0.0.0"))
        try outputs.add(OutputDefinition(name: "a", target: old))
        outputs.start()
        let attempt = try await accept(0, of: old)
        attempt.stall(true)
        publish(0..<1)
        try succeed("a", by: next, isReplaced: isReplaced)
        try outputs.add(OutputDefinition(name: "other", target: other))
        try await eventually("the old one drains") { attempt.isDraining }
        #expect(next.attempts.isEmpty && old.leaves == 1)
        attempt.report(.stoppedListening)
        try await accept(0, of: next)
        #expect(other.attempts.isEmpty && !attempt.isAbandoned)
        attempt.stall(false)
        try await accept(0, of: other)
    }

    /// A value that is false until it is set.
    private final class OnceSet: Sendable {
        private let value = Mutex(false)
        var isSet: Bool { value.withLock { $0 } }

        func set() { value.withLock { $0 = true } }
    }

    // Regression: the set was locked while a disk was asked whether two directories are the same.
    @Test("While a disk does not answer which directory an output needs, all other outputs can be seen and changed")
    func hungDirectory() async throws {
        let (disk, asked) = (DispatchSemaphore(value: 0), OnceSet())
        func directory(_ name: String, means real: String) -> ScriptedTarget {
            ScriptedTarget(place: OutputPlace(name)) {
                asked.set()
                disk.wait()
                disk.signal()
                return OutputPlace(real)
            }
        }
        let (old, same, other) = (
            directory("/a", means: "/real"), directory("/b", means: "/real"), directory("/c", means: "/other")
        )
        outputs.start()
        try outputs.add(OutputDefinition(name: "old", target: old))
        let attempt = try await accept(0, of: old)
        // Thanks to a packet in its queue, the removed output ends later.
        attempt.stall(true)
        publish(0..<2)
        try outputs.remove("old")
        try await eventually { attempt.isDraining }
        try outputs.add(OutputDefinition(name: "same", target: same))
        try outputs.add(OutputDefinition(name: "other", target: other))
        try await eventually("the disk is asked") { asked.isSet }
        // The disk has not answered yet.
        #expect(outputs.statuses.map(\.name) == ["same", "other"])
        let server = ScriptedTarget()
        try outputs.add(OutputDefinition(name: "server", target: server))
        try await accept(0, of: server)
        try outputs.pause("server")
        try outputs.remove("server")
        #expect(same.attempts.isEmpty && other.attempts.isEmpty)
        disk.signal()
        try await eventually("the output in another directory starts") { other.attempts.count == 1 }
        #expect(same.attempts.isEmpty)
        attempt.stall(false)
        try await eventually("the output in the same directory starts, too") { same.attempts.count == 1 }
    }

    @Test("If a paused listening output is replaced, its successor starts while old connections still end")
    func handoverAfterPause() async throws {
        let place = OutputPlace("port 1", succession: "127.0.0.1")
        let (old, next) = (ScriptedTarget(place: place), ScriptedTarget(place: place))
        try outputs.add(OutputDefinition(name: "a", target: old))
        outputs.start()
        let attempt = try await accept(0, of: old)
        attempt.stall(true)
        try outputs.pause("a")
        try await eventually("the old one drains") { attempt.isDraining }
        attempt.report(.stoppedListening)
        try outputs.replace(by: OutputDefinition(name: "a", target: next))
        try await accept(0, of: next)
        #expect(!attempt.isAbandoned)
        attempt.stall(false)
    }

    @Test("Outputs that share a port start without waiting for each other")
    func sharedPort() async throws {
        let place = OutputPlace("port 1", sharing: "listener 1")
        let (old, next) = (ScriptedTarget(place: place), ScriptedTarget(place: place))
        try outputs.add(OutputDefinition(name: "a", target: old))
        outputs.start()
        let attempt = try await accept(0, of: old)
        attempt.stall(true)
        try outputs.replace(by: OutputDefinition(name: "a", target: next))
        try await accept(0, of: next)
        #expect(!attempt.isAbandoned)
        attempt.stall(false)
    }

    /// Waits for attempt `number` of `target`, which belongs to the output `a`. Rejects the attempt, and lets the wait
    /// before the next attempt pass.
    private func refuse(_ number: Int, of target: ScriptedTarget, line: Int = #line) async throws {
        try await eventually("attempt \(number)", line: line) { target.attempts.count == number + 1 }
        target.attempts[number].report(.failed(OutputFailure(.rejected, step: "publish", reason: "busy")))
        try await eventually("the next attempt is due", line: line) {
            state("a") == .backingOff && time.hasTimer(within: .seconds(2))
        }
        time.advance(by: .seconds(2))
    }

    /// Makes `attempt`, which is on air, fail, and waits until the set has released it.
    private func lose(_ attempt: ScriptedAttempt, line: Int = #line) async throws {
        attempt.report(.failed(OutputFailure(.lost, step: "send", reason: "reset")))
        try await eventually("the attempt is over", line: line) { attempt.isAbandoned }
    }

    /// Ends all outputs within five seconds, and waits until they have ended.
    private func finish(_ reason: EndReason, line: Int = #line) async throws {
        let group = DispatchGroup()
        outputs.finish(deadline: time.now + .seconds(5), reason: reason, in: group)
        try await eventually("the outputs have ended", line: line) { group.wait(timeout: .now()) == .success }
    }

    /// Adds an output with this name to the running set, and returns its attempt when it is on air.
    @discardableResult
    private func addLive(
        _ name: String, at target: ScriptedTarget, limits: QueueLimits = .live, line: Int = #line
    ) async throws -> ScriptedAttempt {
        try outputs.add(OutputDefinition(name: name, target: target, limits: limits))
        return try await accept(0, of: target, line: line)
    }

    /// Starts the set with one output, `a`, on air.
    @discardableResult
    private func start(
        at target: ScriptedTarget = ScriptedTarget(), limits: QueueLimits = .live, line: Int = #line
    ) async throws -> ScriptedAttempt {
        outputs.start()
        return try await addLive("a", at: target, limits: limits, line: line)
    }

    @Test("Adding, pausing, resuming and removing outputs does not affect another output")
    func changes() async throws {
        let (steady, guest) = (ScriptedTarget(), ScriptedTarget("scripted://guest"))
        outputs.start()
        try await addLive("steady", at: steady)
        publish(0..<90)
        try await addLive("guest", at: guest)
        publish(90..<150)
        try outputs.pause("guest")
        try await eventually { guest.attempts[0].isDraining }
        publish(150..<200)
        try outputs.resume("guest")
        try await accept(1, of: guest)
        publish(200..<270)
        try outputs.remove("guest")
        try await eventually { guest.attempts[1].isDraining }
        publish(270..<300)
        try await eventually { steady.attempts[0].sent == Array(0..<300) }
        #expect(guest.attempts[0].sent == Array(120..<150))
        #expect(guest.attempts[1].sent == Array(240..<270))
        #expect(outputs.statuses.map(\.name) == ["steady"])
        // An output that joins waits for a regular keyframe.
        #expect(keyframes.count == 0)
    }

    @Test("The log names each output that does not carry the rotation of the video")
    func rotation() throws {
        try outputs.add(OutputDefinition(name: "upright", target: ScriptedTarget()))
        #expect(log.lines(containing: "the rotation of the video is not carried").isEmpty)
        let frames = FrameFormat(width: 320, height: 180)
        let video = TrackDescription(
            video: .h264, frames: frames, timeBase: .mpegTS, decoderConfiguration: SharedBytes([]),
            displayMatrix: [0, 0x10000, 0, 0xFFFF_0000, 0, 0, 180 << 16, 0, 0x4000_0000])
        let rotated = PacketStream()
        rotated.begin(StreamDescription(video: video), keyframes: keyframes)
        let set = OutputSet(stream: rotated, clock: time, timers: time, logger: log.logger)
        try set.add(OutputDefinition(name: "own", target: ScriptedTarget()))
        #expect(
            log.lines(containing: "the rotation of the video is not carried").map { $0.contains("output=own") } == [
                true
            ])
    }

    @Test("An output of a rendition gets only that rendition's packets, and an unknown rendition is refused")
    func renditions() async throws {
        let (small, wanted) = (PacketStream(), KeyframeCounter())
        small.begin(.sample, keyframes: wanted)
        let set = OutputSet(
            stream: hub, renditions: ["small": small], clock: time, timers: time, logger: log.logger)
        set.start()
        let (own, other) = (ScriptedTarget(), ScriptedTarget("scripted://small"))
        try set.add(OutputDefinition(name: "own", target: own))
        try set.add(OutputDefinition(name: "other", rendition: "small", target: other))
        for target in [own, other] { try await accept(0, of: target) }
        #expect(set.statuses.map(\.rendition) == [nil, "small"])
        let smaller = InterleavingSink(small)
        for packet in Packets.video(0..<60, gop: 30) {
            smaller.publish(packet)
            smaller.publish(Packets.audio(packet.pts * 1600 / 1024 + 2))
        }
        publish(0..<30)
        try await eventually { other.attempts[0].sent == Array(0..<60) && own.attempts[0].sent == Array(0..<30) }
        #expect(throws: OutputSetError.refused("third", reason: "There is no rendition none.")) {
            try set.add(OutputDefinition(name: "third", rendition: "none", target: ScriptedTarget()))
        }
        try set.remove("other")
        try await eventually { other.attempts[0].isDraining }
        smaller.publish(Packets.video(60..<61, gop: 30)[0])
        publish(30..<60)
        try await eventually { own.attempts[0].sent == Array(0..<60) }
        #expect(other.attempts[0].sent == Array(0..<60) && wanted.count == 0 && keyframes.count == 0)
    }

    @Test("An output follows a redirection at a keyframe, and no frame is lost or sent twice")
    func moves() async throws {
        let destination = ScriptedTarget("scripted://b")
        let target = ScriptedTarget(destination: destination)
        let first = try await start(at: target)
        publish(0..<70)
        first.report(.reconnectRequested(address: "scripted://b"))
        try await eventually { destination.attempts.count == 1 }
        publish(70..<100)
        destination.attempts[0].report(.accepted)
        // The candidate can take over once the state machine knows that the peer accepted.
        var frame: Int64 = 100
        try await eventually {
            publish(frame..<frame + 20)
            frame += 20
            return outputs.statuses[0].endpoint == .redirected
        }
        publish(frame..<frame + 10)
        let (before, after) = (first.sent, destination.attempts[0].sent)
        #expect(before + after == Array(0..<frame + 10))
        #expect(after.first.map { $0 % 60 } == 0)
        try await eventually { first.isDraining }
        let status = outputs.statuses[0]
        #expect(status.address == "scripted://b" && status.frames == UInt64(frame + 10) && status.reconnects == 1)
    }

    @Test("If the primary refuses, the backup is used until a keyframe after the primary accepts")
    func backup() async throws {
        let (primary, backup) = (ScriptedTarget(), ScriptedTarget("scripted://backup"))
        outputs.start()
        try outputs.add(
            OutputDefinition(
                name: "a", target: primary, backup: backup,
                retry: RetryPolicy(backupAfter: 2)))
        for index in 0..<2 { try await refuse(index, of: primary) }
        try await accept(0, of: backup)
        publish(0..<70)
        #expect(primary.attempts.count == 2)
        try await eventually { time.hasTimer(within: .seconds(15)) }
        time.advance(by: .seconds(15))
        try await eventually { primary.attempts.count == 3 }
        primary.attempts[2].report(.accepted)
        // The candidate can take over once the state machine knows that the peer accepted.
        var frame: Int64 = 70
        try await eventually {
            publish(frame..<frame + 60)
            frame += 60
            return outputs.statuses[0].endpoint == .primary
        }
        try await eventually { backup.attempts[0].isDraining }
        publish(frame..<frame + 10)
        let (before, after) = (backup.attempts[0].sent, primary.attempts[2].sent)
        #expect(before + after == Array(0..<frame + 10))
        #expect(after.first.map { $0 % 60 } == 0)
    }

    @Test(
        "If the primary takes over just when the backup fails, the output is logged as on air once"
    )
    func promotionIsLogged() async throws {
        let (primary, backup) = (ScriptedTarget("scripted://primary"), ScriptedTarget("scripted://backup"))
        outputs.start()
        try outputs.add(
            OutputDefinition(name: "a", target: primary, backup: backup, retry: RetryPolicy(backupAfter: 1)))
        try await refuse(0, of: primary)
        try await accept(0, of: backup)
        publish(0..<10)
        try await eventually { time.hasTimer(within: .seconds(15)) }
        time.advance(by: .seconds(15))
        try await eventually { primary.attempts.count == 2 }
        primary.attempts[1].report(.accepted)
        backup.attempts[0].report(.failed(OutputFailure(.lost, step: "send", reason: "reset")))
        try await eventually { primary.attempts[1].isLive }
        #expect(log.lines(containing: "on air at scripted://primary").count == 1)
        #expect(log.lines(containing: "on air at scripted://backup").count == 1)
    }

    @Test("An output whose receiver often reconnects waits longer before each keyframe request")
    func flappingReceiver() async throws {
        let attempt = try await start()
        publish(0..<1)
        // A regular keyframe may still come within 2.5 s.
        attempt.report(.wantsKeyframe)
        publish(1..<75, gop: 10_000)
        #expect(keyframes.count == 0)
        publish(75..<80, gop: 10_000)
        #expect(keyframes.count == 1)
        // The receiver asks again and again: the next requests come after 5 s, 10 s and 20 s.
        for index in Int64(80)..<1200 {
            attempt.report(.wantsKeyframe)
            publish(index..<index + 1, gop: 10_000)
        }
        #expect(keyframes.count == 4)
        #expect(outputs.statuses[0].keyframesRequested == 4)
    }

    @Test("For a receiver without video a keyframe is requested at once, and then only after an interval")
    func needsKeyframe() async throws {
        let attempt = try await start()
        publish(0..<1)
        attempt.report(.needsKeyframe)
        publish(1..<2, gop: 10_000)
        #expect(keyframes.count == 1)
        attempt.report(.needsKeyframe)
        publish(2..<32, gop: 10_000)
        #expect(keyframes.count == 1)
        publish(32..<160, gop: 10_000)
        #expect(keyframes.count == 2)
    }

    @Test("An output that waits for a receiver reports that, and counts no connection attempt or failure")
    func waits() async throws {
        let attempt = try await start()
        attempt.report(.awaitsCallers)
        try await eventually { state("a") == .waiting }
        let status = outputs.statuses[0]
        #expect(status.detail == "waiting for a caller" && status.attempt == nil && status.cause == nil)
        #expect(status.nextAttemptSeconds == nil && status.failures == 0)
        attempt.report(.accepted)
        try await eventually { state("a") == .live }
        #expect(outputs.statuses[0].reconnects == 0)
    }

    @Test("If a server read nothing for 10 s, a keyframe is requested as soon as it reads again, and not before")
    func outage() async throws {
        let attempt = try await start()
        publish(0..<60)
        attempt.stall(true)
        publish(60..<365)
        #expect(keyframes.count == 0)
        attempt.stall(false)
        publish(365..<366)
        // The next regular keyframe is 54 frames away.
        #expect(keyframes.count == 1)
        order.publish(Packets.video(366, key: true))
        order.publish(Packets.audio(366 * 1600 / 1024 + 2))
        publish(367..<380)
        #expect(attempt.sent.suffix(14) == ArraySlice(Int64(366)..<380))
    }

    @Test("A receiver that disconnected causes no keyframe request")
    func receiverLeft() async throws {
        let attempt = try await start()
        publish(0..<1)
        attempt.report(.wantsKeyframe)
        publish(1..<60, gop: 10_000)
        attempt.report(.wantsNoKeyframe)
        publish(60..<200, gop: 10_000)
        #expect(keyframes.count == 0)
    }

    @Test("An urgent keyframe request is forwarded at once, and counted")
    func keyframeIsDue() async throws {
        let attempt = try await start()
        attempt.report(.keyframeIsDue)
        #expect(keyframes.count == 1)
        #expect(outputs.statuses[0].keyframesRequested == 1)
    }

    @Test("Drops for any cause are logged once at their start and once at their end")
    func dropEpisode() async throws {
        let attempt = try await start(limits: Self.kilobyte)
        publish(0..<70)
        #expect(log.lines(containing: "frames are dropped").isEmpty)
        attempt.stall(true)
        publish(70..<120)
        #expect(log.lines(containing: "frames are dropped").count == 1)
        attempt.stall(false)
        publish(120..<400)
        #expect(log.lines(containing: "no frame is dropped any more").isEmpty)
        publish(400..<540)
        let over = log.lines(containing: "no frame is dropped any more")
        #expect(over.count == 1)
        #expect(over.first?.contains("overflow=") == true && over.first?.contains("awaiting_keyframe=") == true)
        #expect(log.lines(containing: "frames are dropped").count == 1)
    }

    @Test("Packets that an output missed while off air are logged when it is on air again")
    func missedOffAir() async throws {
        let target = ScriptedTarget()
        let first = try await start(at: target)
        publish(0..<70)
        try await lose(first)
        publish(70..<200)
        try outputs.retryNow("a")
        try await accept(1, of: target)
        let lines = log.lines(containing: "missed off air")
        #expect(lines.count == 1)
        #expect(target.attempts[1].sent == Array(180..<200))
        #expect(lines.first?.contains("dropped_frames=110") == true, "\(lines)")
    }

    @Test("If an output loses its connection while it drops packets, no recovery is logged")
    func lostWhileDropping() async throws {
        let attempt = try await start(limits: Self.kilobyte)
        attempt.stall(true)
        publish(0..<50)
        attempt.report(.failed(OutputFailure(.lost, step: "send", reason: "reset")))
        try await eventually { log.lines(containing: "went off air while frames were dropped").count == 1 }
        #expect(log.lines(containing: "no frame is dropped any more").isEmpty)
    }

    @Test("After a reconnect frames before the first keyframe are logged as missed, not as drops by a slow server")
    func missedUntilKeyframe() async throws {
        let target = ScriptedTarget()
        let first = try await start(at: target)
        publish(0..<70)
        try await lose(first)
        try await eventually { state("a") == .backingOff }
        publish(70..<90)
        try outputs.retryNow("a")
        try await accept(1, of: target)
        publish(90..<120)
        #expect(log.lines(containing: "missed off air").isEmpty)
        publish(120..<600)
        #expect(target.attempts[1].sent == Array(120..<600))
        let lines = log.lines(containing: "missed off air")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("dropped_frames=50") == true, "\(lines)")
        #expect(log.lines(containing: "dropped any more").isEmpty)
        #expect(log.lines(containing: "frames are dropped").isEmpty)
    }

    @Test("Packets that a listening output dropped for one of its receivers are counted in its status")
    func receiversDrops() async throws {
        let attempt = try await start()
        attempt.drop(3, .congestion)
        #expect(outputs.statuses[0].queue.drops == [.congestion: 3])
        #expect(outputs.statuses[0].queue.droppedFrames == 3)
        try outputs.pause("a")
        try await eventually { attempt.isAbandoned }
        #expect(outputs.statuses[0].queue.droppedFrames == 3)
    }

    @Test("An operator's retry starts a connection attempt at once, without waiting for the retry timer")
    func retryNow() async throws {
        let target = ScriptedTarget()
        outputs.start()
        try outputs.add(OutputDefinition(name: "a", target: target))
        try await eventually { target.attempts.count == 1 }
        target.attempts[0].report(.failed(OutputFailure(.refused, step: "publish", reason: "bad key")))
        try await eventually { state("a") == .refused }
        try outputs.retryNow("a")
        try await eventually { target.attempts.count == 2 }
    }

    @Test("The result of an operator's retry is logged even if it fails in the same way as before")
    func retryFails() async throws {
        let target = ScriptedTarget()
        outputs.start()
        try outputs.add(OutputDefinition(name: "a", target: target))
        let refusal = OutputFailure(.refused, step: "publish", reason: "bad key")
        for count in 1...3 {
            try await eventually { target.attempts.count == count }
            target.attempts[count - 1].report(.failed(refusal))
            try await eventually { log.lines(containing: "bad key").count == count }
            try outputs.retryNow("a")
        }
        #expect(log.lines(containing: "bad key", at: .warning).count == 3)
    }

    /// An object that calls a closure when it is released.
    private final class Registration: Sendable {
        private let released: @Sendable () -> Void
        init(_ released: @escaping @Sendable () -> Void) { self.released = released }
        deinit { released() }
    }

    @Test("A removed output keeps its registration until its queue is sent and it has ended")
    func registrations() async throws {
        let target = ScriptedTarget()
        let isReleased = Mutex(false)
        try outputs.add(
            OutputDefinition(
                name: "a", target: target,
                registration: Registration { isReleased.withLock { $0 = true } }))
        outputs.start()
        let attempt = try await accept(0, of: target)
        attempt.stall(true)
        publish(0..<1)
        try outputs.remove("a")
        try await eventually("it drains") { attempt.isDraining }
        #expect(!isReleased.withLock { $0 })
        attempt.stall(false)
        try await eventually("it has ended") { isReleased.withLock { $0 } }
    }

    @Test("A second output with the same name and a request for an unknown output are refused with that name")
    func names() throws {
        try outputs.add(OutputDefinition(name: "a", target: ScriptedTarget()))
        #expect(throws: OutputSetError.nameTaken("a")) {
            try outputs.add(OutputDefinition(name: "a", target: ScriptedTarget()))
        }
        #expect(throws: OutputSetError.unknown("b")) { try outputs.pause("b") }
        #expect(throws: OutputSetError.unknown("b")) { try outputs.remove("b") }
    }

    @Test("After the end of the program all outputs have ended, and none can be added")
    func finish() async throws {
        let attempt = try await start()
        try await finish(.programOver)
        #expect(attempt.isAbandoned)
        #expect(throws: OutputSetError.over) {
            try outputs.add(OutputDefinition(name: "b", target: ScriptedTarget()))
        }
    }

    @Test(
        "An output that is off air is told once that the program is over, but nothing if the program is interrupted",
        arguments: [(EndReason.programOver, 1), (.interrupted, 0)])
    func conclusion(reason: EndReason, count: Int) async throws {
        let (paused, failed, never) = (ScriptedTarget(), ScriptedTarget("scripted://b"), ScriptedTarget("scripted://c"))
        outputs.start()
        try await addLive("paused", at: paused)
        try await addLive("failed", at: failed)
        try outputs.add(OutputDefinition(name: "never", target: never))
        let (primary, unused) = (ScriptedTarget("scripted://d"), ScriptedTarget("scripted://e"))
        try outputs.add(OutputDefinition(name: "backed", target: primary, backup: unused))
        try await accept(0, of: primary)
        try outputs.pause("paused")
        failed.attempts[0].report(.failed(OutputFailure(.lost, step: "write", reason: "no space")))
        try await eventually { state("paused") == .paused && state("failed") == .backingOff }
        try await finish(reason)
        #expect(paused.conclusions == count && failed.conclusions == count && never.conclusions == 0)
        #expect(paused.attempts.count == 1 && failed.attempts.count == 1)
        #expect(primary.conclusions == count && unused.conclusions == 0, "nothing was left open at an unused backup")
    }

    @Test("An output that does not finish delays the end of the program at most to the deadline")
    func hungConclusion() async throws {
        let target = ScriptedTarget(concludes: false)
        try await start(at: target)
        let group = DispatchGroup()
        outputs.finish(deadline: time.now + .seconds(5), reason: .programOver, in: group)
        try await eventually { target.conclusions == 1 }
        #expect(group.wait(timeout: .now()) == .timedOut)
        try await eventually {
            time.advance(by: .seconds(5))
            return group.wait(timeout: .now()) == .success
        }
    }

    @Test("A connection attempt is told whether the program has ended, or only its output, which may continue later")
    func endReasons() async throws {
        let (steady, guest) = (ScriptedTarget(), ScriptedTarget("scripted://guest"))
        outputs.start()
        try await addLive("steady", at: steady)
        try await addLive("guest", at: guest)
        try outputs.pause("guest")
        try await eventually { guest.attempts[0].endReason == .interrupted }
        try outputs.resume("guest")
        try await accept(1, of: guest)
        try outputs.remove("guest")
        try await eventually { guest.attempts[1].endReason == .interrupted }
        try await finish(.programOver)
        #expect(steady.attempts[0].endReason == .programOver)
    }
}
