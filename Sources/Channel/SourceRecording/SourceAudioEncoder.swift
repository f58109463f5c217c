// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import LibAV
internal import Logging
internal import Media
internal import Program
internal import Status
internal import Synchronization

/// Encodes the audio of a source that has no video, in the background, without ever delaying the program.
///
/// All calls may be made on any thread and return at once.
final class SourceAudioEncoder: SourceCoding {
    fileprivate struct Session {
        let encoder: AACEncoder
        /// The end of the audio that was encoded so far, in samples of the program; nil before the first audio.
        var position: Int64?
    }

    private struct State {
        /// The number of waiting pieces of audio.
        var waiting = 0
        var isOver = false
        var status = EncoderStatus()
        var failure: String?
        /// The end of the newest audio that arrived after the encoder failed, in samples of the program.
        var missing: Int64?
        var completion: (@Sendable () -> Void)?
    }

    /// The maximum number of waiting pieces of audio, each as long as a frame of the program. If more arrive, they are
    /// dropped and become silence.
    private static let mostWaiting = 600

    let description: StreamDescription
    private let hub: PacketStream
    private let session: Mutex<Session>
    private let queue: DispatchQueue
    private let logger: Logger
    private let state = Mutex(State())

    /// Opens an encoder of `bitrate` bits per second for the source `name`, whose packets go to `hub`. Throws
    /// ``ChannelFailure``.
    init(of name: String, bitrate: Int, into hub: PacketStream, logger: Logger) throws(ChannelFailure) {
        let encoder: AACEncoder
        do throws(AVFailure) {
            encoder = try AACEncoder(format: .program, bitrate: bitrate)
        } catch {
            throw ChannelFailure(.internalError, .openEncoder(of: "the recording of a source"), because: error)
        }
        (self.hub, self.logger) = (hub, logger)
        queue = DispatchQueue(label: "relay.source.audio.\(name)", qos: .utility)
        description = StreamDescription(audio: encoder.description)
        session = Mutex(Session(encoder: encoder))
        hub.begin(description, keyframes: NoKeyframes())
    }

    var coding: SourceRecordingStatus.Coding { .encoded }
    var status: EncoderStatus { state.withLock { $0.status } }
    var dropped: Int { 0 }
    var failure: String? { state.withLock { $0.failure } }

    var missing: (reason: String, until: ProgramInstant)? {
        let (failure, end) = state.withLock { ($0.failure, $0.missing) }
        guard let failure, let end else { return nil }
        return ("its encoder failed: \(failure)", ProgramInstant(end, in: AudioFormat.program.timeBase))
    }

    /// Does nothing, because audio can be cut anywhere.
    func requestKeyframe(at programTime: ProgramInstant?) {}

    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void) {
        state.withLock { $0.completion = completion }
    }

    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex) {
        let isTaken = state.withLock { state in
            if state.failure != nil, !state.isOver { state.missing = audio.end }
            guard !state.isOver, state.failure == nil, state.waiting < Self.mostWaiting else { return false }
            state.waiting += 1
            return true
        }
        guard isTaken else { return }
        queue.async { self.work { try $0.encode(audio) } }
    }

    func finish() {
        state.withLock { $0.isOver = true }
        queue.async {
            self.work { try $0.encoder.finish() }
            self.state.withLock { $0.completion.take() }?()
        }
    }

    // MARK: The encoder's own queue

    private func work(_ body: (inout Session) throws -> [EncodedPacket]) {
        guard
            state.withLock({ state in
                state.waiting = max(0, state.waiting - 1)
                return state.failure == nil
            })
        else { return }
        do {
            let (packets, refused) = try session.withLock { (try body(&$0), $0.encoder.refused) }
            let bytes = packets.reduce(0) { $0 + Int64($1.payload.count) }
            state.withLock { state in
                state.status.bytes += bytes
                state.status.audioBytes += bytes
            }
            if let reason = refused.reason { count(refused.frames, reason) }
            for packet in packets { hub.publish(packet) }
        } catch {
            logger.error("the recording of a source ends: its encoder failed: \(error)")
            state.withLock { $0.failure = "\(error)" }
        }
    }

    /// Updates the number of frames that the encoder has refused so far, and logs the first one.
    private func count(_ refused: Int64, _ reason: AVFailure) {
        let before = state.withLock { state in
            defer { state.status.refusedFrames = refused }
            return state.status.refusedFrames
        }
        guard before == 0 else { return }
        logger.warning(
            "the encoder of the recording of a source refused a frame, which is silent; others will only be counted",
            metadata: ["reason": "\(reason)"])
    }
}

extension SourceAudioEncoder.Session {
    /// Encodes `audio`. If there is a gap before it, encodes silence first.
    fileprivate mutating func encode(_ audio: AudioBuffer) throws(AVFailure) -> [EncodedPacket] {
        if position == nil { encoder.begin(at: audio.position) }
        var packets: [EncodedPacket] = []
        var start = position ?? audio.position
        // The silence for a gap is encoded one second at a time, because the gap can be long.
        while start < audio.position {
            let count = min(audio.position - start, Int64(AudioFormat.program.sampleRate))
            packets += try encoder.encode(.silence(at: start, count: Int(count), format: .program))
            start += count
        }
        packets += try encoder.encode(audio)
        position = audio.end
        return packets
    }
}
