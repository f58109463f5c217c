// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import FanOut
package import Logging
package import Media
internal import Networking
internal import Publisher
package import Status
package import Studio
internal import Synchronization

/// One path of media: inputs, program, encoder, fan-out and outputs, built from a configuration and run to its end, and
/// the recording beside it.
///
/// ``run()`` occupies the thread that calls it; everything else may be called on any thread.
package final class Channel: Sendable {
    /// How long a clean end may take from the moment it is asked for.
    private static let teardown = Duration.milliseconds(2600)
    /// How long outputs may take to send the rest when no end was asked for: more than a receiver's latency.
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
    /// Decides which of several sources is seen; nil if there is only one.
    package var director: Director? { program.director }
    /// The live outputs, which may be changed while the program runs.
    package let outputs: OutputSet
    package let recordings: RecordingSlot
    /// What is recorded for clips that are taken while nothing else is.
    package let clips: RecordingSlot
    /// What must be over before the channel is.
    private let ending = DispatchGroup()
    private let endAskedAt = Mutex<Int64?>(nil)

    var clock: any MonotonicClock { resources.clock }

    /// Prepares the record directory, opens inputs and encoder, and asks the storage guard; nothing is live yet.
    /// Blocks until the inputs answer, or `opening` is given up. Throws ``ChannelFailure``. With `canLackRecording` a
    /// recording that is not possible keeps nothing off air, and is tried again beside the program.
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
        let place = configuration.recording.map { recording in
            Result { () throws(ChannelFailure) in
                try RecordingPlace(recording, channel: configuration.name, logger: logger)
            }
        }
        if !canLackRecording { _ = try place?.get() }
        let hub = PacketStream(delivery: configuration.copies ? .immediate : .withFrames)
        self.hub = hub
        let listening = try ChannelListening(
            configuration, resources: resources, opening: opening ?? own, logger: logger)
        let streams = Dictionary(uniqueKeysWithValues: configuration.renditions.map { ($0.name, PacketStream()) })
        self.listening = listening
        context = OutputContext(
            resources: listening.outputResources(writers: resources.writers, stream: hub), renditions: streams,
            isCopied: configuration.copies)
        // Before the input, which may keep us waiting: what is wrong with them is named at once.
        let definitions = try Self.definitions(of: configuration, in: context)
        let recordings = RecordingSlot(hub: hub, group: ending)
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
            if let recording = configuration.recording, let place, !recording.isForClips {
                try prepare(recording, in: place, canLack: canLackRecording)
            }
            try add(definitions)
        } catch {
            // What is open holds ports and devices, which another attempt needs; a stream and its encoder hold each other.
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
        recordings: RecordingSlot, clock: any MonotonicClock, logger: Logger
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

    /// What goes on air, in packets.
    package var stream: PacketStream { hub }

    /// Asks for a keyframe as soon as possible in all encodings. Returns at once.
    package func requestKeyframe() {
        for encoding in [hub] + program.renditions.map(\.stream) { encoding.requestKeyframe(at: nil) }
    }

    /// Puts the program on air and returns how it ended, when outputs and recordings have ended, too.
    package func run() -> ChannelEnd {
        outputs.start()
        recordings.begin()
        let end = program.run()
        endConsumers(isProgramOver: end == .done)
        return end == .done ? delivered : end
    }

    /// Asks for a clean end. Returns at once.
    package func end() {
        endAskedAt.withLock { $0 = $0 ?? clock.now }
        program.stop()
        recordings.cancelUploads()
        clips.cancelUploads()
    }

    /// The signs of life of the threads that carry its media now.
    package var heartbeats: [Heartbeat] { program.heartbeats }

    /// Until when the certificate of the channel's listeners is valid, in seconds since 1970; nil without one.
    package var certificateExpiry: Int? { listening.certificateExpiry }

    /// A snapshot of everything.
    package var status: ChannelStatus {
        let (recording, clips) = (recordings.status, clips.status)
        var status = program.status
        status.outputs = outputs.statuses
        (status.recorder, status.clipsRecorder) = (recording.recorder, clips.recorder)
        // If nothing but clips is recorded, the disk and the remote are used by the recording for clips.
        status.storage = recording.storage ?? clips.storage
        status.retention = recording.retention ?? clips.retention
        status.upload = recording.upload ?? clips.upload
        status.sourceRecordings = recording.sources.isEmpty ? nil : recording.sources
        status.recordedRendition = recordings.current?.rendition
        return status
    }

    /// Ends every consumer at the same time, so that one that does not end costs the others nothing. After a signal it
    /// waits for no consumer beyond the teardown; at the program's own end the recorder may finish its files.
    private func endConsumers(isProgramOver: Bool) {
        let endAskedAt = endAskedAt.withLock { $0 }
        // A service that is stopped or restarted, or whose source failed, may continue with the same program.
        let reason: EndReason = isProgramOver && endAskedAt == nil ? .programOver : .interrupted
        let deadline =
            endAskedAt.map { $0 + Self.teardown.inNanoseconds }
            ?? clock.now + Self.unhurriedTeardown.inNanoseconds
        outputs.finish(deadline: deadline, reason: reason, in: ending)
        recordings.finish()
        clips.finish()
        while ending.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            guard let asked = self.endAskedAt.withLock({ $0 }) else { continue }
            if clock.now - asked > Self.teardown.inNanoseconds + 200_000_000 {
                logger.warning("not everything ended in time; the next start completes a file that is still open")
                return
            }
        }
    }

    /// Whether anything was delivered at all.
    private var delivered: ChannelEnd {
        if outputs.statuses.contains(where: \.wasLive) || recordings.hasRecorded || clips.hasRecorded { return .done }
        logger.error("no output ever came on air, and nothing was recorded")
        return .failed(.nothingDelivered)
    }
}

// MARK: Outputs

extension Channel {
    /// Adds the live output that `address` describes as the flag does, under `name` or one that is free, and returns its
    /// name. Blocks until a port that it listens at is open. Throws ``OutputSpecificationError`` or ``OutputSetError``.
    package func add(address: String, name: String? = nil) throws -> String {
        var output = try OutputSpecification(requested: address)
        output.name = name ?? output.name
        return try add(output, origin: .api)
    }

    /// Puts the output that `address` describes in the place of the output `name`, under the same name. Throws as
    /// ``add(address:name:)`` does, and nothing is changed then.
    package func replace(_ name: String, by address: String, isPaused: Bool = false) throws {
        let output = try OutputSpecification(requested: address)
        try outputs.replace(by: try definition(of: output, name: name, origin: .api), isPaused: isPaused)
    }

    /// Adds a live output, and returns its name. Blocks until a port that it listens at is open. Throws ``OutputSetError``
    /// where there is one of this name, or where the port cannot be opened.
    @discardableResult
    package func add(_ output: OutputSpecification, origin: OutputOrigin) throws(OutputSetError) -> String {
        let name = output.name ?? output.address.freeName(besides: outputs.statuses.map(\.name))
        try outputs.add(try definition(of: output, name: name, origin: origin))
        return name
    }

    private func definition(
        of output: OutputSpecification, name: String, origin: OutputOrigin
    ) throws(OutputSetError) -> OutputDefinition {
        warn(of: output, name: name)
        do throws(OutputFailure) {
            return try output.definition(name: name, in: context, origin: origin)
        } catch {
            throw .refused(name, reason: error.reason)
        }
    }

    /// Tries every output at once that has given up or was refused. `cause` is for the log. Returns at once.
    package func retryOutputs(because cause: String) {
        let idle = outputs.statuses.filter { [.givenUp, .refused].contains($0.state) }
        if idle.isEmpty { logger.info("no output has given up or was refused: nothing to try again for \(cause)") }
        for output in idle {
            logger.notice("tried again because of \(cause)", metadata: ["output": "\(output.name)"])
            // One that was removed meanwhile needs no attempt.
            try? outputs.retryNow(output.name)
        }
    }

    /// The outputs of `configuration`, whose ports are open already.
    private static func definitions(
        of configuration: ChannelConfiguration, in context: OutputContext
    ) throws(ChannelFailure) -> [OutputDefinition] {
        var definitions: [OutputDefinition] = []
        for (output, name) in zip(configuration.outputs, configuration.outputNames) {
            do throws(OutputFailure) {
                definitions.append(
                    try output.definition(name: name, in: context, origin: configuration.origin))
            } catch {
                // A port that is taken is free when it is tried again; a service manager does not do that for wrong flags.
                throw ChannelFailure(
                    error.kind == .unreachable ? .nothingDelivered : .configuration,
                    "The output \(name) cannot be opened: \(error.reason).")
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
                throw ChannelFailure(.configuration, "\(error)")
            }
        }
    }

    private func warn(of output: OutputSpecification, name: String) {
        guard output.address.destination.isUnverified || output.backup?.destination.isUnverified == true else { return }
        logger.warning("\(name): tls=insecure: the receiver of this stream is not verified")
    }
}
