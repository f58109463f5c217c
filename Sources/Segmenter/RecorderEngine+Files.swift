// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import Logging
internal import Media
internal import Synchronization

/// Moves a recording from one file to the next, and handles disk failures.
extension RecorderEngine {
    func open(_ start: SegmentStart) {
        do {
            let file = try create(start)
            self.file = file
            endGap(at: file.start)
            sayLate(start)
            logger.info("segment opened", metadata: ["segment": "\(file.name.open)"])
            for observer in configuration.observers { observer.segmentOpened(fileName: file.name.open) }
        } catch {
            fail(error)
        }
    }

    /// Logs that the previous file became longer than planned by more than two GOPs, because no keyframe arrived in
    /// time.
    private func sayLate(_ start: SegmentStart) {
        guard start.lateness > configuration.gop * 2 else { return }
        let late = DurationText(start.lateness)
        logger.notice("no keyframe came where a segment was to end; it is \(late) longer than it should be")
    }

    private func create(_ start: SegmentStart) throws(FileFailure) -> SegmentFile {
        let directory = configuration.directory
        try directory.checkMount()
        // The newest file must have the highest sequence number. So if the directory is on another disk, the numbers
        // there are read again, because they can be higher.
        let current = directory.generation
        var number = sequence ?? 0
        if sequence == nil || generation != current {
            number = max(number, try directory.lastSequence(of: configuration.channel))
        }
        generation = current
        let time = date(start)
        for attempt in 0..<1000 {
            // Another process might have created a file with this name in the meantime. The recorder leaves that file
            // alone, and tries another name.
            if attempt == 0 || directory.template.hasSequence { number += 1 }
            sequence = number
            let name = SegmentName(
                channel: configuration.channel, start: time, sequence: number, template: directory.template,
                offset: configuration.localOffset(time), format: configuration.format)
            do throws(FileFailure) {
                let unique = directory.template.hasSequence ? name : name.numbered(attempt)
                try directory.makeParents(of: unique)
                let parent = try directory.openParent(of: unique)
                return try SegmentFile(settings(unique, time, start), in: parent, start: start)
            } catch {
                guard error.code == EEXIST else { throw error }
            }
        }
        throw FileFailure("create a file in", directory.path, code: EEXIST)
    }

    private func settings(_ name: SegmentName, _ time: UTCTime, _ start: SegmentStart) -> SegmentFileSettings {
        let settings = description.video?.encoderSettings ?? ""
        var position = SegmentPosition(run: run, programStart: max(.zero, start.time), ending: .recovered)
        position.isTrimmed = start.shown != nil
        position.isCopied = start.shown != nil && settings.isEmpty
        return SegmentFileSettings(
            directory: configuration.directory.path, name: name, format: configuration.format, description: description,
            tags: MovieTags(
                channel: configuration.channel, start: time, encoderSettings: settings, version: configuration.version,
                position: position),
            fragmentDuration: configuration.fragmentDuration, isDurable: configuration.sync != .never,
            largestBytes: configuration.largestFileBytes)
    }

    private func date(_ start: SegmentStart) -> UTCTime {
        let (now, queued) = (environment.wallClock(), environment.queued())
        let begin = start.shown?.asked ?? start.time
        // A copied packet arrives at its decoding time, so the newest packet tells the program time of `now`. Older
        // packets might have been kept in memory since before the recording began.
        if configuration.isCopied { dating.begin(at: newest, now: now) }
        let (time, moved) = dating.date(at: begin, now: now, queued: queued)
        if let moved {
            logger.notice(
                "program and wall clock drifted \(moved) ms apart; files are named by the wall clock again",
                metadata: ["start": "\(time.extended)"])
        }
        return time
    }

    func write(_ packet: EncodedPacket) {
        guard let file else { return lose(packet) }
        let elapsed: Duration?
        do {
            elapsed = try file.append(packet, clock: environment.clock)
        } catch {
            fail(error)
            return lose(packet)
        }
        guard let elapsed else { return }
        do {
            try wrote(file, in: elapsed)
        } catch {
            // The file has already accepted this packet, so ``fail(_:)`` counts it with the other packets that are not
            // on disk.
            fail(error)
        }
    }

    private func wrote(_ file: SegmentFile, in elapsed: Duration) throws(FileFailure) {
        latency.record(elapsed)
        recordedEnd = file.recordedEnd
        if file.isNearlyFull { endFull(file) }
        try synchronise(file)
    }

    /// Ends the open file as soon as possible, because it cannot become much larger.
    private func endFull(_ file: SegmentFile) {
        guard !file.isCutRequested else { return }
        file.isCutRequested = true
        logger.notice(
            "the file is nearly as large as a file can be here; a new segment begins",
            metadata: ["segment": "\(file.name.open)"])
        if configuration.isCopied { cutter.cut(at: lastEnd) } else { cutNow() }
    }

    /// How long packets that are not on disk can still wait for further packets; nil if all packets are on disk.
    var untilOverdue: Duration? { file?.wait(at: environment.clock.now) }

    /// The decoding time before which no packet causes a write; nil if each packet may cause one. The time is never so
    /// near that the recorder would be woken for each packet.
    var collectsUntil: ProgramInstant? {
        guard case .active = mode, let end = file?.collectsUntil else { return nil }
        return max(end, newest + SegmentFile.patience)
    }

    /// Writes packets that have waited too long for the packet that should end their fragment: as long as a fragment
    /// lasts, plus ``SegmentFile/patience``.
    func writeOverdue() {
        guard let file, untilOverdue == .zero else { return }
        do {
            try wrote(file, in: file.writePending(clock: environment.clock))
        } catch {
            fail(error)
        }
    }

    /// Handles that the source has stopped sending: closes the file with the packets that have arrived. The next file
    /// begins at a keyframe.
    func pause() {
        guard case .active = mode else { return }
        closing = .silent
        perform(cutter.finish())
        closing = .stop
    }

    /// Requests that the open file is made durable, if the time for this has come. Throws if an earlier request for
    /// this file has failed.
    private func synchronise(_ file: SegmentFile) throws(FileFailure) {
        let synchroniser = environment.synchroniser
        // The failure stays in the synchroniser, because it is also needed when the file is closed.
        if let failure = synchroniser.failure(of: file.descriptor.path) { throw failure }
        guard let interval = configuration.sync.interval else { return }
        if environment.clock.now >= nextSync {
            nextSync = environment.clock.now + interval
            synchroniser.synchronise(file.descriptor)
        }
    }

    /// Writes the rest of the open file and hands the file over to be closed.
    func endFile(_ ending: SegmentEnding) {
        completeFile().map { release($0, ending) }
    }

    /// Writes the rest of the open file. Returns this file, which the caller must release; nil if no file is open, or
    /// if the writing failed.
    func completeFile() -> SegmentFile? {
        guard let file else { return nil }
        do throws(FileFailure) {
            if let failure = environment.synchroniser.failure(of: file.descriptor.path) { throw failure }
            try file.flush()
            self.file = nil
            return file
        } catch {
            fail(error)
            return nil
        }
    }

    /// Hands `file`, which is no longer the open file, over to be closed. The file ends for the reason `ending`.
    func release(_ file: SegmentFile, _ ending: SegmentEnding) {
        file.ending = ending
        takeMoments(to: file)
        recordedEnd = file.recordedEnd
        closedBytes += file.bytes
        closedFrames += file.frames
        environment.closer.close(file)
    }

    /// Adds the marked moments that are within the file's program times to the file as chapters. A file without visible
    /// media gets no chapters, because it will be removed.
    private func takeMoments(to file: SegmentFile) {
        guard file.start < file.recordedEnd else { return }
        let frame = description.video?.nominalRate?.timeBase.duration(1) ?? .nanoseconds(1)
        let lastFrame = max(file.start, file.recordedEnd - frame)
        // The last file gets all later marks, regardless of why it ends.
        let isLast = isFinishing && file.ending != .rotate
        file.chapters = moments.chapters(in: file.start..<file.recordedEnd, lastFrame: isLast ? lastFrame : nil)
    }

    /// Handles a write failure: counts the packets that are not on disk as a gap, closes the file as well as possible,
    /// and schedules another attempt. If the only problem is that the file is too large, the disk works, and another
    /// file begins at the next keyframe.
    func fail(_ failure: FileFailure) {
        logger.error("recording failed: \(failure)")
        let isFull = failure.isTooLarge && file != nil
        if !isFull { mode = .failed(failure, probeAt: environment.clock.now + Self.probeInterval) }
        environment.status.value.withLock { $0.lastError = failure.description }
        let (failed, lost) = (file, file?.pendingVideo ?? [])
        file = nil
        if let failed { release(failed, failure.isOutOfSpace ? .disk : .error) }
        beginGap(failure.description, failure.isOutOfSpace ? .storage : .failure)
        for packet in lost { lose(packet) }
        perform(cutter.interrupt())
        if isFull { environment.keyframes.requestKeyframe(at: nil) }
    }

    func probe(_ failure: FileFailure) {
        do {
            try configuration.directory.probe(bytes: Self.probeBytes)
            logger.notice("recording is possible again; it continues at the next keyframe")
            mode = .active
            environment.closer.retry()
            environment.keyframes.requestKeyframe(at: nil)
        } catch {
            mode = .failed(failure, probeAt: environment.clock.now + Self.probeInterval)
        }
    }
}
