// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Logging
internal import Media
internal import SRT
internal import Synchronization

/// What a source's thread shares with the others: its status and its log, and the order to stop.
final class SourceMonitor: Sendable {
    /// Ends blocking reads.
    let interrupter = Interrupter()
    /// Where what an operator must know at once is said.
    let logger: Logger
    private let state = Mutex(SourceStatus())
    private let srt = Mutex<SRTInput?>(nil)
    private let hasFailedToConvert = Atomic(false)
    private let stopSignal = DispatchSemaphore(value: 0)

    /// A monitor of a source that has not begun; it logs nothing unless a logger is given.
    init(logger: Logger = Logger(label: "relay.ingest", factory: { _ in SwiftLogNoOpLogHandler() })) {
        self.logger = logger
    }

    var status: SourceStatus {
        var status = state.withLock { $0 }
        status.srt = srt.withLock { $0 }?.statistics
        return status
    }

    var isStopped: Bool { interrupter.isInterrupted }

    /// Stops the source. Any thread, any number of times.
    func stop() {
        interrupter.interrupt()
        stopSignal.signal()
        srt.withLock { $0 }?.stop()
    }

    /// The source's way to its SRT peers, made by `make` if there is none yet: a port stays open however often the source is
    /// opened again.
    func srtInput(_ make: () -> SRTInput) -> SRTInput {
        let input = srt.withLock { input in
            let kept = input ?? make()
            input = kept
            return kept
        }
        if isStopped { input.stop() }
        return input
    }

    func update(_ change: (inout SourceStatus) -> Void) { state.withLock { change(&$0) } }

    /// Counts a frame or a run of audio that could not be converted. Only the source's first is logged: what follows
    /// mostly fails in the same way.
    func noteConversionFailure(_ failure: AVFailure) {
        update {
            $0.decodeErrors += 1
            $0.lastError = failure.description
        }
        if hasFailedToConvert.exchange(true, ordering: .relaxed) { return }
        logger.warning("what was decoded cannot be converted", metadata: ["reason": "\(failure)"])
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
