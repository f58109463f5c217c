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
/// Each recording has its own retention. So the idle retention begins only when no recording has been active for a
/// minute, and ends within a second after the next recording was set up. Until the channel has recorded with its rules,
/// only the maximum age applies, because only a recording shows whether the other limits leave room for one file.
///
/// Any thread may use it.
package final class IdleRetention: Sendable {
    /// The retention of the files of the program or of one source, and the place of these files.
    private struct Keeper: Sendable {
        let place: RecordingPlace
        let other: OtherRecorder
        let retention: Retention
    }

    private struct State {
        /// The settings of the recording whose old files are deleted; nil if no files are deleted.
        var recording: ChannelConfiguration.Recording?
        /// Whether the channel has recorded with the rules of ``recording``.
        var isConfirmed = false
        /// How often ``recording`` was set.
        var number = 0
        /// Since when no recording has been active; nil while a recording is active, and from each change of the rules
        /// to the next check.
        var idleSince: MonotonicInstant?
        /// After the record directory could not be opened: when the next attempt to open it is made.
        var nextOpening = MonotonicInstant.distantPast
        /// The retention of the program's files, and that of each recorded source's files; empty while nothing is
        /// deleted.
        var keepers: [Keeper] = []
        /// A stamp of the catalogue that was read before ``keepers`` read the catalogue; nil without a catalogue. A
        /// stamp that differs later shows that the catalogue was written since.
        var stamp: CatalogueStamp?
        /// Why the record directory could not be opened or checked; nil if that succeeded last.
        var failure: String?
        var isStopped = false
    }

    /// Files are deleted only when no recording has been active for this time. So a channel that is opened again after
    /// a short failure finds its files as it left them.
    private static let grace = Duration.seconds(60)
    /// The pause after a directory could not be opened.
    private static let pause = Duration.seconds(60)

    private let channel: String
    private let clock: any MonotonicClock
    private let wallClock: @Sendable () -> UTCTime
    private let isBusy: @Sendable () -> Bool
    private let logger: Logger
    private let queue: DispatchQueue
    private let timer = SecondTimer()
    private let state = Mutex(State())

    /// Creates the retention of `channel`. `isBusy` returns whether a recording of the channel is active or wanted; it
    /// is called on the retention's queue each second.
    package init(
        channel: String, clock: any MonotonicClock = SystemClock(),
        wallClock: @escaping @Sendable () -> UTCTime = { .now }, logger: Logger,
        isBusy: @escaping @Sendable () -> Bool
    ) {
        (self.channel, self.clock, self.wallClock) = (channel, clock, wallClock)
        (self.isBusy, self.logger) = (isBusy, logger)
        queue = DispatchQueue(label: "relay.retention.idle.\(SegmentName.safe(channel))", qos: .background)
    }

    /// From now on, checks each second whether the channel is recorded. Returns at once.
    package func start() { timer.start(on: queue, leeway: .milliseconds(200)) { [weak self] in self?.look() } }

    /// Ends the retention. If files are just being checked and deleted, it ends after that. Returns at once.
    package func stop() {
        timer.stop()
        state.withLock { $0.isStopped = true }
        queue.async { self.release() }
    }

    /// Deletes files by the rules of `recording` from now on; nil deletes nothing. Returns at once.
    package func configure(_ recording: ChannelConfiguration.Recording?) {
        state.withLock { state in
            (state.recording, state.isConfirmed) = (recording, false)
            (state.idleSince, state.nextOpening) = (nil, .distantPast)
            state.number += 1
        }
    }

    /// Does the same as ``configure(_:)``, but only if no rules are set now. No rules are set if an earlier recording
    /// was refused; now the channel is open with `recording`. Returns the number of the rules that apply now, for
    /// ``confirm(_:)``.
    package func restore(_ recording: ChannelConfiguration.Recording?) -> Int {
        if state.withLock({ $0.recording == nil }) { configure(recording) }
        return state.withLock { $0.number }
    }

    /// Applies all limits of the rules from now on, because the channel has recorded with the rules that have this
    /// number. Does nothing if other rules were configured since. Returns at once.
    package func confirm(_ number: Int) {
        state.withLock { state in
            guard state.number == number else { return }
            (state.isConfirmed, state.idleSince) = (true, nil)
        }
    }

    /// Checks once which files are due, and deletes these. The timer calls this method on the queue. Blocks on the
    /// disk.
    func look() {
        guard let recording = due() else { return release() }
        forgetOldAnswers(recording)
        if state.withLock({ $0.keepers.isEmpty }) { open(recording) }
        for keeper in state.withLock({ $0.keepers }) {
            do throws(FileFailure) {
                // If another disk was mounted, the check throws, and the record directory is opened again later: the
                // open directory is on the earlier disk.
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

    /// If the catalogue was written after `keepers` read it, stops the present retention; new retention objects are
    /// created after a pause. What the present ones know of uploads can be outdated, because another process can record
    /// and upload in the same directory.
    private func forgetOldAnswers(_ recording: ChannelConfiguration.Recording) {
        let (isOpen, stamp) = state.withLock { (!$0.keepers.isEmpty, $0.stamp) }
        guard isOpen, CatalogueStamp(in: recording.directory) != stamp else { return }
        release()
        let next = clock.now + Self.pause
        state.withLock { $0.nextOpening = next }
    }

    /// Returns the settings of the recording whose files may be deleted now, with the rules that apply; nil if no files
    /// may be deleted.
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
        // The stamp is read before the catalogue. If a further write might leave the stamp unchanged, the directory is
        // not opened yet, but at a later check.
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

    /// Schedules another attempt to open the record directory after a pause. Logs the failure if it differs from the
    /// previous one.
    private func postpone(because error: any Error) {
        let next = clock.now + Self.pause
        let isNews = state.withLock { state in
            defer { (state.failure, state.nextOpening) = ("\(error)", next) }
            return state.failure != "\(error)"
        }
        if isNews { logger.info("old recordings are not deleted while the channel is not recorded: \(error)") }
    }

    /// Stops the retention of all files. Each deletion was written to the catalogue at once, so no entries are pending.
    /// ``RecordingPlace/finish(_:)`` is not called, because it would write outdated upload states to the catalogue.
    private func release() {
        let keepers = state.withLock { state in
            defer { state.keepers = [] }
            return state.keepers
        }
        for keeper in keepers { keeper.retention.stop() }
    }
}
