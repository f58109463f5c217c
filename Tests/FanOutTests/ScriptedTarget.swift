// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Synchronization

/// A target whose attempts do what a test says and record their packets.
final class ScriptedTarget: OutputTarget {
    let kind = OutputKindName(rawValue: "scripted")
    let carriage = Carriage.movie
    let displayAddress: String
    private let made = Mutex<[ScriptedAttempt]>([])
    private let concluded = Mutex(0)
    private let departures = Mutex(0)
    private let concludes: Bool
    private let destination: ScriptedTarget?
    let place: OutputPlace?
    private let findPlace: (@Sendable () -> OutputPlace)?
    var hasRealPlace: Bool { findPlace != nil }
    var realPlace: OutputPlace? { findPlace?() }

    /// `destination` is the target of a reconnect request; `concludes` tells whether ``conclude(_:)`` ever completes;
    /// `realPlace` asks a disk for the real place.
    init(
        _ address: String = "scripted://a", destination: ScriptedTarget? = nil, concludes: Bool = true,
        place: OutputPlace? = nil, realPlace: (@Sendable () -> OutputPlace)? = nil
    ) {
        self.concludes = concludes
        findPlace = realPlace
        self.place = place
        displayAddress = address
        self.destination = destination
    }

    var attempts: [ScriptedAttempt] { made.withLock { $0 } }
    /// The number of calls of ``conclude(_:)``.
    var conclusions: Int { concluded.withLock { $0 } }

    func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void) {
        concluded.withLock { $0 += 1 }
        if concludes { completion(nil) }
    }

    /// The number of calls of ``leave()``.
    var leaves: Int { departures.withLock { $0 } }

    func leave() { departures.withLock { $0 += 1 } }

    func redirected(to address: String) -> (any OutputTarget)? { destination }

    func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        let attempt = ScriptedAttempt(queue: queue, report: report)
        made.withLock { $0.append(attempt) }
        return attempt
    }
}

final class ScriptedAttempt: OutputAttempt, PacketServer {
    private struct State {
        var isLive = false
        var endReason: EndReason?
        var isAbandoned = false
        var sent: [Int64] = []
        var isStalled = false
        var drops = DropCounts()
        var waiting = 0
    }

    private let queue: PacketQueue
    private let state = Mutex(State())
    let report: @Sendable (AttemptEvent) -> Void

    init(queue: PacketQueue, report: @escaping @Sendable (AttemptEvent) -> Void) {
        self.queue = queue
        self.report = report
    }

    /// The numbers of the frames that were sent.
    var sent: [Int64] { state.withLock { $0.sent } }
    var isLive: Bool { state.withLock { $0.isLive } }
    var isDraining: Bool { endReason != nil }
    /// The reason that was passed to ``drain(until:reason:)``; nil before that call.
    var endReason: EndReason? { state.withLock { $0.endReason } }
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }
    var progress: AttemptProgress {
        var progress = AttemptProgress()
        progress.frames = UInt64(sent.count)
        (progress.drops, progress.waitingFrames) = state.withLock { ($0.drops, $0.waiting) }
        return progress
    }

    /// Makes the attempt report that it took this many frames from its queue and has not sent them.
    func hold(_ frames: Int) { state.withLock { $0.waiting = frames } }

    /// Makes the attempt report that this many frames did not reach one of its receivers.
    func drop(_ frames: Int, _ cause: DropCause) {
        state.withLock { state in
            state.drops.causes[cause, default: 0] += frames
            state.drops.frames += frames
        }
    }

    /// Stops accepting packets, or accepts the waiting packets and continues. A stalled attempt that must end reports
    /// `drained` only when it continues.
    func stall(_ isStalled: Bool) {
        state.withLock { $0.isStalled = isStalled }
        wake()
        if !isStalled, isDraining { report(.drained) }
    }

    func start() { report(.step("connect")) }

    func goLive() {
        state.withLock { $0.isLive = true }
        wake()
    }

    var server: any PacketServer { self }

    func wake() {
        state.withLock { state in
            guard state.isLive, !state.isStalled else { return }
            while let packet = queue.pop() {
                if packet.track == .video { state.sent.append(packet.pts) }
            }
        }
    }

    func drain(until deadline: MonotonicInstant, reason: EndReason) {
        wake()
        let isStalled = state.withLock { state in
            state.endReason = reason
            return state.isStalled
        }
        if !isStalled { report(.drained) }
    }

    func abandon() { state.withLock { $0.isAbandoned = true } }
}

/// Counts keyframe requests.
final class KeyframeCounter: KeyframeRequester {
    private let state = Mutex(0)
    var count: Int { state.withLock { $0 } }
    func requestKeyframe(at programTime: ProgramInstant?) { state.withLock { $0 += 1 } }
}
