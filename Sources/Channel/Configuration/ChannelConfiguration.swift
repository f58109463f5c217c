// SPDX-License-Identifier: Apache-2.0

package import Archive
package import Encoder
package import FanOut
package import Ingest
package import Media
package import Monitor
internal import Networking
package import Program
internal import Publisher
package import Segmenter
package import Studio
package import Upload

/// What one channel is to do: read, checked, and free of contradictions.
package struct ChannelConfiguration {
    /// What the recorder and its guard are to do.
    package struct Recording {
        package var directory: String
        /// Whether it is on a disk that is mounted.
        package var mount = MountRule.remembered
        package var length: SegmentLength
        /// The length to reserve space for.
        package var expected: Duration
        package var warning: Duration
        package var reserve: ByteSize?
        package var format = RecordFormat.hybrid
        package var template = NameTemplate.standard
        package var sync = SyncPolicy.standard
        package var isClockAligned = false
        package var localOffset: WallClockGrid.Offset = { _ in 0 }
        /// What of it is kept; nil for all.
        package var retention: RetentionRules?
        /// What is done with finished files.
        package var upload: UploadTarget?
        /// The sources of the program that are recorded beside it, each into files of its own.
        package var sources: [String] = []
        /// The rendition that is recorded; nil for the program's own encoding.
        package var rendition: String?
        /// Whether what they send is recorded as it comes, where that is possible.
        package var copiesSources = true
        /// How much of the program is kept in memory for clips that are taken while nothing is recorded; nil where a clip is
        /// a part of a recording alone.
        package var replay: Duration?
        /// Whether nothing but clips is recorded, unless an operator starts it.
        package var isForClips = false

        /// A recording below `directory`.
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

        /// Whether packets of sources are recorded as they come.
        package var takesPackets: Bool { copiesSources && format == .hybrid && !sources.isEmpty }
    }

    /// One of several sources of a program.
    package struct Source {
        /// By which scenes name it.
        package var name: String
        package var input: InputLocation
        /// What takes its place while it is away, in this order.
        package var backups: [InputLocation] = []
        /// How the choice is made.
        package var selection = SourceSelector.Options()
        /// What a file does while it is neither seen nor heard.
        package var whenOff = WhenOff.keep
        /// What is done with its audio until an operator says something else.
        package var audio = Fader.Settings()
        /// How much later than the show a file begins that is rendered.
        package var lead = Duration.zero

        /// The source `name`, which reads `input`.
        package init(
            name: String, input: InputLocation, backups: [InputLocation] = [],
            selection: SourceSelector.Options = SourceSelector.Options(), whenOff: WhenOff = WhenOff.keep,
            audio: Fader.Settings = Fader.Settings(), lead: Duration = Duration.zero
        ) {
            (self.name, self.input, self.backups, self.selection) = (name, input, backups, selection)
            (self.whenOff, self.audio, self.lead) = (whenOff, audio, lead)
        }
    }

    /// The tracks of the input that are passed through.
    package enum Copying {
        case nothing, video, audio, all
    }

    package var name = "relay"
    /// Where the outputs were named.
    package var origin = OutputOrigin.flags
    package var input = InputLocation("test:")
    /// What logs and the status call the input; nil for its address.
    package var inputName: String?
    /// What takes the input's place while it is away, in this order.
    package var backups: [InputLocation] = []
    /// How the choice is made.
    package var selection = SourceSelector.Options()
    /// The sources of a program that is made of several; empty if there is one input, which is ``input``.
    package var sources: [Source] = []
    /// The scenes of such a program that have a name.
    package var scenes: [(name: String, layout: SceneLayout)] = []
    /// What may stand over such a program, from the back to the front.
    package var overlays: [OverlaySpecification] = []
    /// What such a program may show over a change of scene.
    package var stingers: [StingerSpecification] = []
    /// What such a program shows by itself.
    package var runDown: RunDown?
    /// Where run-downs lie that are loaded by the API, and their files.
    package var runDownDirectory: String?
    /// Whose audio such a program has.
    package var audioChoice = Director.AudioChoice.follow
    /// What is shown when no input has anything; nil for the last frame.
    package var slate: SlateSpecification?
    /// Whether it describes one of several sources of a program: see ``alone(_:)``.
    package private(set) var isOneOfSeveral = false
    /// What it says instead of the channel's name.
    package var slateTitle: String?
    /// What the input does while it is neither seen nor heard.
    package var whenOff = WhenOff.keep
    package var audioInput: InputLocation?
    /// What of the input goes on air as it is, without an encoder.
    package var copying = Copying.nothing
    /// What a listener with TLS shows: files in PEM.
    package var certificate: (certificate: String, key: String)?
    /// Who decides who may publish to us, and who may play.
    package var onPublish: ClientDecision?
    package var onPlay: ClientDecision?
    package var loops = false
    package var isPaced = true
    package var size: FrameSize?
    package var frameRate: FrameRate?
    /// Where a hash of each frame is noted.
    package var frameHashes: String?
    package var duration: Duration?
    package var encoder = EncoderSettings()
    /// Further encodings of the program.
    package var renditions: [RenditionSpecification] = []
    package var monitor = MonitorSettings()
    package var outputs: [OutputSpecification] = []
    package var recording: Recording?

    /// A channel that shows the test signal, and has no outputs.
    package init() {}
}

extension ChannelConfiguration {
    /// What it records, as names of channels: itself, and its sources if they are recorded, too.
    package var recordedNames: [String] {
        guard let recording else { return [] }
        return [name] + recording.sources.map { SegmentName.channel(name, source: $0) }
    }

    /// How many sources are recorded whose files are as large as the program's.
    package var recordedVideos: Int { recording?.sources.isEmpty == false ? sources.count : 0 }

    /// How what is recorded is encoded.
    package var recordedEncoder: EncoderSettings {
        let rendition = renditions.first { $0.name == recording?.rendition }
        return rendition?.settings(beside: encoder) ?? encoder
    }

    /// The renditions that neither an output nor the recording takes.
    package var untakenRenditions: [String] {
        let taken = Set(outputs.compactMap(\.rendition) + [recording?.rendition].compactMap(\.self))
        return renditions.map(\.name).filter { !taken.contains($0) }
    }

    /// Whether the packets of the input, which is one of several sources, can be kept beside its frames, for a recording of it.
    var keepsPackets: Bool {
        isOneOfSeveral && inputs.allSatisfy { $0.isLiveByNature == true && !$0.isDevice }
    }

    /// Whether any track of the input is passed through.
    package var copies: Bool { copying != .nothing }

    /// Whether what is shown is a matter of scenes.
    package var hasScenes: Bool { !sources.isEmpty || runDownDirectory != nil }

    /// What a slate calls what is not there.
    var slateName: String { slateTitle ?? name }

    /// The same with one of ``sources`` alone, as a program of that one would have it.
    func alone(_ index: Int) -> ChannelConfiguration {
        var configuration = self
        let source = sources[index]
        (configuration.sources, configuration.audioInput) = ([], nil)
        (configuration.runDown, configuration.runDownDirectory) = (nil, nil)
        (configuration.input, configuration.inputName) = (source.input, source.name)
        (configuration.backups, configuration.selection) = (source.backups, source.selection)
        (configuration.isOneOfSeveral, configuration.slateTitle) = (true, source.name)
        configuration.whenOff = source.whenOff
        return configuration
    }

    /// The inputs in order of preference, and what logs and the status call them.
    package var inputs: [InputLocation] { [input] + backups }
    var inputNames: [String] { [inputName ?? input.description] + backups.map(\.description) }
    /// The inputs, and what the audio comes from if that is another one.
    package var allInputs: [InputLocation] {
        (sources.isEmpty ? inputs : sources.flatMap { [$0.input] + $0.backups }) + [audioInput].compactMap(\.self)
    }

    /// How one of them is chosen.
    var choice: SourceSelector.Options {
        var options = selection
        options.hasSlate = slate != nil
        return options
    }

    /// Whether there is more than one thing to show.
    package var hasChoice: Bool { !backups.isEmpty || slate != nil }

    /// Descriptors that the outputs hold at most.
    package var descriptors: Int {
        outputs.flatMap { [$0.address, $0.backup].compactMap(\.self) }.reduce(0) { $0 + $1.destination.descriptors }
    }

    /// The names of the outputs: the given ones, or the protocol and a number.
    package var outputNames: [String] {
        let given = outputs.compactMap(\.name)
        return outputs.reduce(into: []) { names, output in
            names.append(output.name ?? output.address.freeName(besides: names + given))
        }
    }
}

extension OutputAddress {
    /// The kind's name and the first number that makes a name that is not among `names`.
    func freeName(besides names: [String]) -> String {
        var number = 1
        while names.contains("\(kind.name)-\(number)") { number += 1 }
        return "\(kind.name)-\(number)"
    }
}

extension OutputSpecification {
    /// The output, under this name. Blocks until a port that it listens at is open; throws if it cannot be.
    func definition(
        name: String, in context: OutputContext, origin: OutputOrigin
    ) throws(OutputFailure) -> OutputDefinition {
        let limits = context.isCopied ? limits.forBursts : limits
        let context = try context.of(rendition)
        return OutputDefinition(
            name: name, rendition: rendition,
            target: try address.destination.target(name: name, with: context.resources),
            backup: try backup.map { (address) throws(OutputFailure) in
                try address.destination.target(name: name, with: context.resources)
            }, limits: limits, retry: retry, origin: origin)
    }
}
