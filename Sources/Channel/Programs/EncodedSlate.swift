// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Studio
internal import Synchronization

/// The slate of a program whose packets are passed through. While the slate is on air, it is a small program with an
/// encoder of its own. At other times it uses no resources.
///
/// All calls may be made on any thread. Except for `init`, which can read a file, they return at once. The slate runs
/// on its own queue, `relay.slate.<channel>`.
final class EncodedSlate: Sendable {
    /// Receives the packets of a slate.
    protocol Sink: PacketSink {
        /// Announces a slate whose packets have the tracks of `description`.
        func begin(_ description: StreamDescription)
    }

    private struct State {
        /// The number of starts and stops so far; odd while the slate is wanted. Work that was begun when the number
        /// was different is obsolete.
        var turn = 0
        var running: (program: Program, slate: Slate, bus: Bus)?
    }

    private let choice: SlateSpecification
    private let channel: String
    private let clock: any MonotonicClock
    private let logger: Logger
    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// Creates a slate that shows `choice`. If that is a file, the file is read once as a check. Throws
    /// ``ChannelFailure`` if the file cannot be read.
    init(
        _ choice: SlateSpecification, channel: String, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        (self.choice, self.channel, self.clock, self.logger) = (choice, channel, clock, logger)
        queue = DispatchQueue(label: "relay.slate.\(channel)")
        _ = try Slate(
            choice, channel: channel, format: VideoFormat(codedLike: nil), bus: Bus(), clock: clock, logger: logger)
    }

    /// Begins to encode, in real time, silence and frames of the size, rate and color of `track`. Does nothing if the
    /// slate is running already.
    func start(like track: TrackDescription?, into sink: any Sink) {
        let turn: Int? = state.withLock { state in
            guard state.turn % 2 == 0 else { return nil }
            state.turn += 1
            return state.turn
        }
        guard let turn else { return }
        var format = VideoFormat(codedLike: track)
        // The slate gets a usual frame rate near that of the input. A sender can announce any frame rate, however high,
        // and the slate has to be encoded in real time.
        format.frameRate = NominalRate.of(average: format.frameRate, base: nil)
        let bitrate = track.map(\.bitrate).flatMap { $0 > 0 ? $0 : nil } ?? Self.usualBitrate
        queue.async { [self, format] in
            while isWanted(turn) {
                do {
                    try run(turn, format, bitrate, into: sink)
                } catch {
                    logger.error("the slate ended, and begins again", metadata: ["reason": "\(error)"])
                    clock.sleep(until: clock.now + Self.pause)
                }
            }
        }
    }

    private func isWanted(_ turn: Int) -> Bool { state.withLock { $0.turn == turn } }

    /// Ends encoding. Packets that are still inside the encoder can be published after this call.
    func stop() {
        let running = state.withLock { state in
            if state.turn % 2 == 1 { state.turn += 1 }
            return state.running
        }
        running?.program.stop()
    }

    /// The heartbeat of the slate's program while the slate is being encoded; nil otherwise.
    var heartbeat: Heartbeat? { state.withLock { $0.running?.program.heartbeat } }

    /// Updates the scene that is shown. The slate of a video file is a still image until the file delivers a frame.
    func refresh() {
        guard let running = state.withLock({ $0.running }) else { return }
        let scene = scene(of: running.slate)
        if scene != running.bus.scene { running.bus.show(scene) }
    }

    private func scene(of slate: Slate) -> Scene {
        Scene(video: slate.video(at: clock.now), audio: nil)
    }

    /// Makes the slate in the format `format`. If the slate's file cannot be read any more, makes color bars instead.
    private func slate(_ format: VideoFormat, on bus: Bus) throws -> Slate {
        let make = { [self] (choice: SlateSpecification) throws(ChannelFailure) in
            try Slate(choice, channel: channel, format: format, bus: bus, clock: clock, logger: logger)
        }
        do {
            return try make(choice)
        } catch {
            logger.warning("color bars take the slate's place", metadata: ["reason": "\(error)"])
            return try make(.bars)
        }
    }

    /// Encodes until the slate is stopped. Blocks.
    private func run(_ turn: Int, _ format: VideoFormat, _ bitrate: Int, into sink: any Sink) throws {
        let bus = Bus()
        let slate = try slate(format, on: bus)
        defer { slate.stop() }
        let encoder = try EncoderSession(
            settings: Self.settings(bitrate), video: format, audio: .program, sink: InterleavingSink(sink),
            logger: logger)
        let program = Program(
            frameRate: format.frameRate, audio: .program, pacing: .realTime(lead: Int64(encoder.delayInFrames)),
            frameLimit: nil, bus: bus, sink: encoder, clock: clock, logger: logger)
        let begins = state.withLock { state in
            guard state.turn == turn else { return false }
            state.running = (program, slate, bus)
            return true
        }
        guard begins else { return }
        defer { state.withLock { $0.running = nil } }
        sink.begin(encoder.description)
        slate.start()
        bus.show(scene(of: slate))
        _ = try program.run()
    }

    /// The slate's bitrate if the input's is unknown, in bits per second.
    private static let usualBitrate = 2_000_000
    /// The pause before the slate is restarted.
    private static let pause = Duration.seconds(1)

    /// Returns encoder settings for low latency, so that no client waits for a frame, and with a keyframe every second
    /// for players that join late. The bitrate is that of the input: a network path that can carry the input can also
    /// carry the slate.
    private static func settings(_ bitrate: Int) -> EncoderSettings {
        var settings = EncoderSettings()
        (settings.tune, settings.gop, settings.rateControl) = (.zerolatency, .seconds(1), .bitrate(bitrate))
        return settings
    }
}
