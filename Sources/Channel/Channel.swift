// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
package import FanOut
package import Logging
package import Media
internal import Networking
internal import Publisher
package import Status
package import Studio
internal import Synchronization

/// One complete media path: inputs, program, encoder, fan-out and outputs, and the recording of the program. A channel
/// is built from a configuration, and runs until the program ends.
///
/// ``run()`` occupies the thread that calls it. Everything else may be called on any thread.
///
/// ```swift
/// var configuration = ChannelConfiguration()
/// configuration.sources = [.init(name: "camera", input: InputLocation("rtsp://camera.local/live"))]
/// let channel = try Channel(configuration, logger: logger)
/// _ = try channel.add(address: "rtmp://example.com/live/key", name: "example")
/// let end = channel.run()
/// ```
package final class Channel: Sendable {
    /// The time within which the channel must end cleanly after the end was requested.
    private static let teardown = Duration.milliseconds(2600)
    /// The time that outputs get to send their remaining packets after the program has ended by itself. It is longer
    /// than a receiver's latency.
    private static let unhurriedTeardown = Duration.seconds(12)

    /// The channel's name, unique in its process.
    package var name: String { configuration.name }

    let configuration: ChannelConfiguration
    let resources: HostResources
    let logger: Logger
    let hub: PacketStream
    private let context: OutputContext
    private let listening: ChannelListening
    let program: any ChannelProgram
    /// Decides which sources are visible; nil for a program without scenes.
    package var director: Director? { program.director }
    /// The live outputs, which can be changed while the program runs.
    package let outputs: OutputSet
    package let recordings: ChannelRecordings
    /// Holds the recording for clips, which are taken from it while nothing else is recorded.
    package let clips: RecordingSlot
    /// The group that is left when all work is done that has to finish before the channel ends.
    private let ending = DispatchGroup()
    private let endAskedAt = Mutex<MonotonicInstant?>(nil)
    /// The directories of outputs that the configuration file has added since the channel was opened.
    private let addedDirectories = Mutex<[String]>([])

    var clock: any MonotonicClock { resources.clock }

    /// Prepares the record directories, opens inputs and encoder, and asks the storage guards whether there is enough
    /// space. Nothing is on air yet. Blocks until the inputs answer, or until `opening` is cancelled. Throws
    /// ``ChannelFailure``. With `canLackRecording`, the channel is opened even if no recording can be set up; the setup
    /// is then retried in the background. If only one of two recordings can be set up, the channel is opened in any
    /// case, unless the failure of the first one is an error of the configuration; the setup of the other recording is
    /// retried.
    package init(
        _ configuration: ChannelConfiguration, resources: HostResources = HostResources(),
        opening: ChannelOpening? = nil, canLackRecording: Bool = false, logger: Logger
    ) throws(ChannelFailure) {
        let own = ChannelOpening()
        defer { own.finish() }
        self.configuration = configuration
        self.resources = resources
        self.logger = logger
        let clock = resources.clock
        let places = configuration.recording.map {
            RecordingPlaces(
                $0, channel: configuration.name, collisions: resources.collisions, logger: logger)
        }
        if !canLackRecording, let failure = places?.failure { throw failure }
        let hub = PacketStream(delivery: configuration.copies ? .immediate : .withFrames)
        self.hub = hub
        let listening = try ChannelListening(
            configuration, resources: resources, opening: opening ?? own, logger: logger)
        let streams = Dictionary(uniqueKeysWithValues: configuration.renditions.map { ($0.name, PacketStream()) })
        self.listening = listening
        context = OutputContext(
            resources: listening.outputResources(writers: resources.writers, stream: hub), renditions: streams,
            isCopied: configuration.copies)
        // Outputs are checked before the input is opened. Opening an input can block, and a wrong output must be
        // reported at once.
        let definitions = try Self.definitions(of: configuration, in: context)
        let recordings = ChannelRecordings(hub: hub, group: ending)
        self.recordings = recordings
        clips = RecordingSlot(hub: hub, group: ending)
        program = try Self.program(
            of: configuration, in: context, listening: listening, recordings: recordings, clock: clock,
            logger: logger)
        hub.begin(program.description, keyframes: program.keyframes)
        for rendition in program.renditions {
            rendition.stream.begin(rendition.encoder.description, keyframes: rendition.encoder)
        }
        outputs = OutputSet(stream: hub, renditions: streams, clock: clock, logger: logger)
        do throws(ChannelFailure) {
            if let recording = configuration.recording, let places, !recording.isForClips {
                try prepare(recording, in: places, canLack: canLackRecording)
            }
            try add(definitions)
        } catch {
            // Inputs and outputs are closed, because the next attempt to open the channel needs their ports and
            // devices. Streams are finished, because a stream and its encoder retain each other until then.
            program.stop()
            for stream in [hub] + streams.values { stream.finish() }
            throw error
        }
        for name in configuration.untakenRenditions {
            logger.warning("no output and no recording takes the rendition", metadata: ["rendition": "\(name)"])
        }
    }

    private static func program(
        of configuration: ChannelConfiguration, in context: OutputContext, listening: ChannelListening,
        recordings: ChannelRecordings, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> any ChannelProgram {
        let hub = context.resources.stream
        if configuration.copies {
            return try Passthrough(
                configuration, into: hub, recordings: recordings, listening: listening, clock: clock, logger: logger)
        }
        return try EncodedProgram(
            configuration, into: hub, renditions: context.renditions, recordings: recordings, listening: listening,
            clock: clock, logger: logger)
    }

    /// The program's packets as they go on air.
    package var stream: PacketStream { hub }

    /// Requests a keyframe as soon as possible in all encodings. Returns at once.
    package func requestKeyframe() {
        for encoding in [hub] + program.renditions.map(\.stream) { encoding.requestKeyframe(at: nil) }
    }

    /// Puts the program on air. Blocks until the program, its outputs and its recordings have ended; returns how it
    /// ended. With `isLasting`, the channel is opened again after a failure. It then waits for the recordings no longer
    /// than for the outputs, because a disk or an upload must not keep the stream off air.
    package func run(isLasting: Bool = false) -> ChannelEnd {
        outputs.start()
        recordings.begin()
        let end = program.run()
        endConsumers(isProgramOver: end == .done, isOpenedAgain: isLasting && end != .done)
        return end == .done ? delivered : end
    }

    /// Requests a clean end. Returns at once.
    package func end() {
        endAskedAt.withLock { $0 = $0 ?? clock.now }
        program.stop()
        recordings.cancelUploads()
        clips.cancelUploads()
    }

    /// The heartbeats of the threads that currently carry the channel's media.
    package var heartbeats: [Heartbeat] { program.heartbeats }

    /// The expiry of the certificate of the channel's listeners, in seconds since 1970; nil without a certificate.
    package var certificateExpiry: Int? { listening.certificateExpiry }

    /// A snapshot of the complete channel.
    package var status: ChannelStatus {
        let (recording, clips) = (recordings.first.status, clips.status)
        var status = program.status
        status.outputs = outputs.statuses
        (status.recorder, status.clipsRecorder) = (recording.recorder, clips.recorder)
        // If only clips are recorded, the status shows the disk, the retention and the uploads of the recording for
        // clips.
        status.storage = recording.storage ?? clips.storage
        status.retention = recording.retention ?? clips.retention
        status.upload = recording.upload ?? clips.upload
        status.sourceRecordings = recording.sources.isEmpty ? nil : recording.sources
        status.secondRecording = recordings.secondStatus
        status.recordedRendition = recordings.current.first?.rendition
        return status
    }

    /// Ends all outputs and recordings at the same time, so that a slow one does not delay the others. If the end was
    /// requested, this blocks for at most about ``teardown``; if the channel is opened again, for at most about
    /// ``unhurriedTeardown``. Otherwise the recorder gets the time that it needs to finish its files. A recorder in the
    /// second directory, or in one that it replaced, gets it only as long as the disk there answers within
    /// ``ChannelRecordings/diskPatience``, because the recording in the record directory is complete without it.
    func endConsumers(isProgramOver: Bool, isOpenedAgain: Bool) {
        let endAskedAt = endAskedAt.withLock { $0 }
        // If the service is stopped or restarted, or if the source failed, the same program might continue later.
        // Outputs are then told of an interruption, not of the program's end.
        let reason: EndReason = isProgramOver && endAskedAt == nil ? .programOver : .interrupted
        let deadline =
            endAskedAt.map { $0 + Self.teardown } ?? clock.now + Self.unhurriedTeardown
        outputs.finish(deadline: deadline, reason: reason, in: ending)
        recordings.finish()
        clips.finish()
        var secondDisks = DiskPulses { [clock] in DiskPulse(of: $0, clock: clock) }
        while true {
            let pause = DispatchTime.now() + .milliseconds(100)
            let isEnded = ending.wait(timeout: pause) == .success
            let isSecondEnded = recordings.waitForSecond(until: isEnded ? pause : .now())
            let unfinished = isSecondEnded ? [] : recordings.secondDirectories
            let isSilent = secondDisks.areSilent(unfinished, for: ChannelRecordings.diskPatience)
            if isEnded, isSecondEnded { return }
            if isEnded, isSilent { return reportSilence(of: unfinished) }
            let asked = self.endAskedAt.withLock { $0 }
            let limit = asked.map { $0 + Self.teardown } ?? (isOpenedAgain ? deadline : nil)
            guard let limit, clock.now - limit > .milliseconds(200) else { continue }
            guard asked == nil else {
                logger.warning("not everything ended in time; the next start completes a file that is still open")
                return
            }
            // The next recordings upload what these have not uploaded yet.
            recordings.cancelUploads()
            clips.cancelUploads()
            logger.warning("the channel does not wait for its recordings, which end in the background")
            return
        }
    }

    private func reportSilence(of secondDirectories: Set<String>) {
        for directory in secondDirectories.sorted() {
            logger.warning(
                """
                the disk of the second directory \(directory) does not answer, and is not waited for; \
                the next start completes a file that is still open there
                """)
        }
    }

    /// The result of a program that ended normally: a failure if no output was ever live and nothing was recorded.
    private var delivered: ChannelEnd {
        if outputs.statuses.contains(where: \.wasLive) || recordings.hasRecorded || clips.hasRecorded { return .done }
        logger.error("no output ever came on air, and nothing was recorded")
        return .failed(.nothingDelivered)
    }
}

// MARK: Outputs

extension Channel {
    /// Adds the live output that `address` describes, in the syntax of an output flag. The output gets the name `name`
    /// or, if that is nil, the name in `address`. Without either, it gets a free name. Returns the output's name. If
    /// the output listens on a port, blocks until the port is open. Throws ``OutputSpecificationError`` or
    /// ``OutputSetError``.
    package func add(address: String, name: String? = nil) throws -> String {
        var output = try OutputSpecification(requested: address)
        output.name = name ?? output.name
        return try add(output, origin: .api)
    }

    /// Replaces the output `name` by the output that `address` describes, under the same name. Throws the same errors
    /// as ``add(address:name:)``; after an error, the old output is unchanged.
    package func replace(_ name: String, by address: String, isPaused: Bool = false) throws {
        let output = try OutputSpecification(requested: address)
        let next = try definition(of: output, name: name, origin: .api, replacing: name)
        try outputs.replace(by: next, isPaused: isPaused)
    }

    /// Adds a live output, and returns its name. If the output listens on a port, blocks until the port is open. Throws
    /// ``OutputSetError`` if there is an output of this name already, or if the output is refused, for example because
    /// the port cannot be opened.
    @discardableResult
    package func add(_ output: OutputSpecification, origin: OutputOrigin) throws(OutputSetError) -> String {
        let name = output.name ?? output.address.freeName(besides: outputs.statuses.map(\.name))
        try outputs.add(try definition(of: output, name: name, origin: origin))
        if origin != .api { addedDirectories.withLock { $0 += output.directories } }
        return name
    }

    /// Throws if the output that `address` describes would write to a directory that is neither the directory of a
    /// configured output nor below one: a client of the API must not write to any other place. Blocks on the disk.
    package func checkPlace(ofRequested address: String) throws(OutputSpecificationError) {
        let output = try OutputSpecification(requested: address)
        let configured = configuration.outputs.flatMap(\.directories) + addedDirectories.withLock { $0 }
        try OutputPlaces(configured).check(output)
    }

    private func definition(
        of output: OutputSpecification, name: String, origin: OutputOrigin, replacing old: String? = nil
    ) throws(OutputSetError) -> OutputDefinition {
        warn(of: output, name: name)
        var context = context
        context.resources.leaving = outputs.leavingAddresses(replacing: old)
        do throws(OutputFailure) {
            return try output.definition(name: name, in: context, origin: origin)
        } catch {
            throw .refused(name, reason: error.reason)
        }
    }

    /// Immediately retries every output that has given up or was refused. `cause` is for the log. Returns at once.
    package func retryOutputs(because cause: String) {
        let idle = outputs.statuses.filter { [.givenUp, .refused].contains($0.state) }
        if idle.isEmpty { logger.info("no output has given up or was refused: nothing to try again for \(cause)") }
        for output in idle {
            logger.notice("tried again because of \(cause)", metadata: ["output": "\(output.name)"])
            // An error means that the output was removed after the list of outputs was read. Such an output needs no
            // retry.
            try? outputs.retryNow(output.name)
        }
    }

    /// Returns the outputs of `configuration`, with their ports open.
    private static func definitions(
        of configuration: ChannelConfiguration, in context: OutputContext
    ) throws(ChannelFailure) -> [OutputDefinition] {
        var definitions: [OutputDefinition] = []
        for (output, name) in zip(configuration.outputs, configuration.outputNames) {
            do throws(OutputFailure) {
                definitions.append(
                    try output.definition(name: name, in: context, origin: configuration.origin))
            } catch {
                // The cause tells a service manager whether to restart relay. A busy port might be free at the next
                // start. Wrong flags stay wrong, so a restart would not help.
                throw ChannelFailure(
                    error.kind == .unreachable ? .nothingDelivered : .configuration, .openOutput(name),
                    because: error.reason, error: error)
            }
        }
        return definitions
    }

    private func add(_ definitions: [OutputDefinition]) throws(ChannelFailure) {
        for (output, definition) in zip(configuration.outputs, definitions) {
            warn(of: output, name: definition.name)
            do throws(OutputSetError) {
                try outputs.add(definition)
            } catch {
                throw ChannelFailure(.configuration, .openOutput(definition.name), saidBy: error)
            }
        }
    }

    private func warn(of output: OutputSpecification, name: String) {
        guard output.address.destination.isUnverified || output.backup?.destination.isUnverified == true else { return }
        logger.warning("\(name): the receiver of this stream is not verified (tls=insecure)")
    }
}

// MARK: Clips

extension Channel {
    /// The bitrate, in bits per second, for which memory is reserved if the stream's own bitrate is unknown.
    private static let unknownBitrate = 40_000_000

    /// Keeps as much of the program in memory as the `replay` of `recording` requires, so that clips can be taken while
    /// nothing is recorded.
    package func keepReplay(of recording: ChannelConfiguration.Recording?) {
        for encoding in [stream] + program.renditions.map(\.stream) { encoding.keep(.currentGOP) }
        guard let recording, let limits = replayLimits(of: recording) else { return }
        replayed(recording).keep(limits)
    }

    private func replayed(_ recording: ChannelConfiguration.Recording) -> PacketStream {
        program.renditions.first { $0.name == recording.rendition }?.stream ?? stream
    }

    /// Returns the limits of the packets that are kept in memory; nil if `recording` keeps none. There is room for
    /// twice the nominal bitrate, because the real bitrate is higher at times, and for one more GOP.
    private func replayLimits(of recording: ChannelConfiguration.Recording) -> PacketHistory.Limits? {
        guard let replay = recording.replay else { return nil }
        let gop = PacketHistory.Limits.currentGOP
        let video = replayed(recording).description.video?.bitrate ?? 0
        let bytes = Int((replay.inSeconds * Double(video > 0 ? 2 * video : Self.unknownBitrate) / 8).rounded())
        return PacketHistory.Limits(
            duration: replay, longestGOP: gop.longestGOP, maximumBytes: gop.maximumBytes + bytes)
    }

    /// Starts a recording that only clips use. It begins with the packets that are kept in memory. Blocks until the
    /// record directory and the remote for uploads have answered, as ``startRecording(_:)`` does, and throws the same
    /// errors. A full disk, or one that is not mounted, is always an error here.
    package func startClips(_ configuration: ChannelConfiguration.Recording) throws {
        try clips.start(.replay) {
            var configuration = configuration
            (configuration.format, configuration.sources) = (.hybrid, [])
            let place = try RecordingPlace(configuration, channel: name, logger: logger)
            guard !place.directory.isAwaited else {
                throw ChannelFailure(
                    .cannotRecord, .takeClip(configuration.directory), because: "the disk is not mounted")
            }
            var program = try recorded(configuration)
            (program.hasOutputs, program.sources, program.owner) = (false, nil, "\(name) (clips)")
            program.keptBytes = replayLimits(of: configuration)?.maximumBytes ?? 0
            let age =
                (replayed(configuration).newestTime?.nanoseconds ?? 0) / 1_000_000
                + (program.delay?.inMilliseconds ?? 0)
            program.start = UTCTime(milliseconds: UTCTime.now.milliseconds - age)
            return try Recording(configuration, in: place, of: program)
        }
    }

    /// Ends the recording for clips, if there is one. Called when no clip needs any further packets. Returns at once.
    package func stopClips() {
        // An error means that there is no recording for clips to stop.
        try? clips.stop()
    }
}
