// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Media
import Testing

@testable import FanOut

@Suite("Output set")
struct OutputSetTests {
    private let hub = FanOut()
    private let keyframes = KeyframeCounter()
    private let outputs: OutputSet

    init() {
        outputs = OutputSet(
            hub: hub, description: .sample, keyframes: keyframes, clock: ManualClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func publish(_ range: Range<Int64>) {
        for packet in Packets.video(range) {
            hub.publish(packet)
            hub.publish(Packets.audio(packet.pts * 1600 / 1024 + 2))
        }
    }

    private func state(_ name: String) -> String? { outputs.statuses.first { $0.name == name }?.state }

    /// An output of this name that is on air.
    private func liveOutput(_ name: String, at target: ScriptedTarget, backup: ScriptedTarget? = nil) async throws {
        try outputs.add(OutputDefinition(name: name, target: target, backup: backup))
        #expect(await eventually { target.attempts.count == 1 })
        target.attempts[0].report(.accepted)
        #expect(await eventually { target.attempts[0].isLive })
    }

    @Test("Outputs that come, pause, resume and go change nothing for another")
    func changes() async throws {
        let (steady, guest) = (ScriptedTarget(), ScriptedTarget("scripted://guest"))
        outputs.start()
        try await liveOutput("steady", at: steady)
        publish(0..<90)
        try await liveOutput("guest", at: guest)
        publish(90..<150)
        try outputs.pause("guest")
        #expect(await eventually { guest.attempts[0].isDraining })
        publish(150..<200)
        try outputs.resume("guest")
        #expect(await eventually { guest.attempts.count == 2 })
        guest.attempts[1].report(.accepted)
        #expect(await eventually { guest.attempts[1].isLive })
        publish(200..<270)
        try outputs.remove("guest")
        #expect(await eventually { guest.attempts[1].isDraining })
        publish(270..<300)
        #expect(await eventually { steady.attempts[0].sent == Array(0..<300) })
        #expect(guest.attempts[0].sent == Array(120..<150))
        #expect(guest.attempts[1].sent == Array(240..<270))
        #expect(outputs.statuses.map(\.name) == ["steady"])
        // Who joins waits for a keyframe that comes anyway.
        #expect(keyframes.count == 0)
    }

    @Test("A reconnect request is met at a keyframe: no frame is lost, none is sent twice")
    func moves() async throws {
        let destination = ScriptedTarget("scripted://b")
        let target = ScriptedTarget(destination: destination)
        outputs.start()
        try await liveOutput("a", at: target)
        publish(0..<70)
        target.attempts[0].report(.reconnectRequested(address: "scripted://b"))
        #expect(await eventually { destination.attempts.count == 1 })
        publish(70..<100)
        destination.attempts[0].report(.accepted)
        // The move is due from the moment that the machine knows of the acceptance.
        var frame: Int64 = 100
        #expect(
            await eventually {
                publish(frame..<frame + 20)
                frame += 20
                return outputs.statuses[0].endpoint == .redirected
            })
        publish(frame..<frame + 10)
        let (before, after) = (target.attempts[0].sent, destination.attempts[0].sent)
        #expect(before + after == Array(0..<frame + 10))
        #expect(after.first.map { $0 % 60 } == 0)
        #expect(await eventually { target.attempts[0].isDraining })
        let status = outputs.statuses[0]
        #expect(status.address == "scripted://b" && status.frames == UInt64(frame + 10) && status.reconnects == 1)
    }

    @Test("The backup serves when the primary refuses, and is left at a keyframe when the primary answers")
    func backup() async throws {
        let (primary, backup) = (ScriptedTarget(), ScriptedTarget("scripted://backup"))
        outputs.start()
        try outputs.add(
            OutputDefinition(
                name: "a", target: primary, backup: backup,
                retry: RetryPolicy(
                    backoff: Backoff(base: .milliseconds(5)), backupAfter: 2, primaryInterval: .milliseconds(20))))
        for index in 0..<2 {
            #expect(await eventually { primary.attempts.count == index + 1 })
            primary.attempts[index].report(.failed(OutputFailure(.rejected, step: "publish", reason: "busy")))
        }
        #expect(await eventually { backup.attempts.count == 1 })
        backup.attempts[0].report(.accepted)
        #expect(await eventually { backup.attempts[0].isLive })
        publish(0..<70)
        #expect(await eventually { primary.attempts.count == 3 })
        primary.attempts[2].report(.accepted)
        #expect(await eventually { outputs.statuses[0].attempts == 4 })
        // The hand-over is due from the moment that the machine knows of the acceptance.
        var frame: Int64 = 70
        #expect(
            await eventually {
                publish(frame..<frame + 60)
                frame += 60
                return outputs.statuses[0].endpoint == .primary
            })
        #expect(await eventually { backup.attempts[0].isDraining })
        publish(frame..<frame + 10)
        let (before, after) = (backup.attempts[0].sent, primary.attempts[2].sent)
        #expect(before + after == Array(0..<frame + 10))
        #expect(after.first.map { $0 % 60 } == 0)
    }

    @Test("A retry that an operator asks for does not wait for the timer")
    func retryNow() async throws {
        let target = ScriptedTarget()
        outputs.start()
        try outputs.add(OutputDefinition(name: "a", target: target))
        #expect(await eventually { target.attempts.count == 1 })
        target.attempts[0].report(.failed(OutputFailure(.refused, step: "publish", reason: "bad key")))
        #expect(await eventually { state("a") == "refused" })
        try outputs.retryNow("a")
        #expect(await eventually { target.attempts.count == 2 })
    }

    @Test("Names are unique, and unknown ones are refused by name")
    func names() throws {
        try outputs.add(OutputDefinition(name: "a", target: ScriptedTarget()))
        #expect(throws: OutputSetError.nameTaken("a")) {
            try outputs.add(OutputDefinition(name: "a", target: ScriptedTarget()))
        }
        #expect(throws: OutputSetError.unknown("b")) { try outputs.pause("b") }
        #expect(throws: OutputSetError.unknown("b")) { try outputs.remove("b") }
    }

    @Test("After the end nothing is added, and every output has ended")
    func finish() async throws {
        let target = ScriptedTarget()
        outputs.start()
        try await liveOutput("a", at: target)
        let group = DispatchGroup()
        outputs.finish(deadline: SystemClock().now + 5_000_000_000, reason: .programOver, in: group)
        #expect(await eventually { group.wait(timeout: .now()) == .success })
        #expect(target.attempts[0].isAbandoned)
        #expect(throws: OutputSetError.over) {
            try outputs.add(OutputDefinition(name: "b", target: ScriptedTarget()))
        }
    }

    @Test("An attempt learns whether the program is over, or the output alone ends and may go on")
    func endReasons() async throws {
        let (steady, guest) = (ScriptedTarget(), ScriptedTarget("scripted://guest"))
        outputs.start()
        try await liveOutput("steady", at: steady)
        try await liveOutput("guest", at: guest)
        try outputs.pause("guest")
        #expect(await eventually { guest.attempts[0].endReason == .interrupted })
        try outputs.resume("guest")
        #expect(await eventually { guest.attempts.count == 2 })
        guest.attempts[1].report(.accepted)
        #expect(await eventually { guest.attempts[1].isLive })
        try outputs.remove("guest")
        #expect(await eventually { guest.attempts[1].endReason == .interrupted })
        let group = DispatchGroup()
        outputs.finish(deadline: 5_000_000_000, reason: .programOver, in: group)
        #expect(await eventually { group.wait(timeout: .now()) == .success })
        #expect(steady.attempts[0].endReason == .programOver)
    }
}
