// SPDX-License-Identifier: Apache-2.0

package import Media

/// Encodes audio as AAC-LC. Only one thread may use it at a time.
///
/// An AAC encoder emits priming samples before the first input sample. Packets carry their true times: the first packet
/// begins ``priming`` samples before the first input sample, so that audio stays in sync with video.
///
/// If libavcodec refuses a frame, silence replaces this frame and its neighbors, because neighboring frames overlap.
/// The packets still follow each other without a gap. libavcodec keeps the refused frame, so a new session replaces the
/// old one. The encoder fails after ``mostRefusals`` refusals without ``goodRun`` good frames in between.
package final class AACEncoder {
    /// Number of refusals after which the encoder fails: 2 s of audio at 48 kHz. A session encodes a frame only when it
    /// gets the next frame, so it refuses at most every second frame.
    package static let mostRefusals = 50
    /// Number of consecutive good frames after which earlier refusals no longer count.
    private static let goodRun = 8

    private var session: AACSession
    private var pending: AudioBuffer
    private var nextSample: Int64 = 0
    /// The time at which the last output packet ends, in samples; nil before the first packet.
    private var packetEnd: Int64?
    /// The program sample at which the input begins.
    private var start: Int64 = 0
    /// The number of refusals since the last good run, and the number of frames encoded since the last refusal.
    private var (recentRefusals, goodFrames) = (0, 0)

    /// Sample rate and number of channels, of input and output.
    package let format: AudioFormat
    /// Bits per second.
    package let bitrate: Int
    /// Samples per packet.
    package let frameLength: Int
    /// Number of samples that the encoder emits before the first input sample.
    package let priming: Int
    /// The track description that all packets share.
    package let description: TrackDescription
    /// The number of refused frames, and the reason for the last refusal.
    package private(set) var refused: (frames: Int64, reason: AVFailure?) = (0, nil)

    /// Opens a session; throws if libavcodec cannot encode audio of `format` at `bitrate`.
    package init(format: AudioFormat, bitrate: Int) throws(AVFailure) {
        session = try AACSession(format: format, bitrate: bitrate)
        (self.format, self.bitrate) = (format, bitrate)
        (frameLength, priming) = (session.frameLength, session.priming)
        description = TrackDescription(
            format: format, decoderConfiguration: session.configuration, bitrate: bitrate,
            frameLength: session.frameLength)
        pending = .silence(at: 0, count: 0, format: format)
    }

    /// Sets the program sample at which the input begins; without this call it is 0. Call it before the first
    /// ``encode(_:)``.
    package func begin(at sample: Int64) { (start, nextSample) = (sample, sample) }

    /// Encodes `audio` as the continuation of the earlier input, and returns the packets that are ready. The position
    /// in `audio` is ignored.
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

    /// Encodes the remaining samples, returns the last packets and ends the session.
    package func finish() throws(AVFailure) -> [EncodedPacket] {
        var packets: [EncodedPacket] = []
        if pending.count > 0 { try encode(0..<pending.count, into: &packets) }
        do throws(AVFailure) {
            try session.end()
            try receive(into: &packets)
        } catch {
            // The encoder works one frame behind, so the refused frame is the previous one.
            refused = (refused.frames + 1, error)
        }
        return packets
    }

    /// Encodes the pending samples in `range` as one frame.
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

    /// Replaces the session by a new one, whose first packet follows the last output packet. Silence fills the time up
    /// to the next input sample.
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
