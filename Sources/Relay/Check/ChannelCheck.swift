// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Channel
internal import Dispatch
internal import Encoder
internal import Ingest
internal import Logging
internal import Media
internal import Networking
internal import Program
internal import Publisher
internal import RTMP
internal import Segmenter
internal import Upload

/// Tests everything that one channel needs: inputs, outputs, directories, uploads and the encoder. Blocks, and closes
/// everything that it has opened.
struct ChannelCheck: Sendable {
    typealias Row = CheckReport.Row

    /// How long an input may take to answer.
    private static let patience = Duration.seconds(15)
    /// How long a single check may take.
    static let longest = Duration.seconds(25)
    /// The share of the processor cores that the channel may use, so that some remain for other work.
    private static let share = 0.85

    let configuration: ChannelConfiguration
    let resources: HostResources
    let logger = Logger(label: "relay.check")

    /// Creates a check of the channel with this configuration.
    init(_ configuration: ChannelConfiguration, resources: HostResources) {
        (self.configuration, self.resources) = (configuration, resources)
    }

    /// Runs all checks, one after the other, and returns their results.
    func rows() -> [CheckReport.Row] {
        let recorded = configuration.recording.map { recording in
            within("recording") { room(for: recording, "recording") }
        }
        let second = configuration.recording?.second.map { recording in
            within("second recording") { room(for: recording, "second recording") }
        }
        let uploaded = configuration.recording?.upload.map { target in within("upload") { upload(to: target) } }
        let (inputs, encoder) = (inputs(), encoder())
        let answered = Set(inputs.filter { $0.result == .ok }.map(\.subject))
        let sources = sources(answered, beside: encoder?.cores)
        return inputs + outputs() + untaken() + [recorded, second, uploaded, encoder?.row, sources].compactMap(\.self)
    }

    /// Returns the row that `work` returns. If `work` takes too long, returns a row that says that `subject` failed.
    func within(_ subject: String, _ work: @escaping @Sendable () -> Row) -> Row {
        Answer.of("relay.check", within: Self.longest, work)
            ?? row(subject, .failed, "it does not answer within \(Self.longest.components.seconds) s")
    }

    func row(_ subject: String, _ result: CheckReport.Result, _ text: String) -> Row {
        Row(channel: configuration.name, subject: subject, result: result, text: text)
    }

    // MARK: Inputs

    private func inputs() -> [Row] {
        let video = configuration.sources.flatMap { source in
            let isAlone = !configuration.hasScenes
            return source.inputs.enumerated().map { index, input in
                let backup = isAlone ? "backup \(index)" : "\(source.name) backup \(index)"
                return answered(input, index > 0 ? backup : isAlone ? "input" : source.name)
            }
        }
        return video + (configuration.audioInput.map { [answered($0, "audio input")] } ?? [])
    }

    private func answered(_ location: InputLocation, _ subject: String) -> Row {
        within(subject) { input(location, subject) }
    }

    private func input(_ location: InputLocation, _ subject: String) -> Row {
        if location.isTest { return row(subject, .ok, "the built-in test pattern") }
        if let address = location.rtmpListenAddress { return listener(address, location, subject) }
        if location.isFile, let kind = FileStatus(location.description)?.kind, kind != .regular {
            return row(
                subject, .warning,
                "\(location) is not a plain file: it is not opened, because its reader would miss what this check reads"
            )
        }
        let opening = SourceOpening(logger: logger)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(Self.patience.inNanoseconds))) {
            opening.cancel()
        }
        do throws(IngestError) {
            let source = try SourceOpener.open(location, options: IngestOptions(), logger: logger, opening: opening)
            let description = source.description
            source.stop()
            let video = description.video.map { "\($0.width)x\($0.height), \($0.frameRate) fps" }
            let tracks = [video, description.hasAudio ? "audio" : nil].compactMap(\.self).joined(separator: ", ")
            return row(subject, .ok, "\(location): \(tracks)")
        } catch {
            // A live input that cannot be opened is only a warning: it may appear later, and the channel waits for it.
            let isAwaited = location.isLiveByNature != false
            return row(subject, isAwaited ? .warning : .failed, "\(error)")
        }
    }

    private func listener(_ address: String, _ location: InputLocation, _ subject: String) -> Row {
        do {
            let url = try RTMPListenURL(address, for: .input)
            let receiver = NoReceiver()
            let identity = url.isSecure ? try identity() : nil
            try resources.server.receive(url, identity: identity, receiver: receiver).cancel()
            return row(subject, .ok, "\(location): the port can be opened")
        } catch let failure as OutputFailure {
            return taken(failure, subject)
        } catch {
            return row(subject, .failed, "\(error)")
        }
    }

    private func identity() throws(OutputFailure) -> TLSServerIdentity? {
        guard let pair = configuration.certificate else { return nil }
        return try TLSServerIdentity(certificate: pair.certificate, key: pair.key) { _ in }
    }

    /// Returns the row for a port that cannot be opened. If the port is in use, the row is only a warning, because a
    /// relay that already runs this configuration may be using the port.
    private func taken(_ failure: OutputFailure, _ subject: String) -> Row {
        row(subject, failure.kind == .unreachable ? .warning : .failed, "\(failure.reason)")
    }

    // MARK: Outputs

    private func outputs() -> [Row] {
        zip(configuration.outputs, configuration.outputNames).flatMap { output, name in
            [row(of: output.address, "output \(name)")]
                + (output.backup.map { [row(of: $0, "backup of \(name)")] } ?? [])
        }
    }

    /// Returns the row for the address of an output.
    func row(of address: OutputAddress, _ subject: String) -> Row {
        let tools = OutputCheckResources(server: resources.server, identity: identity)
        return within(subject) { row(subject, address.destination.check(with: tools)) }
    }

    private func row(_ subject: String, _ finding: OutputFinding) -> Row {
        let result: CheckReport.Result =
            switch finding.result {
            case .usable: .ok
            case .doubtful: .warning
            case .unusable: .failed
            }
        return row(subject, result, finding.text)
    }

    // MARK: Disks

    private func room(for recording: ChannelConfiguration.Recording, _ subject: String) -> Row {
        let place = row(subject, DirectoryCheck.check(recording.directory))
        guard place.result == .ok else { return place }
        do throws(FileFailure) {
            try MountMemory.standard.checkMount(of: recording.directory, recording.mount)
            let space = try SystemFreeSpace().space(at: DirectoryCheck.existing(recording.directory))
            let encoder = configuration.recordedEncoder
            guard !configuration.copies, case .bitrate(let bitrate) = encoder.rateControl else {
                return row(subject, .ok, "\(place.text); \(ByteSize(bytes: space.free)) are free")
            }
            let count = recording.sources.isEmpty ? 1 : 1 + configuration.recordedVideos
            let own = StorageBudget(
                videoBitrate: bitrate, audioBitrate: encoder.audioBitrate, duration: recording.expected,
                reserve: recording.reserve, capacity: space.capacity)
            var budget = count > 1 ? own.shared(by: count) : own
            let owner = "\(configuration.name) \(subject)"
            let entry = resources.ledger.enter(on: space.fileSystem, of: owner) { [budget] in budget.bytes(after: 0) }
            // The budget includes the space that the recordings before this one in the configuration need on the same
            // disk.
            budget.neededByOthers = resources.ledger.bytes(before: entry)
            let isEnough = space.free > budget.requiredBytes || recording.retention != nil
            let text =
                "\(ByteSize(bytes: budget.requiredBytes)) are needed for \(DurationText(recording.expected))"
                + (budget.neededByOthers > 0 ? " and the other recordings, " : ", ")
                + "\(ByteSize(bytes: space.free)) are free"
            return row(subject, isEnough ? .ok : .failed, "\(place.text); \(text)")
        } catch {
            return row(subject, .failed, "\(error)")
        }
    }

    // MARK: Uploads

    /// Checks whether uploads to `target` can work. A missing remote is only a warning, because rclone's configuration
    /// belongs to a user: the service may run as another user, whose configuration has this remote.
    func upload(to target: UploadTarget) -> CheckReport.Row {
        let remote: String? = if case .remote(let remote, _) = target { "\(remote)" } else { nil }
        do throws(UploadRefusal) {
            if let trouble = try Uploader.trouble(with: target) { return row("upload", .warning, trouble) }
            return row("upload", .ok, remote.map { "\($0) answers" } ?? "the program can be run")
        } catch {
            guard remote != nil else { return row("upload", .failed, "\(error)") }
            return row(
                "upload", .warning,
                "\(error) Where relay runs as another user, that user's rclone counts; without the remote it does not start."
            )
        }
    }

    // MARK: The encoder

    /// Returns a warning for each rendition that neither an output nor a recording uses. An unused rendition is not an
    /// error, because an output that uses it may be added later.
    private func untaken() -> [Row] {
        configuration.untakenRenditions.map { name in
            row("rendition \(name)", .warning, "no output and no recording takes it, and it costs processor time")
        }
    }

    private func encoder() -> (row: Row, cores: Double?)? {
        guard configuration.copying != .all else { return nil }
        do throws(ChannelFailure) {
            let trial = try EncoderTrial(configuration, resources: resources, logger: logger)
            let renditions = try configuration.renditions.map { (rendition) throws(ChannelFailure) in
                try EncoderTrial(configuration, as: rendition, resources: resources, logger: logger)
            }
            let sources = configuration.recordedVideos
            let needed = trial.cores * Double(1 + sources) + renditions.reduce(0) { $0 + $1.cores }
            let others = zip(configuration.renditions, renditions).map { ", \($0.name) \($1.subject)" }.joined()
            let cores = Self.hundredths(needed)
            let isEnough = needed < Double(EncoderTrial.available) * Self.share
            let row = row(
                "encoder", isEnough || !configuration.isPaced ? .ok : .warning,
                "\(trial.subject)\(sources > 0 ? ", \(1 + sources) times" : "")\(others)"
                    + "\(sources > 0 || !others.isEmpty ? "," : "") needs \(cores) of \(EncoderTrial.available) cores")
            return (row, needed)
        } catch {
            return (row("encoder", .failed, "\(error)"), nil)
        }
    }

    static func hundredths(_ number: Double) -> Double { Double((number * 100).rounded()) / 100 }
}

/// A receiver that ignores all publications. The check opens a port only to see whether the port can be opened.
private final class NoReceiver: RTMPStreamReceiver {
    func publicationBegan(_ publication: RTMPPublication) {}
    func publication(_ publication: RTMPPublication, sent message: RTMPPublishedMessage) {}
    func publication(_ publication: RTMPPublication, ended end: RTMPPublication.End) {}
}

// MARK: Sources

extension ChannelCheck {
    /// Returns a row with the processor cores that several sources need: to decode the sources whose names are in
    /// `answered`, and to compose the scene that shows the most of them. Sources that wait for RTMP clients are left
    /// out, because the check does not wait for clients. `cores` is the number of cores that the encoder needs; the
    /// row's total includes it. Returns nil if the channel does not have several sources, or if there is no source to
    /// decode.
    func sources(_ answered: Set<String>, beside cores: Double?) -> Row? {
        let tried = configuration.sources.filter { answered.contains($0.name) && $0.input.rtmpListenAddress == nil }
        guard configuration.sources.count > 1, !tried.isEmpty else { return nil }
        var trial = SourcesTrial(configuration, clock: resources.clock, logger: logger)
        for source in tried {
            let before = trial
            let after = Answer.of("relay.check", within: Self.longest) {
                var trial = before
                trial.decode(source)
                return trial
            }
            if let after { trial = after }
        }
        return within("sources") { [trial] in row(of: trial, beside: cores ?? 0) }
    }

    private func row(of trial: SourcesTrial, beside encoder: Double) -> Row {
        guard !trial.decoded.isEmpty else { return row("sources", .warning, "none of them delivered a frame") }
        let layout = trial.heaviest
        let composing = layout.map { trial.cores(for: $0) } ?? 0
        let needed = trial.decoded.reduce(composing) { $0 + $1.cores }
        let each = trial.decoded.map { "\($0.name) \(Self.hundredths($0.cores))" }.joined(separator: ", ")
        let missing = configuration.sources.count - trial.decoded.count
        let isEnough = needed + encoder < Double(EncoderTrial.available) * Self.share
        return row(
            "sources", isEnough ? .ok : .warning,
            "\(trial.subject)\(layout.map { " with \($0.layout.rawValue)" } ?? "") need "
                + "\(Self.hundredths(needed)) of \(EncoderTrial.available) cores, with the encoder "
                + "\(Self.hundredths(needed + encoder)) (\(each))"
                + (missing > 0 ? "; \(missing) could not be tried" : ""))
    }
}
