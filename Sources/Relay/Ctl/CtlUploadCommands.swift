// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `relay ctl upload`: commands for files that wait for `--upload` or `--on-segment`.
struct CtlUploadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload", abstract: "Queues uploads again, or gives one up.",
        subcommands: [CtlUploadRetryCommand.self, CtlUploadSkipCommand.self])
}

/// `relay ctl upload retry`: uploads files again that failed or were given up, or one file.
struct CtlUploadRetryCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Hands files over now: those that failed or were given up, or one file, also if it was handed over.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: "The file, by its name or by the first column of recording list; all without it.")
    var file: String?

    func perform(_ api: ControlAPI) async throws {
        if let file {
            _ = try await api.ask("PUT", try await path(of: file, channel, api) + "/upload")
        } else {
            _ = try await api.ask("POST", try await api.path(ofChannel: channel.channel) + "/uploads/retry")
        }
    }
}

/// `relay ctl upload skip`: gives up the upload of a file.
struct CtlUploadSkipCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "skip", abstract: "Gives the upload of a file up, so that retention may delete it.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: "The file, by its name or by the first column of recording list.")
    var file: String

    func perform(_ api: ControlAPI) async throws {
        _ = try await api.ask("DELETE", try await path(of: file, channel, api) + "/upload")
    }
}
