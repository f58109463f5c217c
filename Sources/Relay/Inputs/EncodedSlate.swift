// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Synchronization

/// The slate of a program whose packets are passed through: while it is on air, a short program with an encoder of its own,
/// which costs nothing at any other time.
///
/// All calls may come from any thread and return at once. It runs on a queue of its own, `relay.slate.<channel>`.
final class EncodedSlate: Sendable {
    /// Where the packets of a slate go.
    protocol Sink: PacketSink {
        /// A slate that is coded so begins.
        func begin(_ description: StreamDescription)
    }

    private struct State {
        /// Each start and each stop is a turn: what belongs to another one is over.
        var turn = 0
        var isWanted = false
        var running: (program: Program, slate: Slate, stage: Stage)?
    }

    private let choice: ChannelConfiguration.Slate
    private let channel: String
    private let clock: any MonotonicClock
    private let logger: Logger
    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// A slate that shows `choice`.
    init(_ choice: ChannelConfiguration.Slate, channel: String, clock: any MonotonicClock, logger: Logger) {
        (self.choice, self.channel, self.clock, self.logger) = (choice, channel, clock, logger)
        queue = DispatchQueue(label: "relay.slate.\(channel)")
    }

    /// Begins to encode frames of the size, rate and color of `track`, and silence, in real time. Does nothing if it is
    /// under way.
    func start(like track: TrackDescription?, into sink: any Sink) {
        let turn: Int? = state.withLock { state in
            if state.isWanted { return nil }
            (state.isWanted, state.turn) = (true, state.turn + 1)
            return state.turn
        }
        guard let turn else { return }
        queue.async { [self] in run(turn, VideoFormat(codedLike: track), into: sink) }
    }

    /// Ends encoding. What is inside the encoder may still come.
    func stop() {
        let running = state.withLock { state in
            (state.isWanted, state.turn) = (false, state.turn + 1)
            return state.running
        }
        running?.program.stop()
    }

    /// Brings what is seen up to date: a file begins to play by and by.
    func refresh() {
        guard let running = state.withLock({ $0.running }) else { return }
        let scene = scene(of: running.slate)
        if scene != running.stage.scene { running.stage.show(scene) }
    }

    private func scene(of slate: Slate) -> Scene {
        Scene(video: slate.video(at: Timestamp(nanoseconds: clock.now)), audio: nil)
    }

    /// Encodes until it is stopped. Blocks.
    private func run(_ turn: Int, _ format: VideoFormat, into sink: any Sink) {
        guard state.withLock({ $0.turn == turn }) else { return }
        do {
            let stage = Stage()
            let slate = try Slate(
                choice, channel: channel, format: format, stage: stage, clock: clock, logger: logger)
            defer { slate.stop() }
            let encoder = try EncoderSession(
                settings: Self.settings, video: format, audio: .program, sink: InterleavingSink(sink))
            let program = Program(
                frameRate: format.frameRate, audio: .program,
                pacing: .realTime(lead: Int64(encoder.delayInFrames)), frameLimit: nil, stage: stage, sink: encoder,
                clock: clock, logger: logger)
            let begins = state.withLock { state in
                guard state.turn == turn else { return false }
                state.running = (program, slate, stage)
                return true
            }
            guard begins else { return }
            defer { state.withLock { $0.running = nil } }
            sink.begin(encoder.description)
            slate.start()
            stage.show(scene(of: slate))
            _ = try program.run()
        } catch {
            logger.error("the slate ended", metadata: ["reason": "\(error)"])
        }
    }

    /// Nobody waits for a frame, a still costs next to nothing, and a player that comes late finds a keyframe.
    private static var settings: EncoderSettings {
        var settings = EncoderSettings()
        (settings.tune, settings.gop, settings.rateControl) = (.zerolatency, .seconds(1), .quality(23))
        return settings
    }
}
