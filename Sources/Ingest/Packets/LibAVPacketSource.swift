// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
internal import Media
internal import Synchronization

/// The packets of a file, URL or device that libav reads.
///
/// A file ends at its end, or begins again where its last packet ended. A live input that ends or fails is opened again
/// for ever, after 1 to 5 s.
package final class LibAVPacketSource: PacketSource {
    private let location: InputLocation
    private let loops: Bool
    private let monitor: SourceMonitor
    private let queue: DispatchQueue
    private let opened = Mutex<PacketInput?>(nil)
    private let startOnce = StartOnce()

    /// A source at `location` that is not open yet, and that an `opening` may cancel.
    package init(_ location: InputLocation, loops: Bool, logger: Logger, opening: SourceOpening? = nil) {
        self.location = location
        self.loops = loops
        monitor = opening?.monitor ?? SourceMonitor(logger: logger)
        monitor.stall.withLock { $0.findEnd = location.playlistEnd }
        queue = DispatchQueue(label: "relay.ingest.\(location.description)")
    }

    package var status: SourceStatus { monitor.status }

    package func open() throws(IngestError) -> PacketSourceDescription {
        // No other thread takes this lock before the source is open.
        try opened.withLock { (opened) throws(IngestError) in
            let input = try PacketInput(location, monitor: monitor)
            opened = input
            return input.description
        }
    }

    package func start(into sink: any PacketSourceSink) {
        guard startOnce.begin() else { return }
        queue.async { [self] in deliver(into: sink) }
    }

    package func stop() { monitor.stop() }

    private func deliver(into sink: any PacketSourceSink) {
        let clock = SystemClock()
        var schedule = ReopenSchedule()
        var openedAt: Int64? = clock.now
        var input = opened.withLock { input in
            defer { input = nil }
            return input
        }
        let isLive = input?.isLive ?? false
        while !monitor.isStopped {
            var failure: IngestError?
            do throws(IngestError) {
                if input == nil {
                    input = try reopen(isWorthLogging: schedule.isWorthLogging)
                    openedAt = clock.now
                    sink.restart()
                }
                monitor.update { $0.state = .running }
                try input?.read(into: sink, loops: loops && !isLive)
            } catch {
                failure = error
            }
            if failure == nil { input?.keepConnection() }
            // An address must be free before it can be opened again.
            input = nil
            if monitor.isAtChange { continue }
            guard isLive, failure?.isPermanent != true else { return finish(failure, sink) }
            let delay = monitor.pauseToReopen(schedule.fail(after: .nanoseconds(openedAt.map { clock.now - $0 } ?? 0)))
            openedAt = nil
            monitor.noteInterruption(location.description, failure, schedule, delay)
            monitor.pause(delay)
        }
        finish(nil, sink)
    }

    private func reopen(isWorthLogging: Bool) throws(IngestError) -> PacketInput {
        try monitor.checkPlaylistAdvances(location.description)
        let isAtChange = monitor.isAtChange
        let input = try PacketInput(location, isReopened: true, monitor: monitor)
        if isAtChange {
            monitor.noteChange(location.description, input.streams)
        } else {
            monitor.noteOpenAgain(location.description, isWorthLogging: isWorthLogging)
        }
        return input
    }

    private func finish(_ failure: IngestError?, _ sink: any PacketSourceSink) {
        sink.end(failure: monitor.noteEnd(failure)?.description)
    }
}
