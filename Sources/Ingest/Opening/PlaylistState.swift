// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import Synchronization

/// The state of the live playlist that a source reads, shared by the source's threads.
final class PlaylistState: Sendable {
    private let next = Mutex<[InitializationAddress]>([])
    private let restarted = Atomic(false)
    /// When the current read of a packet began, as the number of a ``MonotonicInstant``; that of the distant future if
    /// no packet is being read.
    private let reading = Atomic(MonotonicInstant.distantFuture.nanoseconds)
    private let watching = Mutex(Watch())
    private let clock: any MonotonicClock

    /// The watch of the open playlist.
    private struct Watch: Sendable {
        /// The number of watches that were begun or ended so far. The number distinguishes a restart that the current
        /// watch has found from a restart that an earlier watch reports late.
        var number = 0
        var watcher: PlaylistWatcher?
    }

    /// Creates the state of a source that has read nothing. Reads are measured with `clock`.
    init(clock: any MonotonicClock = SystemClock()) { self.clock = clock }

    /// Whether the server has started the playlist again with smaller media sequence numbers, so that the open demuxer
    /// would wait for a segment that never comes.
    var isRestarted: Bool { restarted.load(ordering: .acquiring) }

    /// Whether the input must be opened again without a pause, because its playlist was started again or continues with
    /// another initialization section.
    var isAtChange: Bool { isRestarted || isAtNewCoding }

    /// Whether the playlist continues with another initialization section.
    var isAtNewCoding: Bool { next.withLock { !$0.isEmpty } }

    /// Makes the next demuxer begin with the segments that need one of the initialization sections at `addresses`,
    /// those at which the media playlists of the input have ended. Does nothing if `addresses` is empty.
    func resume(at addresses: [InitializationAddress]) {
        if !addresses.isEmpty { next.withLock { $0 = addresses } }
    }

    /// Returns the initialization sections of the first segments that the next demuxer reads; empty if it begins near
    /// the end of the playlist. Afterwards ``isAtChange`` is false.
    func takeChange() -> [InitializationAddress] {
        restarted.store(false, ordering: .releasing)
        return next.withLock { next in
            defer { next = [] }
            return next
        }
    }

    /// Called before a packet is read, so that ``PlaylistWatcher`` knows how long the read takes.
    func beginRead() { reading.store(clock.now.nanoseconds, ordering: .releasing) }

    /// Called when the read of a packet has ended.
    func endRead() { reading.store(MonotonicInstant.distantFuture.nanoseconds, ordering: .releasing) }

    /// Watches the open playlist, whose segments last up to `target`, until ``unwatch()``. `read` reads the playlist.
    /// If the server has restarted the playlist, so that its segments are counted from a smaller number, `interrupter`
    /// ends the current read of a packet.
    func watch(
        target: Duration, interrupter: Interrupter, _ read: @escaping @Sendable (Interrupter) -> PlaylistHead?
    ) {
        let number = beginWatch()
        let new = PlaylistWatcher(
            target: target, clock: clock, read: read,
            readingSince: { [weak self] in
                guard let self else { return nil }
                let start = MonotonicInstant(nanoseconds: reading.load(ordering: .acquiring))
                return start == .distantFuture ? nil : start
            },
            onRestart: { [weak self] in self?.noteRestart(inWatch: number, ending: interrupter) })
        let isCurrent = watching.withLock { watch in
            guard watch.number == number else { return false }
            watch.watcher = new
            return true
        }
        // If the source was stopped in the meantime, ``unwatch()`` did not find the new watcher.
        if !isCurrent || interrupter.isInterrupted { new.stop() }
    }

    /// Ends the watch of the playlist. If this watch reports a restart of the playlist later, the report has no effect.
    func unwatch() { _ = beginWatch() }

    /// Ends the current watch. Returns the number of the next watch.
    func beginWatch() -> Int {
        let (old, number) = watching.withLock { watch in
            defer { watch.watcher = nil }
            watch.number += 1
            return (watch.watcher, watch.number)
        }
        old?.stop()
        return number
    }

    /// Records that the watch with this number has found the playlist started again, and ends the current read of a
    /// packet. Does nothing if that watch has ended: `interrupter` then belongs to the next demuxer.
    func noteRestart(inWatch number: Int, ending interrupter: Interrupter) {
        watching.withLock { watch in
            guard watch.number == number else { return }
            restarted.store(true, ordering: .releasing)
            interrupter.expire()
        }
    }
}

/// The state of a playlist that stopped growing, kept so that its last segments are not played again.
struct PlaylistStall: Sendable {
    /// Asks the server for the media sequence number of the playlist's next segment; nil if it is not known.
    var findEnd: (@Sendable (Interrupter) -> Int64?)?
    /// The media sequence number of the segment that was missing when the playlist stalled; nil if the playlist has not
    /// stalled, or was opened since then.
    var end: Int64?
}

extension SourceMonitor {
    /// Makes `location` the address at which the playlist's end is read when the playlist stalls, and before it is
    /// opened again.
    func findStalls(of location: InputLocation) {
        let findEnd: @Sendable (Interrupter) -> Int64? = { [redirections] in location.playlistEnd(redirections, $0) }
        stall.withLock { $0.findEnd = findEnd }
    }

    /// Called when the read of a packet from a playlist took too long: there is no new segment, or the server does not
    /// answer. Stores where the playlist ends. Blocks until the server has answered. Called on the reading thread.
    func noteStall() {
        let end = stall.withLock { $0.findEnd }?(interrupter)
        stall.withLock { $0.end = end }
    }

    /// Throws as long as the playlist of the input `input` still ends where it stalled, because its last segments were
    /// already played. If the playlist cannot be read, does nothing, and libavformat reports why. Blocks.
    func checkPlaylistAdvances(_ input: String) throws(IngestError) {
        let (findEnd, end) = stall.withLock { ($0.findEnd, $0.end) }
        guard let end else { return }
        // The server may have begun to redirect to another server, because it has no new segments itself.
        redirections.forget()
        // If the playlist was started again, the point at which it stalled before does not matter.
        if !playlist.isAtChange, findEnd?(interrupter) == end {
            throw .cannotBeOpened(input: input, reason: "its playlist has no new segment")
        }
        stall.withLock { $0.end = nil }
    }

    /// Logs that the input named `input` was opened again because its playlist was started again.
    func notePlaylistRestart(_ input: String, isWorthLogging: Bool) {
        update { $0.reopens += 1 }
        guard isWorthLogging else { return }
        logger.notice("the playlist was started again, so the input was opened again", metadata: ["input": "\(input)"])
    }
}
