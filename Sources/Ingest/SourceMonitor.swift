// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Logging
internal import Media
internal import SRT
internal import Synchronization

/// What a source's thread shares with the others: its status and its log, and the order to stop.
final class SourceMonitor: Sendable {
    /// A connection that the next demuxer continues on.
    private struct Continuation {
        let bytes: TransportStreamBytes
        /// Whether a stream is coded in another way from here on.
        let isChange: Bool
    }

    /// Ends blocking reads.
    let interrupter: Interrupter
    /// Where what an operator must know at once is said.
    let logger: Logger
    private let onlyKeyframes = Atomic(false)
    private let reduction = Atomic(false)
    private let reducible = Atomic(false)
    private let describing = Atomic(false)
    private let state = Mutex(SourceStatus())
    private let srt = Mutex<SRTInput?>(nil)
    private let continuation = Mutex<Continuation?>(nil)
    private let hasFailedToConvert = Atomic(false)
    private let stopSignal = DispatchSemaphore(value: 0)
    private let hasRepairedSamples = Atomic(false)
    /// Where a playlist ended that stood still, and how that is found.
    let stall = Mutex(PlaylistStall())

    /// A monitor of a source that has not begun; it logs nothing unless a logger is given.
    init(
        logger: Logger = Logger(label: "relay.ingest", factory: { _ in SwiftLogNoOpLogHandler() }),
        interrupter: Interrupter = Interrupter()
    ) {
        self.logger = logger
        self.interrupter = interrupter
    }

    var status: SourceStatus {
        var status = state.withLock { $0 }
        status.srt = srt.withLock { $0 }?.statistics
        return status
    }

    var isStopped: Bool { interrupter.isInterrupted }

    /// Whether only keyframes of the video are decoded: because the video is not seen, which is what is set, or because
    /// it ``isReduced``.
    var decodesKeyframesOnly: Bool {
        get { onlyKeyframes.load(ordering: .relaxed) || isReduced }
        set { onlyKeyframes.store(newValue, ordering: .relaxed) }
    }

    /// Whether keyframes alone are decoded because the machine is too slow for more.
    var isReduced: Bool {
        get { reduction.load(ordering: .relaxed) }
        set { reduction.store(newValue, ordering: .relaxed) }
    }

    /// Whether that may be done.
    var mayReduce: Bool {
        get { reducible.load(ordering: .relaxed) }
        set { reducible.store(newValue, ordering: .relaxed) }
    }

    /// Whether media comes of an input that is being opened, and the first frame of its video was waited for. It stays so
    /// until what the input looks like is known, or its opening has failed.
    var isDescribing: Bool {
        get { describing.load(ordering: .relaxed) }
        set { describing.store(newValue, ordering: .relaxed) }
    }

    /// Stops the source. Any thread, any number of times.
    func stop() {
        interrupter.interrupt()
        stopSignal.signal()
        srt.withLock { $0 }?.stop()
        // Closed outside of the lock.
        _ = takeKept()
    }

    /// Keeps the connection that `demuxer` reads open for the next demuxer: if a stream is coded in another way from here
    /// on, or after a `failure` to decode. Does nothing otherwise.
    func keepConnection(of demuxer: Demuxer, after failure: IngestError? = nil) {
        guard let bytes = demuxer.transportStream, !isStopped else { return }
        let isFailure = if case .cannotBeDecoded? = failure { true } else { false }
        guard isFailure || failure == nil && bytes.isChanged else { return }
        continuation.withLock { $0 = Continuation(bytes: bytes, isChange: !isFailure) }
        // A stop that came meanwhile has not seen it.
        if isStopped { _ = takeKept() }
    }

    /// Whether the input is to be opened at once, because a stream of it is coded in another way now.
    var isAtChange: Bool { continuation.withLock { $0?.isChange == true } }

    /// The connection that the next demuxer continues on; nil if it has to make its own.
    func takeContinuation() -> TransportStreamBytes? {
        let kept = takeKept()
        kept?.resume()
        return kept
    }

    private func takeKept() -> TransportStreamBytes? {
        continuation.withLock { kept in
            defer { kept = nil }
            return kept?.bytes
        }
    }

    /// The source's way to its SRT peers, made by `make` at the first call: a port stays open however often the source
    /// is opened again.
    func srtInput(_ make: () -> SRTInput) -> SRTInput {
        let input = srt.withLock { input in
            let kept = input ?? make()
            input = kept
            return kept
        }
        if isStopped { input.stop() }
        return input
    }

    /// How long to wait before the input is opened again: `delay`, or a tenth of it for a listener, which calls no
    /// peer, so that a sender that calls again at once is soon on air.
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

    /// Counts what was lost by `failure`.
    func noteDamage(_ failure: AVFailure) {
        update {
            $0.decodeErrors += 1
            $0.lastError = failure.description
        }
    }

    /// Counts a frame or a run of audio that could not be converted. Only the source's first is logged: what follows
    /// mostly fails in the same way.
    func noteConversionFailure(_ failure: AVFailure) {
        noteDamage(failure)
        if hasFailedToConvert.exchange(true, ordering: .relaxed) { return }
        logger.warning("what was decoded cannot be converted", metadata: ["reason": "\(failure)"])
    }

    /// Audio had samples that were replaced. The status counts each of their frames; only the source's first is logged.
    func noteRepairedSamples(of subject: String) {
        if hasRepairedSamples.exchange(true, ordering: .relaxed) { return }
        logger.warning(
            "audio has samples that are not numbers, or far too loud: the first are silenced, the others turned down",
            metadata: ["input": "\(subject)"])
    }

    /// The input of the name `input` was opened again. It `isWorthLogging` if the failure before was.
    func noteOpenAgain(_ input: String, isWorthLogging: Bool) {
        if isWorthLogging { logger.notice("input is open again", metadata: ["input": "\(input)"]) }
        update { $0.reopens += 1 }
    }

    /// The input of the name `input` ended, or failed with `failure`, and is opened again after `delay`, as `schedule`
    /// says.
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

    /// The source delivers nothing more, because of `failure` if there is one. What fails because the source was stopped
    /// is no failure. Returns what failed.
    @discardableResult
    func noteEnd(_ failure: IngestError?) -> IngestError? {
        let failed = isStopped ? nil : failure
        update {
            $0.state = failed == nil ? .ended : .failed
            if let failed { $0.lastError = failed.description }
        }
        if let failed { logger.error("input failed", metadata: ["reason": "\(failed)"]) }
        return failed
    }

    /// Remembers that these `tracks` of the input named `input` are not carried, and logs each of them once.
    func note(uncarried tracks: [String], of input: String) {
        let before = state.withLock { state in
            defer { state.uncarriedTracks = tracks }
            return state.uncarriedTracks
        }
        for track in tracks where !before.contains(track) {
            logger.notice("\(track) is not carried", metadata: ["input": "\(input)"])
        }
    }

    /// The input of the name `input` is coded in another way from here on, as these streams.
    func noteChange(_ input: String, _ streams: [StreamInfo]) {
        let tracks = streams.map(\.codecTitle).joined(separator: ", ")
        logger.notice("input is coded in another way now", metadata: ["input": "\(input)", "tracks": "\(tracks)"])
        update { $0.reopens += 1 }
    }

    /// Waits for `time`, or until the source is stopped.
    func pause(_ time: Duration) {
        if isStopped { return }
        let deadline = DispatchTime.now() + .nanoseconds(Int(time.inNanoseconds))
        if stopSignal.wait(timeout: deadline) == .success { stopSignal.signal() }
    }

    /// Waits until `sink` may have room. Never returns at once for nothing, whatever the sink does: a track that
    /// has room but nothing to put into it would otherwise make the thread spin.
    func waitForRoom(in sink: any SourceSink) {
        let clock = SystemClock()
        let before = clock.now
        sink.waitForRoom(timeout: .milliseconds(20))
        if clock.now - before < 1_000_000 { pause(.milliseconds(2)) }
    }
}
