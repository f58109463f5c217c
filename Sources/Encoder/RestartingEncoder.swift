// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What codes the frames of one session: ``X264Encoder``, or one that a test made.
protocol VideoCoding: AnyObject {
    /// What the packets refer to.
    var description: TrackDescription { get }
    /// Frames that the session holds before the first comes out.
    var delay: Int { get }
    /// The threads that it works with, besides the caller's.
    var threads: EncoderThreads { get }
    /// How many frames, or parts of one, are coded at the same time.
    var parallelism: Int { get }
    /// Whether a call failed inside the session, which must not be used any more.
    var isBroken: Bool { get }
    func encode(_ frame: VideoFrame, at index: Int64, forceKeyframe: Bool) throws(EncoderError) -> EncodedPacket?
    func flush() throws(EncoderError) -> EncodedPacket?
}

/// Codes frames and survives those that are refused: such a frame is left out and counted. Where the session itself is
/// broken, another one with the same parameter sets continues with a keyframe, and the frames that the session held are
/// lost, too. The encoder fails after ``mostRefusals`` in a row. Used by one thread at a time.
final class RestartingEncoder {
    /// Refused frames in a row after which the encoder fails: 3 s at 25 fps.
    static let mostRefusals = 75

    /// Opens a session whose packets refer to this description, if it is given and fits.
    typealias Maker = (TrackDescription?) throws(EncoderError) -> any VideoCoding

    private let make: Maker
    private(set) var session: any VideoCoding
    /// Whether a refused frame was to be a keyframe; the next one is instead.
    private var owesKeyframe = false
    private var refusedInARow = 0
    /// Frames that were refused so far, and why the last one was.
    private(set) var refused: (frames: Int64, reason: EncoderError?) = (0, nil)

    /// Opens a session, or says why it cannot be opened.
    init(_ make: @escaping Maker) throws(EncoderError) {
        self.make = make
        session = try make(nil)
    }

    /// Opens an x264 session, or says why x264 would not.
    convenience init(settings: EncoderSettings, format: VideoFormat) throws(EncoderError) {
        try self.init { (before) throws(EncoderError) in
            try X264Encoder(settings: settings, format: format, like: before)
        }
    }

    /// Encodes one frame, and returns the packet that came out, if any did.
    func encode(_ frame: VideoFrame, at index: Int64, forceKeyframe: Bool) throws(EncoderError) -> EncodedPacket? {
        let isForced = forceKeyframe || owesKeyframe
        do throws(EncoderError) {
            let packet = try session.encode(frame, at: index, forceKeyframe: isForced)
            (owesKeyframe, refusedInARow) = (false, 0)
            return packet
        } catch {
            refused = (refused.frames + 1, error)
            (owesKeyframe, refusedInARow) = (isForced, refusedInARow + 1)
            if refusedInARow >= Self.mostRefusals { throw error }
            if session.isBroken { session = try make(session.description) }
            return nil
        }
    }

    /// Returns one of the frames still inside, or nil when none is left.
    func flush() throws(EncoderError) -> EncodedPacket? { try session.flush() }
}
