// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import Media

/// The command `relay`, which has no flags of its own. Without a subcommand, it runs ``RunCommand``.
@main
struct RelayCommand: AsyncParsableCommand {
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
              relay recordings list recordings
              relay stitch opening.mp4 show.mp4 -o whole.mp4

            Exit status: 0 done, 64 wrong flags, 66 input cannot be read, 69 nothing ever came on air or was recorded, \
            70 the encoder failed, 73 record directory cannot be written, 75 the storage guard refused; 128 and the \
            signal's number when a second signal ended it at once.
            """,
        version: RelayVersion.text,
        subcommands: [
            RunCommand.self, CtlCommand.self, CheckCommand.self, RecordingsCommand.self, RenderCommand.self,
            StitchCommand.self, DevicesCommand.self, DiagnoseCommand.self,
        ], defaultSubcommand: RunCommand.self)

    /// Replaces the argument parser's own method, because its messages would repeat arguments, which may contain a
    /// stream key.
    static func main() async {
        Allocator.limit()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            if arguments.count == 1, ["--help", "-h", "help"].contains(arguments[0]) { throw CleanExit.message(help) }
            var command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let code = exitCode(for: error)
            let message = ArgumentMask.hidingSecrets(of: CommandLine.arguments, in: fullMessage(for: error))
            if !message.isEmpty {
                Terminal.put(message + "\n", to: code.isSuccess ? STDOUT_FILENO : STDERR_FILENO)
            }
            fflush(nil)
            // `_exit` skips the destructors of libraries. Threads of libraries may still be running, and destructors
            // that run in parallel with them are known to crash the process.
            _exit(code.rawValue)
        }
    }

    /// The help of the complete command: its subcommands, and the flags of ``RunCommand``, which can be given without a
    /// subcommand.
    static var help: String { help(columns: nil) }

    /// The ``help`` in lines of at most `columns` characters; nil means the width of the terminal.
    static func help(columns: Int?) -> String {
        let run = helpMessage(for: RunCommand.self, columns: columns)
        // The help begins with the text of this command. The help of `run` follows, from its usage on.
        let usage = run.firstRange(of: "USAGE:")?.lowerBound ?? run.startIndex
        return helpMessage(columns: columns) + "\n\n" + run[usage...]
    }
}

/// Settings of the C library's allocator.
enum Allocator {
    /// The maximum number of arenas (memory pools). glibc gives each new thread its own arena, up to eight per core,
    /// and an arena hardly ever returns memory. Each connection attempt of an RTMP output is a new thread, and frames
    /// are large, so each additional arena costs megabytes. Four arenas are enough for the threads that allocate all
    /// the time.
    static let arenaLimit: Int32 = 4
    /// Blocks of at least this many bytes are mapped on their own, and returned when they are freed. Without a fixed
    /// size glibc raises it to that of the largest block so far, up to 32 MiB, and twice as much then stays unused at
    /// the end of an arena: a sender of 8192x4352 cost 70 MB for good. Frames up to 1920x1080 stay below it.
    private static let mapped: Int32 = 4 << 20
    /// An arena returns its end when so many bytes of it are unused.
    private static let trimmed: Int32 = 8 << 20

    /// Limits the number of arenas and what they keep unused. Call it before other threads exist. The environment
    /// variable `MALLOC_ARENA_MAX` cannot raise the limit.
    static func limit() {
        _ = relay_limit_malloc_arenas(arenaLimit)
        _ = relay_map_malloc_from(mapped)
        _ = relay_trim_malloc_from(trimmed)
    }
}
