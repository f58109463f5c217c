// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import Synchronization

extension SwitchedPassthrough {
    /// Where one input's source delivers. One thread at a time.
    ///
    /// A file is held until it is on air, and paced by its own stamps. A playlist that grows is paced alike and read on,
    /// so that what is on air is the newest when its turn comes; it comes in bursts, which are no losses.
    final class Tap: PacketSourceSink {
        /// How long, in nanoseconds, the first packet of a live source waits to be on air: it was opened because it is
        /// needed, and begins with a keyframe.
        private static let firstHold: Int64 = 300_000_000

        private let index: Int
        private let (canWait, isLive): (Bool, Bool)
        private let leading: TrackKind?
        private weak let owner: SwitchedPassthrough?
        private let pace = Mutex(FilePace())
        private let isFirst = Atomic(true)

        init(_ owner: SwitchedPassthrough, _ index: Int, _ description: PacketSourceDescription) {
            (self.owner, self.index) = (owner, index)
            (canWait, isLive) = (description.canWait, description.isLive)
            leading = description.stream.leadingKind
        }

        func take(_ packet: EncodedPacket, at arrival: Timestamp) {
            guard let owner else { return }
            let heartbeat = owner.inputHeartbeats[index]
            heartbeat.beat()
            defer { heartbeat.rest() }
            if packet.track == leading { owner.noteVideo(of: index, at: arrival) }
            guard canWait else { return owner.publish(packet, of: index, at: arrival) }
            let isNew = isFirst.exchange(false, ordering: .relaxed)
            guard hold(owner, upTo: !isLive ? .max : isNew ? Self.firstHold : 0) else { return }
            let clock = owner.clock
            clock.sleep {
                heartbeat.beat()
                return owner.isWanted(index) ? pace.withLock { $0.due(packet.dtsNanoseconds, now: clock.now) } : nil
            }
            owner.publish(packet, of: index, at: Timestamp(nanoseconds: clock.now))
        }

        func restart() {
            beginAnew()
            isFirst.store(true, ordering: .relaxed)
            owner?.airState.withLock { $0.splicer.restart(index) }
        }

        func end(failure: String?) {}

        private func beginAnew() { pace.withLock { $0 = FilePace() } }

        /// Holds the source until it is on air, so many nanoseconds at most. False if it is not wanted any more.
        private func hold(_ owner: SwitchedPassthrough, upTo patience: Int64) -> Bool {
            let clock = owner.clock
            let start = clock.now
            while owner.isWanted(index) {
                if owner.isPlayed(index) || clock.now - start >= patience { return true }
                owner.inputHeartbeats[index].beat()
                beginAnew()
                // It has a frame ready.
                owner.noteVideo(of: index, at: Timestamp(nanoseconds: clock.now))
                clock.sleep(until: clock.now + SourceSwitch.pause)
            }
            return false
        }
    }
}
