// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Logging
internal import Media
internal import Program

extension Channel {
    /// Starts a recording while the channel is on air: its first file begins with the next keyframe, and no output feels
    /// it. Blocks until the directory and the remote have answered, at most 22 s where the file system does. Throws
    /// ``ChannelFailure`` if it is not possible, and ``RecordingSlotError`` if there is one already.
    package func startRecording(_ configuration: ChannelConfiguration.Recording) throws {
        try recordings.start {
            let place = try RecordingPlace(configuration, channel: name, logger: logger)
            return try Recording(configuration, in: place, of: recorded(configuration))
        }
    }

    /// Replaces the recording under way by another one, started as ``startRecording(_:)`` does. If that is not
    /// possible, the recording under way continues; if nothing is recorded, the start is tried again. Returns whether
    /// it was possible now.
    package func replaceRecording(_ configuration: ChannelConfiguration.Recording) throws -> Bool {
        do {
            try recordings.replace {
                let place = try RecordingPlace(configuration, channel: name, logger: logger)
                var program = try recorded(configuration)
                // A recording that the storage guard refuses is no better than the one under way.
                if recordings.current != nil { program.hasOutputs = false }
                return try Recording(configuration, in: place, of: program)
            }
            return true
        } catch let failure as ChannelFailure {
            guard lack(configuration, because: failure) else { throw failure }
            return false
        }
    }

    /// Sets up the recording that begins with the program; where that is not possible and it `canLack`, the program begins
    /// without it.
    func prepare(
        _ configuration: ChannelConfiguration.Recording, in place: Result<RecordingPlace, ChannelFailure>, canLack: Bool
    ) throws(ChannelFailure) {
        do throws(ChannelFailure) {
            recordings.prepare(try Recording(configuration, in: place.get(), of: recorded(configuration)))
        } catch {
            guard canLack, lack(configuration, because: error) else { throw error }
        }
    }

    /// Tries a recording that was not possible again and again. False if there is another one.
    private func lack(_ configuration: ChannelConfiguration.Recording, because failure: ChannelFailure) -> Bool {
        let isLacking = recordings.lack("\(failure)") { [weak self] in
            guard let self else { throw RecordingSlotError.over }
            // On a queue of its own, which waits for a file system however long that does not answer.
            let place = try RecordingPlace(configuration, channel: name, patience: nil, logger: logger)
            let recording = try Recording(configuration, in: place, of: recorded(configuration))
            logger.notice("the recording is possible now")
            return recording
        }
        if isLacking { logger.error("the channel is not recorded, which is tried again: \(failure)") }
        return isLacking
    }

    /// Stops the recording while the channel stays on air. Its file is closed and handed over beside the program.
    /// Returns at once.
    package func stopRecording() throws(RecordingSlotError) { try recordings.stop() }

    /// Begins a new file of the recording with the next keyframe. Returns at once, and whether there is a recording.
    @discardableResult
    package func cutRecording() -> Bool {
        guard let recording = recordings.current else { return false }
        recording.cut()
        return true
    }

    /// Marks the moment `time` of the program, in nanoseconds, with `text`. Returns at once.
    package func mark(_ text: String, at time: Int64) {
        for encoding in [stream] + program.renditions.map(\.stream) { encoding.mark(text, at: time) }
        recordings.current?.mark(text, at: time)
        logger.info("marked: \(text)", metadata: [LogKey.event: "marker"])
    }

    /// Notes in the log, and in the catalogue, what an operator did.
    package func note(_ text: String, output: String? = nil) {
        recordings.current?.noteEvent("operator", text)
        var metadata: Logger.Metadata = [LogKey.event: "operator"]
        metadata["output"] = output.map { "\($0)" }
        logger.notice("\(text)", metadata: metadata)
    }

    /// What a recording that is made as `configuration` says is told of this channel. Throws ``ChannelFailure`` if that names a
    /// rendition that there is not.
    func recorded(
        _ configuration: ChannelConfiguration.Recording
    ) throws(ChannelFailure) -> Recording.Program {
        let rendition = try configuration.rendition.map(self.rendition)
        var recorded = Recording.Program(
            channel: name, hasOutputs: !self.configuration.outputs.isEmpty || !outputs.statuses.isEmpty,
            delay: rendition.map { program.delay(of: $0) } ?? program.delay,
            gop: rendition?.settings.gop ?? program.gop,
            description: rendition?.encoder.description ?? hub.description,
            keyframes: rendition?.encoder ?? program.keyframes, ledger: resources.ledger, clock: clock, logger: logger)
        recorded.rendition = rendition
        guard !configuration.sources.isEmpty else { return recorded }
        recorded.sources = program.recordedSources
        // From now on, so that the recording has a keyframe to begin with.
        if configuration.takesPackets { keepPackets(of: configuration) }
        if let rendition { recorded.sources?.encoder = rendition.settings }
        return recorded
    }

    /// Keeps what live sources send until the program comes to it, if that is recorded as `recording` says.
    package func keepPackets(of recording: ChannelConfiguration.Recording?) {
        for source in program.recordedSources?.sources ?? [] where source.canBeCopied {
            source.bus.packets.isOn = recording?.takesPackets == true
        }
    }

    func rendition(_ name: String) throws(ChannelFailure) -> Rendition {
        guard let rendition = program.renditions.first(where: { $0.name == name }) else {
            throw ChannelFailure(.configuration, "Recording: \(configuration.renditions.unknown(name))")
        }
        return rendition
    }
}
