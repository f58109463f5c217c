// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Logging
internal import Media
internal import Synchronization

/// Does the recorder's work on packets. It runs on the recorder's queue, which is allowed to block on the disk.
actor RecorderEngine: QueueActor {
    enum Mode {
        case active
        case suspended(String)
        case failed(FileFailure, probeAt: MonotonicInstant)
    }

    struct Environment: Sendable {
        var configuration: RecorderConfiguration
        var description: StreamDescription
        var keyframes: any KeyframeRequester
        var clock: any MonotonicClock
        var wallClock: @Sendable () -> UTCTime
        /// Returns how many milliseconds of media wait for the engine.
        var queued: @Sendable () -> Int64
        /// Called with the number of refused frames that the recorder itself now counts in the status.
        var counted: @Sendable (Int) -> Void
        var logger: Logger
        var status: RecorderStatusBox
        var closer: SegmentCloser
        var synchroniser: FileSynchroniser
    }

    nonisolated let executor: QueueExecutor
    let environment: Environment
    /// The description of the newest file's tracks.
    private(set) var description: StreamDescription
    var cutter: any SegmentCutting
    /// The reason that is recorded for the end of a file when the program pauses or ends.
    var closing = SegmentEnding.stop
    /// Whether the recording is ending for good.
    private(set) var isFinishing = false
    var mode = Mode.active
    var file: SegmentFile?
    var gap: RecordingGap?
    /// The number of the current gap's frames that the status already includes.
    private var shownFrames = 0
    /// The number of the current gap's frames that the queue still counts in ``RecorderQueue/uncounted``.
    private var refusedFrames = 0
    var sequence: Int?
    /// The directory's generation, which counts the changes of its file system, when the last file was created.
    var generation = 0
    var latency = LatencyHistogram()
    var nextSync = MonotonicInstant.distantPast
    /// End of the last frame on disk.
    var recordedEnd: ProgramInstant?
    var lastEnd = ProgramInstant.zero
    /// The part of the program that will never arrive: why, and up to which program time.
    var missing: (reason: String, end: ProgramInstant)?
    /// Decoding time of the last packet.
    private(set) var newest = ProgramInstant.zero
    var closedBytes: Int64 = 0
    var closedFrames = 0
    var dating: SegmentDating
    var moments = MarkedMoments()
    /// Whether a check for overdue packets is scheduled.
    var isWatched = false
    /// Frames that were skipped because the open file contains only audio.
    private var framesWithoutFile = 0
    /// Identifies this recorder's files as parts of one program.
    let run: String

    static let probeInterval: Duration = .seconds(1)
    /// The number of bytes that must be writable before a failed disk counts as usable again.
    static let probeBytes = 2 << 20

    /// Creates an engine that runs on `queue`, which must be serial.
    init(_ environment: Environment, on queue: DispatchQueue) {
        executor = QueueExecutor(queue)
        self.environment = environment
        description = environment.description
        cutter = Self.cutter(environment.configuration, environment.description)
        run = environment.configuration.run ?? Self.newRun
        dating = SegmentDating(
            programStart: environment.configuration.programStart,
            encoderDelay: environment.configuration.encoderDelay, epoch: environment.configuration.epoch)
    }

    private static func cutter(
        _ configuration: RecorderConfiguration, _ description: StreamDescription
    ) -> any SegmentCutting {
        if configuration.isCopied { return CopiedCutter() }
        var grid: WallClockGrid?
        if configuration.isClockAligned, case .duration(let period) = configuration.length {
            grid = WallClockGrid(period: period, offset: configuration.localOffset)
        }
        return SegmentCutter(length: configuration.length, stream: description, grid: grid)
    }

    var configuration: RecorderConfiguration { environment.configuration }
    /// The track whose keyframes decide where files are cut.
    var leading: TrackKind { description.leadingKind }
    var logger: Logger { environment.logger }

    /// Makes an identifier that no other recorder's files have.
    static var newRun: String { String(UInt64.random(in: 1 ... .max), radix: 16) }

    /// Handles one item of the queue.
    func process(_ item: RecorderQueue.Item) {
        switch item {
        case .packet(let packet): take(packet)
        case .pause: pause()
        case .overflowBegan(let bytes):
            guard case .active = mode else { return }
            let reason = "the disk was too slow: \(bytes) bytes were waiting"
            logger.error("recording interrupted: \(reason)")
            interrupt(reason, .overflow, ending: .error)
        case .overflowEnded(let frames, let from, let lastAudio):
            if let gap {
                self.gap?.frames += frames
                refusedFrames += frames
                self.gap?.from = min(gap.from, from ?? gap.from)
            }
            lastAudio.map { cutter.passOver($0) }
        }
    }

    private func take(_ packet: EncodedPacket) {
        // Marks reach the recorder through ``mark(_:at:)``, not as packets, so text packets are ignored here: a text
        // packet could arrive after the end of the file that contains the marked moment.
        guard packet.track != .data || packet.description.codec != .text else { return }
        newest = packet.programDts
        if !configuration.isCopied { dating.begin(packet, now: environment.wallClock()) }
        if packet.track == leading {
            lastEnd = max(lastEnd, packet.programEnd)
        }
        if case .failed(let failure, let probeAt) = mode, environment.clock.now >= probeAt { probe(failure) }
        if case .active = mode {
            if configuration.isClockAligned, packet.track == leading, packet.isKeyframe {
                cutter.setProgramStart(
                    dating.programStart(at: packet, now: environment.wallClock(), queued: environment.queued()))
            }
            perform(cutter.push(packet))
        } else {
            cutter.passOver(packet)
            lose(packet)
        }
    }

    func perform(_ actions: [SegmentAction]) {
        // At the end of a program, one more file can be opened for the last frames. The file before it, `before`, is
        // released only when this last file is complete: if the last file has no visible frame, `before` is in fact the
        // last file of the recording.
        var before: SegmentFile?
        var endsHere = false
        if case .close? = actions.last { endsHere = true }
        for action in actions {
            switch action {
            case .open(let start):
                // If the coding changes, this keyframe can come from another sender, and the previous sender might have
                // broken off in the middle of reordered frames. Frames of the old file that come after a missing frame
                // are then left out.
                if !description.updated(by: start.keyframe).isIdentical(to: description) { leaveOutDisordered() }
                if let shown = start.shown, shown.continues { file?.end(at: shown.time) }
                let hadFile = file != nil
                let complete = completeFile()
                // If completing the old file failed, no file is opened now; a file begins at the next keyframe.
                let hasFailed = hadFile && complete == nil
                if endsHere, before == nil { before = complete } else { complete.map { release($0, .rotate) } }
                follow(start)
                if case .active = mode, !hasFailed { open(start) }
            case .write(let packet): write(packet)
            case .skip(let packet):
                if packet.track == .video, file != nil, leading == .audio { framesWithoutFile += 1 }
                lose(packet)
            case .close:
                // Frames after a missing frame in presentation order are left out: the missing frame would arrive only
                // if the program continued.
                leaveOutDisordered()
                let last = completeFile()
                before.map { release($0, last?.showsAnything == false ? closing : .rotate) }
                before = nil
                last.map { release($0, closing) }
            case .request(let time): environment.keyframes.requestKeyframe(at: time)
            }
        }
    }

    /// Shortens the open file so that it has no gap in presentation order, and logs how many frames are left out.
    private func leaveOutDisordered() {
        guard let dropped = file?.dropDisordered(), !dropped.isEmpty else { return }
        environment.status.value.withLock { $0.incompleteFrames += dropped.count }
        logger.notice(
            "the last frames are not recorded: some that are shown before them never came",
            metadata: ["frames": "\(dropped.count)"])
    }

    /// Updates the description for the next file. A file describes its tracks once, and each packet refers to the
    /// description of its track.
    private func follow(_ start: SegmentStart) {
        var next = description.updated(by: start.keyframe)
        if let audio = start.firstAudio { next = next.updated(by: audio) }
        if start.keyframe.track == .audio { next.video = nil }
        if !next.isIdentical(to: description), recordedEnd != nil { sayChange(to: next) }
        description = next
    }

    private func sayChange(to next: StreamDescription) {
        if next.leadingKind == leading {
            logger.notice("the coding changed; a new segment begins")
        } else if next.leadingKind == .audio {
            logger.warning("no frame comes, and the segment has to end: the next one holds audio alone")
        } else {
            logger.notice("there is video; a new segment begins", metadata: ["frames": "\(framesWithoutFile)"])
            let skipped = framesWithoutFile
            environment.status.value.withLock { $0.incompleteFrames += skipped }
            framesWithoutFile = 0
        }
    }
}

// MARK: Control

extension RecorderEngine {
    /// Closes the open file and records nothing until ``resume()``.
    func suspend(_ reason: String) {
        if case .suspended = mode { return }
        // This is logged at level info only, because the caller also logs the reason, at the appropriate level.
        logger.info("recording suspended: \(reason)")
        interrupt(reason, .storage, ending: .disk)
        mode = .suspended(reason)
    }

    /// Records again from the next keyframe on.
    func resume() {
        guard case .suspended = mode else { return }
        logger.notice("recording resumed; it continues at the next keyframe")
        mode = .active
        environment.closer.retry()
        environment.keyframes.requestKeyframe(at: nil)
    }

    /// Completes the files that an earlier run left open on the disk that is mounted now, and informs the observers. If
    /// the open file is on the disk that was mounted before, closes this file, and begins a new one at the next
    /// keyframe.
    func directoryChanged() {
        if case .active = mode, file != nil, generation != configuration.directory.generation {
            interrupt("another file system was mounted in the place of the directory", .storage, ending: .disk)
            environment.keyframes.requestKeyframe(at: nil)
        }
        environment.closer.retry()
        for observer in configuration.observers { observer.directoryChanged() }
    }

    /// Marks `time` in the file that contains it.
    func mark(_ text: String, at time: ProgramInstant) { moments.add(text, at: time) }

    /// Ends the open file at the next keyframe.
    func cutNow() { perform(cutter.cutNow()) }

    /// Ends the open file at the first keyframe at or after program time `time`.
    func cut(at time: ProgramInstant) { cutter.cut(at: time) }

    /// Begins no file before program time `time`.
    func wait(until time: ProgramInstant) { cutter.wait(until: time) }

    /// Writes all held packets and closes the last file.
    func finish() {
        isFinishing = true
        if missing != nil { closing = .error }
        perform(cutter.finish())
        endFile(closing)
        if let missing {
            if gap == nil { addGap(missing.reason, until: missing.end) }
            lastEnd = max(lastEnd, missing.end)
        }
        endGap(at: lastEnd)
    }
}

// MARK: Status

extension RecorderEngine {
    /// Updates the status.
    func publish(isStopped: Bool = false) {
        // The recorded stretch is published before the status. So a reader that sees in the status that the recorder
        // has stopped finds the complete stretch.
        publishStretch()
        environment.status.value.withLock { status in
            status.state = isStopped ? .stopped : state
            status.suspension = nil
            if case .suspended(let reason) = mode { status.suspension = reason }
            status.fileName = file?.name.open
            status.segmentBytes = file?.bytes ?? 0
            status.segmentSeconds = file.map { $0.recordedEnd - $0.start }?.inSeconds ?? 0
            status.totalBytes = closedBytes + (file?.bytes ?? 0)
            status.framesWritten = closedFrames + (file?.frames ?? 0)
            status.hasMedia = status.framesWritten > 0 || description.leadingKind == .audio && recordedEnd != nil
            status.nextCut = file == nil ? nil : cutter.nextBoundary
            status.writeLatency = latency.status
            status.syncLatency = environment.synchroniser.latency
            show(gap?.frames ?? 0, &status)
        }
    }

    private func publishStretch() {
        environment.status.stretch.withLock { stretch in
            if let file {
                stretch = RecordedStretch(
                    run: run, start: stretch?.start ?? file.start, end: file.recordedEnd, fileStart: file.start,
                    fileTime: file.time)
            } else if let end = recordedEnd {
                stretch?.end = end
            }
        }
    }

    /// Updates the status so that it includes `frames` frames of the current gap. The caller holds the lock of the
    /// status, so that no reader sees a frame counted twice or not at all.
    func show(_ frames: Int, _ status: inout RecorderStatus) {
        status.gapFrames += frames - shownFrames
        shownFrames = frames
        environment.counted(refusedFrames)
        refusedFrames = 0
    }

    private var state: RecorderState {
        switch mode {
        case .active: file == nil ? .waiting : .recording
        case .suspended: .suspended
        case .failed: .failed
        }
    }
}

/// Counts the parts of the program that are missing from the recording.
extension RecorderEngine {
    func lose(_ packet: EncodedPacket) {
        guard packet.track == leading, let gap else { return }
        if packet.track == .video { self.gap?.frames += 1 }
        // The gap begins at the earliest presentation time. Frames arrive in decoding order, so a later frame can have
        // an earlier presentation time.
        self.gap?.from = min(gap.from, packet.programPts)
    }

    func beginGap(_ reason: String, _ cause: RecordingGap.Cause) {
        guard gap == nil else { return }
        gap = RecordingGap(
            from: recordedEnd ?? max(.zero, lastEnd), to: nil, reason: reason, cause: cause, frames: 0, run: run)
    }

    /// Ends the file and begins a gap, for `reason`. The file ends at a frame up to which no frame is missing in
    /// presentation order.
    func interrupt(_ reason: String, _ cause: RecordingGap.Cause, ending: SegmentEnding) {
        let dropped = file?.dropDisordered() ?? []
        endFile(ending)
        beginGap(reason, cause)
        for packet in dropped { lose(packet) }
        perform(cutter.interrupt())
    }

    func endGap(at time: ProgramInstant) {
        guard var ended = gap else { return }
        ended.to = time
        gap = nil
        logger.warning(
            "gap in the recording: \(ended.amount), \(ended.reason)",
            metadata: ["from_ns": "\(ended.from.nanoseconds)", "to_ns": "\(time.nanoseconds)"])
        environment.status.value.withLock { status in
            show(0, &status)
            status.count(ended)
        }
        let (channel, start) = (environment.configuration.channel, dating.time(of: ended.from))
        for observer in environment.configuration.observers {
            observer.gapEnded(ended, channel: channel, start: start)
        }
    }

    /// Records that the program up to program time `time` will never arrive completely, for `reason`.
    func miss(until time: ProgramInstant, because reason: String) { missing = (reason, time) }

    private func addGap(_ reason: String, until end: ProgramInstant) {
        beginGap(reason, .failure)
        guard let from = gap?.from, from < end else { return gap = nil }
        let base = description.video?.nominalRate?.timeBase
        gap?.frames = base.map { Int(TimeBase.nanoseconds.rescale((end - from).inNanoseconds, to: $0)) } ?? 0
        lastEnd = max(lastEnd, end)
    }
}
