// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Encoder
internal import Glibc
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Studio

/// `relay render`: makes a file from a run-down (a list of segments that play one after the other), as fast as
/// possible.
struct RenderCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "render", abstract: "Makes an MP4 of a run-down, as fast as it goes.",
        discussion: """
            The frames are those that the run-down shows on air if no file is late: each file is waited for. Its inputs are \
            files, too, each of which plays from the show's first frame on. A run-down that begins again, or has a segment \
            that lasts until somebody says so, needs --duration.

            Ctrl-C leaves nothing behind; nor does anything that goes wrong.

            Example:
              relay render show.yaml --input cam1.mp4#name=cam1 --input cam2.mp4#name=cam2 -o show.mp4
            """)

    @Argument(help: ArgumentHelp("The run-down.", valueName: "file"))
    var show: String

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to make.", valueName: "file"))
    var output: String

    @Option(
        help: ArgumentHelp(
            "A file that the run-down calls by its #name=. With at=2.5s behind the name it begins so much later than the show. May be repeated.",
            valueName: "source"))
    var input: [String] = []

    @Option(help: ArgumentHelp("A file of audio alone, which the run-down calls audio.", valueName: "source"))
    var audioInput: String?

    @Option(
        help: ArgumentHelp(
            "Whose audio it has where the run-down does not say: follow, mix, or a name.", valueName: "source"))
    var audioFrom: String?

    @Option(help: ArgumentHelp("A scene, as relay run has it: NAME=LAYOUT:SOURCE,SOURCE.", valueName: "scene"))
    var scene: [String] = []

    @Option(help: ArgumentHelp("What may stand over it, as relay run has it: NAME=image:FILE.", valueName: "overlay"))
    var overlay: [String] = []

    @Option(help: ArgumentHelp("A stinger, as relay run has it: NAME=FILE#cut=TIME.", valueName: "stinger"))
    var stinger: [String] = []

    @Flag(help: "Play each --input again and again.")
    var loop = false

    @Option(help: ArgumentHelp("End after this time.", valueName: "time"), transform: ArgumentParsing.duration)
    var duration: Duration?

    @OptionGroup(title: "Encoder") var encoder: EncoderOptions

    @Flag(help: "Replace the output, if it exists.")
    var force = false

    func validate() throws {
        guard !output.isEmpty, !output.hasSuffix("/") else { throw ValidationError("--output names the file to make.") }
    }

    func work() throws {
        // Log lines are discarded, because the command prints its own errors once.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        var configuration = try channelConfiguration()
        let bar = ProgressBar()
        do {
            try RenderOutput.check(output, of: configuration, in: show, replaces: force)
            let length = try RenderLength(configuration)
            // The signals are intercepted before the job creates files, so that the first signal cannot end the process
            // before the files are removed.
            let signals = HeldSignals()
            let job = try RenderJob(&configuration, length: length, output: output, replaces: force)
            let result = try job.run(
                progress: { bar.show("rendering", done: $0, of: $1) }, isCancelled: { signals.first != nil })
            bar.clear()
            guard let result else {
                Terminal.put("Cancelled; nothing was made.\n")
                throw ExitCode(128 + (signals.first ?? SIGINT))
            }
            Terminal.put("\(output): \(result)\n", to: STDOUT_FILENO)
        } catch let failure as ChannelFailure {
            bar.clear()
            Terminal.put("Error: \(failure)\n")
            throw ExitStatus(failure.cause).code
        }
    }

    /// Returns the configuration of a channel that plays the run-down as fast as possible.
    func channelConfiguration() throws -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        let inputs = try input.map { (text) throws(TextFailure) in try RenderedInput(text) }
        let flags: [[String]] = [
            ["--rundown=\(show)"], inputs.map { "--input=\($0.text)" }, scene.map { "--scene=\($0)" },
            overlay.map { "--overlay=\($0)" }, stinger.map { "--stinger=\($0)" },
            audioInput.map { ["--audio-input=\($0)"] } ?? [], audioFrom.map { ["--audio-from=\($0)"] } ?? [],
            loop ? ["--loop"] : [],
        ]
        try InputOptions.parse(flags.flatMap(\.self)).apply(to: &configuration)
        try encoder.check()
        encoder.apply(to: &configuration)
        (configuration.isPaced, configuration.encoder.isLive) = (false, false)
        (configuration.name, configuration.duration) = ("render", duration)
        guard configuration.sources.count == inputs.count else {
            throw ValidationError("--input test: alone is no input of a show. Leave it out, or give it a file.")
        }
        for (index, input) in inputs.enumerated() { configuration.sources[index].lead = input.lead }
        guard configuration.runDown != nil else { throw ValidationError("\(show) is a directory: name a run-down.") }
        for source in configuration.sources {
            if source.input.isLiveByNature == true || !source.backups.isEmpty {
                throw ValidationError("--input \(source.name): a show is rendered from files, without backups.")
            }
            guard source.whenOff == .keep, source.selection == SourceSelector.Options() else {
                throw ValidationError(
                    "--input \(source.name): when-off=, standby=, timeout= and return= are for what is on air: in a "
                        + "show "
                        + "each input plays on, and is waited for. Leave them out.")
            }
        }
        if let audio = configuration.audioInput, audio.isLiveByNature == true {
            throw ValidationError(
                "--audio-input: a show is rendered from files, and \(audio) comes at its own pace. Name a file.")
        }
        return configuration
    }
}
