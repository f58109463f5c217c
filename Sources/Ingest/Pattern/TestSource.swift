// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media

/// The built-in test signal (`test:`). It is endless. Like a file, it delivers as fast as its sink accepts frames and
/// audio.
///
/// The signal is drawn in the format that the sink requests, so no frame is scaled and no audio is resampled.
final class TestSource: MediaSource {
    let description: SourceDescription
    private let monitor = SourceMonitor()
    private let queue = DispatchQueue(label: "relay.ingest.test")
    private let startOnce = StartOnce()

    /// Creates a test signal of the requested size and frame rate; the default is 1280 by 720 pixels at 30 frames per
    /// second.
    init(options: IngestOptions) throws(IngestError) {
        let size = options.size ?? FrameSize(width: 1280, height: 720)
        guard size.width % 2 == 0, size.height % 2 == 0, (160...8192).contains(size.width),
            (90...8192).contains(size.height)
        else {
            throw IngestError.invalidOption(
                input: "test:", reason: "its size must be even and between 160x90 and 8192x8192")
        }
        let format = VideoFormat(
            width: size.width, height: size.height, frameRate: options.frameRate ?? NominalRate.fallback)
        description = SourceDescription(video: format, hasAudio: true, isLive: false, duration: nil)
    }

    var status: SourceStatus { monitor.status }

    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        guard startOnce.begin() else { return }
        queue.async { [self] in
            monitor.update { ($0.state, $0.video) = (.running, video) }
            deliver(into: sink, video, audio)
            monitor.update { $0.state = .ended }
            sink.end(.video)
            sink.end(.audio)
        }
    }

    func stop() { monitor.stop() }

    private func deliver(into sink: any SourceSink, _ video: VideoFormat?, _ audio: AudioFormat?) {
        let rate = video?.frameRate ?? NominalRate.fallback
        let clock = TestClock(frameRate: rate, sampleRate: (audio ?? .program).sampleRate)
        let pattern = video.map { TestPattern(format: $0, clock: clock) }
        let tone = audio.map { TestTone(format: $0, clock: clock) }
        if video == nil { sink.end(.video) }
        if audio == nil { sink.end(.audio) }
        var frame: Int64 = 0
        var position: Int64 = 0
        while !monitor.isStopped {
            var isIdle = true
            if let pattern, let video, sink.hasRoom(for: .video) {
                sink.deliver(
                    VideoFrame(
                        pts: frame, timeBase: rate.timeBase, width: video.width, height: video.height,
                        storage: pattern.frame(frame)))
                frame += 1
                monitor.update { $0.framesDecoded += 1 }
                isIdle = false
            }
            if let tone, let audio, sink.hasRoom(for: .audio) {
                let block = tone.audio(at: position, count: Int(audio.sampleRate / 50))
                sink.deliver(block)
                position = block.end
                isIdle = false
            }
            if isIdle { monitor.waitForRoom(in: sink) }
        }
    }
}
