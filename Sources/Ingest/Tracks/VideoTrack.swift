// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media

/// Decodes a source's frames, converts them, and places them on the timeline. Frames of high dynamic range are
/// tone-mapped if the program has standard dynamic range. Interlaced video is shown at its field rate if the program's
/// frame rate is high enough. Used by one thread.
final class VideoTrack {
    let decoder: TrackDecoder
    private let converter: FrameConverter
    private let sink: any SourceSink
    private let monitor: SourceMonitor
    /// Monitors whether a live source is decoded in time; nil for a file.
    private let watch: DecodingWatch?

    /// The duration of a frame that is not followed by another frame, in ticks of the stream; 0 for a live source.
    private var frameDuration: Int64 = 0
    /// The size of the last decoded frame; nil before the first one.
    private var size: (width: Int, height: Int)?
    /// Frames of a live source that are presented up to this time were shown before; nil if none were.
    var skipped: Timestamp?
    /// Whether the last frame of the current round of a loop, or of the source, was delivered.
    private(set) var isFinished = false

    init(
        _ decoder: TrackDecoder, target: VideoFormat, sink: any SourceSink, monitor: SourceMonitor, subject: String,
        watch: DecodingWatch? = nil
    ) throws(AVFailure) {
        self.watch = watch
        self.decoder = decoder
        self.sink = sink
        self.monitor = monitor
        converter = try FrameConverter(
            decoder.stream, target: target, fitting: .contain, mapsTones: true,
            deinterlacing: Deinterlacing(of: decoder.stream.video?.averageRate, in: target.frameRate), subject: subject)
        if let color = decoder.stream.video?.color, color.isHDR, !target.color.isHDR, !ToneMapping.isPossible {
            monitor.logger.warning(
                "HDR is shown as if it were SDR: this machine's libavfilter lacks zscale or tonemap",
                metadata: ["input": "\(subject)"])
        }
    }

    /// Decodes one frame and delivers the frames that are ready. `place` gets a frame's pts. It returns the frame's
    /// time on the source's timeline, or nil for a frame that must not be shown, and the frame's duration. All values
    /// are in ticks of the stream.
    func step(inputEnded: Bool, place: (_ pts: Int64?) -> (pts: Int64?, duration: Int64?)) -> TrackDecoder.Progress {
        switch decoder.next(inputEnded: inputEnded) {
        case .needsPacket:
            return .needsPacket
        case .failed(let failure):
            return .failed(failure)
        case .ended:
            isFinished = true
            let failure = guardingConversion { () throws(AVFailure) in try converter.finish(deliver: deliver) }
            return failure.map { .failed($0) } ?? .ended
        case .frame(let decoded):
            noteSize(of: decoded)
            let (position, duration) = place(decoder.time(of: decoded))
            guard let position else { return .advanced }
            frameDuration = duration ?? 0
            let failure = guardingConversion { () throws(AVFailure) in
                try converter.convert(decoded, pts: position, deliver: deliver)
            }
            return failure.map { .failed($0) } ?? .advanced
        }
    }

    private func noteSize(of frame: DecodedFrame) {
        let (width, height) = (frame.width, frame.height)
        if let size, size != (width, height) { monitor.noteSize(width, height) }
        size = (width, height)
    }

    /// Resets the decoder and the converter, to prepare for the next round of a loop.
    func flush() {
        decoder.flush()
        converter.reset()
        isFinished = false
    }

    private func deliver(_ frame: VideoFrame) {
        var frame = frame
        let base = decoder.stream.timeBase
        // Fields of interlaced video have a finer time base than the stream, and last half as long as a frame.
        frame.duration = frame.timeBase == base ? frameDuration : base.rescale(frameDuration, to: frame.timeBase) / 2
        sink.deliver(frame)
        monitor.update { $0.framesDecoded += 1 }
        watch?.note(frame)
    }

    /// Runs `body`. If `body` fails to convert a frame, counts the failure and returns nil, so that decoding continues
    /// with the next frame. Returns the failure if no frame can ever be converted.
    private func guardingConversion(_ body: () throws(AVFailure) -> Void) -> AVFailure? {
        do throws(AVFailure) {
            try body()
        } catch {
            if error.isMissingLibrary { return error }
            converter.reset()
            monitor.noteConversionFailure(error)
        }
        return nil
    }
}
