// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Logging
internal import Media
internal import Synchronization

/// Lets a program that no clock paces wait for its recorders. A live program must not wait for a disk.
extension Recorder {
    /// What is known of a recorder that takes no packets although packets wait.
    struct Stall {
        /// The number of items that the recorder had taken when it was last asked, and the time at which it was first
        /// found to have taken no more; nil if no item waited.
        var seen: (taken: UInt64, since: MonotonicInstant)?
        /// Whether the program does not wait for the recorder.
        var isGivenUp = false
    }

    /// Waits while the queue contains more than half of its limit, or more than half a second of media. Returns at once
    /// if nothing is being written, because the recorder is suspended, has failed or has ended. Blocks the calling
    /// thread, which must not be a thread that the recorder needs.
    package func waitForRoom() { waitForRoom(unless: { false }) }

    /// Waits for each of `recorders`, which record the same program to different disks. If the disk of one of them has
    /// hung for `patience` while another one records, the program continues without it. It is not waited for until its
    /// disk answers again. What does not fit into its queue meanwhile is a gap in its recording.
    package static func waitForRoom(in recorders: [Recorder], patience: Duration) {
        guard recorders.count > 1 else { return recorders.forEach { $0.waitForRoom() } }
        for recorder in recorders {
            recorder.waitForRoom {
                // All recorders are asked each time, because the time of a stall begins when it is first seen.
                let stalled = recorders.filter { $0.isStalled(for: patience) }
                return stalled.contains { $0 === recorder }
                    && recorders.contains { other in other.isRecording && !stalled.contains { $0 === other } }
            }
        }
    }

    private func waitForRoom(unless isGivenUp: () -> Bool) {
        wake()
        // The loop checks the recorder's state five times a second, because the state can change without a packet
        // leaving the queue.
        while isWriting {
            if isGivenUp() { return report(isGivenUp: true) }
            if packets.waitForRoom(upTo: .milliseconds(200)) { break }
        }
        report(isGivenUp: false)
    }

    /// Whether packets wait, and the recorder has taken none of them for `patience`, as it is while its disk hangs. That
    /// time begins with the first call that finds it so.
    private func isStalled(for patience: Duration) -> Bool {
        // The recorder leaves a few packets in its queue until they are worth a write.
        wake()
        let (taken, now) = (packets.takenWhileWaiting, clock.now)
        return stall.withLock { stall in
            guard let taken, let seen = stall.seen, seen.taken == taken else {
                stall.seen = taken.map { ($0, now) }
                return false
            }
            return now - seen.since >= patience
        }
    }

    private func report(isGivenUp: Bool) {
        let hasChanged = stall.withLock { stall in
            defer { stall.isGivenUp = isGivenUp }
            return stall.isGivenUp != isGivenUp
        }
        guard hasChanged else { return }
        let path = engine.environment.configuration.directory.path
        if isGivenUp {
            logger.error(
                """
                the disk of \(path) does not answer: the program continues without waiting for it, and what does \
                not fit into memory will be missing there
                """)
        } else {
            logger.notice("the disk of \(path) answers again")
        }
    }

    private var isRecording: Bool { box.value.withLock { $0.state } == .recording }

    private var isWriting: Bool {
        guard !isOver.withLock({ $0 }) else { return false }
        switch box.value.withLock({ $0.state }) {
        case .waiting, .recording: return true
        case .suspended, .failed, .stopped: return false
        }
    }
}
