// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import Foundation
internal import Glibc
internal import Logging
internal import Media
internal import Networking
internal import Program
internal import Synchronization

/// Encodes what one source shows and plays, frame by frame of the program, beside the program and never in its way: by
/// threads of lower priority, behind a queue with a bound. Where it cannot keep up frames are left out of the source's
/// recording alone, and counted; its audio stays whole.
///
/// All calls may come from any thread and return at once.
final class SourceEncoder: SourceWatcher, KeyframeRequester {
    private struct Job {
        /// Nil where the frame is left out.
        let frame: VideoFrame?
        let audio: AudioBuffer
        let index: FrameIndex
    }

    private struct State {
        var jobs: [Job] = []
        /// Those of them that have a frame.
        var frames = 0
        /// What the source showed last; it stands while there is nothing else.
        var standing: VideoFrame
        var dropped = 0
        var isOver = false
    }

    /// Frames that wait at most, and jobs: what waits for longer has no audio either.
    private static let (mostFrames, mostJobs) = (16, 600)
    private static let threadName = "relay.source"
    /// The program's threads, which have the usual priority, come first.
    private static let niceness: CInt = 5
    /// Between two words in the log about what is left out.
    private static let pause: Int64 = 10_000_000_000

    private let session: EncoderSession
    private let interleaver: InterleavingSink
    private let clock: any MonotonicClock
    private let logger: Logger
    private let state: Mutex<State>
    private let news = DispatchSemaphore(value: 0)

    /// Opens an encoder session whose packets go to `hub`; `placeholder` is shown until the source has a frame. Blocks as long as
    /// that takes. Throws ``RelayFailure``.
    init(
        _ settings: EncoderSettings, format: VideoFormat, placeholder: VideoFrame, into hub: PacketStream,
        clock: any MonotonicClock, logger: Logger
    ) throws(RelayFailure) {
        (self.clock, self.logger) = (clock, logger)
        interleaver = InterleavingSink(hub)
        session = try Self.open(settings, format, interleaver)
        state = Mutex(State(standing: placeholder))
        let delay = format.frameRate.timeBase.duration(Int64(session.delayInFrames))
        interleaver.wait(upTo: max(.seconds(10), delay * 2))
        // The recorder asks here for keyframes; a hub that held the session would hold itself.
        hub.begin(session.description, keyframes: NoKeyframes())
    }

    /// What comes out.
    var description: StreamDescription { session.description }
    /// What there is to know of the session.
    var status: EncoderStatus { session.status }
    /// Frames that were left out.
    var dropped: Int { state.withLock { $0.dropped } }

    func requestKeyframe(at programTime: Int64?) { session.requestKeyframe(at: programTime) }

    /// Begins to encode what it is given; `completion` is called when all of it is, after ``finish()``. Once.
    func start(_ completion: @escaping @Sendable () -> Void) {
        MediaThread.start(Self.threadName) {
            self.run()
            completion()
        }
    }

    /// Takes nothing more. What was taken is encoded.
    func finish() {
        state.withLock { $0.isOver = true }
        news.signal()
    }

    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.standing = frame ?? state.standing
            let isFull = state.frames >= Self.mostFrames
            if isFull { state.dropped += 1 } else { state.frames += 1 }
            guard state.jobs.count < Self.mostJobs else { return }
            state.jobs.append(Job(frame: isFull ? nil : state.standing, audio: audio, index: index))
        }
        news.signal()
    }
}

// MARK: Its own threads

extension SourceEncoder {
    /// x264 makes its threads when a session is opened, and they have the priority of the thread that opens it, which does
    /// nothing else: threads that Dispatch makes on a call inherit it, too, and serve everybody.
    private static func open(
        _ settings: EncoderSettings, _ format: VideoFormat, _ sink: any PacketSink
    ) throws(RelayFailure) -> EncoderSession {
        let answer = Answer<Result<EncoderSession, RelayFailure>>()
        MediaThread.start(threadName) {
            _ = nice(niceness)
            do {
                answer.give(
                    .success(try EncoderSession(settings: settings, video: format, audio: .program, sink: sink)))
            } catch {
                answer.give(
                    .failure(RelayFailure(.internalError, "The encoder of a source cannot be opened: \(error).")))
            }
        }
        guard let result = answer.wait(.seconds(30)) else {
            throw RelayFailure(.internalError, "The encoder of a source cannot be opened: it takes too long.")
        }
        return try result.get()
    }

    private func run() {
        var position: Int64?
        var (told, tellAt) = (0, Int64.min)
        do {
            while let job = next() {
                try encode(job, &position)
                let dropped = dropped
                guard dropped > told, clock.now >= tellAt else { continue }
                logger.warning(
                    "frames are left out of the recording of a source: its encoder cannot keep up",
                    metadata: ["frames": "\(dropped - told)"])
                (told, tellAt) = (dropped, clock.now + Self.pause)
            }
            try session.finish()
        } catch {
            state.withLock { state in (state.isOver, state.jobs, state.frames) = (true, [], 0) }
            logger.error("the recording of a source ends: its encoder failed: \(error)")
            interleaver.finish()
        }
    }

    /// The next job, which is waited for; nil when nothing follows.
    private func next() -> Job? {
        while true {
            let (job, isOver) = state.withLock { state -> (Job?, Bool) in
                guard !state.jobs.isEmpty else { return (nil, state.isOver) }
                let job = state.jobs.removeFirst()
                if job.frame != nil { state.frames -= 1 }
                return (job, false)
            }
            if let job { return job }
            if isOver { return nil }
            news.wait()
        }
    }

    /// `position` is where the audio ends that was encoded so far.
    private func encode(_ job: Job, _ position: inout Int64?) throws {
        if position == nil { session.beginAudio(at: SampleIndex(job.audio.position)) }
        let start = position ?? job.audio.position
        if job.audio.position > start {
            let count = Int(job.audio.position - start)
            try session.encode(AudioBuffer.silence(at: start, count: count, format: .program))
        }
        try session.encode(job.audio)
        position = job.audio.end
        if let frame = job.frame { try session.encode(frame, at: job.index.number) }
    }
}
