// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import Synchronization

/// Opens inputs.
package enum SourceOpener {
    /// Opens `location` and finds out what it is. Blocks until the input answers, 15 s at most for one that is called;
    /// an input that listens waits for its peer without limit. Start the source to make it deliver.
    package static func open(
        _ location: InputLocation, options: IngestOptions, logger: Logger
    ) throws(IngestError) -> any MediaSource {
        try open(location, options: options, logger: logger, opening: nil)
    }

    /// The same, which ends with an error when `opening` is cancelled.
    package static func open(
        _ location: InputLocation, options: IngestOptions, logger: Logger, opening: SourceOpening?
    ) throws(IngestError) -> any MediaSource {
        if location.isTest { return try TestSource(options: options) }
        let monitor = opening?.monitor ?? SourceMonitor(logger: logger)
        return try open(location, options: options, monitor: monitor)
    }

    /// Opens what libav reads. Stopping `monitor`, which is the source's from now on, ends that.
    static func open(
        _ location: InputLocation, options: IngestOptions, monitor: SourceMonitor
    ) throws(IngestError) -> any MediaSource {
        monitor.stall.withLock { $0.findEnd = location.playlistEnd }
        let input = try OpenedInput(location, options: options, monitor: monitor)
        guard input.isLive else { return LibAVSource(input, at: location, options: options, monitor: monitor) }
        let description = LiveDescription(
            source: input.description, clock: input.clockSettings(latency: location.latency), stamps: input.stamps)
        return LiveSource(
            LiveInput(input, at: location, options: options, monitor: monitor), description, at: location,
            options: options, monitor: monitor)
    }
}

/// One attempt to open an input, which another thread may cancel.
package final class SourceOpening: Sendable {
    let monitor: SourceMonitor
    private let onCancel = Mutex<(@Sendable () -> Void)?>(nil)

    /// An attempt, for an input whose log `logger` is.
    package init(logger: Logger) { monitor = SourceMonitor(logger: logger) }

    /// Says whether of the source's video only keyframes are decoded. Without it all is.
    package func decode(onlyKeyframes: Bool) { monitor.decodesKeyframesOnly = onlyKeyframes }

    /// Lets the source have its keyframes alone where the machine cannot decode all of it in time.
    package func mayReduce() { monitor.mayReduce = true }

    /// Ends the attempt, or the source that came of it. Returns at once; any number of times.
    package func cancel() {
        monitor.stop()
        onCancel.withLock { $0 }?()
    }

    /// Does something besides when the attempt is cancelled, or at once if it was.
    package func whenCancelled(_ work: @escaping @Sendable () -> Void) {
        onCancel.withLock { $0 = work }
        if monitor.isStopped { work() }
    }
}
