// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Logging
internal import Media
internal import Program

extension Channel {
    /// Starts a recording while the channel is on air. The recording's first file begins with the next keyframe; the
    /// outputs are not affected. Blocks until the record directory and the remote for uploads have answered: at most 22
    /// s, unless the file system hangs. Throws ``ChannelFailure`` if the recording cannot be started, and
    /// ``RecordingSlotError`` if the channel is being recorded already.
    package func startRecording(_ configuration: ChannelConfiguration.Recording) throws {
        try recordings.start {
            let place = try RecordingPlace(configuration, channel: name, logger: logger)
            return try Recording(configuration, in: place, of: recorded(configuration))
        }
    }

    /// Replaces the current recording by a new one, which is started in the same way as by ``startRecording(_:)``. If
    /// the new recording cannot be started, the current recording continues, and the error is thrown. If there is no
    /// current recording either, the start is instead retried in the background, and the result is false.
    package func replaceRecording(_ configuration: ChannelConfiguration.Recording) throws -> Bool {
        do {
            try recordings.replace {
                let place = try RecordingPlace(configuration, channel: name, logger: logger)
                var program = try recorded(configuration)
                // A recording that would have to wait for disk space is refused here, so that the current recording
                // continues.
                if recordings.current != nil { program.hasOutputs = false }
                return try Recording(configuration, in: place, of: program)
            }
            return true
        } catch let failure as ChannelFailure {
            guard lack(configuration, because: failure) else { throw failure }
            return false
        }
    }

    /// Sets up the recording that begins with the program. If the setup fails and `canLack` is true, the program begins
    /// without a recording, and the setup is retried in the background.
    func prepare(
        _ configuration: ChannelConfiguration.Recording, in place: Result<RecordingPlace, ChannelFailure>, canLack: Bool
    ) throws(ChannelFailure) {
        do throws(ChannelFailure) {
            recordings.prepare(try Recording(configuration, in: place.get(), of: recorded(configuration)))
        } catch {
            guard canLack, lack(configuration, because: error) else { throw error }
        }
    }

    /// After `failure`, schedules further attempts in the background to set up the recording. Returns false, and does
    /// nothing, if the channel has another recording.
    private func lack(_ configuration: ChannelConfiguration.Recording, because failure: ChannelFailure) -> Bool {
        let isLacking = recordings.lack("\(failure)") { [weak self] in
            guard let self else { throw RecordingSlotError.over }
            // The retry runs on the slot's own queue, which is allowed to block until the file system answers.
            let place = try RecordingPlace(configuration, channel: name, patience: nil, logger: logger)
            let recording = try Recording(configuration, in: place, of: recorded(configuration))
            logger.notice("the recording is possible now")
            return recording
        }
        if isLacking { logger.error("the channel is not recorded, which is tried again: \(failure)") }
        return isLacking
    }

    /// Stops the recording while the channel stays on air. The recording's file is closed, and handed over for upload,
    /// in the background. Returns at once.
    package func stopRecording() throws(RecordingSlotError) { try recordings.stop() }

    /// Begins a new file of the recording with the next keyframe. Returns at once. The result is false if there is no
    /// recording.
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
        logger.info("marked: \(text)", metadata: [LogKey.event: "\(EventKind.marker.rawValue)"])
    }

    /// Records an operator's action in the log and in the catalogue.
    package func note(_ text: String, output: String? = nil) {
        recordings.current?.noteEvent("operator", text)
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
            clock: clock, logger: logger)
        recorded.rendition = rendition
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
