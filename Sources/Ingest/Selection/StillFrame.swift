// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Logging
package import Media
internal import Synchronization

/// The first frame of an image or a video file.
package enum StillFrame {
    /// How long to wait for the first frame of a file.
    private static let patience = DispatchTimeInterval.seconds(10)

    /// Reads the first frame of `location` in `format`. `isVideo` is true if the file lasts longer than 200 ms and
    /// longer than two frames of `format`, so that it is not an image. Blocks for at most 10 s once the file is open.
    package static func load(
        _ location: InputLocation, format: VideoFormat, logger: Logger
    ) throws(IngestError) -> (frame: VideoFrame, isVideo: Bool) {
        let source = try SourceOpener.open(location, options: IngestOptions(), logger: logger)
        guard source.description.video != nil else { throw IngestError.noVideo(input: location.description) }
        let sink = FirstFrame()
        source.start(into: sink, video: format, audio: nil)
        defer { source.stop() }
        _ = sink.arrived.wait(timeout: .now() + patience)
        guard let frame = sink.frame.withLock({ $0 }) else { throw IngestError.empty(input: location.description) }
        return (frame, (source.description.duration ?? .zero) > frameLength(format))
    }

    private static func frameLength(_ format: VideoFormat) -> Duration {
        max(.milliseconds(200), format.frameRate.timeBase.duration(2))
    }
}

/// Keeps the first frame that is delivered.
private final class FirstFrame: SourceSink {
    let frame = Mutex<VideoFrame?>(nil)
    let arrived = DispatchSemaphore(value: 0)
    let programTime = ProgramTime()

    func hasRoom(for track: TrackKind) -> Bool { frame.withLock { $0 == nil } }
    func waitForRoom(timeout: Duration) {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds)))
    }
    func attach(_ times: any SourceTimes) {}
    func moveAudio(by samples: Int64) {}
    func deliver(_ frame: VideoFrame) {
        self.frame.withLock { $0 = $0 ?? frame }
        arrived.signal()
    }
    func deliver(_ audio: AudioBuffer) {}
    func markStarved(_ track: TrackKind) {}
    func markBehind() {}
    func markCaughtUp() {}
    func end(_ track: TrackKind) { if track == .video { arrived.signal() } }
}
