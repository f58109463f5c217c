// SPDX-License-Identifier: Apache-2.0

package import Archive
package import Encoder
package import FanOut
package import Ingest
internal import LibAV
internal import Logging
package import Media
package import Monitor
internal import Networking
package import Program
internal import Publisher
package import Segmenter
package import Studio
package import Upload

/// The configuration of one channel: parsed, checked, and free of contradictions.
package struct ChannelConfiguration {
    /// The settings of the recorder and of its storage guard.
    package struct Recording {
        package var directory: String
        /// The directory of a second recording of the same program; nil without a second recording. See ``second``.
        package var also: String?
        /// In the settings of a second recording, the directory of the first one; otherwise nil.
        var beside: String?
        /// Whether the directory must be on a mounted disk.
        package var mount = MountRule.remembered
        package var length: SegmentLength
        /// The expected length of the recording, for which space is reserved.
        package var expected: Duration
        package var warning: Duration
        package var reserve: ByteSize?
        package var format = RecordFormat.hybrid
        package var template = NameTemplate.standard
        package var sync = SyncPolicy.standard
        package var isClockAligned = false
        package var localOffset: WallClockGrid.Offset = { _ in 0 }
        /// The rules that decide which files are kept; nil means that all files are kept.
        package var retention: RetentionRules?
        /// The remote or the command that gets finished files; nil means that nothing is uploaded.
        package var upload: UploadTarget?
        /// The names of the program's sources that are also recorded, each into files of its own.
        package var sources: [String] = []
        /// The rendition that is recorded; nil means the program's own encoding.
        package var rendition: String?
        /// Whether the recordings of ``sources`` contain the packets that the sources send, without re-encoding, if
        /// that is possible.
        package var copiesSources = true
        /// How much of the program is kept in memory for clips that are taken while nothing is recorded; nil means that
        /// clips can be taken from a recording only.
        package var replay: Duration?
        /// Whether only clips are recorded until an operator starts a recording.
        package var isForClips = false

        /// Creates the settings of a recording below `directory`.
        package init(
            directory: String, mount: MountRule = MountRule.remembered, length: SegmentLength, expected: Duration,
            warning: Duration, reserve: ByteSize? = nil, format: RecordFormat = RecordFormat.hybrid,
            template: NameTemplate = NameTemplate.standard, sync: SyncPolicy = SyncPolicy.standard,
            isClockAligned: Bool = false, localOffset: @escaping WallClockGrid.Offset = { _ in 0 },
            retention: RetentionRules? = nil, upload: UploadTarget? = nil, sources: [String] = [],
            rendition: String? = nil, copiesSources: Bool = true, replay: Duration? = nil, isForClips: Bool = false
        ) {
            (self.directory, self.mount, self.length, self.expected) = (directory, mount, length, expected)
            (self.warning, self.reserve, self.format, self.template) = (warning, reserve, format, template)
            (self.sync, self.isClockAligned, self.localOffset, self.retention) = (
                sync, isClockAligned, localOffset, retention
            )
            (self.upload, self.sources, self.rendition, self.copiesSources) = (
                upload, sources, rendition, copiesSources
            )
            (self.replay, self.isForClips) = (replay, isForClips)
        }

        /// Whether source packets are to be recorded without re-encoding.
        package var takesPackets: Bool { copiesSources && format == .hybrid && !sources.isEmpty }
    }

    /// A source of the program: an input, and its backups.
    package struct Source {
        /// The name that scenes, logs and the status use.
        package var name: String
        package var input: InputLocation
        /// The inputs that replace ``input`` while ``input`` delivers nothing, in order of preference.
        package var backups: [InputLocation] = []
        /// How the source chooses between ``input`` and ``backups``.
        package var selection = SourceSelector.Options()
        /// What happens to the source's input, if that is a file, while the source is neither visible nor audible.
        package var whenOff = WhenOff.keep
        /// The settings of the source's audio until an operator changes them.
        package var audio = Fader.Settings()
        /// If this source is a file of an offline render: the time between the beginning of the show and the beginning
        /// of the file.
        package var lead = Duration.zero

        /// Creates the source `name`, which reads `input`; without a name, the address is the name.
        package init(
            name: String? = nil, input: InputLocation, backups: [InputLocation] = [],
            selection: SourceSelector.Options = SourceSelector.Options(), whenOff: WhenOff = WhenOff.keep,
            audio: Fader.Settings = Fader.Settings(), lead: Duration = Duration.zero
        ) {
            (self.name, self.input, self.backups) = (name ?? input.description, input, backups)
            (self.selection, self.whenOff, self.audio, self.lead) = (selection, whenOff, audio, lead)
        }

        /// The inputs of the source in order of preference. ``inputNames`` has their names in logs and the status.
        package var inputs: [InputLocation] { [input] + backups }
        package var inputNames: [String] { [name] + backups.map(\.description) }

        /// Whether a recording of the source can contain the packets of its inputs, because the packets can be kept
        /// while their frames are decoded. This is the case if all inputs are live and none is a device.
        package var canKeepPackets: Bool { inputs.allSatisfy { $0.isLiveByNature == true && !$0.isDevice } }
    }

    /// The tracks of the input that are passed through.
    package enum Copying {
        case nothing, video, audio, all
    }

    package var name = "relay"
    /// Where the outputs were configured: by flags, by the configuration file or by the API.
    package var origin = OutputOrigin.flags
    /// The program's sources; empty for a program that plays run-downs only.
    package var sources = [Source(input: InputLocation("test:"))]
    /// The named scenes of a program with ``hasScenes``.
    package var scenes: [(name: String, layout: SceneLayout)] = []
    /// The overlays of a program with scenes, from the back to the front.
    package var overlays: [OverlaySpecification] = []
    /// The stingers that a program with scenes can show over a change of scene.
    package var stingers: [StingerSpecification] = []
    /// The run-down that a program with scenes plays by itself.
    package var runDown: RunDown?
    /// The directory of the files that run-downs of API clients play; nil for a program without run-downs.
    package var runDownDirectory: String?
    /// Which sources are audible in a program with scenes.
    package var audioChoice = Director.AudioChoice.follow
    /// The slate that is shown when no input delivers anything; nil means that the last frame stays. The scene `slate`
    /// of a program with scenes then shows color bars.
    package var slate: SlateSpecification?
    /// The input of the program's audio, if audio and video come from different inputs; otherwise nil.
    package var audioInput: InputLocation?
    /// The tracks of the input that go on air without being re-encoded.
    package var copying = Copying.nothing
    /// The certificate that listeners with TLS present, and its key: two files in PEM format.
    package var certificate: (certificate: String, key: String)?
    /// `onPublish` decides which clients are allowed to publish to relay; `onPlay` decides which clients are allowed to
    /// play.
    package var onPublish: ClientDecision?
    package var onPlay: ClientDecision?
    package var loops = false
    package var isPaced = true
    package var size: FrameSize?
    package var frameRate: FrameRate?
    /// The file to which a hash of each frame is written.
    package var frameHashes: String?
    package var duration: Duration?
    package var encoder = EncoderSettings()
    /// Encodings of the program in addition to the program's own encoding.
    package var renditions: [RenditionSpecification] = []
    package var monitor = MonitorSettings()
    package var outputs: [OutputSpecification] = []
    package var recording: Recording?

    /// Creates a channel that shows the test signal, and has no outputs.
    package init() {}
}

extension ChannelConfiguration {
    /// The number of sources with video that are recorded. The files of each can be as large as the program's.
    package var recordedVideos: Int { recording?.sources.isEmpty == false ? sources.count : 0 }

    /// The encoder settings of the recorded encoding.
    package var recordedEncoder: EncoderSettings {
        let rendition = renditions.first { $0.name == recording?.rendition }
        return rendition?.settings(beside: encoder) ?? encoder
    }

    /// The renditions that neither an output nor the recording takes.
    package var untakenRenditions: [String] {
        let taken = Set(outputs.compactMap(\.rendition) + [recording?.rendition].compactMap(\.self))
        return renditions.map(\.name).filter { !taken.contains($0) }
    }

    /// Whether any track of the input is passed through.
    package var copies: Bool { copying != .nothing }

    /// Whether a director composes the program, because there are several sources, overlays or run-downs. Otherwise
    /// there is one source, and the program shows only that source.
    package var hasScenes: Bool { sources.count != 1 || !overlays.isEmpty || runDownDirectory != nil }

    /// All inputs of all sources, and the audio input if there is a separate one.
    package var allInputs: [InputLocation] { sources.flatMap(\.inputs) + [audioInput].compactMap(\.self) }

    /// Returns the program's format if the first input has the format `native`. This is the input's own format, except
    /// for the size and rate that are configured. A program of a configured size has square pixels, unless the input
    /// has this size. Color properties that the input leaves unspecified follow from the program's size. A program of
    /// several sources or with run-downs has standard dynamic range, to which each source can be converted.
    package func shape(_ native: VideoFormat) -> VideoFormat {
        var format = native
        if let size, size != FrameSize(width: native.width, height: native.height) {
            (format.width, format.height, format.sampleAspectRatio) = (size.width, size.height, .square)
        }
        if let frameRate { format.frameRate = frameRate }
        let isOfSeveral = sources.count > 1 || runDownDirectory != nil
        let color = isOfSeveral && native.color.isHDR ? .unspecified : native.color
        format.color = color.resolved(width: format.width, height: format.height)
        return format
    }

    /// Returns the options by which `source` chooses between its inputs.
    func choice(of source: Source) -> SourceSelector.Options {
        var options = source.selection
        options.hasSlate = slate != nil
        return options
    }

    /// Whether any source has backups, or there is a slate.
    package var hasChoice: Bool { slate != nil || sources.contains { !$0.backups.isEmpty } }

    /// The maximum number of file descriptors that the outputs use.
    package var descriptors: Int {
        outputs.reduce(0) { $0 + $1.descriptors }
    }

    /// The names of the outputs. An output without a configured name is named after its protocol, with a number.
    package var outputNames: [String] {
        let given = outputs.compactMap(\.name)
        return outputs.reduce(into: []) { names, output in
            names.append(output.name ?? output.address.freeName(besides: names + given))
        }
    }
}

// MARK: The names under which a channel records, and its record directories

extension ChannelConfiguration {
    /// How long a question about two directories waits for their disks.
    fileprivate static let patience = Duration.seconds(3)

    /// The names under which the channel records: its own, and those of its sources if they are recorded.
    package var recordedNames: [String] {
        guard let recording else { return [] }
        return [name] + recording.sources.map { SegmentName.channel(name, source: $0) }
    }

    /// The record directories, each with the names under which the channel records there. Only the program is recorded
    /// in the second directory.
    private var recordedPlaces: [(String, [String])] {
        guard let recording else { return [] }
        var places = [(recording.directory, recordedNames)]
        if let also = recording.also { places.append((also, [name])) }
        return places
    }

    /// Returns a name under which both this channel and `other` would record in the same directory; nil if there is no
    /// such name. Blocks on the disks if two directories are written differently. If the disks do not answer within
    /// 3 s, these directories count as different.
    package func nameRecordedTwice(with other: ChannelConfiguration) -> String? {
        for (directory, names) in recordedPlaces {
            for (another, taken) in other.recordedPlaces {
                let twice = names.first { taken.contains($0) }
                if let twice, Self.areSame(directory, another) { return twice }
            }
        }
        return nil
    }

    private static func areSame(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        return Answer.of("relay.prepare", within: patience) { RecordDirectory.areSame(one, other) } ?? false
    }
}

extension ChannelConfiguration.Recording {
    /// The recording in the second directory; nil if there is no such directory. It has the same settings, and contains
    /// the program alone: sources are recorded and clips are taken in the first directory.
    package var second: ChannelConfiguration.Recording? {
        guard let also else { return nil }
        var second = self
        (second.directory, second.beside, second.also) = (also, directory, nil)
        (second.sources, second.replay) = ([], nil)
        second.upload = upload?.ofSecondDirectory
        return second
    }

    /// A sentence that says that the two record directories are the same, or that one of them is in the other: files of
    /// one recording would then be taken for those of the other. Nil if the directories are apart, if there is only one
    /// directory, and if the disks do not answer within 3 s. Blocks on the disks.
    package var collision: String? {
        guard let also else { return nil }
        let answer = Answer.of("relay.prepare", within: ChannelConfiguration.patience) { [directory] in
            RecordDirectory.areNested(directory, also)
        }
        return answer == true ? Self.collision(of: also, and: directory) : nil
    }

    /// Returns a sentence that says that `second` and `first` are the same directory, or that one of them is in the
    /// other.
    static func collision(of second: String, and first: String) -> String {
        "\(second) and \(first) are the same directory, or one is in the other"
    }

    /// Returns `logger` for the log lines of this recording. If there are two record directories, each line names the
    /// directory of this recording.
    func logger(_ logger: Logger) -> Logger {
        guard also != nil || beside != nil else { return logger }
        var logger = logger
        logger[metadataKey: "directory"] = "\(directory)"
        return logger
    }
}

// MARK: Outputs

extension OutputAddress {
    /// Returns a name such as `srt-1`: the kind's name, and the lowest number for which the name is not among `names`.
    func freeName(besides names: [String]) -> String {
        var number = 1
        while names.contains("\(kind.name)-\(number)") { number += 1 }
        return "\(kind.name)-\(number)"
    }
}

extension OutputSpecification {
    /// The maximum number of file descriptors that the output uses.
    var descriptors: Int { [address, backup].compactMap(\.self).reduce(0) { $0 + $1.destination.descriptors } }

    /// Returns the output's definition, under the name `name`. If the output listens on a port, blocks until the port
    /// is open; throws if the port cannot be opened.
    func definition(
        name: String, in context: OutputContext, origin: OutputOrigin
    ) throws(OutputFailure) -> OutputDefinition {
        let limits = context.isCopied ? limits.forBursts : limits
        let context = try context.of(rendition)
        let registration = DescriptorReserve.shared.count(descriptors)
        return OutputDefinition(
            name: name, rendition: rendition,
            target: try address.destination.target(name: name, with: context.resources),
            backup: try backup.map { (address) throws(OutputFailure) in
                try address.destination.target(name: name, with: context.resources)
            }, limits: limits, retry: retry, origin: origin, registration: registration)
    }
}
