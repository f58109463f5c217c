// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Logging
internal import Media
internal import Networking
internal import Program
internal import Status
internal import Synchronization

/// Hands the packets of a live source to the source's recording without re-encoding. Each packet gets the program time
/// at which the program shows its frame. If the source turns out to have a format that recordings do not support, an
/// encoder takes over.
///
/// All calls may be made on any thread and return at once.
final class SourceCopier: SourceCoding {
    /// Opens the encoder that is used when packets cannot be copied. Blocks.
    typealias EncoderMaker = @Sendable () throws(ChannelFailure) -> SourceEncoder

    private enum Phase {
        /// Packets are copied as they arrive.
        case copying
        /// The encoder that is used from now on is being opened.
        case opening
        case encoding(SourceEncoder)
    }

    private struct State {
        var phase = Phase.copying
        /// The feed that the source showed last.
        var feed: SourceFeed?
        var placing = PacketPlacing()
        var awaitsKeyframe = false
        /// The number of frames that were dropped because they came before the first keyframe of a newly shown input.
        /// `skipped` counts those of the current input; when its keyframe arrives, they are added to `allSkipped`.
        var (skipped, allSkipped) = (0, 0)
        /// The end of the newest packet.
        var newest: ProgramInstant?
        /// Whether the recording was paused because no packets arrive. True before the first packet.
        var isSilent = true
        var hasPackets = false
        var isOver = false
        var failure: String?
        var recording: Recording?
        var completion: (@Sendable () -> Void)?
    }

    /// The result of one call of ``take(packetsOf:at:)``.
    private struct Turn {
        var packets: [EncodedPacket] = []
        var refusal: String?
        var isSilent = false
        /// The number of frames that were dropped before a keyframe, if that keyframe arrived in this call of
        /// ``take(packetsOf:at:)``; otherwise 0.
        var skipped = 0
    }

    /// The time after which a source without packets counts as silent.
    private static let patience = Duration.milliseconds(1500)

    private let frameRate: FrameRate
    private let hub: PacketStream
    private let makeEncoder: EncoderMaker
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates a copier of packets to `hub`, for a program of `frameRate`.
    init(frameRate: FrameRate, into hub: PacketStream, logger: Logger, makeEncoder: @escaping EncoderMaker) {
        (self.frameRate, self.hub, self.logger, self.makeEncoder) = (frameRate, hub, logger, makeEncoder)
    }

    var description: StreamDescription { StreamDescription() }

    var coding: SourceRecordingStatus.Coding {
        state.withLock { state in
            if case .copying = state.phase { return state.hasPackets ? .copied : .waiting }
            return .encoded
        }
    }

    private var encoder: SourceEncoder? {
        state.withLock { if case .encoding(let encoder) = $0.phase { encoder } else { nil } }
    }

    var status: EncoderStatus { encoder?.status ?? EncoderStatus() }
    var dropped: Int { state.withLock { $0.allSkipped } + (encoder?.dropped ?? 0) }
    var failure: String? { encoder.map(\.failure) ?? state.withLock { $0.failure } }
    var missing: (reason: String, until: ProgramInstant)? { encoder?.missing }

    /// Has no effect while packets are copied, because only the sender decides when to make keyframes.
    func requestKeyframe(at programTime: ProgramInstant?) { encoder?.requestKeyframe(at: programTime) }

    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void) {
        state.withLock { ($0.recording, $0.completion) = (recording, completion) }
    }

    func finish() {
        let (encoder, completion) = state.withLock { state -> (SourceEncoder?, (@Sendable () -> Void)?) in
            state.isOver = true
            state.recording = nil
            switch state.phase {
            case .encoding(let encoder): return (encoder, nil)
            case .opening: return (nil, nil)
            case .copying:
                defer { state.completion = nil }
                return (nil, state.completion)
            }
        }
        encoder?.finish()
        completion?()
    }

    // MARK: The program's thread

    func take(packetsOf feed: SourceFeed?, at index: FrameIndex) {
        let (turn, recording) = state.withLock { (self.turn(&$0, feed, index), $0.recording) }
        for packet in turn.packets { hub.publish(packet) }
        if turn.isSilent { recording?.pause() }
        if turn.skipped > 0 {
            logger.notice(
                "frames are left out of the recording of a source: its other input had no keyframe yet",
                metadata: ["frames": "\(turn.skipped)"])
        }
        if let refusal = turn.refusal { encode(because: refusal) }
    }

    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex) {
        encoder?.take(frame, audio, at: index)
    }

    private func turn(_ state: inout State, _ feed: SourceFeed?, _ index: FrameIndex) -> Turn {
        guard case .copying = state.phase, !state.isOver else { return Turn() }
        let now = frameRate.start(of: index)
        var turn = Turn()
        if let feed {
            if let refusal = feed.packetRefusal {
                state.phase = .opening
                return Turn(refusal: refusal)
            }
            follow(feed, &state, now)
            turn.packets = feed.takePackets(before: frameRate.start(of: index + 1), by: &state.placing).filter {
                guard state.awaitsKeyframe, $0.track == .video else { return true }
                state.awaitsKeyframe = !$0.isKeyframe
                state.skipped += $0.isKeyframe ? 0 : 1
                return $0.isKeyframe
            }
            if !state.awaitsKeyframe, state.skipped > 0 {
                state.allSkipped += state.skipped
                swap(&turn.skipped, &state.skipped)
            }
        }
        for packet in turn.packets {
            // Audio packets, too, update `newest` and end the silence, because audio is also recorded while video
            // frames are missing.
            let end = ProgramInstant(packet.pts + packet.duration, in: packet.timeBase)
            state.newest = max(state.newest ?? end, end)
            state.isSilent = false
            if packet.track == .video { state.hasPackets = true }
        }
        if !state.isSilent, let newest = state.newest, now - newest > Self.patience {
            (state.isSilent, turn.isSilent) = (true, true)
        }
        return turn
    }

    /// If `feed` belongs to another input of the source than before, switches to this input at `now`. The recorded
    /// video continues at the new input's next keyframe.
    private func follow(_ feed: SourceFeed, _ state: inout State, _ now: ProgramInstant) {
        guard state.feed !== feed else { return }
        if state.hasPackets {
            feed.dropPackets(before: now)
            state.placing.restart()
            state.awaitsKeyframe = true
        } else {
            feed.rewindPackets()
        }
        state.feed = feed
    }

    private func encode(because reason: String) {
        logger.notice("the source is encoded for its recording, not copied", metadata: ["reason": "\(reason)"])
        MediaThread.start("relay.source") { [self] in
            do throws(ChannelFailure) {
                let encoder = try makeEncoder()
                let (isOver, completion) = state.withLock { state in
                    state.phase = .encoding(encoder)
                    return (state.isOver, state.completion)
                }
                encoder.start { completion?() }
                if isOver { encoder.finish() }
            } catch {
                logger.error("the source is not recorded: \(error)")
                fail(error)
            }
        }
    }

    /// Marks the copier as failed. Nothing more is recorded, and `finish()` waits for nothing.
    private func fail(_ failure: ChannelFailure) {
        let completion = state.withLock { state -> (@Sendable () -> Void)? in
            state.failure = "\(failure)"
            guard state.isOver else {
                (state.phase, state.isOver) = (.copying, true)
                return nil
            }
            return state.completion
        }
        completion?()
    }
}
