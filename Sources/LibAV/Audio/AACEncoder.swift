// SPDX-License-Identifier: Apache-2.0

package import Media

/// Codes audio as AAC-LC. Used by one thread at a time.
///
/// An AAC encoder needs one frame before the first to begin with (priming). Packets carry their true times: the first
/// begins ``priming`` samples before the first sample that went in, so that audio and video that entered together leave
/// together.
///
/// A frame that libavcodec refuses costs that frame and its neighbors, which overlap with it: silence takes their place,
/// and the packets follow each other without a hole. libavcodec keeps what it refused, so another session continues; the
/// encoder fails after ``mostRefusals`` of them without ``goodRun`` good frames in between.
package final class AACEncoder {
    /// Refusals until the encoder fails. A session refuses every second frame at most, because it codes a frame when it has
    /// the next one: 2 s at 48 kHz.
    package static let mostRefusals = 50
    /// Frames in a row that were coded, after which earlier refusals do not count any more.
    private static let goodRun = 8

    private var session: AACSession
    private var pending: AudioBuffer
    private var nextSample: Int64 = 0
    /// Where the packets that came out end, in samples; nil before the first.
    private var packetEnd: Int64?
    /// Where the first sample is.
    private var start: Int64 = 0
    /// Refusals since the last good run, and frames that were coded since the last refusal.
    private var (recentRefusals, goodFrames) = (0, 0)

    /// Rate and channels of what goes in and of what comes out.
    package let format: AudioFormat
    /// Bits a second.
    package let bitrate: Int
    /// Samples in a packet.
    package let frameLength: Int
    /// Samples that the encoder puts before the first.
    package let priming: Int
    /// What the packets refer to.
    package let description: TrackDescription
    /// Frames that were refused so far, and why the last one was.
    package private(set) var refused: (frames: Int64, reason: AVFailure?) = (0, nil)

    /// Opens a session, or says why libavcodec would not.
    package init(format: AudioFormat, bitrate: Int) throws(AVFailure) {
        session = try AACSession(format: format, bitrate: bitrate)
        (self.format, self.bitrate) = (format, bitrate)
        (frameLength, priming) = (session.frameLength, session.priming)
        description = TrackDescription(
            format: format, decoderConfiguration: session.configuration, bitrate: bitrate,
            frameLength: session.frameLength)
        pending = .silence(at: 0, count: 0, format: format)
    }

    /// Says which sample of the program is the first that goes in: it is 0 otherwise. Before any went in.
    package func begin(at sample: Int64) { (start, nextSample) = (sample, sample) }

    /// Takes the audio that follows what was taken before, whatever its position says, and returns the packets that
    /// came out.
    package func encode(_ audio: AudioBuffer) throws(AVFailure) -> [EncodedPacket] {
        pending.append(audio)
        var packets: [EncodedPacket] = []
        var start = 0
        while pending.count - start >= frameLength {
            try encode(start..<start + frameLength, into: &packets)
            start += frameLength
        }
        pending = pending.slice(Int64(start)..<Int64(pending.count))
        pending.position = 0
        return packets
    }

    /// Encodes what is left and returns the last packets. The session is over.
    package func finish() throws(AVFailure) -> [EncodedPacket] {
        var packets: [EncodedPacket] = []
        if pending.count > 0 { try encode(0..<pending.count, into: &packets) }
        do throws(AVFailure) {
            try session.end()
            try receive(into: &packets)
        } catch {
            // The encoder works a frame behind: it refused the last one.
            refused = (refused.frames + 1, error)
        }
        return packets
    }

    /// Encodes a frame of what is pending.
    private func encode(_ range: Range<Int>, into packets: inout [EncodedPacket]) throws(AVFailure) {
        let sample = nextSample
        nextSample += Int64(range.count)
        do throws(AVFailure) {
            try session.send(pending, range, at: sample)
            try receive(into: &packets)
            goodFrames += 1
            if goodFrames == Self.goodRun { recentRefusals = 0 }
        } catch {
            refused = (refused.frames + 1, error)
            (recentRefusals, goodFrames) = (recentRefusals + 1, 0)
            if recentRefusals >= Self.mostRefusals { throw error }
            try restart(into: &packets)
        }
    }

    /// Continues with another session, whose first packet follows the last one that came out: it gets silence up to the
    /// sample that comes next.
    private func restart(into packets: inout [EncodedPacket]) throws(AVFailure) {
        session = try AACSession(format: format, bitrate: bitrate)
        let silence = AudioBuffer.silence(at: 0, count: frameLength, format: format)
        var sample = (packetEnd ?? start - Int64(priming)) + Int64(priming)
        while sample < nextSample {
            let count = min(Int64(frameLength), nextSample - sample)
            try session.send(silence, 0..<Int(count), at: sample)
            try receive(into: &packets)
            sample += count
        }
    }

    private func receive(into packets: inout [EncodedPacket]) throws(AVFailure) {
        while let (pts, payload) = try session.receive() {
            packetEnd = pts + Int64(frameLength)
            packets.append(
                EncodedPacket(
                    of: description, pts: pts, dts: pts, duration: Int64(frameLength), isKeyframe: true,
                    payload: payload))
        }
    }
}
