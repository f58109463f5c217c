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

/// An encoder session in addition to the program's own. It never delays the program, because it runs on threads of
/// lower priority and has a bounded queue. If it cannot keep up, it drops and counts frames of its own output only. It
/// drops audio only if several hundred jobs wait. Without a video format, it encodes the audio alone.
///
/// All calls may be made on any thread. All except `init` return at once.
final class BackgroundEncoder: KeyframeRequester {
    private enum Job {
        case audio(AudioBuffer)
        /// A frame, the same frame scaled to the encoder's size if that differs, and the frame's index in the program.
        case frame(VideoFrame, ResizedFrame?, Int64)
    }

    private struct State {
        var jobs: [Job] = []
        /// The number of jobs that are frames.
        var frames = 0
        /// Captions of dropped frames.
        var captions: [UInt8] = []
        var dropped = 0
        var isOver = false
        /// Whether ``finish()`` was called.
        var isFinished = false
        /// Whether jobs that were not encoded yet are dropped.
        var isCancelled = false
        var failure: String?
        /// The end of the newest input that the encoder did not encode because it failed.
        var lost: ProgramInstant?

        /// Records that input up to `end` arrived when no more input is accepted.
        mutating func refuse(until end: ProgramInstant?) {
            if failure != nil, !isFinished { lost = end ?? lost }
        }
    }

    /// The names of an encoder: one for sentences, and one for its threads.
    struct Name {
        /// The encoder's name in sentences, such as `the recording of a source`.
        let subject: String
        /// The name of the encoder's threads.
        let thread: String
    }

    /// `mostBytes` is the maximum size of all waiting frames together. It determines the maximum number of waiting
    /// frames, which is clamped to the range `frameCounts`.
    private static let (mostBytes, frameCounts) = (64 << 20, 16...60)
    /// The maximum number of waiting jobs (frames and pieces of audio). If more are waiting, audio is dropped as well.
    private static let mostJobs = 600
    /// The maximum size of the kept captions, in bytes: enough for some seconds of captions.
    private static let mostCaptions = 9000
    /// The threads' nice value: a lower priority than that of the program's threads.
    private static let niceness: CInt = 5
    /// The minimum time between two log messages about dropped frames.
    private static let pause = Duration.seconds(10)

    private let name: Name
    /// The format of the encoded frames; nil if audio alone is encoded.
    private let format: VideoFormat?
    private let session: EncoderSession
    private let handover = PacketHandover()
    private let interleaver: InterleavingSink
    private let clock: any MonotonicClock
    private let logger: Logger
    private let state = Mutex(State())
    private let dataAvailable = DispatchSemaphore(value: 0)

    /// Opens an encoder session whose packets go to `hub`. Blocks until the session is open. Throws ``ChannelFailure``.
    init(
        _ name: Name, _ settings: EncoderSettings, format: VideoFormat?, into hub: PacketStream,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        (self.name, self.format, self.clock, self.logger) = (name, format, clock, logger)
        session = try Self.open(name, settings, format, handover, logger)
        let delay = format?.frameRate.timeBase.duration(Int64(session.delayInFrames)) ?? .zero
        interleaver = InterleavingSink(
            hub, waitingFor: Set(session.description.tracks.map(\.kind)), bound: max(.seconds(10), delay * 2))
    }

    /// The tracks of the encoder's packets.
    var description: StreamDescription { session.description }
    /// The number of frames that the encoder takes before it outputs its first packet.
    var delayInFrames: Int { session.delayInFrames }
    /// The session's status.
    var status: EncoderStatus { session.status }
    /// The number of dropped frames.
    var dropped: Int { state.withLock { $0.dropped } }
    /// The error that ended the encoder early; nil if nothing ended it early.
    var failure: String? { state.withLock { $0.failure } }

    /// Why nothing was encoded, and until which moment of the program; nil if the encoder did not fail, or if
    /// nothing was lost because of its failure.
    var missing: (reason: String, until: ProgramInstant)? {
        let (failure, lost) = state.withLock { ($0.failure, $0.lost) }
        guard let failure, let lost else { return nil }
        return ("its encoder failed: \(failure)", lost)
    }

    func requestKeyframe(at programTime: ProgramInstant?) { session.requestKeyframe(at: programTime) }

    /// Begins to encode. `completion` is called when everything is published: after ``finish()`` or ``cancel()``, or
    /// earlier if the encoder fails. To be called once.
    func start(_ completion: @escaping @Sendable () -> Void) {
        MediaThread.start(name.thread) {
            _ = nice(Self.niceness)
            self.encodeAll()
        }
        MediaThread.start(name.thread) {
            var (told, tellAt) = (0, MonotonicInstant.distantPast)
            self.handover.run(into: self.interleaver) { self.tellOfDrops(&told, &tellAt) }
            self.tellOfAllDrops()
            if let failure = self.failure {
                self.logger.error("\(self.name.subject) ends: its encoder failed: \(failure)")
            }
            completion()
        }
    }

    /// Accepts no more input. The input that was accepted before is still encoded.
    func finish() {
        state.withLock { ($0.isOver, $0.isFinished) = (true, true) }
        dataAvailable.signal()
    }

    /// Accepts no more input, and drops all input that was not encoded yet. The dropped frames are counted.
    func cancel() {
        state.withLock { state in
            state.dropped += state.frames
            (state.isOver, state.isCancelled, state.jobs, state.frames) = (true, true, [], 0)
        }
        dataAvailable.signal()
    }

    /// Takes audio. Normally it continues where the audio of the previous call ended; a gap becomes silence.
    func take(_ audio: AudioBuffer) {
        let job = Job.audio(audio)
        state.withLock { state in
            guard !state.isOver else { return state.refuse(until: end(of: job)) }
            if state.jobs.count < Self.mostJobs { state.jobs.append(job) }
        }
        dataAvailable.signal()
    }

    /// Returns the maximum number of waiting frames. Each frame counts with the size of `frame` or of an encoded frame,
    /// whichever is larger.
    private func mostFrames(like frame: VideoFrame) -> Int {
        let pixels = format.map { $0.width * $0.height } ?? 0
        let count = Self.mostBytes / (max(pixels, frame.width * frame.height) * 3 / 2)
        return min(max(count, Self.frameCounts.lowerBound), Self.frameCounts.upperBound)
    }

    /// Takes frame number `index` of the program. If `resized` is given, it is encoded instead of `frame`.
    func take(_ frame: VideoFrame, _ resized: ResizedFrame? = nil, at index: Int64) {
        state.withLock { state in
            guard !state.isOver else { return state.refuse(until: end(of: .frame(frame, resized, index))) }
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
        dataAvailable.signal()
    }
}

// MARK: The encoder's own threads

extension BackgroundEncoder {
    /// Opens the session on a thread of its own. x264 starts its threads when a session is opened, and these threads
    /// inherit the low priority of the thread that opens it. Dispatch might also start threads during such a call,
    /// which would inherit the low priority as well, although they serve the whole process.
    private static func open(
        _ name: Name, _ settings: EncoderSettings, _ format: VideoFormat?, _ sink: any PacketSink, _ logger: Logger
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
                    .failure(ChannelFailure(.internalError, .openEncoder(of: name.subject), because: error)))
            }
        }
        guard let result = answer.wait(.seconds(30)) else {
            throw ChannelFailure(.internalError, .openEncoder(of: name.subject), because: "it takes too long")
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
                state.lost = state.jobs.lazy.compactMap(end).last ?? state.lost
                (state.isOver, state.jobs, state.frames, state.failure) = (true, [], 0, "\(error)")
            }
            handover.finish()
        }
    }

    /// Returns until when media is missing if `job` is not encoded; nil for audio beside video, where the frames tell
    /// that.
    private func end(of job: Job) -> ProgramInstant? {
        switch job {
        case .frame(_, _, let index): format?.frameRate.start(of: FrameIndex(index) + 1)
        case .audio(let audio): format == nil ? ProgramInstant(audio.end, in: AudioFormat.program.timeBase) : nil
        }
    }

    /// Logs how many frames were dropped since the last such log message, but at most every 10 s.
    private func tellOfDrops(_ told: inout Int, _ tellAt: inout MonotonicInstant) {
        let dropped = dropped
        guard dropped > told, clock.now >= tellAt else { return }
        logger.warning(
            "frames are left out of \(name.subject): its encoder cannot keep up",
            metadata: ["frames": "\(dropped - told)"])
        (told, tellAt) = (dropped, clock.now + Self.pause)
    }

    /// Logs at the end how many frames were dropped in total, if any were. Without this, frames that were dropped in
    /// the last 10 s might not be logged.
    private func tellOfAllDrops() {
        let dropped = dropped
        guard dropped > 0 else { return }
        logger.warning(
            "frames were left out of \(name.subject): its encoder could not keep up",
            metadata: ["frames": "\(dropped)"])
    }

    /// Returns the next job. Blocks until there is a job; returns nil when no job follows.
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
            dataAvailable.wait()
        }
    }

    /// Encodes `job`. `position` is the end of the audio that was encoded so far, in samples of the program.
    private func encode(_ job: Job, _ position: inout Int64?) throws {
        switch job {
        case .frame(let frame, let resized, let index):
            var shown = resized?.frame ?? frame
            shown.captions = frame.captions
            try session.encode(shown, at: index)
        case .audio(let audio):
            if position == nil { session.beginAudio(at: SampleIndex(audio.position)) }
            var start = position ?? audio.position
            // The silence for a gap is encoded one second at a time, because the gap can be long.
            while start < audio.position {
                let count = min(audio.position - start, Int64(AudioFormat.program.sampleRate))
                try session.encode(AudioBuffer.silence(at: start, count: Int(count), format: .program))
                start += count
            }
            try session.encode(audio)
            position = audio.end
        }
    }
}
