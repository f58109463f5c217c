// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import Media
internal import Synchronization

/// What the recorder does with packets; confined to its queue.
final class RecorderEngine {
    enum Mode {
        case active
        case suspended(String)
        case failed(FileFailure, probeAt: Int64)
    }

    struct Environment: Sendable {
        var configuration: RecorderConfiguration
        var description: StreamDescription
        var keyframes: any KeyframeRequester
        var clock: any MonotonicClock
        var wallClock: @Sendable () -> UTCTime
        /// Milliseconds of media that wait for the engine.
        var queued: @Sendable () -> Int64
        var logger: Logger
        var status: RecorderStatusBox
        var closer: SegmentCloser
    }

    let environment: Environment
    var cutter: SegmentCutter
    var mode = Mode.active
    var file: SegmentFile?
    private var gap: RecordingGap?
    private var sequence: Int?
    var latency = LatencyHistogram()
    /// Where the last picture on disk ends, in nanoseconds of program time.
    private var recordedEnd: Int64?
    private var lastVideoEnd: Int64 = 0
    var closedBytes: Int64 = 0
    var closedFrames = 0
    private var dating: SegmentDating

    private static let probeInterval: Int64 = 1_000_000_000
    /// What must be written before a disk that failed counts as well again: room for it, and a disk that takes it.
    private static let probeBytes = 2 << 20

    init(_ environment: Environment) {
        self.environment = environment
        cutter = SegmentCutter(
            length: environment.configuration.length, frameRate: environment.description.video.format.frameRate)
        dating = SegmentDating(programStart: environment.configuration.programStart)
    }

    private var logger: Logger { environment.logger }

    /// Takes one item of the queue.
    func process(_ item: RecorderQueue.Item) {
        switch item {
        case .packet(let packet): take(packet)
        case .overflowBegan:
            guard case .active = mode else { return }
            let reason = "the disk was too slow: \(environment.configuration.queueLimitBytes) bytes were waiting"
            logger.error("recording interrupted: \(reason)")
            interrupt(reason, ending: .error)
        case .overflowEnded(let frames, let from, let lastSound):
            gap?.frames += frames
            if let from, let gap { self.gap?.from = min(gap.from, from) }
            lastSound.map { cutter.passOver($0) }
        }
    }

    private func take(_ packet: EncodedPacket) {
        dating.begin(packet, now: environment.wallClock())
        if packet.track == .video {
            let end = packet.timeBase.rescale(packet.pts + packet.duration, to: .nanoseconds)
            lastVideoEnd = max(lastVideoEnd, end)
        }
        if case .failed(let failure, let probeAt) = mode, environment.clock.now >= probeAt { probe(failure) }
        if case .active = mode {
            perform(cutter.push(packet))
        } else {
            cutter.passOver(packet)
            lose(packet)
        }
    }

    private func perform(_ actions: [SegmentCutter.Action]) {
        for action in actions {
            switch action {
            case .open(let start):
                endFile(.rotate)
                if case .active = mode { open(start) }
            case .write(let packet): write(packet)
            case .skip(let packet): lose(packet)
            case .close: endFile(.stop)
            case .request(let time): environment.keyframes.requestKeyframe(at: time)
            }
        }
    }

    private func lose(_ packet: EncodedPacket) {
        guard packet.track == .video, let gap else { return }
        self.gap?.frames += 1
        // Pictures come in decoding order: a later one can be shown earlier.
        self.gap?.from = min(gap.from, packet.ptsNanoseconds)
    }

    private func beginGap(_ reason: String) {
        guard gap == nil else { return }
        gap = RecordingGap(from: recordedEnd ?? max(0, lastVideoEnd), to: nil, reason: reason, frames: 0)
    }

    /// Ends the file where what it shows has no hole, because nothing follows for now.
    fileprivate func interrupt(_ reason: String, ending: SegmentEnding) {
        let dropped = file?.dropDisordered() ?? []
        endFile(ending)
        beginGap(reason)
        for packet in dropped { lose(packet) }
        perform(cutter.interrupt())
    }

    private func endGap(at time: Int64) {
        guard var ended = gap else { return }
        ended.to = time
        gap = nil
        logger.warning(
            "gap in the recording: \(ended.frames) frames, \(ended.reason)",
            metadata: ["from_ns": "\(ended.from)", "to_ns": "\(time)"])
        environment.status.value.withLock { $0.count(ended) }
        let (channel, start) = (environment.configuration.channel, dating.time(of: ended.from))
        for observer in environment.configuration.observers {
            observer.gapEnded(ended, channel: channel, start: start)
        }
    }
}

// MARK: Files

extension RecorderEngine {
    private func open(_ start: SegmentStart) {
        do {
            let file = try create(start)
            self.file = file
            endGap(at: file.start)
            logger.info("segment opened", metadata: ["segment": "\(file.name.open)"])
        } catch {
            fail(error)
        }
    }

    private func create(_ start: SegmentStart) throws(FileFailure) -> SegmentFile {
        let configuration = environment.configuration
        try configuration.directory.checkMount()
        var number = sequence ?? 0
        if sequence == nil { number = try configuration.directory.lastSequence(of: configuration.channel) }
        let time = date(start.keyframe)
        while true {
            number += 1
            let settings = SegmentFileSettings(
                directory: configuration.directory.path,
                name: SegmentName(channel: configuration.channel, start: time, sequence: number),
                description: environment.description,
                tags: MovieTags(
                    channel: configuration.channel, start: time,
                    encoderSettings: environment.description.video.encoderSettings, version: configuration.version),
                fragmentDuration: configuration.fragmentDuration)
            sequence = number
            do throws(FileFailure) {
                return try SegmentFile(settings, start: start)
            } catch {
                // Someone else made a file of this name since: theirs stays.
                guard error.code == EEXIST else { throw error }
            }
        }
    }

    private func date(_ keyframe: EncodedPacket) -> UTCTime {
        let (time, moved) = dating.date(keyframe, now: environment.wallClock(), queued: environment.queued())
        if let moved {
            logger.notice(
                "program and wall clock drifted \(moved) ms apart; files are named by the wall clock again",
                metadata: ["start": "\(time.extended)"])
        }
        return time
    }

    private func write(_ packet: EncodedPacket) {
        guard let file else { return lose(packet) }
        do {
            if let elapsed = try file.append(packet, clock: environment.clock) {
                latency.record(elapsed)
                recordedEnd = file.recordedEnd
            }
        } catch {
            fail(error)
            lose(packet)
        }
    }

    /// Writes what the open file still lacks, and has it closed.
    private func endFile(_ ending: SegmentEnding) {
        guard let file else { return }
        do {
            try file.flush()
            release(file, ending)
        } catch {
            fail(error)
        }
    }

    private func release(_ file: SegmentFile, _ ending: SegmentEnding) {
        file.ending = ending
        recordedEnd = file.recordedEnd
        closedBytes += file.bytes
        closedFrames += file.frames
        self.file = nil
        environment.closer.close(file)
    }

    /// Writing failed: what is not on disk is a gap, the file is closed as well as may be, and all is tried again.
    private func fail(_ failure: FileFailure) {
        logger.error("recording failed: \(failure)")
        mode = .failed(failure, probeAt: environment.clock.now + Self.probeInterval)
        environment.status.value.withLock { $0.lastError = failure.description }
        let lost = file?.pendingPictures ?? []
        if let file { release(file, failure.isOutOfSpace ? .disk : .error) }
        beginGap(failure.description)
        for packet in lost { lose(packet) }
        perform(cutter.interrupt())
    }

    private func probe(_ failure: FileFailure) {
        do {
            try environment.configuration.directory.probe(bytes: Self.probeBytes)
            logger.notice("recording is possible again; it goes on at the next keyframe")
            mode = .active
            environment.closer.retry()
            environment.keyframes.requestKeyframe(at: nil)
        } catch {
            mode = .failed(failure, probeAt: environment.clock.now + Self.probeInterval)
        }
    }
}

// MARK: Control

extension RecorderEngine {
    /// Closes the open file and records nothing until ``resume()``.
    func suspend(_ reason: String) {
        if case .suspended = mode { return }
        // Whoever suspends has said why at the level it deserves.
        logger.info("recording suspended: \(reason)")
        interrupt(reason, ending: .disk)
        mode = .suspended(reason)
    }

    /// Records again, from the next keyframe on.
    func resume() {
        guard case .suspended = mode else { return }
        logger.notice("recording resumed; it goes on at the next keyframe")
        mode = .active
        environment.closer.retry()
        environment.keyframes.requestKeyframe(at: nil)
    }

    /// Writes all that is held and closes the last file.
    func finish() {
        perform(cutter.finish())
        endFile(.stop)
        endGap(at: lastVideoEnd)
    }
}
