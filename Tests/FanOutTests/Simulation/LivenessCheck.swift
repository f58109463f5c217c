// SPDX-License-Identifier: Apache-2.0

import Media

@testable import FanOut

/// Checks that an output leaves every state in which it waits, and that it sends frames when nothing prevents it.
struct LivenessCheck {
    /// The values that are checked after a step of the simulation.
    struct Moment {
        let now: MonotonicInstant
        let snapshot: OutputSnapshot
        let last: SentRecord.Sent?
        let shown: SentRecord.Sent?
        let program: SimulatedProgram
        let shape: SimulatedOutput.Shape
        /// Whether the network is up, all peers accept and read, and the encoder makes the requested keyframes.
        let isFavorable: Bool
        /// Whether the network to the peer of the attempt on air is up, and this peer reads.
        let isPathFavorable: Bool
    }

    /// How long everything must have been favorable before frames must flow.
    private static let calm = Duration.seconds(5)
    /// How long the path of a connection that lasts must have been favorable before frames must flow.
    private static let resumption = Duration.milliseconds(2500)
    /// Tolerance for the steps of a simulation and for answers.
    private static let grace = Duration.milliseconds(1500)
    /// The longest wait for a requested keyframe.
    private static let keyframePatience = Duration.seconds(40)
    /// After this time without a keyframe request, earlier requests do not lengthen an output's wait any more.
    private static let requestMemory = Duration.seconds(300)
    /// The longest time off air while everything is favorable. It is the sum of the wait after a refusal, and of an
    /// attempt that had begun earlier and gets no answer.
    private static let longestAbsence = Duration.seconds(60) + SimulatedAttempt.acceptTimeout + calm

    private var favorableSince: MonotonicInstant?
    private var pathSince: MonotonicInstant?
    private var offAirSince: MonotonicInstant?
    private var awaySince: MonotonicInstant?
    private var needySince: MonotonicInstant?
    private var stillSince: MonotonicInstant?
    private var (requests, lastRequest) = (0, MonotonicInstant.distantPast)

    /// Returns the faults that the output shows at `moment`. Moments must be passed in order of time.
    mutating func faults(at moment: Moment) -> [String] {
        let isLive = moment.snapshot.machine.state.name == .live
        Self.keep(&favorableSince, moment.isFavorable, moment.now)
        Self.keep(&pathSince, moment.isPathFavorable, moment.now)
        Self.keep(&offAirSince, !isLive, moment.now)
        let machine = moment.snapshot.machine
        Self.keep(&awaySince, isLive && machine.current?.isAway == true && machine.candidate == nil, moment.now)
        let isNeedy = isLive && moment.snapshot.needsKeyframe && moment.isFavorable
        Self.keep(&needySince, isNeedy, moment.now)
        Self.keep(&stillSince, isNeedy && moment.snapshot.standsStill, moment.now)
        if moment.snapshot.requests > requests { (requests, lastRequest) = (moment.snapshot.requests, moment.now) }
        let checks = [
            deadline(moment), takeover(moment), failback(moment), joining(moment), keyframe(moment), still(moment),
            movement(moment), silence(moment), flow(moment), absence(moment),
        ]
        return checks.compactMap(\.self)
    }

    private static func keep(_ since: inout MonotonicInstant?, _ holds: Bool, _ now: MonotonicInstant) {
        since = holds ? since ?? now : nil
    }

    /// Checks that each wait of the output ends in time.
    private func deadline(_ moment: Moment) -> String? {
        let (now, attempt) = (moment.now, moment.snapshot.attempt)
        switch moment.snapshot.machine.state {
        case .backingOff(let until, _), .refused(let until, _):
            return now > until ? "the wait for the next attempt does not end" : nil
        case .draining(let deadline):
            return now > deadline ? "the end does not come by its deadline" : nil
        case .connecting:
            guard let attempt else { return "connects without an attempt" }
            let isLate = now > attempt.began + SimulatedAttempt.acceptTimeout + Self.grace
            return isLate && moment.shape.transport.connects ? "connects without an end" : nil
        case .live, .waiting: return attempt == nil ? "is on air without an attempt" : nil
        case .idle, .givenUp, .paused, .stopped: return nil
        }
    }

    /// Checks that a candidate that was accepted takes over at the next keyframe.
    private func takeover(_ moment: Moment) -> String? {
        guard case .live = moment.snapshot.machine.state, let candidate = moment.snapshot.machine.candidate else {
            return nil
        }
        guard let since = candidate.liveSince else {
            guard let attempt = moment.snapshot.candidate else { return "the candidate has no attempt" }
            let isLate = moment.now > attempt.began + SimulatedAttempt.acceptTimeout + Self.grace
            return isLate ? "the candidate connects without an end" : nil
        }
        guard let keyframe = moment.program.firstKeyframe(after: since) else { return nil }
        return moment.now > keyframe + Self.grace ? "the candidate does not take over at the keyframe" : nil
    }

    /// Checks that the primary is probed while the output is on air at another address.
    private func failback(_ moment: Moment) -> String? {
        guard let since = awaySince else { return nil }
        let longest = moment.shape.primaryInterval * 16 + Self.grace
        return moment.now - since > longest ? "the primary is not probed" : nil
    }

    /// Checks that the output joins the program at a keyframe, and from then on counts what it misses.
    private func joining(_ moment: Moment) -> String? {
        guard case .live(let since) = moment.snapshot.machine.state, !moment.snapshot.hasJoined,
            let keyframe = moment.program.firstKeyframe(after: since)
        else { return nil }
        return moment.now > keyframe + Self.grace ? "is live, and has not joined the program" : nil
    }

    /// Checks that the output requests the keyframe that it waits for.
    private func keyframe(_ moment: Moment) -> String? {
        guard let since = needySince else { return nil }
        return moment.now - since > Self.keyframePatience + Self.calm ? "no keyframe is requested" : nil
    }

    /// Checks that a keyframe is requested at once if the receiver's video is frozen and there was no recent request.
    private func still(_ moment: Moment) -> String? {
        guard let since = stillSince, since - lastRequest > Self.requestMemory else { return nil }
        return moment.now - since > Self.grace ? "a still frame stands, and no keyframe is requested" : nil
    }

    /// Checks that an output on air sends packets, and that a peer that takes no bytes for long is given up.
    private func movement(_ moment: Moment) -> String? {
        guard case .live(let since) = moment.snapshot.machine.state else { return nil }
        let mark = max(since, moment.last?.time ?? .distantPast)
        guard let keyframe = moment.program.firstKeyframe(after: mark) else { return nil }
        let longest = SimulatedAttempt.stallTimeout + Self.grace * 2
        return moment.now > keyframe + longest ? "is live, and nothing moves" : nil
    }

    /// Checks that, while everything is favorable, an output on air gets the keyframe with which it can continue. It
    /// gets the keyframe soon if there was no recent request. If its connection passes no data any more, the output
    /// goes off air instead.
    private func silence(_ moment: Moment) -> String? {
        guard case .live(let since) = moment.snapshot.machine.state, let favorableSince else { return nil }
        let mark = max(since, favorableSince, moment.last?.time ?? .distantPast)
        let wasQuiet = mark - lastRequest > Self.requestMemory
        let resumption = moment.snapshot.attempt?.isDead == true ? SimulatedAttempt.stallTimeout : Self.resumption
        let longest = (wasQuiet ? resumption : Self.keyframePatience) + Self.calm + Self.grace
        return moment.now - mark > longest ? "is live, sends nothing, and gets no keyframe" : nil
    }

    /// Checks that, while nothing disturbs its path, the output on air sends frames that are as new as its queue's limits
    /// allow.
    private func flow(_ moment: Moment) -> String? {
        guard case .live(let since) = moment.snapshot.machine.state, let pathSince,
            moment.now - pathSince >= Self.resumption, moment.snapshot.attempt?.isDead == false,
            let keyframe = moment.program.firstKeyframe(after: max(since, pathSince)),
            moment.now > keyframe + Self.grace
        else { return nil }
        // An output that listens has no receiver to send to while none is connected.
        let flowing = moment.shape.transport == .listener ? moment.last : moment.shown
        guard let last = flowing, moment.now - last.time <= Self.grace else {
            return "no frame flows, though nothing prevents it"
        }
        let oldest = moment.shape.limits.maximumDuration + Self.grace
        return moment.now - last.published > oldest ? "the frames that flow are too old" : nil
    }

    /// Checks that the output goes on air while everything is favorable.
    private func absence(_ moment: Moment) -> String? {
        switch moment.snapshot.machine.state {
        case .connecting, .backingOff, .refused: break
        default: return nil
        }
        guard let favorableSince, let offAirSince, moment.shape.transport.connects else { return nil }
        let since = max(favorableSince, offAirSince)
        return moment.now - since > Self.longestAbsence ? "does not come on air, though nothing prevents it" : nil
    }
}
