// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Encoder
internal import FanOut
internal import Ingest
internal import Logging
internal import Media
internal import Program
package import Segmenter
internal import Status
internal import Upload

/// The sources of a program that can be recorded individually.
struct RecordedSources: Sendable {
    /// The program's bus.
    let bus: Bus
    let sources: [(name: String, bus: Bus, hasVideo: Bool, canBeCopied: Bool)]
    /// The format to which all sources are converted.
    let format: VideoFormat
    var encoder: EncoderSettings

    /// The number of sources whose files are as large as the program's.
    var videoCount: Int { sources.count { $0.hasVideo } }
}

/// The recordings of a program's sources. The files of each are named after the channel and the source. These
/// recordings are started, cut and ended together with the program's recording, at the same frames of the program.
///
/// The program's recorder requests its keyframes from this object. A request with a given time ends a file of the
/// program at that time; the files of all sources then end at the same time. All calls except `init` may be made on any
/// thread and return at once.
final class SourceRecordings: KeyframeRequester {
    private struct Source {
        let name: String
        let bus: Bus
        let coding: any SourceCoding
        let hub: PacketStream
        let recording: Recording
    }

    /// More than the duration of one audio sample (21 µs): the first sample of a frame can begin before the frame.
    private static let sample = Duration.microseconds(100)
    /// An event that must happen at the same frame in all recordings is scheduled this many frames ahead.
    private static let lead: Int64 = 10

    private let bus: Bus
    private let frameRate: FrameRate
    private let keyframes: any KeyframeRequester
    private let sources: [Source]
    /// The sources that cannot be recorded, and the reasons.
    private let failures: [(name: String, reason: String)]
    /// This group is left when all encoders have ended.
    private let working = DispatchGroup()

    /// Sets up a recording for each of `recorded`, in addition to the recording of `program`, with the settings in
    /// `configuration`, the run and epoch of `companion` and the disk space in `budget`. A source that cannot be
    /// recorded is skipped, so that the program is recorded nevertheless. Blocks on the disk.
    init(
        _ recorded: RecordedSources, _ configuration: ChannelConfiguration.Recording, of program: Recording.Program,
        as companion: Recording.Companion, budget: StorageBudget
    ) {
        (bus, frameRate, keyframes) = (recorded.bus, recorded.format.frameRate, program.keyframes)
        var sources: [Source] = []
        var failures: [(name: String, reason: String)] = []
        for (number, source) in recorded.sources.enumerated() {
            var logger = program.logger
            logger[metadataKey: "source"] = "\(source.name)"
            do throws(ChannelFailure) {
                sources.append(
                    try Self.source(number, recorded, configuration, of: program, as: companion, budget, logger))
            } catch {
                logger.error("the source is not recorded: \(error)")
                failures.append((source.name, "\(error)"))
            }
        }
        (self.sources, self.failures) = (sources, failures)
    }

    private static func source(
        _ number: Int, _ recorded: RecordedSources, _ configuration: ChannelConfiguration.Recording,
        of program: Recording.Program, as companion: Recording.Companion, _ budget: StorageBudget, _ logger: Logger
    ) throws(ChannelFailure) -> Source {
        let source = recorded.sources[number]
        let channel = SegmentName.channel(program.channel, source: source.name)
        let isCopied = configuration.takesPackets && source.canBeCopied
        let hub = PacketStream(delivery: isCopied ? .immediate : .withFrames)
        let coding = try coding(
            of: source.name, hasVideo: source.hasVideo, recorded, isCopied: isCopied, into: hub, clock: program.clock,
            logger: logger)
        var one = Recording.Program(
            channel: channel, hasOutputs: true, delay: isCopied || !source.hasVideo ? nil : program.delay,
            gop: program.gop,
            description: coding.description, keyframes: coding, ledger: program.ledger, queues: program.queues,
            clock: program.clock,
            logger: logger)
        (one.isCopied, one.owner) = (isCopied, program.owner ?? program.channel)
        one.companion = companion.source(number + 1, budget: budget.shared(by: recorded.videoCount + 1))
        // The remote is not asked again: the program's recording uses the same remote and has already asked it.
        let place = try RecordingPlace(configuration, channel: channel, asksRemote: false, logger: logger)
        return Source(
            name: source.name, bus: source.bus, coding: coding, hub: hub,
            recording: try Recording(configuration, in: place, of: one))
    }

    /// Makes the object that produces the packets of a source's recording.
    private static func coding(
        of name: String, hasVideo: Bool, _ recorded: RecordedSources, isCopied: Bool, into hub: PacketStream,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> any SourceCoding {
        let makeEncoder: SourceCopier.EncoderMaker = { () throws(ChannelFailure) in
            try SourceEncoder(
                recorded.encoder, format: recorded.format,
                placeholder: hasVideo ? SlatePattern.frame(recorded.format, lines: ["NO SIGNAL", name]) : nil,
                into: hub, clock: clock, logger: logger)
        }
        guard isCopied, hasVideo else { return try makeEncoder() }
        return SourceCopier(frameRate: recorded.format.frameRate, into: hub, logger: logger, makeEncoder: makeEncoder)
    }

    func requestKeyframe(at programTime: ProgramInstant?) {
        keyframes.requestKeyframe(at: programTime)
        guard let programTime else { return }
        for source in sources {
            source.coding.requestKeyframe(at: programTime)
            source.recording.cut(at: programTime)
        }
    }

    /// Starts the recordings. They begin with the program's first frame or, if the program is running, with a frame
    /// that is a few frames ahead. Returns the time of this frame; the program has a keyframe at this time as well.
    /// `group` is left when files that a crash left open are completed.
    func start(joinsRunningProgram: Bool, in group: DispatchGroup) -> ProgramInstant {
        let first: FrameIndex = joinsRunningProgram ? bus.nextFrame + Self.lead : 0
        let time = frameRate.start(of: first)
        for source in sources {
            source.recording.start(at: source.hub, .program, in: group)
            working.enter()
            source.recording.wait(until: source.coding.description.leadingKind == .audio ? time - Self.sample : time)
            source.coding.start(for: source.recording) { [working] in working.leave() }
        }
        if joinsRunningProgram { keyframes.requestKeyframe(at: time) }
        bus.watch(sources.map { ($0.bus, $0.coding) }, from: first)
        return time
    }

    /// Ends the files of all sources at a frame that is a few frames ahead. Returns the time of this frame; the
    /// program has a keyframe at this time as well.
    func cut() -> ProgramInstant {
        let time = frameRate.start(of: bus.nextFrame + Self.lead)
        requestKeyframe(at: time)
        return time
    }

    /// Marks `time` in all files.
    func mark(_ text: String, at time: ProgramInstant) {
        for source in sources { source.recording.mark(text, at: time) }
    }

    /// Encodes the input that was accepted, closes all files, and leaves `group` when all work on the files is done.
    func finish(in group: DispatchGroup) {
        bus.unwatch(sources.map { $0.coding })
        for source in sources {
            source.coding.finish()
            group.enter()
        }
        working.notify(queue: .global(qos: .utility)) { [sources] in
            for source in sources {
                if let (reason, end) = source.coding.missing { source.recording.miss(until: end, because: reason) }
                source.recording.finish(from: source.hub) { group.leave() }
            }
        }
    }

    /// Stops uploading. Files that are not uploaded yet are uploaded when a recording in the same directory is next
    /// started.
    func cancelUploads() {
        for source in sources { source.recording.cancelUploads() }
    }

    /// Carries out an operator's order about the uploads of the source `name`, or of all sources if `name` is nil.
    /// Returns whether there are such uploads.
    func perform(_ order: UploadOrder, of name: String?) -> Bool {
        sources.filter { name == nil || $0.name == name }
            .map { $0.recording.perform(order, ofSource: nil) }.contains(true)
    }

    /// A snapshot of each source's recording.
    var statuses: [SourceRecordingStatus] {
        sources.map { source in
            let status = source.recording.status
            let failure = source.coding.failure
            var recorder = status.recorder
            if let failure { recorder?.fail(because: failure) }
            return SourceRecordingStatus(
                source: source.name, recorder: recorder, storage: status.storage,
                encoder: source.coding.status, droppedFrames: source.coding.dropped, coding: source.coding.coding,
                failure: failure, retention: status.retention, upload: status.upload)
        }
            + failures.map { name, reason in
                var recorder = RecorderStatus()
                recorder.fail(because: reason)
                return SourceRecordingStatus(
                    source: name, recorder: recorder, storage: nil, encoder: EncoderStatus(), droppedFrames: 0,
                    coding: .waiting, failure: reason)
            }
    }
}

extension StorageBudget {
    /// Returns the budget of a source's recording that shares the disk with the program's recording. This budget is the
    /// program's, and `count` is the number of all recordings on the disk, which count with the same bitrate. The
    /// bitrate of the returned budget is the sum of their bitrates. Its reserve is twice the program's reserve, or the
    /// ``retentionGoalBytes`` for the program's reserve and this sum, whichever is more. So on a disk that fills up,
    /// the source's recording stops before the program's recording.
    package func shared(by count: Int) -> StorageBudget {
        var budget = self
        let (sum, overflow) = bitrate.multipliedReportingOverflow(by: Int64(count))
        budget.bitrate = overflow ? .max : sum
        let (reserve, isLarge) = reserveBytes.multipliedReportingOverflow(by: 2)
        budget.configuredReserve = reserveBytes
        budget.configuredReserve = max(isLarge ? .max : reserve, budget.retentionGoalBytes)
        return budget
    }
}
