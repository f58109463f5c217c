// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Media
internal import Synchronization

/// A file, URL or device that libav reads.
///
/// A file ends at its end, or begins again. A live input that ends or fails is opened again for ever, after 1 to 5 s.
final class LibAVSource: MediaSource {
    let description: SourceDescription
    private let location: InputLocation
    private let options: IngestOptions
    private let logger: Logger
    private let monitor: SourceMonitor
    private let queue: DispatchQueue
    private let opened: Mutex<OpenedInput?>
    private let startOnce = StartOnce()

    /// Opens `location`. Blocks.
    init(_ location: InputLocation, options: IngestOptions, logger: Logger) throws(IngestError) {
        let monitor = SourceMonitor()
        let input = try OpenedInput(location, options: options, monitor: monitor)
        self.location = location
        self.options = options
        self.logger = logger
        self.monitor = monitor
        description = input.description
        queue = DispatchQueue(label: "relay.ingest.\(location.description)")
        opened = Mutex(input)
    }

    var status: SourceStatus { monitor.status }

    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        guard startOnce.claim() else { return }
        queue.async { [self] in deliver(into: sink, video: video, audio: audio) }
    }

    func stop() { monitor.stop() }

    private func deliver(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        let clock = SystemClock()
        var schedule = ReopenSchedule()
        var openedAt: Int64? = clock.now
        var failure = play(takeOpened, into: sink, video: video, audio: audio)
        while description.isLive, !monitor.isStopped {
            let delay = schedule.fail(after: .nanoseconds(openedAt.map { clock.now - $0 } ?? 0))
            noteInterruption(failure, schedule, delay)
            monitor.pause(delay)
            if monitor.isStopped { break }
            monitor.update { $0.state = .opening }
            openedAt = nil
            failure = play(
                { () throws(IngestError) in
                    let input = try reopen(into: sink, isWorthLogging: schedule.isWorthLogging)
                    openedAt = clock.now
                    return input
                }, into: sink, video: video, audio: audio)
        }
        finish(failure, sink)
    }

    /// Plays what `open` yields, and closes it: an address must be free before it can be opened again.
    private func play(
        _ open: () throws(IngestError) -> OpenedInput, into sink: any SourceSink, video: VideoFormat?,
        audio: AudioFormat?
    ) -> IngestError? {
        do throws(IngestError) {
            let input = try open()
            monitor.update { $0.state = .running }
            let reader = try SourceReader(
                input, into: sink, video: video, audio: audio, loops: options.loop && !description.isLive,
                monitor: monitor)
            try reader.run()
            return nil
        } catch {
            return error
        }
    }

    /// The input that was opened when the source was made.
    private func takeOpened() throws(IngestError) -> OpenedInput {
        let input = opened.withLock { input in
            let taken = input
            input = nil
            return taken
        }
        guard let input else { throw IngestError.empty(input: location.description) }
        return input
    }

    private func reopen(into sink: any SourceSink, isWorthLogging: Bool) throws(IngestError) -> OpenedInput {
        let input = try OpenedInput(location, options: options, monitor: monitor)
        // After a failure that was not logged this is none of the log's business either.
        if isWorthLogging { logger.notice("input is open again", metadata: ["input": "\(location)"]) }
        monitor.update { $0.reopens += 1 }
        sink.restart()
        return input
    }

    private func noteInterruption(_ failure: IngestError?, _ schedule: ReopenSchedule, _ delay: Duration) {
        let reason = failure?.description ?? "The input \(location) ended."
        monitor.update {
            $0.state = .waiting
            $0.lastError = reason
        }
        guard schedule.isWorthLogging else { return }
        logger.warning(
            "input is interrupted and will be opened again until it answers",
            metadata: [
                "input": "\(location)", "reason": "\(reason)", "delay_s": "\(delay.components.seconds)",
                "failures": "\(schedule.failures)",
            ])
    }

    private func finish(_ failure: IngestError?, _ sink: any SourceSink) {
        let failed = monitor.isStopped ? nil : failure
        monitor.update {
            $0.state = failed == nil ? .ended : .failed
            if let failed { $0.lastError = failed.description }
        }
        if let failed { logger.error("input failed", metadata: ["reason": "\(failed)"]) }
        sink.end(.video)
        sink.end(.audio)
    }
}
