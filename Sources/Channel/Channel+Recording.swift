// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Logging
package import Media
internal import Networking
internal import Program

/// How a channel sets up one of its recordings, and what it does if that fails.
private struct RecordingPolicy {
    /// Holds the recording.
    let slot: RecordingSlot
    /// Whether the complete setup must end within ``patience``. Otherwise only the directory and the query for free space
    /// must answer within this time, because the setup can delete files of a large archive.
    let limitsSetup: Bool
    /// Whether the setup asks if the remote for uploads answers.
    let asksRemote: Bool
    /// The level at which a failure is logged.
    let level: Logger.Level
    /// Where the channel is recorded, for the log: empty for the record directory.
    let place: String

    /// How long the program, or an operator, waits for a disk.
    static let patience = Duration.seconds(10)

    /// The policy for a recording of `configuration`. A failure in the second directory never affects the program or
    /// the recording in the record directory, which has asked the remote already.
    init(of configuration: ChannelConfiguration.Recording, in recordings: ChannelRecordings) {
        let isSecond = configuration.beside != nil
        slot = isSecond ? recordings.second : recordings.first
        (limitsSetup, asksRemote, level) = (isSecond, !isSecond, isSecond ? .warning : .error)
        place = isSecond ? " in \(configuration.directory)" : ""
    }
}

extension Channel {
    /// Starts a recording while the channel is on air, and another one in the second directory if there is one. The
    /// first files begin with the next keyframe; the outputs are not affected. Blocks until the record directories and
    /// the remote for uploads have answered: at most 10 s for each directory and 3 s for the remote, unless a file
    /// system hangs afterwards. Throws ``ChannelFailure`` if no recording can be started, and ``RecordingSlotError`` if
    /// the channel is being recorded already. If one of two recordings cannot be started, this is retried in the
    /// background.
    package func startRecording(_ configuration: ChannelConfiguration.Recording) throws {
        do {
            try recordings.first.start { try make(configuration) }
        } catch let failure as ChannelFailure where failure.cause != .configuration {
            guard startSecond(of: configuration, isRetried: false), lack(configuration, because: failure) else {
                throw failure
            }
            return
        }
        startSecond(of: configuration, isRetried: true)
    }

    /// Replaces the current recording by a new one, which is started in the same way as by ``startRecording(_:)``. If
    /// the new recording cannot be started, the current recording continues, and the error is thrown. If there is no
    /// current recording either, the start is instead retried in the background, and the result is false. With
    /// `keepsFirst`, a current recording in the record directory continues, and only the one in the second directory is
    /// replaced. That one is also replaced if the disk of the record directory is the reason for an error.
    package func replaceRecording(
        _ configuration: ChannelConfiguration.Recording, keepsFirst: Bool = false
    ) throws -> Bool {
        let isRecorded: Bool
        do {
            isRecorded = try keepsFirst && recordings.first.current != nil || replaceFirst(configuration)
        } catch let failure as ChannelFailure where failure.cause != .configuration {
            replaceSecond(of: configuration)
            throw failure
        }
        replaceSecond(of: configuration)
        return isRecorded
    }

    private func replaceFirst(_ configuration: ChannelConfiguration.Recording) throws -> Bool {
        do {
            // If there is a current recording, a new recording that would have to wait for disk space is refused, so
            // that the current one continues.
            try recordings.first.replace { try make(configuration, canWait: recordings.first.current == nil) }
            return true
        } catch let failure as ChannelFailure {
            guard lack(configuration, because: failure) else { throw failure }
            return false
        }
    }

    /// Sets up the recordings that begin with the program. If the recording in the record directory cannot be set up,
    /// and `canLack` is true or the recording in the second directory was set up, the program begins without the first
    /// recording, and its setup is retried in the background. With a second recording alone, an error of the
    /// configuration is thrown nevertheless.
    func prepare(
        _ configuration: ChannelConfiguration.Recording, in places: RecordingPlaces, canLack: Bool
    ) throws(ChannelFailure) {
        do throws(ChannelFailure) {
            recordings.first.prepare(try make(configuration, in: places.first))
            prepareSecond(of: configuration, in: places)
        } catch {
            let hasSecond = prepareSecond(of: configuration, in: places)
            let canContinue = canLack || hasSecond && error.cause != .configuration
            guard canContinue, lack(configuration, because: error) else { throw error }
        }
    }

    /// Sets up a recording with `configuration`, in `place` if that is prepared already. Blocks until the file system
    /// and the remote for uploads have answered. Throws an error if the file system takes longer than the
    /// ``RecordingPolicy`` allows. Without `canWait`, a recording that would have to wait for disk space is refused.
    private func make(
        _ configuration: ChannelConfiguration.Recording, in place: Result<RecordingPlace, ChannelFailure>? = nil,
        canWait: Bool = true
    ) throws(ChannelFailure) -> Recording {
        let policy = RecordingPolicy(of: configuration, in: recordings)
        let (patience, asksRemote) = (policy.limitsSetup ? nil : RecordingPolicy.patience, policy.asksRemote)
        let ask: @Sendable () -> Result<Recording, ChannelFailure> = { [self] in
            Result { () throws(ChannelFailure) in
                let prepared = try place.map { (place) throws(ChannelFailure) in try place.get() }
                let place =
                    if let prepared { prepared } else {
                        try RecordingPlace(
                            configuration, channel: name, patience: patience, asksRemote: asksRemote,
                            collisions: resources.collisions, logger: configuration.logger(logger))
                    }
                // The storage guard asks the file system without a limit.
                if !policy.limitsSetup { try place.checkDisk(within: RecordingPolicy.patience) }
                var program = try recorded(configuration)
                if !canWait { program.hasOutputs = false }
                return try Recording(configuration, in: place, of: program)
            }
        }
        guard policy.limitsSetup else { return try ask().get() }
        guard let answer = Answer.of("relay.prepare", within: RecordingPolicy.patience, ask) else {
            throw ChannelFailure(
                .cannotRecord, .record(configuration.directory), because: "its file system does not answer")
        }
        return try answer.get()
    }

    /// After `failure`, schedules further attempts in the background to set up the recording of `configuration`.
    /// Returns false, and does nothing, if its directory has another recording or the program has ended.
    @discardableResult
    private func lack(_ configuration: ChannelConfiguration.Recording, because failure: ChannelFailure) -> Bool {
        let policy = RecordingPolicy(of: configuration, in: recordings)
        let isLacking = policy.slot.lack(
            "\(failure)", remake(configuration, saying: "the recording\(policy.place) is possible now"))
        if isLacking {
            configuration.logger(logger).log(
                level: policy.level,
                "the channel is not recorded\(policy.place), which is tried again: \(failure)")
        }
        return isLacking
    }

    /// Returns a closure that sets up a recording with `configuration` and logs `text`. The closure runs on a queue of
    /// its own, which is allowed to block until the file system answers. The channel may be over by then, so it is not
    /// retained meanwhile.
    private func remake(
        _ configuration: ChannelConfiguration.Recording, saying text: String
    ) -> @Sendable () throws -> Recording {
        let (name, logger, collisions) = (name, configuration.logger(logger), resources.collisions)
        let asksRemote = RecordingPolicy(of: configuration, in: recordings).asksRemote
        return { [weak self] in
            let place = try RecordingPlace(
                configuration, channel: name, patience: nil, asksRemote: asksRemote, collisions: collisions,
                logger: logger)
            guard let self else { throw RecordingSlotError.over }
            let recording = try Recording(configuration, in: place, of: recorded(configuration))
            logger.notice("\(text)")
            return recording
        }
    }

    /// Stops the recordings while the channel stays on air. Their files are closed, and handed over for upload, in the
    /// background. Returns at once.
    package func stopRecording() throws(RecordingSlotError) { try recordings.stop() }

    /// Begins a new file of each recording with the next keyframe. Returns at once. The result is false if there is no
    /// recording.
    @discardableResult
    package func cutRecording() -> Bool {
        let recordings = recordings.current
        for recording in recordings { recording.cut() }
        return !recordings.isEmpty
    }

    /// Sets the mark `text` at `time` in all encodings, in the recordings and in the
    /// log. Returns at once.
    package func mark(_ text: String, at time: ProgramInstant) {
        for encoding in [stream] + program.renditions.map(\.stream) { encoding.mark(text, at: time) }
        for recording in recordings.current { recording.mark(text, at: time) }
        logger.info("marked: \(text)", metadata: [LogKey.event: "\(EventKind.marker.rawValue)"])
    }

    /// Records an operator's action in the log and in the catalogues.
    package func note(_ text: String, output: String? = nil) {
        recordings.noteEvent(.operator, text)
        var metadata: Logger.Metadata = [LogKey.event: "\(EventKind.operator.rawValue)"]
        metadata["output"] = output.map { "\($0)" }
        logger.notice("\(text)", metadata: metadata)
    }

    /// Describes this channel for a recording made from `configuration`. Throws ``ChannelFailure`` if `configuration`
    /// names a rendition that does not exist.
    func recorded(
        _ configuration: ChannelConfiguration.Recording
    ) throws(ChannelFailure) -> Recording.Program {
        let rendition = try configuration.rendition.map { (name) throws(ChannelFailure) in
            try self.rendition(name, below: configuration.directory)
        }
        var recorded = Recording.Program(
            channel: name, hasOutputs: !self.configuration.outputs.isEmpty || !outputs.statuses.isEmpty,
            delay: rendition.map { program.delay(of: $0) } ?? program.delay,
            gop: rendition?.settings.gop ?? program.gop,
            description: rendition?.encoder.description ?? hub.description,
            keyframes: rendition?.encoder ?? program.keyframes, ledger: resources.ledger, queues: resources.queues,
            clock: clock, logger: configuration.logger(logger))
        recorded.rendition = rendition
        if configuration.beside != nil {
            // The second directory's recording has its own name in the space ledger, so that each directory has room
            // for the complete recording, even if both are on one disk.
            recorded.owner = "\(name) (second directory)"
            recorded.queues = resources.secondQueues
        }
        guard !configuration.sources.isEmpty else { return recorded }
        recorded.sources = program.recordedSources
        // Packets of the live sources are kept from now on, so that the first packet of each source's recording can be
        // a keyframe.
        if configuration.takesPackets { keepPackets(of: configuration) }
        if let rendition { recorded.sources?.encoder = rendition.settings }
        return recorded
    }

    /// If `recording` is to contain the packets of live sources, keeps these packets until the program shows their
    /// frames. Otherwise keeps no packets.
    package func keepPackets(of recording: ChannelConfiguration.Recording?) {
        for source in program.recordedSources?.sources ?? [] where source.canBeCopied {
            source.bus.packets.isOn = recording?.takesPackets == true
        }
    }

    /// Returns the rendition `name` for a recording below `directory`. Errors name the directory.
    private func rendition(_ name: String, below directory: String) throws(ChannelFailure) -> Rendition {
        guard let rendition = program.renditions.first(where: { $0.name == name }) else {
            throw ChannelFailure(
                .configuration, .record(directory), saying: "Recording: \(configuration.renditions.unknown(name))")
        }
        return rendition
    }
}

// MARK: The recording in the second directory

extension Channel {
    /// Sets up the recording in the second directory of `configuration`, if there is such a directory. If the setup
    /// fails, it is retried in the background. Returns whether the recording is set up.
    @discardableResult
    private func prepareSecond(of configuration: ChannelConfiguration.Recording, in places: RecordingPlaces) -> Bool {
        recordings.adopt(secondDirectory: configuration.also)
        guard let second = configuration.second, let place = places.second else { return false }
        do throws(ChannelFailure) {
            recordings.second.prepare(try make(second, in: place))
            return true
        } catch {
            lack(second, because: error)
            return false
        }
    }

    /// Starts the recording in the second directory of `configuration` while the channel is on air, if there is such a
    /// directory. With `isRetried`, there is a recording in the record directory; if the start fails, it is then
    /// retried in the background, unless that recording was stopped meanwhile. Blocks until the directory has answered,
    /// for at most 10 s. Returns whether the channel is recorded there.
    @discardableResult
    private func startSecond(of configuration: ChannelConfiguration.Recording, isRetried: Bool) -> Bool {
        recordings.adopt(secondDirectory: configuration.also)
        guard let second = configuration.second else { return false }
        do {
            try recordings.second.start {
                // A stop of the recordings from now on also stops this start.
                if isRetried, recordings.first.current == nil { throw RecordingSlotError.notRecording }
                return try make(second)
            }
            return true
        } catch let failure as ChannelFailure {
            if isRetried { lack(second, because: failure) }
            return false
        } catch {
            // There is a recording already, the recordings were stopped, or the program is over.
            return recordings.second.current != nil
        }
    }

    /// Replaces the current recording in a second directory by that of `configuration`, or ends it if there is no
    /// second directory any more. If there is too little space to begin a new recording in the same directory, the
    /// current one continues. If the new recording cannot be started for another reason, the current one ends
    /// nevertheless, because its settings do not apply any more, and the start is retried in the background.
    private func replaceSecond(of configuration: ChannelConfiguration.Recording) {
        let isSameDirectory = recordings.adopt(secondDirectory: configuration.also)
        let canContinue = isSameDirectory && recordings.second.current != nil
        do {
            // A recording that an operator is starting has the earlier settings, and does not begin.
            guard let second = configuration.second else { return try recordings.second.stop(stopsStart: true) }
            do {
                try recordings.second.replace(replacesStart: true) { try make(second, canWait: !canContinue) }
            } catch let failure as ChannelFailure {
                if canContinue, failure.cause == .storageRefused {
                    return logger.warning(
                        "the recording in \(second.directory) continues with its earlier settings: \(failure)")
                }
                // An error means that there is no current recording to stop.
                try? recordings.second.stop(stopsStart: true)
                lack(second, because: failure)
            }
        } catch {
            // There was no recording in a second directory, or the program is over.
        }
    }
}
