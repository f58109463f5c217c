// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Media

/// `relay ctl upload`: commands for the uploads by `--upload` or `--on-segment`.
struct CtlUploadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload", abstract: "Lists uploads, queues them again, or gives one up.",
        subcommands: [CtlUploadListCommand.self, CtlUploadRetryCommand.self, CtlUploadSkipCommand.self])
}

/// `relay ctl upload list`: lists what was uploaded.
struct CtlUploadListCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists what was handed over, where and when, also files that were deleted since.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Option(help: ArgumentHelp("Only what was handed over at this time or later, in UTC.", valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("Only what was handed over before this time, in UTC.", valueName: "time"))
    var to: String?

    @Option(
        help: ArgumentHelp(
            "List at most this many, the newest: 1,000 without it, 10,000 at most.", valueName: "number"))
    var last: Int?

    func validate() throws {
        if let last, !(1...10_000).contains(last) { throw ValidationError("--last is 1 to 10000.") }
    }

    func perform(_ api: ControlAPI) async throws {
        let path = try await api.path(ofChannel: channel.channel) + "/uploads"
        let answer = try await api.ask("GET", path + ControlAPI.query(from: from, to: to, limit: last))
        try put(answer, as: CtlUploads.self, \.text)
    }
}

/// The list of uploads in relay's response.
struct CtlUploads: Decodable {
    struct Upload: Decodable {
        let name: String
        let bytes: Int64?
        let sha256: String?
        let place: String?
        let time: String
    }

    let uploads: [Upload]

    /// One line for each upload.
    var text: String {
        let rows = uploads.map { upload in
            [
                upload.time, upload.bytes.map { ByteSize(bytes: $0).description } ?? "", upload.sha256 ?? "",
                upload.name, upload.place ?? "",
            ]
        }
        return rows.isEmpty ? "nothing was handed over\n" : TextTable.text(rows)
    }
}

/// `relay ctl upload retry`: uploads one file again, or all files whose upload failed or was given up.
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

/// `relay ctl upload skip`: gives up the upload of one file.
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
