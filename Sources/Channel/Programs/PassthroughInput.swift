// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import SourceClock
internal import Synchronization

/// Receives the packets of one opening of an input of a ``Passthrough``. Only one thread at a time may call it.
///
/// The reader of a file or playlist is paused until the input is on air. It is then paced by the times that the packets
/// have in the program, in which jumps of the source's timestamps are closed.
///
/// A live playlist, which grows, is paced in the same way. But it is also read while the input is not on air, so that
/// its newest packets go on air when the program switches to the input. Its packets arrive in bursts; the pauses
/// between the bursts do not count as losses.
final class PassthroughInput: PacketSourceSink {
    /// The maximum time for which the first packet of a live source waits until the input is on air. Waiting is useful
    /// because the source was opened on demand and begins with a keyframe.
    private static let firstHold = Duration.milliseconds(300)

    /// An input that delivered nothing for at least this time has paused, which the operator is told.
    private static let longPause = Duration.seconds(2)

    private let turn: PassthroughTurn
    private let (canWait, isLive): (Bool, Bool)
    private let leading: TrackKind
    private let heartbeat: Heartbeat
    private weak let owner: Passthrough?
    private let pace = Mutex(FilePace())
    private let isFirst = Atomic(true)
    /// When the last packet arrived, nil before the first one; and how many pauses there were.
    private let arrivals = Mutex<(last: MonotonicInstant?, pauses: Int)>((nil, 0))

    /// Creates the sink for the turn `turn` of an input of `owner`. `description` describes the opened source.
    init(_ owner: Passthrough, _ turn: PassthroughTurn, _ description: PacketSourceDescription) {
        (self.owner, self.turn, heartbeat) = (owner, turn, owner.inputHeartbeats[turn.index])
        (canWait, isLive, leading) = (description.canWait, description.isLive, description.stream.leadingKind)
    }

    func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
        guard let owner else { return }
        heartbeat.beat()
        defer { heartbeat.rest() }
        if packet.track == leading { owner.noteVideo(of: turn, at: arrival) }
        guard canWait else {
            notePause(before: arrival, owner)
            return owner.publish(owner.timed(packet, of: turn, at: arrival), of: turn, at: arrival)
        }
        let isNew = isFirst.exchange(false, ordering: .relaxed)
        guard hold(owner, upTo: !isLive ? nil : isNew ? Self.firstHold : .zero) else { return }
        let packets = owner.timed(packet, of: turn, at: arrival)
        guard let first = packets.first else { return }
        wait(for: first, owner)
        owner.publish(packets, of: turn, at: owner.clock.now)
    }

    /// Logs that the input delivers again after a pause. If there are many pauses, only the first, second, fourth, and
    /// so on are logged.
    private func notePause(before arrival: MonotonicInstant, _ owner: Passthrough) {
        let pause: Duration? = arrivals.withLock { state in
            defer { state.last = arrival }
            guard let last = state.last, arrival - last >= Self.longPause else { return nil }
            state.pauses += 1
            return state.pauses.isLoggedOccurrence ? arrival - last : nil
        }
        guard let pause else { return }
        let seconds = (pause.inSeconds * 10).rounded() / 10
        owner.logger.notice(
            "the input stalled: nothing came from it for some time",
            metadata: ["input": "\(owner.names[turn.index])", "seconds": "\(seconds)"])
    }

    func restart() {
        arrivals.withLock { $0.last = nil }
        restartPace()
        isFirst.store(true, ordering: .relaxed)
        owner?.airState.withLock { $0.restart(turn) }
    }

    func end(failure: String?) { owner?.ended(failure: failure) }

    private func restartPace() { pace.withLock { $0 = FilePace() } }

    /// Blocks the source until its input is on air, for at most `patience`; nil means no limit. Returns false if the
    /// input is not wanted any more.
    private func hold(_ owner: Passthrough, upTo patience: Duration?) -> Bool {
        let clock = owner.clock
        let start = clock.now
        while owner.isWanted(turn) {
            if owner.isPlayed(turn.index) { return true }
            if let patience, clock.now - start >= patience { return true }
            heartbeat.beat()
            restartPace()
            // While its first packet is held back, the input counts as alive, because it has a frame ready.
            owner.noteVideo(of: turn, at: clock.now)
            clock.sleep(until: clock.now + SourceSwitch.pause)
        }
        return false
    }

    /// Waits until the packet is due or, in an unpaced program, until the recordings have room.
    private func wait(for packet: EncodedPacket, _ owner: Passthrough) {
        guard owner.configuration.isPaced else {
            heartbeat.resting { owner.recordings.waitForRoom() }
            return
        }
        let clock = owner.clock
        clock.sleep {
            heartbeat.beat()
            return owner.isWanted(turn)
                ? pace.withLock { $0.due(Timestamp(nanoseconds: packet.dtsNanoseconds), now: clock.now) } : nil
        }
    }
}
