// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Catalogue
internal import Dispatch
package import Logging
package import Media
internal import Segmenter
internal import Synchronization

/// Deletes old files of a channel, and of its recorded sources, while the channel is not recorded: while it is off air,
/// waits for its inputs or has ended, and while an operator has stopped the recording.
///
/// A recording has a retention of its own. So this one begins only when no recording has worked for a minute, and ends
/// within a second after the next one was set up. Until the channel has recorded with its rules, only the maximum age
/// applies: only a recording shows whether the other limits leave room for one file.
///
/// Any thread may use it.
package final class IdleRetention: Sendable {
    /// The retention of the program's files or of those of a source, and the place of these files.
    private struct Keeper: Sendable {
        let place: RecordingPlace
        let other: OtherRecorder
        let retention: Retention
    }

    private struct State {
        /// The recording whose files are deleted; nil if none are.
        var recording: ChannelConfiguration.Recording?
        /// Whether the channel has recorded with the rules of ``recording``.
        var isConfirmed = false
        /// How often ``recording`` was set.
        var number = 0
        /// Since when no recording works, in nanoseconds of the clock; nil while one works.
        var idleSince: Int64?
        /// When the directory is opened again after a failure, in nanoseconds of the clock.
        var nextOpening = Int64.min
        /// Empty while nothing is deleted.
        var keepers: [Keeper] = []
        /// The stamp of the catalogue from before the keepers read it; nil without a catalogue.
        var stamp: CatalogueStamp?
        /// Why the directory cannot be opened; nil if it can.
        var failure: String?
        var isStopped = false
    }

    /// How long no recording must have worked before files are deleted: a minute, in nanoseconds. A channel that is
    /// opened again after a short failure finds its files as it left them.
    private static let grace: Int64 = 60_000_000_000
    /// The pause after a directory could not be opened, in nanoseconds.
    private static let pause: Int64 = 60_000_000_000

    private let channel: String
    private let clock: any MonotonicClock
    private let wallClock: @Sendable () -> UTCTime
    private let isBusy: @Sendable () -> Bool
    private let logger: Logger
    private let queue: DispatchQueue
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)
    private let state = Mutex(State())

    /// Creates the retention of `channel`. `isBusy` returns whether a recording of the channel works or is wanted; it is
    /// called on the retention's queue each second.
    package init(
        channel: String, clock: any MonotonicClock = SystemClock(),
        wallClock: @escaping @Sendable () -> UTCTime = { .now }, logger: Logger,
        isBusy: @escaping @Sendable () -> Bool
    ) {
        (self.channel, self.clock, self.wallClock) = (channel, clock, wallClock)
        (self.isBusy, self.logger) = (isBusy, logger)
        queue = DispatchQueue(label: "relay.retention.idle.\(SegmentName.safe(channel))", qos: .background)
    }

    deinit { endTimer() }

    /// Looks each second from now on whether the channel is recorded. Returns at once.
    package func start() {
        timer.withLock { timer in
            let next = DispatchSource.makeTimerSource(queue: queue)
            next.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(200))
            next.setEventHandler { [weak self] in self?.look() }
            next.activate()
            timer = next
        }
    }

    /// Ends the retention, after a look that is under way. Returns at once.
    package func stop() {
        endTimer()
        state.withLock { $0.isStopped = true }
        queue.async { self.release() }
    }

    private func endTimer() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }

    /// Deletes files by the rules of `recording` from now on; nil deletes nothing. Returns at once.
    package func configure(_ recording: ChannelConfiguration.Recording?) {
        state.withLock { state in
            (state.recording, state.isConfirmed) = (recording, false)
            (state.idleSince, state.nextOpening) = (nil, .min)
            state.number += 1
        }
    }

    /// Like ``configure(_:)``, but only if nothing is deleted by the rules of a recording now: the channel is open with
    /// this recording after an earlier one was refused. Returns the number of the rules that apply now, for
    /// ``confirm(_:)``.
    package func restore(_ recording: ChannelConfiguration.Recording?) -> Int {
        if state.withLock({ $0.recording == nil }) { configure(recording) }
        return state.withLock { $0.number }
    }

    /// Applies all limits from now on, because the channel has recorded with the rules of this number. Does nothing if
    /// other rules were configured since. Returns at once.
    package func confirm(_ number: Int) {
        state.withLock { state in
            guard state.number == number else { return }
            (state.isConfirmed, state.idleSince) = (true, nil)
        }
    }

    /// Looks once, and deletes what is due. The timer calls it on the queue. Blocks on the disk.
    func look() {
        guard let recording = due() else { return release() }
        forgetOldAnswers(recording)
        if state.withLock({ $0.keepers.isEmpty }) { open(recording) }
        for keeper in state.withLock({ $0.keepers }) {
            do throws(FileFailure) {
                // If another disk is mounted, the directory is opened again: this one belongs to the earlier disk.
                try keeper.place.directory.checkMount()
            } catch {
                release()
                return postpone(because: error)
            }
            keeper.retention.check()
            if let failure = keeper.other.failure {
                release()
                return postpone(because: failure)
            }
        }
    }

    /// If the catalogue was written since the keepers read it, ends them, and lets new ones begin after a pause. What
    /// they know of uploads can be wrong: another process can record and upload in the same directory.
    private func forgetOldAnswers(_ recording: ChannelConfiguration.Recording) {
        let (isOpen, stamp) = state.withLock { (!$0.keepers.isEmpty, $0.stamp) }
        guard isOpen, CatalogueStamp(in: recording.directory) != stamp else { return }
        release()
        let next = clock.now + Self.pause
        state.withLock { $0.nextOpening = next }
    }

    /// Returns the recording whose files may be deleted now, with the rules that apply; nil if none may be.
    private func due() -> ChannelConfiguration.Recording? {
        let (now, isBusy) = (clock.now, isBusy())
        return state.withLock { state in
            guard !isBusy, !state.isStopped, var recording = state.recording, let rules = recording.retention else {
                state.idleSince = nil
                return nil
            }
            let since = state.idleSince ?? now
            state.idleSince = since
            guard now - since >= Self.grace else { return nil }
            if !state.isConfirmed {
                recording.retention = RetentionRules(maximumAge: rules.maximumAge, minimumAge: rules.minimumAge)
            }
            return recording
        }
    }

    private func open(_ recording: ChannelConfiguration.Recording) {
        let now = clock.now
        guard state.withLock({ $0.nextOpening <= now }) else { return }
        // The stamp is read before the catalogue. While a further write could leave it unchanged, nothing is opened.
        let stamp = CatalogueStamp(in: recording.directory)
        guard stamp?.isReliable ?? true else { return }
        do {
            let sources = recording.sources.map { SegmentName.channel(channel, source: $0) }
            let keepers = try ([channel] + sources).compactMap { try keeper(of: $0, recording) }
            state.withLock { ($0.keepers, $0.stamp, $0.failure) = (keepers, stamp, nil) }
        } catch {
            postpone(because: error)
        }
    }

    private func keeper(of channel: String, _ recording: ChannelConfiguration.Recording) throws -> Keeper? {
        guard let rules = recording.retention else { return nil }
        let place = try RecordingPlace(existing: recording, channel: channel, logger: logger)
        let directory = place.directory
        let other = OtherRecorder(of: channel, in: directory, clock: clock)
        if let failure = other.look() { throw failure }
        let retention = Retention(
            directory: directory, channel: channel, rules: rules, leastFree: 0, vetoes: place.vetoes + [other],
            observers: place.observers, clock: clock, wallClock: wallClock,
            newestRow: { [wallClock] in
                ChannelLedger(directory: directory, channel: channel).newestEnd(before: wallClock())
            },
            logger: logger)
        return Keeper(place: place, other: other, retention: retention)
    }

    /// Opens the directory again after a pause. A failure is logged if it is another one than before.
    private func postpone(because error: any Error) {
        let next = clock.now + Self.pause
        let isNews = state.withLock { state in
            defer { (state.failure, state.nextOpening) = ("\(error)", next) }
            return state.failure != "\(error)"
        }
        if isNews { logger.info("old recordings are not deleted while the channel is not recorded: \(error)") }
    }

    /// Ends the keepers. Their deletions are written to the catalogue one by one, so nothing is left to write. The
    /// place is not finished, because this would write upload states that were read long ago to the catalogue.
    private func release() {
        let keepers = state.withLock { state in
            defer { state.keepers = [] }
            return state.keepers
        }
        for keeper in keepers { keeper.retention.stop() }
    }
}
