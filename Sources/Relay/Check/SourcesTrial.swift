// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Dispatch
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Synchronization

/// Decodes a few seconds of each source, composes frames of the scene with the most sources, and measures how much
/// processor time each takes.
struct SourcesTrial {
    /// How much media of each source is decoded, and how long decoding it may take. The time limit is longer than the
    /// media, because live sources deliver in real time.
    private static let (length, patience) = (Duration.seconds(3), Duration.seconds(8))
    /// How many frames are composed.
    private static let frames: Int64 = 60

    /// The result of decoding one source.
    struct Decoded {
        let name: String
        /// The format of the source itself.
        let native: VideoFormat
        /// The number of cores that decoding the source in real time needs.
        let cores: Double
        /// One of the source's frames, in the program's format.
        let frame: VideoFrame
    }

    private let configuration: ChannelConfiguration
    private let clock: any MonotonicClock
    private let logger: Logger
    /// The program's format. It is the format of the first decoded source, except for the values that flags set.
    private(set) var format: VideoFormat?
    private(set) var decoded: [Decoded] = []

    /// Creates a trial of the sources of `configuration`.
    init(_ configuration: ChannelConfiguration, clock: any MonotonicClock, logger: Logger) {
        (self.configuration, self.clock, self.logger) = (configuration, clock, logger)
    }

    /// Decodes a source that has already answered a check. A source that delivers nothing is left out of the result.
    /// Blocks.
    mutating func decode(_ source: ChannelConfiguration.Source) {
        let opening = SourceOpening(logger: logger)
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(15)) { opening.cancel() }
        let options = IngestOptions(size: configuration.size, frameRate: configuration.frameRate)
        guard let opened = try? SourceOpener.open(source.input, options: options, logger: logger, opening: opening),
            let native = opened.description.video
        else { return }
        let format = format ?? configuration.shape(native)
        let sink = TrialSink(upTo: Self.length)
        let before = EncoderTrial.processorSeconds
        opened.start(into: sink, video: format, audio: opened.description.hasAudio ? .program : nil)
        sink.wait(Self.patience)
        opened.stop()
        let spent = EncoderTrial.processorSeconds - before
        guard let (frame, length) = sink.taken, length > .zero else { return }
        self.format = format
        decoded.append(Decoded(name: source.name, native: native, cores: spent / length.inSeconds, frame: frame))
    }

    /// The scene with the most sources, among the scenes that have at least two sources and whose sources were all
    /// decoded. Without such a scene, the first two decoded sources, the second as an inset. Nil if fewer than two
    /// sources were decoded.
    var heaviest: SceneLayout? {
        let names = decoded.map(\.name)
        let scenes = configuration.scenes.map(\.layout).filter { $0.sources.allSatisfy(names.contains) }
        if let most = scenes.max(by: { $0.sources.count < $1.sources.count }), most.sources.count > 1 { return most }
        return names.count > 1 ? SceneLayout(.pip, Array(names.prefix(2))) : nil
    }

    /// Returns the number of cores that composing the frames of `layout` in real time needs; 0 if they could not be
    /// composed. Blocks.
    func cores(for layout: SceneLayout) -> Double {
        guard let format else { return 0 }
        let frames = layout.sources.compactMap { name in decoded.first { $0.name == name }?.frame }
        let bus = Bus()
        bus.show(
            Scene(
                layers: zip(frames, layout.placements(in: format.color)).map { Scene.Layer(.still($0), at: $1) },
                audio: []))
        let program = Program(
            frameRate: format.frameRate, audio: .program, pacing: .unpaced, frameLimit: Self.frames, bus: bus,
            format: format, sink: Nothing(), clock: clock, logger: logger)
        let before = EncoderTrial.processorSeconds
        guard (try? program.run()) != nil else { return 0 }
        let length = format.frameRate.timeBase.duration(Self.frames)
        return (EncoderTrial.processorSeconds - before) / length.inSeconds
    }

    /// A description of the decoded sources, such as `2 of 1920x1080 at 50 fps`.
    var subject: String {
        let shapes = decoded.map { "\($0.native.width)x\($0.native.height) at \($0.native.frameRate) fps" }
        let kinds = shapes.enumerated().filter { shapes.firstIndex(of: $1) == $0 }.map(\.element)
        return kinds.map { kind in "\(shapes.count { $0 == kind }) of \(kind)" }.joined(separator: " and ")
    }
}

/// Receives everything that a source delivers, up to a given duration and without pacing, and keeps one frame.
private final class TrialSink: SourceSink {
    private struct State {
        var frame: VideoFrame?
        var span: ClosedRange<Timestamp>?
        var audio = Duration.zero
    }

    let programTime = ProgramTime()
    private let limit: Duration
    private let state = Mutex(State())
    private let isEnough = DispatchSemaphore(value: 0)

    init(upTo limit: Duration) { self.limit = limit }

    /// Blocks until enough media was delivered, the source has ended, or `patience` is over.
    func wait(_ patience: Duration) {
        _ = isEnough.wait(timeout: .now() + .nanoseconds(Int(patience.inNanoseconds)))
    }

    /// The newest frame, and the time from the first frame's presentation time to the latest one; nil if there was no
    /// frame.
    var taken: (frame: VideoFrame, length: Duration)? {
        state.withLock { state in
            guard let frame = state.frame, let span = state.span else { return nil }
            return (frame, span.upperBound - span.lowerBound)
        }
    }

    func hasRoom(for track: TrackKind) -> Bool {
        state.withLock { state in
            switch track {
            case .video: state.span.map { $0.upperBound - $0.lowerBound < limit } ?? true
            case .audio: state.audio < limit
            case .data: true
            }
        }
    }

    func waitForRoom(timeout: Duration) {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds)))
    }

    func deliver(_ frame: VideoFrame) {
        let time = Timestamp(frame.pts, in: frame.timeBase)
        let isOver = state.withLock { state in
            state.frame = frame
            let start = state.span?.lowerBound ?? time
            let span = start...max(start, state.span?.upperBound ?? time, time)
            state.span = span
            return span.upperBound - span.lowerBound >= limit
        }
        if isOver { isEnough.signal() }
    }

    func deliver(_ audio: AudioBuffer) {
        state.withLock { $0.audio += .nanoseconds(Int64(audio.count) * 1_000_000_000 / 48_000) }
    }

    func end(_ track: TrackKind) { if track == .video { isEnough.signal() } }
    func attach(_ times: any SourceTimes) {}
    func moveAudio(by samples: Int64) {}
    func markStarved(_ track: TrackKind) {}
    func markBehind() {}
    func markCaughtUp() {}
}

/// Discards frames, because a trial has no output for them.
private final class Nothing: ProgramSink {
    func encode(_ frame: VideoFrame, at index: Int64) {}
    func encode(_ audio: AudioBuffer) {}
    func finish() {}
}
