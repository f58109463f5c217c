// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import Encoder
internal import Glibc
internal import Ingest
internal import Logging
internal import Media
internal import Network
internal import Publisher
internal import Segmenter

extension EncoderSettings.Preset: ExpressibleByArgument {}
extension EncoderSettings.Tune: ExpressibleByArgument {}
extension EncoderSettings.Profile: ExpressibleByArgument {}

/// The command `relay`: reads flags, runs one channel, and ends with its status.
@main
struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Encodes one program and sends it to many places at once, recording it on the way.",
        discussion: """
            One x264 + AAC encoder session feeds every output. Each output has a queue of its own: a target that stalls, \
            fails or starts slowly changes nothing for the others, and the recording goes on.

            Examples:
              relay --rtmp rtmp://host/live/key --record recordings
              relay --input show.mp4 --srt "srt://host:9000?latency=200" --record recordings --segment 30m
              relay --input v4l2:/dev/video0 --audio-input alsa:default --rtmp rtmp://host/live/key

            What was recorded: relay recordings list|show|verify|repair|rebuild|export DIR; see relay recordings --help.

            Ctrl-C ends cleanly within 3 seconds; a second Ctrl-C ends at once, and the next start completes the file \
            that was open. SIGUSR1 begins a new file of the recording.

            Exit status: 0 done, 64 wrong flags, 66 input cannot be read, 69 nothing ever came on air or was recorded, \
            70 the encoder failed, 73 record directory cannot be written, 75 the storage guard refused.
            """,
        version: RelayVersion.text)

    @OptionGroup(title: "Input") var input: InputOptions
    @OptionGroup(title: "Outputs") var output: OutputOptions
    @OptionGroup(title: "Recording") var record: RecordOptions
    @OptionGroup(title: "Retention") var retention: RetentionOptions
    @OptionGroup(title: "Encoder") var encoder: EncoderOptions
    @OptionGroup(title: "Operation") var operation: OperationOptions

    /// As the parser's own, but its messages repeat what was typed, and that may hold a key.
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == RecordingsCommand.word {
            main(RecordingsCommand.self, Array(arguments.dropFirst()))
        } else {
            main(Self.self, arguments)
        }
    }

    private static func main(_ root: any ParsableCommand.Type, _ arguments: [String]) {
        do {
            var command = try root.parseAsRoot(arguments)
            try command.run()
        } catch {
            let code = root.exitCode(for: error)
            let message = ArgumentMask.hidingSecrets(of: CommandLine.arguments, in: root.fullMessage(for: error))
            if !message.isEmpty {
                Terminal.put(message + "\n", to: code.isSuccess ? STDOUT_FILENO : STDERR_FILENO)
            }
            fflush(nil)
            // Libraries' threads may still be at work; destructors that run beside them are a known way to crash at the end.
            _exit(code.rawValue)
        }
    }

    func validate() throws { _ = try channelConfiguration() }

    func run() throws {
        ArgumentMask.hideSecrets(followingAny: ["--rtmp", "--srt", "--output", "--input", "--audio-input"])
        let configuration = try channelConfiguration()
        let terminal = Terminal(format: operation.logFormat, showsStatus: !operation.noStatus)
        let level = operation.verbose ? Logger.Level.debug : .info
        LoggingSystem.bootstrap { RelayLogHandler(label: $0, terminal: terminal, logLevel: level) }
        let limit = DescriptorLimit.raise()
        if let shortage = DescriptorLimit.shortage(descriptors: configuration.descriptors, limit: limit) {
            throw ValidationError(shortage)
        }
        let status = Session(configuration, terminal: terminal).run()
        terminal.close()
        throw status.code
    }

    /// The flags as one configuration, or the sentence that says what is wrong with them.
    func channelConfiguration() throws -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        try input.apply(to: &configuration)
        try output.apply(to: &configuration)
        try record.apply(to: &configuration, duration: operation.duration)
        try record.checkAlignment(isPaced: !input.unpaced)
        try retention.apply(to: &configuration)
        encoder.apply(to: &configuration)
        configuration.name = operation.channel
        configuration.duration = operation.duration
        guard !configuration.outputs.isEmpty || configuration.recording != nil else {
            throw ValidationError("There is nothing to do: give at least one of --rtmp, --srt, --output and --record.")
        }
        if !configuration.outputs.isEmpty {
            if input.unpaced {
                throw ValidationError("--unpaced is for recordings alone: a live output needs the clock. Leave it out.")
            }
            if encoder.crf != nil {
                throw ValidationError(
                    "--crf is for recordings alone: a live output needs a bitrate. Use --video-bitrate.")
            }
        }
        guard SegmentName.safe(operation.channel) == operation.channel, !operation.channel.isEmpty else {
            throw ValidationError("--channel is the beginning of file names: letters, digits and hyphens only.")
        }
        return configuration
    }
}

/// The version that `--version` prints and recordings carry.
enum RelayVersion {
    static let text = "0.1.0"
}
