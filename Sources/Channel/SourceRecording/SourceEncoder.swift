// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Logging
internal import Media
internal import Program
internal import Synchronization

/// Encodes what one source shows and plays, frame by frame of the program, beside the program and never in its way: see
/// ``BackgroundEncoder``.
///
/// All calls may come from any thread and return at once.
final class SourceEncoder: SourceWatcher, KeyframeRequester {
    private let encoder: BackgroundEncoder
    /// What the source showed last; it stands while there is nothing else.
    private let standing: Mutex<VideoFrame>

    /// Opens an encoder session whose packets go to `hub`; `placeholder` is shown until the source has a frame. Blocks as long as
    /// that takes. Throws ``ChannelFailure``.
    init(
        _ settings: EncoderSettings, format: VideoFormat, placeholder: VideoFrame, into hub: PacketStream,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        standing = Mutex(placeholder)
        encoder = try BackgroundEncoder(
            .init(subject: "the recording of a source", thread: "relay.source"), settings, format: format, into: hub,
            clock: clock, logger: logger)
        // The recorder asks here for keyframes; a hub that held the session would hold itself.
        hub.begin(encoder.description, keyframes: NoKeyframes())
    }

    /// What comes out.
    var description: StreamDescription { encoder.description }
    /// What there is to know of the session.
    var status: EncoderStatus { encoder.status }
    /// Frames that were left out.
    var dropped: Int { encoder.dropped }
    /// Why it ended before its time; nil if it did not.
    var failure: String? { encoder.failure }
    /// What it did not encode because it failed.
    var missing: (reason: String, until: Int64)? { encoder.missing }

    func requestKeyframe(at programTime: Int64?) { encoder.requestKeyframe(at: programTime) }

    /// Begins to encode what it is given; `completion` is called when all of it is, after ``finish()``. Once.
    func start(_ completion: @escaping @Sendable () -> Void) { encoder.start(completion) }

    /// Takes nothing more. What was taken is encoded.
    func finish() { encoder.finish() }

    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex) {
        let shown = standing.withLock { standing in
            standing = frame ?? standing
            return standing
        }
        encoder.take(audio)
        encoder.take(shown, at: index.number)
    }
}
