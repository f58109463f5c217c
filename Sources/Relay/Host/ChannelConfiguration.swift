// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Encoder
internal import FanOut
internal import Ingest
internal import Media
internal import Monitor
internal import Networking
internal import Program
internal import Publisher
internal import Segmenter
internal import Studio
internal import Upload

/// What one channel is to do: read, checked, and free of contradictions.
struct ChannelConfiguration {
    /// What the recorder and its guard are to do.
    struct Recording {
        var directory: String
        /// Whether it is on a disk that is mounted.
        var mount = MountRule.remembered
        var length: SegmentLength
        /// The length to reserve space for.
        var expected: Duration
        var warning: Duration
        var reserve: ByteSize?
        var format = RecordFormat.hybrid
        var template = NameTemplate.standard
        var sync = SyncPolicy.standard
        var isClockAligned = false
        var localOffset: WallClockGrid.Offset = { _ in 0 }
        /// What of it is kept; nil for all.
        var retention: RetentionRules?
        /// What is done with finished files.
        var upload: UploadTarget?
        /// The sources of the program that are recorded beside it, each into files of its own.
        var sources: [String] = []
        /// The rendition that is recorded; nil for the program's own encoding.
        var rendition: String?
        /// Whether what they send is recorded as it comes, where that is possible.
        var copiesSources = true
        /// How much of the program is kept in memory for clips that are taken while nothing is recorded; nil where a clip is
        /// a part of a recording alone.
        var replay: Duration?
        /// Whether nothing but clips is recorded, unless an operator starts it.
        var isForClips = false

        /// Whether packets of sources are recorded as they come.
        var takesPackets: Bool { copiesSources && format == .hybrid && !sources.isEmpty }
    }

    /// One of several sources of a program.
    struct Source {
        /// By which scenes name it.
        var name: String
        var input: InputLocation
        /// What takes its place while it is away, in this order.
        var backups: [InputLocation] = []
        /// How the choice is made.
        var selection = SourceSelector.Options()
        /// What a file does while it is neither seen nor heard.
        var whenOff = WhenOff.keep
        /// What is done with its audio until an operator says something else.
        var audio = Fader.Settings()
        /// How much later than the show a file begins that is rendered.
        var lead = Duration.zero
    }

    /// The tracks of the input that are passed through.
    enum Copying {
        case nothing, video, audio, all
    }

    var name = "relay"
    /// Where the outputs were named.
    var origin = OutputOrigin.flags
    var input = InputLocation("test:")
    /// What logs and the status call the input; nil for its address.
    var inputName: String?
    /// What takes the input's place while it is away, in this order.
    var backups: [InputLocation] = []
    /// How the choice is made.
    var selection = SourceSelector.Options()
    /// The sources of a program that is made of several; empty if there is one input, which is ``input``.
    var sources: [Source] = []
    /// The scenes of such a program that have a name.
    var scenes: [(name: String, layout: SceneLayout)] = []
    /// What may stand over such a program, from the back to the front.
    var overlays: [OverlaySpecification] = []
    /// What such a program may show over a change of scene.
    var stingers: [StingerSpecification] = []
    /// What such a program shows by itself.
    var runDown: RunDown?
    /// Where run-downs lie that are loaded by the API, and their files.
    var runDownDirectory: String?
    /// Whose audio such a program has.
    var audioChoice = Director.AudioChoice.follow
    /// What is shown when no input has anything; nil for the last frame.
    var slate: SlateSpecification?
    /// What it says instead of the channel's name.
    var slateTitle: String?
    /// What the input does while it is neither seen nor heard.
    var whenOff = WhenOff.keep
    var audioInput: InputLocation?
    /// What of the input goes on air as it is, without an encoder.
    var copying = Copying.nothing
    /// What a listener with TLS shows: files in PEM.
    var certificate: (certificate: String, key: String)?
    /// Who decides who may publish to us, and who may play.
    var onPublish: ClientDecision?
    var onPlay: ClientDecision?
    var loops = false
    var isPaced = true
    var size: FrameSize?
    var frameRate: FrameRate?
    /// Where a hash of each frame is noted.
    var frameHashes: String?
    var duration: Duration?
    var encoder = EncoderSettings()
    /// Further encodings of the program.
    var renditions: [RenditionSpecification] = []
    var monitor = MonitorSettings()
    var outputs: [OutputSpecification] = []
    var recording: Recording?
}

extension ChannelConfiguration {
    /// What it records, as names of channels: itself, and its sources if they are recorded, too.
    var recordedNames: [String] {
        guard let recording else { return [] }
        return [name] + recording.sources.map { RecordedSources.channel(name, $0) }
    }

    /// How many sources are recorded whose files are as large as the program's.
    var recordedVideos: Int { recording?.sources.isEmpty == false ? sources.count : 0 }

    /// How what is recorded is encoded.
    var recordedEncoder: EncoderSettings {
        let rendition = renditions.first { $0.name == recording?.rendition }
        return rendition?.settings(beside: encoder) ?? encoder
    }

    /// The renditions that neither an output nor the recording takes.
    var untakenRenditions: [String] {
        let taken = Set(outputs.compactMap(\.rendition) + [recording?.rendition].compactMap(\.self))
        return renditions.map(\.name).filter { !taken.contains($0) }
    }

    /// Whether the packets of the input, which is one of several sources, can be kept beside its frames, for a recording of it.
    var keepsPackets: Bool {
        slateTitle != nil && inputs.allSatisfy { $0.isLiveByNature == true && !$0.isDevice }
    }

    /// Whether any track of the input is passed through.
    var copies: Bool { copying != .nothing }

    /// Whether what is shown is a matter of scenes.
    var hasScenes: Bool { !sources.isEmpty || runDownDirectory != nil }

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
        (configuration.slate, configuration.slateTitle) = (slate, source.name)
        configuration.whenOff = source.whenOff
        return configuration
    }

    /// The inputs in order of preference, and what logs and the status call them.
    var inputs: [InputLocation] { [input] + backups }
    var inputNames: [String] { [inputName ?? input.description] + backups.map(\.description) }
    /// The inputs, and what the audio comes from if that is another one.
    var allInputs: [InputLocation] {
        (sources.isEmpty ? inputs : sources.flatMap { [$0.input] + $0.backups }) + [audioInput].compactMap(\.self)
    }

    /// How one of them is chosen.
    var choice: SourceSelector.Options {
        var options = selection
        options.hasSlate = slate != nil
        return options
    }

    /// Whether there is more than one thing to show.
    var hasChoice: Bool { !backups.isEmpty || slate != nil }

    /// Descriptors that the outputs hold at most.
    var descriptors: Int { outputs.reduce(0) { $0 + $1.address.descriptors + ($1.backup?.descriptors ?? 0) } }

    /// The names of the outputs: the given ones, or the protocol and a number.
    var outputNames: [String] {
        outputs.reduce(into: []) { names, output in names.append(output.name ?? output.address.freeName(besides: names))
        }
    }
}

extension OutputAddress {
    /// The protocol and the first number that makes a name that is not among `names`.
    func freeName(besides names: [String]) -> String {
        var number = 1
        while names.contains("\(scheme)-\(number)") { number += 1 }
        return "\(scheme)-\(number)"
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
            name: name, rendition: rendition, target: try address.target(name: name, in: context),
            backup: try backup.map { (address) throws(OutputFailure) in try address.target(name: name, in: context) },
            limits: limits, retry: retry, origin: origin)
    }
}
