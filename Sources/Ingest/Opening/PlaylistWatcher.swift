// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import Synchronization

/// Reads the playlist of an open live HLS input from time to time, on a queue of its own, until it finds that the
/// playlist was started again (see ``PlaylistWatch``), or until it is stopped or released.
final class PlaylistWatcher: Sendable {
    private let state: Mutex<PlaylistWatch>
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)
    private let clock: any MonotonicClock
    /// Interrupts the watcher's own read of the playlist. The reading thread has an interrupter of its own.
    private let interrupter = Interrupter()
    private let read: @Sendable (Interrupter) -> PlaylistHead?
    private let readingSince: @Sendable () -> MonotonicInstant?
    private let onRestart: @Sendable () -> Void

    /// Watches a playlist with this target duration. `read` reads the playlist. `readingSince` returns when the current
    /// read of a packet began; nil if no packet is being read. `onRestart` is called, at most once and on another
    /// thread, if the playlist was started again.
    init(
        target: Duration, clock: any MonotonicClock = SystemClock(),
        read: @escaping @Sendable (Interrupter) -> PlaylistHead?,
        readingSince: @escaping @Sendable () -> MonotonicInstant?, onRestart: @escaping @Sendable () -> Void
    ) {
        state = Mutex(PlaylistWatch(target: target))
        self.clock = clock
        (self.read, self.readingSince, self.onRestart) = (read, readingSince, onRestart)
        start(each: max(target / 2, .seconds(1)))
    }

    deinit { stop() }

    /// Ends the watch. A request that is under way is interrupted.
    func stop() {
        interrupter.interrupt()
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }

    private func start(each pause: Duration) {
        let pause = DispatchTimeInterval.nanoseconds(Int(clamping: pause.inNanoseconds))
        let body: @Sendable () -> Void = { [weak self] in self?.look() }
        timer.withLock { timer in
            let next = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "relay.ingest.playlist"))
            next.schedule(deadline: .now(), repeating: pause, leeway: .milliseconds(200))
            next.setEventHandler(handler: body)
            next.activate()
            timer = next
        }
    }

    private func look() {
        let time = clock.now
        let start = readingSince()
        guard state.withLock({ $0.isDue(at: time, waitingSince: start) }), !interrupter.isInterrupted else { return }
        let head = read(interrupter)
        // If libavformat's read of a packet has ended in the meantime, libavformat does not wait any more.
        let current = readingSince()
        let verdict = state.withLock { $0.note(head, at: time, waitingSince: current == start ? start : nil) }
        guard verdict == .restarted, !interrupter.isInterrupted else { return }
        stop()
        onRestart()
    }
}
