// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import Glibc
internal import Kernels
internal import Logging
internal import Media
internal import Networking
internal import Program
internal import Synchronization

/// An encoder session beside that of the program and never in its way: on threads of lower priority, behind a queue with a
/// bound. Where it cannot keep up frames are left out, of what it makes alone, and counted; its audio stays whole.
///
/// All calls may come from any thread and return at once.
final class BackgroundEncoder: KeyframeRequester {
    private enum Job {
        case audio(AudioBuffer)
        /// A frame, the same in the encoder's size if that is another one, and its place in the program.
        case frame(VideoFrame, ResizedFrame?, Int64)
    }

    private struct State {
        var jobs: [Job] = []
        /// Those of them that are frames.
        var frames = 0
        /// Captions of frames that were left out.
        var captions: [UInt8] = []
        var dropped = 0
        var isOver = false
        /// Whether nothing is to come any more.
        var isFinished = false
        /// Whether what was not encoded yet is left out, too.
        var isCancelled = false
        var failure: String?
        /// The last frame that came since.
        var lastLost: Int64?
    }

    /// What it is called.
    struct Name {
        /// In sentences, such as `the recording of a source`.
        let subject: String
        /// Its threads.
        let thread: String
    }

    /// Bytes of frames that wait at most, and how many frames that is at least and at most.
    private static let (mostBytes, frameCounts) = (64 << 20, 16...60)
    /// Frames and audio together that wait at most: what waits for longer has no audio either.
    private static let mostJobs = 600
    /// Captions of some seconds.
    private static let mostCaptions = 9000
    /// The program's threads, which have the usual priority, come first.
    private static let niceness: CInt = 5
    /// Between two words in the log about what is left out.
    private static let pause: Int64 = 10_000_000_000

    private let name: Name
    /// Luma pixels of what is encoded.
    private let pixels: Int
    private let frameRate: FrameRate
    private let session: EncoderSession
    private let handover = PacketHandover()
    private let interleaver: InterleavingSink
    private let clock: any MonotonicClock
    private let logger: Logger
    private let state = Mutex(State())
    private let news = DispatchSemaphore(value: 0)

    /// Opens an encoder session whose packets go to `hub`. Blocks as long as that takes. Throws ``ChannelFailure``.
    init(
        _ name: Name, _ settings: EncoderSettings, format: VideoFormat, into hub: PacketStream,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        (self.name, self.clock, self.logger) = (name, clock, logger)
        pixels = format.width * format.height
        frameRate = format.frameRate
        interleaver = InterleavingSink(hub)
        session = try Self.open(name, settings, format, handover, logger)
        let delay = format.frameRate.timeBase.duration(Int64(session.delayInFrames))
        interleaver.wait(upTo: max(.seconds(10), delay * 2))
    }

    /// What comes out.
    var description: StreamDescription { session.description }
    /// How many frames it holds before the first comes out.
    var delayInFrames: Int { session.delayInFrames }
    /// What there is to know of the session.
    var status: EncoderStatus { session.status }
    /// Frames that were left out.
    var dropped: Int { state.withLock { $0.dropped } }
    /// Why it ended before its time; nil if it did not.
    var failure: String? { state.withLock { $0.failure } }

    /// Why and until which time of the program, in nanoseconds, nothing came out of what it was given; nil if it did not fail.
    var missing: (reason: String, until: Int64)? {
        let (failure, lastLost) = state.withLock { ($0.failure, $0.lastLost) }
        guard let failure, let lastLost else { return nil }
        return ("its encoder failed: \(failure)", frameRate.start(of: FrameIndex(lastLost) + 1).nanoseconds)
    }

    func requestKeyframe(at programTime: Int64?) { session.requestKeyframe(at: programTime) }

    /// Begins to encode what it is given; `completion` is called when all of it is published, after ``finish()``. Once.
    func start(_ completion: @escaping @Sendable () -> Void) {
        MediaThread.start(name.thread) {
            _ = nice(Self.niceness)
            self.encodeAll()
        }
        MediaThread.start(name.thread) {
            var (told, tellAt) = (0, Int64.min)
            self.handover.run(into: self.interleaver) { self.tellOfDrops(&told, &tellAt) }
            if let failure = self.failure {
                self.logger.error("\(self.name.subject) ends: its encoder failed: \(failure)")
            }
            completion()
        }
    }

    /// Takes nothing more. Encodes what was taken.
    func finish() {
        state.withLock { ($0.isOver, $0.isFinished) = (true, true) }
        news.signal()
    }

    /// Takes nothing more, and leaves out what was not encoded yet.
    func cancel() {
        state.withLock { state in
            (state.isOver, state.isCancelled, state.jobs, state.frames) = (true, true, [], 0)
        }
        news.signal()
    }

    /// Takes audio that continues where the audio of the previous call ended; what is missing is silent.
    func take(_ audio: AudioBuffer) {
        state.withLock { state in
            guard !state.isOver, state.jobs.count < Self.mostJobs else { return }
            state.jobs.append(.audio(audio))
        }
        news.signal()
    }

    /// How many frames of the size of `frame`, which may be scaled already, wait at most.
    private func mostFrames(like frame: VideoFrame) -> Int {
        let count = Self.mostBytes / (max(pixels, frame.width * frame.height) * 3 / 2)
        return min(max(count, Self.frameCounts.lowerBound), Self.frameCounts.upperBound)
    }

    /// Takes the program's `index`-th frame, which is encoded as `resized` if that is given.
    func take(_ frame: VideoFrame, _ resized: ResizedFrame? = nil, at index: Int64) {
        state.withLock { state in
            guard !state.isOver else {
                if state.failure != nil, !state.isFinished { state.lastLost = index }
                return
            }
            guard state.frames < mostFrames(like: frame) else {
                state.dropped += 1
                return state.captions += frame.captions.prefix(max(0, Self.mostCaptions - state.captions.count))
            }
            var taken = frame
            if !state.captions.isEmpty {
                taken.captions = state.captions + frame.captions
                state.captions = []
            }
            state.frames += 1
            state.jobs.append(.frame(taken, resized, index))
        }
        news.signal()
    }
}

// MARK: Its own threads

extension BackgroundEncoder {
    /// x264 makes its threads when a session is opened, and they have the priority of the thread that opens it, which does
    /// nothing else: threads that Dispatch makes on a call inherit it, too, and serve everybody.
    private static func open(
        _ name: Name, _ settings: EncoderSettings, _ format: VideoFormat, _ sink: any PacketSink, _ logger: Logger
    ) throws(ChannelFailure) -> EncoderSession {
        let answer = Answer<Result<EncoderSession, ChannelFailure>>()
        MediaThread.start(name.thread) {
            _ = nice(niceness)
            do {
                answer.give(
                    .success(
                        try EncoderSession(
                            settings: settings, video: format, audio: .program, sink: sink, logger: logger)))
            } catch {
                answer.give(
                    .failure(
                        ChannelFailure(.internalError, "The encoder of \(name.subject) cannot be opened: \(error)."))
                )
            }
        }
        guard let result = answer.wait(.seconds(30)) else {
            throw ChannelFailure(.internalError, "The encoder of \(name.subject) cannot be opened: it takes too long.")
        }
        return try result.get()
    }

    private func encodeAll() {
        var position: Int64?
        do {
            while let job = next() { try encode(job, &position) }
            if state.withLock({ $0.isCancelled }) { handover.finish() } else { try session.finish() }
        } catch {
            state.withLock { state in
                for case .frame(_, _, let index) in state.jobs { state.lastLost = index }
                (state.isOver, state.jobs, state.frames, state.failure) = (true, [], 0, "\(error)")
            }
            handover.finish()
        }
    }

    private func tellOfDrops(_ told: inout Int, _ tellAt: inout Int64) {
        let dropped = dropped
        guard dropped > told, clock.now >= tellAt else { return }
        logger.warning(
            "frames are left out of \(name.subject): its encoder cannot keep up",
            metadata: ["frames": "\(dropped - told)"])
        (told, tellAt) = (dropped, clock.now + Self.pause)
    }

    /// The next job, which is waited for; nil when nothing follows.
    private func next() -> Job? {
        while true {
            let (job, isOver) = state.withLock { state -> (Job?, Bool) in
                guard !state.jobs.isEmpty else { return (nil, state.isOver) }
                let job = state.jobs.removeFirst()
                if case .frame = job { state.frames -= 1 }
                return (job, false)
            }
            if let job { return job }
            if isOver { return nil }
            news.wait()
        }
    }

    /// `position` is where the audio ends that was encoded so far.
    private func encode(_ job: Job, _ position: inout Int64?) throws {
        switch job {
        case .frame(let frame, let resized, let index):
            var shown = resized?.frame ?? frame
            shown.captions = frame.captions
            try session.encode(shown, at: index)
        case .audio(let audio):
            if position == nil { session.beginAudio(at: SampleIndex(audio.position)) }
            let start = position ?? audio.position
            if audio.position > start {
                let count = Int(audio.position - start)
                try session.encode(AudioBuffer.silence(at: start, count: count, format: .program))
            }
            try session.encode(audio)
            position = audio.end
        }
    }
}
