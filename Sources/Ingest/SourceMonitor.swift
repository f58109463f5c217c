// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Logging
internal import Media
internal import SRT
internal import Synchronization

/// The state that a source's thread shares with other threads, such as its status, its log, and whether it was stopped.
final class SourceMonitor: Sendable {
    /// A connection that stays open, so that the next demuxer can continue to read from it.
    private struct Continuation {
        let bytes: TransportStreamBytes
        /// Whether the codec configuration of a stream changes where the last demuxer stopped reading.
        let isChange: Bool
    }

    /// Interrupts blocking reads.
    let interrupter: Interrupter
    /// Logs events that an operator must know about at once.
    let logger: Logger
    private let onlyKeyframes = Atomic(false)
    private let reduction = Atomic(false)
    private let reducible = Atomic(false)
    private let describing = Atomic(false)
    private let state = Mutex(SourceStatus())
    private let srt = Mutex<SRTInput?>(nil)
    private let continuation = Mutex<Continuation?>(nil)
    private let known = Mutex<KnownTracks?>(nil)
    private let hasFailedToConvert = Atomic(false)
    private let isAtStart = Atomic(false)
    private let stopSignal = DispatchSemaphore(value: 0)
    private let sizeChanges = Atomic(0)
    private let hasRepairedSamples = Atomic(false)
    /// The point at which the playlist last stalled, and the function that finds a playlist's end.
    let stall = Mutex(PlaylistStall())
    /// The state of the source's live playlist. It says whether the next demuxer must continue without a pause, and
    /// where.
    let playlist: PlaylistState
    /// Where the servers of the open input redirect to.
    let redirections = KnownRedirections()

    /// Creates a monitor of a source that has not begun. Without a `logger` the source logs nothing. Waits for the
    /// segments of a playlist are measured with `clock`.
    init(
        logger: Logger = Logger(label: "relay.ingest", factory: { _ in SwiftLogNoOpLogHandler() }),
        interrupter: Interrupter = Interrupter(), clock: any MonotonicClock = SystemClock()
    ) {
        playlist = PlaylistState(clock: clock)
        self.logger = logger
        self.interrupter = interrupter
    }

    var status: SourceStatus {
        var status = state.withLock { $0 }
        status.srt = srt.withLock { $0 }?.statistics
        return status
    }

    var isStopped: Bool { interrupter.isInterrupted }

    /// Whether only keyframes of the video are decoded, because the video is not visible or because the source
    /// ``isReduced``. The setter sets only the first of these two reasons.
    var decodesKeyframesOnly: Bool {
        get { onlyKeyframes.load(ordering: .relaxed) || isReduced }
        set { onlyKeyframes.store(newValue, ordering: .relaxed) }
    }

    /// Whether only keyframes are decoded because the machine is too slow to decode all frames.
    var isReduced: Bool {
        get { reduction.load(ordering: .relaxed) }
        set { reduction.store(newValue, ordering: .relaxed) }
    }

    /// Whether decoding only keyframes is allowed if the machine is too slow.
    var mayReduce: Bool {
        get { reducible.load(ordering: .relaxed) }
        set { reducible.store(newValue, ordering: .relaxed) }
    }

    /// Whether an input that is being opened delivers media, and the opening waits for the first frame of its video.
    /// Reset when the opening has ended.
    var isDescribing: Bool {
        get { describing.load(ordering: .relaxed) }
        set { describing.store(newValue, ordering: .relaxed) }
    }

    /// Stops the source. May be called on any thread, any number of times.
    func stop() {
        interrupter.interrupt()
        stopSignal.signal()
        srt.withLock { $0 }?.stop()
        playlist.unwatch()
        // Dropping the last reference to a kept connection closes the connection. The reference is dropped here,
        // outside of the lock.
        _ = takeKept()
    }

    /// Keeps the connection of `demuxer` open for the next demuxer, but only if the codec configuration of a stream
    /// changes where `demuxer` stopped reading, or if `failure` is a failure to decode. If the demuxer read a playlist
    /// whose next segment is coded in another way, the next demuxer begins with that segment.
    func keepConnection(of demuxer: Demuxer, after failure: IngestError? = nil) {
        if failure == nil { playlist.resume(at: demuxer.nextInitializations) }
        guard let bytes = demuxer.transportStream, !isStopped else { return }
        let isFailure = if case .cannotBeDecoded? = failure { true } else { false }
        guard isFailure || failure == nil && bytes.isChanged else { return }
        continuation.withLock { $0 = Continuation(bytes: bytes, isChange: !isFailure) }
        // If ``stop()`` ran in the meantime, it did not find the connection, so the connection is closed here.
        if isStopped { _ = takeKept() }
    }

    /// The tracks that the input had when it was last opened. Set to nil after an opening whose tracks may be wrong, so
    /// that the next opening probes the input completely.
    var knownTracks: KnownTracks? {
        get { known.withLock { $0 } }
        set { known.withLock { $0 = newValue } }
    }

    /// Whether the input must be opened again without a pause, because the codec configuration of one of its streams
    /// has changed, its playlist was started again, or another round of a looped file begins.
    var isAtChange: Bool { isAtNewCoding || playlist.isRestarted || isAtStart.load(ordering: .acquiring) }

    /// Whether the input continues where it ended, but is coded in another way from there on.
    var isAtNewCoding: Bool { playlist.isAtNewCoding || continuation.withLock { $0?.isChange == true } }

    /// Whether the next demuxer continues with the bytes that the last demuxer has left unread.
    var continues: Bool { continuation.withLock { $0 != nil } }

    /// Makes the next demuxer of a looped file begin at the file's start. The last demuxer has read only the rest of
    /// the file after a change of the coding, so it cannot return to the start.
    func beginAgain() { isAtStart.store(true, ordering: .releasing) }

    /// Returns the connection on which the next demuxer continues; nil if the next demuxer must connect by itself.
    func takeContinuation() -> TransportStreamBytes? {
        isAtStart.store(false, ordering: .releasing)
        let kept = takeKept()
        kept?.resume()
        return kept
    }

    /// Makes the next demuxer of a live input connect again, and begin with the newest media, although the last one
    /// ended at a change.
    func forgetChange() {
        _ = playlist.takeChange()
        // The connection is closed here, outside of the lock.
        _ = takeKept()
    }

    private func takeKept() -> TransportStreamBytes? {
        continuation.withLock { kept in
            defer { kept = nil }
            return kept?.bytes
        }
    }

    /// Returns the SRT input of the source, which `make` creates at the first call. The SRT input lives as long as the
    /// source, so that its port stays open however often the source is opened again.
    func srtInput(_ make: () -> SRTInput) -> SRTInput {
        let input = srt.withLock { input in
            let kept = input ?? make()
            input = kept
            return kept
        }
        if isStopped { input.stop() }
        return input
    }

    /// Returns the pause before the input is opened again: `delay`, or a tenth of it for a listener. A listener does
    /// not connect to a peer, so a short pause burdens no peer, and a sender that reconnects at once is soon back on
    /// air.
    func pauseToReopen(_ delay: Duration) -> Duration {
        srt.withLock { $0?.isListening == true } ? delay / 10 : delay
    }

    func update(_ change: (inout SourceStatus) -> Void) { state.withLock { change(&$0) } }

    /// Counts a packet that was read.
    func note(_ packet: PacketBox) {
        update {
            $0.packetsRead += 1
            if packet.isCorrupt { $0.decodeErrors += 1 }
        }
    }

    /// Counts damaged data that a decoder or a read has reported as `failure`, which becomes the status's last error.
    func noteDamage(_ failure: AVFailure) {
        update {
            $0.decodeErrors += 1
            $0.lastError = failure.description
        }
    }

    /// Counts a frame or a run of audio samples that could not be converted. Only the source's first such failure is
    /// logged, because most later ones have the same cause.
    func noteConversionFailure(_ failure: AVFailure) {
        noteDamage(failure)
        if hasFailedToConvert.exchange(true, ordering: .relaxed) { return }
        logger.warning("what was decoded cannot be converted", metadata: ["reason": "\(failure)"])
    }

    /// Logs that the video has another size from now on. A sender can change the size with each keyframe, so only the
    /// first, second, fourth, and so on of many changes are logged.
    func noteSize(_ width: Int, _ height: Int) {
        let number = sizeChanges.add(1, ordering: .relaxed).newValue
        guard number.isLoggedOccurrence else { return }
        logger.notice("the video of the input has another size now", metadata: ["size": "\(width)x\(height)"])
    }

    /// Logs, once per source, that the decoder replaced invalid audio samples. Each frame with such samples counts as
    /// damaged in the status.
    func noteRepairedSamples(of subject: String) {
        if hasRepairedSamples.exchange(true, ordering: .relaxed) { return }
        logger.warning(
            "audio has samples that are not numbers, or far too loud: the first are silenced, the others turned down",
            metadata: ["input": "\(subject)"])
    }

    /// Reports that the input named `input` was opened again. `isWorthLogging` is true if the preceding failure was
    /// logged.
    func noteOpenAgain(_ input: String, isWorthLogging: Bool) {
        if isWorthLogging { logger.notice("input is open again", metadata: ["input": "\(input)"]) }
        update { $0.reopens += 1 }
    }

    /// Reports that the input named `input` ended, or failed with `failure`, and will be opened again after `delay`.
    /// `schedule` decides whether this is logged.
    func noteInterruption(_ input: String, _ failure: IngestError?, _ schedule: ReopenSchedule, _ delay: Duration) {
        let reason = failure?.description ?? "The input \(input) ended."
        update {
            $0.state = .waiting
            $0.lastError = reason
        }
        guard schedule.isWorthLogging, !isStopped else { return }
        logger.warning(
            "input is interrupted and will be opened again until it answers",
            metadata: [
                "input": "\(input)", "reason": "\(reason)", "delay_s": "\(delay.components.seconds)",
                "failures": "\(schedule.failures)",
            ])
    }

    /// Reports that the source delivers nothing more; `failure` is the reason, or nil. If the source was stopped, the
    /// failure is ignored. Returns the failure unless it was ignored.
    @discardableResult
    func noteEnd(_ failure: IngestError?) -> IngestError? {
        playlist.unwatch()
        let failed = isStopped ? nil : failure
        update {
            $0.state = failed == nil ? .ended : .failed
            if let failed { $0.lastError = failed.description }
        }
        if let failed { logger.error("input failed", metadata: ["reason": "\(failed)"]) }
        return failed
    }

    /// Stores the `tracks` of the input named `input` that are not carried, and logs those that are new in this list.
    func note(uncarried tracks: [String], of input: String) {
        let before = state.withLock { state in
            defer { state.uncarriedTracks = tracks }
            return state.uncarriedTracks
        }
        for track in tracks where !before.contains(track) {
            logger.notice("\(track) is not carried", metadata: ["input": "\(input)"])
        }
    }

    /// Reports that the input named `input` was opened again because its codecs changed. `streams` have the new codecs.
    func noteChange(_ input: String, _ streams: [StreamInfo], isWorthLogging: Bool) {
        update { $0.reopens += 1 }
        guard isWorthLogging else { return }
        let tracks = streams.map(\.codecTitle).joined(separator: ", ")
        logger.notice("input is coded in another way now", metadata: ["input": "\(input)", "tracks": "\(tracks)"])
    }

    /// Pauses for `time`, or until the source is stopped.
    func pause(_ time: Duration) {
        if isStopped { return }
        let deadline = DispatchTime.now() + .nanoseconds(Int(time.inNanoseconds))
        if stopSignal.wait(timeout: deadline) == .success { stopSignal.signal() }
    }

    /// Blocks until `sink` might have room, but at least for a short time. Without this minimum the thread would spin
    /// if one track has room but there is no data for it.
    func waitForRoom(in sink: any SourceSink) {
        let clock = SystemClock()
        let before = clock.now
        sink.waitForRoom(timeout: .milliseconds(20))
        if clock.now - before < .milliseconds(1) { pause(.milliseconds(2)) }
    }
}
