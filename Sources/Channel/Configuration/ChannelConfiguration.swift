// SPDX-License-Identifier: Apache-2.0

package import Archive
package import Encoder
package import FanOut
package import Ingest
internal import LibAV
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

    /// A source of the program: an input, and the inputs that take its place.
    package struct Source {
        /// The name that scenes, logs and the status use.
        package var name: String
        package var input: InputLocation
        /// The inputs that take its place while it is away, in this order.
        package var backups: [InputLocation] = []
        /// How the choice is made.
        package var selection = SourceSelector.Options()
        /// What a file does while it is neither seen nor heard.
        package var whenOff = WhenOff.keep
        /// The settings of its audio until an operator changes them.
        package var audio = Fader.Settings()
        /// How much later than the show a rendered file begins.
        package var lead = Duration.zero

        /// The source `name`, which reads `input`; without a name it is called by its address.
        package init(
            name: String? = nil, input: InputLocation, backups: [InputLocation] = [],
            selection: SourceSelector.Options = SourceSelector.Options(), whenOff: WhenOff = WhenOff.keep,
            audio: Fader.Settings = Fader.Settings(), lead: Duration = Duration.zero
        ) {
            (self.name, self.input, self.backups) = (name ?? input.description, input, backups)
            (self.selection, self.whenOff, self.audio, self.lead) = (selection, whenOff, audio, lead)
        }

        /// The inputs in order of preference, and what logs and the status call them.
        package var inputs: [InputLocation] { [input] + backups }
        package var inputNames: [String] { [name] + backups.map(\.description) }

        /// Whether the packets of its inputs can be kept beside their frames, for a recording of it: all of them are live
        /// and none is a device.
        package var canKeepPackets: Bool { inputs.allSatisfy { $0.isLiveByNature == true && !$0.isDevice } }
    }

    /// The tracks of the input that are passed through.
    package enum Copying {
        case nothing, video, audio, all
    }

    package var name = "relay"
    /// Where the outputs were named.
    package var origin = OutputOrigin.flags
    /// The program's sources. A run-down of files alone has none.
    package var sources = [Source(input: InputLocation("test:"))]
    /// The named scenes of a program that has scenes: see ``hasScenes``.
    package var scenes: [(name: String, layout: SceneLayout)] = []
    /// The overlays of such a program, from the back to the front.
    package var overlays: [OverlaySpecification] = []
    /// What such a program may show over a change of scene.
    package var stingers: [StingerSpecification] = []
    /// What such a program shows by itself.
    package var runDown: RunDown?
    /// The directory of the run-downs that the API loads, and of their files.
    package var runDownDirectory: String?
    /// Whose audio such a program has.
    package var audioChoice = Director.AudioChoice.follow
    /// What is shown when no input has anything; nil for the last frame.
    package var slate: SlateSpecification?
    /// The input of the program's audio, if it comes from another place than its video.
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

    /// Whether any track of the input is passed through.
    package var copies: Bool { copying != .nothing }

    /// Whether a director puts the program together: there are several sources, overlays or run-downs. Otherwise there is
    /// one source, and the program shows nothing else.
    package var hasScenes: Bool { sources.count != 1 || !overlays.isEmpty || runDownDirectory != nil }

    /// All inputs of all sources, and that of the audio if it is another one.
    package var allInputs: [InputLocation] { sources.flatMap(\.inputs) + [audioInput].compactMap(\.self) }

    /// The shape of a program whose first input looks like `native`: the input's own shape, but for what the flags say. A
    /// program of a given size has square pixels. What the input leaves unspecified of its color is that of the program's
    /// size. A program of several sources is of standard dynamic range, which each of them can be made.
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

    /// How the inputs of `source` are chosen.
    func choice(of source: Source) -> SourceSelector.Options {
        var options = source.selection
        options.hasSlate = slate != nil
        return options
    }

    /// Whether a source has more than one thing to show.
    package var hasChoice: Bool { slate != nil || sources.contains { !$0.backups.isEmpty } }

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
