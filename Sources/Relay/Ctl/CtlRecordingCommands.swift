// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Library
internal import Media

/// `relay ctl recording`: the recording of a channel.
struct CtlRecordingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recording", abstract: "Starts, stops and splits a recording, and holds its files.",
        subcommands: [
            CtlRecordingStartCommand.self, CtlRecordingStopCommand.self, CtlRecordingSplitCommand.self,
            CtlRecordingListCommand.self, CtlRecordingHoldCommand.self, CtlRecordingReleaseCommand.self,
        ])
}

/// A command that has relay start, stop or split the recording, according to the name of the command.
protocol CtlRecordingAction: CtlSubcommand {
    var channel: CtlChannelOptions { get }
}

extension CtlRecordingAction {
    func perform(_ api: ControlAPI) async throws {
        let path = try await api.path(ofChannel: channel.channel)
        let answer = try await api.ask("POST", "\(path)/recording/\(Self._commandName)")
        if options.json { Terminal.put(answer.text + "\n", to: 1) }
    }
}

/// A command that holds or releases a recorded file.
protocol CtlRecordingHold: CtlSubcommand {
    /// The method of the request to the file's hold.
    static var method: String { get }

    var channel: CtlChannelOptions { get }
    var file: String { get }
}

extension CtlRecordingHold {
    func perform(_ api: ControlAPI) async throws {
        _ = try await api.ask(Self.method, try await path(of: file, channel, api) + "/hold")
    }
}

extension CtlSubcommand {
    /// Returns the API's path of the recording whose name or identifier is `file`.
    func path(of file: String, _ channel: CtlChannelOptions, _ api: ControlAPI) async throws -> String {
        let path = try await api.path(ofChannel: channel.channel) + "/recordings"
        // `file` is an identifier if it contains no dot. Names of files contain a dot, and identifiers do not.
        guard file.contains(".") else { return "\(path)/\(ControlAPI.encoded(file))" }
        let all = try await api.ask("GET", path).decoded(CtlRecordings.self).recordings
        guard let found = all.first(where: { $0.name == file }) else {
            throw ControlAPI.Failure(.refused, "There is no recording of this name.")
        }
        return "\(path)/\(ControlAPI.encoded(found.id))"
    }
}

/// `relay ctl recording start`: starts the recording.
struct CtlRecordingStartCommand: CtlRecordingAction {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Starts the recording with the next keyframe.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions
}

/// `relay ctl recording stop`: stops the recording.
struct CtlRecordingStopCommand: CtlRecordingAction {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stops the recording until it is started again.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions
}

/// `relay ctl recording split`: begins a new file.
struct CtlRecordingSplitCommand: CtlRecordingAction {
    static let configuration = CommandConfiguration(
        commandName: "split", abstract: "Begins a new file, without losing a frame.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions
}

/// `relay ctl recording list`: lists the recorded files and gaps.
struct CtlRecordingListCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists what was recorded.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Option(help: ArgumentHelp("Only what was on air after this time, in UTC.", valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("Only what was on air before this time, in UTC.", valueName: "time"))
    var to: String?

    func perform(_ api: ControlAPI) async throws {
        let path = try await api.path(ofChannel: channel.channel) + "/recordings"
        let answer = try await api.ask("GET", path + ControlAPI.query(from: from, to: to))
        try put(answer, as: CtlRecordings.self, \.text)
    }
}

/// `relay ctl recording hold`: keeps retention from deleting a file.
struct CtlRecordingHoldCommand: CtlRecordingHold {
    static let configuration = CommandConfiguration(
        commandName: "hold", abstract: "Keeps a file from being deleted by retention.")

    static let method = "PUT"

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: "The file, by its name or by the first column of list.")
    var file: String
}

/// `relay ctl recording release`: lets retention delete a held file again.
struct CtlRecordingReleaseCommand: CtlRecordingHold {
    static let configuration = CommandConfiguration(
        commandName: "release", abstract: "Lets retention delete a file again that was held.")

    static let method = "DELETE"

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: "The file, by its name or by the first column of list.")
    var file: String
}

/// The list of recordings in relay's response, with the fields that the command shows.
struct CtlRecordings: Decodable {
    struct Recording: Decodable {
        let id: String
        let name: String
        let start: String
        let durationSeconds: Double?
        let bytes: Int64?
        let state: APIWord<RecordingList.Recording.State>?
        let isHeld: Bool?
    }
    struct Gap: Decodable {
        let start: String
        let durationSeconds: Double?
        let cause: String?
    }

    struct NextDeletion: Decodable {
        let name: String
        let bytes: Int64?
        let about: String?
    }

    let recordings: [Recording]
    let gaps: [Gap]?
    let deletesNext: [NextDeletion]?

    /// One line for each file, for each gap, and for each file that is deleted next.
    var text: String {
        let files = recordings.map { file in
            [
                file.id, file.start, file.durationSeconds.map { Figure.clock($0) } ?? "",
                file.bytes.map { ByteSize(bytes: $0).description } ?? "", file.state.map { "\($0)" } ?? "",
                file.isHeld == true ? "held" : "", file.name,
            ]
        }
        let gaps = (gaps ?? []).map { gap in
            ["gap", gap.start, gap.durationSeconds.map { Figure.clock($0) } ?? "", "", gap.cause ?? ""]
        }
        let next = (deletesNext ?? []).map { file in
            [
                "deleted next", file.about.map { "about \($0)" } ?? "", "",
                file.bytes.map { ByteSize(bytes: $0).description } ?? "", "", "", file.name,
            ]
        }
        return files.isEmpty && gaps.isEmpty ? "nothing was recorded\n" : TextTable.text(files + gaps + next)
    }
}
