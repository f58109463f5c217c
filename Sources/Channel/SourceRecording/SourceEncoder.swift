// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Logging
internal import Media
internal import Program
internal import Synchronization

/// Encodes the video and audio of one source in the background, one frame for each frame of the program; for a source
/// without video, the audio alone. It never delays the program: see ``BackgroundEncoder``.
///
/// All calls may be made on any thread. All except `init` return at once.
final class SourceEncoder: SourceWatcher, KeyframeRequester {
    private let encoder: BackgroundEncoder
    /// The newest frame of the source, which is repeated while the source delivers no new frame; nil if the source has
    /// no video.
    private let standing: Mutex<VideoFrame?>

    /// Opens an encoder session whose packets go to `hub`. `placeholder` is encoded until the source has a frame; nil
    /// means that the source has no video. Blocks until the session is open. Throws ``ChannelFailure``.
    init(
        _ settings: EncoderSettings, format: VideoFormat, placeholder: VideoFrame?, into hub: PacketStream,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        standing = Mutex(placeholder)
        encoder = try BackgroundEncoder(
            .init(subject: "the recording of a source", thread: "relay.source"), settings,
            format: placeholder == nil ? nil : format, into: hub, clock: clock, logger: logger)
        // The hub gets no access to the session, because a hub that retained the session would cause a retain cycle.
        // The recorder requests keyframes from this object instead.
        hub.begin(encoder.description, keyframes: NoKeyframes())
    }

    /// The tracks of the encoder's packets.
    var description: StreamDescription { encoder.description }
    /// The session's status.
    var status: EncoderStatus { encoder.status }
    /// The number of dropped frames.
    var dropped: Int { encoder.dropped }
    /// The error that ended the encoder early; nil if nothing ended it early.
    var failure: String? { encoder.failure }
    /// Why nothing was encoded, and until which moment of the program; nil if the encoder did not fail, or if
    /// nothing was lost because of its failure.
    var missing: (reason: String, until: ProgramInstant)? { encoder.missing }

    func requestKeyframe(at programTime: ProgramInstant?) { encoder.requestKeyframe(at: programTime) }

    /// Begins to encode. `completion` is called when everything is encoded: after ``finish()``, or earlier if the
    /// encoder fails. To be called once.
    func start(_ completion: @escaping @Sendable () -> Void) { encoder.start(completion) }

    /// Accepts no more input. The input that was accepted before is still encoded.
    func finish() { encoder.finish() }

    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex) {
        let shown = standing.withLock { standing in
            if standing != nil { standing = frame ?? standing }
            return standing
        }
        encoder.take(audio)
        if let shown { encoder.take(shown, at: index.number) }
    }
}
