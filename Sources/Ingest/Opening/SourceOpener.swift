// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import Synchronization

/// Opens inputs.
///
/// ```swift
/// let source = try SourceOpener.open(InputLocation("rtsp://camera/live"), options: IngestOptions(), logger: logger)
/// source.start(into: feed, video: source.description.video, audio: .program)
/// source.stop()
/// ```
package enum SourceOpener {
    /// Opens `location` and finds its properties. Blocks until they are known. If relay connects to the input, this
    /// takes at most 15 s for the connection, and 12 s more if the size of the video is found only at the next
    /// keyframe. If relay listens, there is no time limit. The source delivers media only after it is started.
    package static func open(
        _ location: InputLocation, options: IngestOptions, logger: Logger
    ) throws(IngestError) -> any MediaSource {
        try open(location, options: options, logger: logger, opening: nil)
    }

    /// Opens `location` like the function without `opening`. Throws if `opening` is cancelled.
    package static func open(
        _ location: InputLocation, options: IngestOptions, logger: Logger, opening: SourceOpening?
    ) throws(IngestError) -> any MediaSource {
        if location.isTest { return try TestSource(options: options) }
        let monitor = opening?.monitor ?? SourceMonitor(logger: logger)
        return try open(location, options: options, monitor: monitor)
    }

    /// Opens `location` with libav. `monitor` becomes the source's monitor; stopping it also ends the opening.
    static func open(
        _ location: InputLocation, options: IngestOptions, monitor: SourceMonitor
    ) throws(IngestError) -> any MediaSource {
        monitor.findStalls(of: location)
        let input = try OpenedInput(location, options: options, monitor: monitor)
        guard input.isLive else { return LibAVSource(input, at: location, options: options, monitor: monitor) }
        let description = LiveDescription(
            source: input.description, clock: input.clockSettings(latency: location.latency), stamps: input.stamps)
        return LiveSource(
            LiveInput(input, at: location, options: options, monitor: monitor), description, at: location,
            options: options, monitor: monitor)
    }
}

/// An attempt to open an input, which another thread can cancel.
package final class SourceOpening: Sendable {
    let monitor: SourceMonitor
    private let onCancel = Mutex<(@Sendable () -> Void)?>(nil)

    /// Creates an attempt for an input that logs to `logger`.
    package init(logger: Logger) { monitor = SourceMonitor(logger: logger) }

    /// Sets whether only keyframes of the source's video are decoded. By default all frames are decoded.
    package func decode(onlyKeyframes: Bool) { monitor.decodesKeyframesOnly = onlyKeyframes }

    /// Allows decoding to be reduced to keyframes if the machine cannot decode the source in time.
    package func mayReduce() { monitor.mayReduce = true }

    /// Ends the attempt, or the source that resulted from it. Returns at once; may be called any number of times.
    package func cancel() {
        monitor.stop()
        onCancel.withLock { $0 }?()
    }

    /// Sets `work`, which is called in addition when the attempt is cancelled. If the attempt is cancelled already,
    /// `work` is called at once.
    package func whenCancelled(_ work: @escaping @Sendable () -> Void) {
        onCancel.withLock { $0 = work }
        if monitor.isStopped { work() }
    }
}
