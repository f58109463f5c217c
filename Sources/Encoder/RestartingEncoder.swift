// SPDX-License-Identifier: Apache-2.0

internal import Media

/// An encoder session: ``X264Encoder``, or a replacement that a test provides.
protocol VideoCoding: AnyObject {
    /// The description to which the packets refer.
    var description: TrackDescription { get }
    /// Number of frames that the session holds before its first output.
    var delay: Int { get }
    /// The threads that the session has created.
    var threads: EncoderThreads { get }
    /// Number of frames, or slices of one frame, that are encoded in parallel.
    var parallelism: Int { get }
    /// Whether a call failed inside the session, so that it must not be used any more.
    var isBroken: Bool { get }
    func encode(_ frame: VideoFrame, at index: Int64, forceKeyframe: Bool) throws(EncoderError) -> EncodedPacket?
    func flush() throws(EncoderError) -> EncodedPacket?
}

/// Encodes frames and continues after refusals. A refused frame is left out and counted. If the session itself is
/// broken, a new session with the same parameter sets continues with a keyframe; the frames that the old session held
/// are then lost, too. The encoder fails after ``mostRefusals`` refusals in a row, or if a new session cannot be
/// opened. Only one thread at a time may use it.
final class RestartingEncoder {
    /// Number of refused frames in a row after which the encoder fails: 3 s at 25 fps.
    static let mostRefusals = 75

    /// A function that opens a session. If the parameter sets of the given description equal the session's, the
    /// session's packets refer to that description.
    typealias Maker = (TrackDescription?) throws(EncoderError) -> any VideoCoding

    private let make: Maker
    private(set) var session: any VideoCoding
    /// CPU time of the threads of all sessions.
    let threadTime: EncoderThreadTime
    /// Whether the next frame must be a keyframe, because a refused frame should have been one.
    private var owesKeyframe = false
    private var refusedInARow = 0
    /// Number of frames that the encoder has encoded as keyframes because it was told to.
    private(set) var forcedKeyframes = 0
    /// The number of refused frames, and the reason for the last refusal.
    private(set) var refused: (frames: Int64, reason: EncoderError?) = (0, nil)

    /// Opens the first session with `make`, which also opens each later session; throws if that fails.
    init(_ make: @escaping Maker) throws(EncoderError) {
        self.make = make
        let session = try make(nil)
        self.session = session
        threadTime = EncoderThreadTime(session.threads)
    }

    /// Opens an x264 session; throws if x264 refuses.
    convenience init(settings: EncoderSettings, format: VideoFormat) throws(EncoderError) {
        try self.init { (before) throws(EncoderError) in
            try X264Encoder(settings: settings, format: format, like: before)
        }
    }

    /// Encodes one frame, and returns a packet if one is ready; nil if none is ready, or if the frame was refused.
    func encode(_ frame: VideoFrame, at index: Int64, forceKeyframe: Bool) throws(EncoderError) -> EncodedPacket? {
        let isForced = forceKeyframe || owesKeyframe
        do throws(EncoderError) {
            let packet = try session.encode(frame, at: index, forceKeyframe: isForced)
            (owesKeyframe, refusedInARow) = (false, 0)
            forcedKeyframes += isForced ? 1 : 0
            return packet
        } catch {
            refused = (refused.frames + 1, error)
            (owesKeyframe, refusedInARow) = (isForced, refusedInARow + 1)
            if refusedInARow >= Self.mostRefusals { throw error }
            if session.isBroken { try replaceSession() }
            return nil
        }
    }

    /// Opens a session, and releases the present one.
    private func replaceSession() throws(EncoderError) {
        let next = try make(session.description)
        threadTime.replace(with: next.threads)
        session = next
    }

    /// Returns the packet of a frame that the encoder still holds; nil if the encoder holds no more frames.
    func flush() throws(EncoderError) -> EncodedPacket? { try session.flush() }
}
