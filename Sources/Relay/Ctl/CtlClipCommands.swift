// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import Library
internal import Media

/// `relay ctl clip`: clips of the program that is being recorded.
struct CtlClipCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clip", abstract: "Begins and ends clips of what is recorded, and makes files of them.",
        discussion: """
            A clip is a mark that costs nothing until it is exported. Its files are kept until then, or until it is \
            deleted.

            Example:
              relay ctl clip start --before 10s goal
              relay ctl clip stop
              relay ctl clip export goal -o goal.mp4
            """,
        subcommands: [
            CtlClipStartCommand.self, CtlClipStopCommand.self, CtlClipListCommand.self, CtlClipExportCommand.self,
            CtlClipDeleteCommand.self, CtlClipProjectCommand.self,
        ])
}

/// A clip in relay's response, with the fields that the commands use.
struct CtlClip: Decodable {
    let id: String
    let name: String?
    let state: APIWord<RecordedClip.State>
    let start: String
    let pressed: String?
    let programSeconds: Double?
    let durationSeconds: Double?
    let frames: Int64?
    let lackingSeconds: Double?
    let isHeld: Bool?

    var columns: [String] {
        [
            id, "\(state)", start, durationSeconds.map { String(format: "%.3f s", $0) } ?? "",
            frames.map { "\($0) frames" } ?? "", isHeld == false ? "exported" : "", name ?? "",
        ]
    }

    /// A line about the clip, and a second one if its beginning was not recorded.
    var text: String {
        let lacking = lackingSeconds.map {
            "It begins \(String(format: "%.3f", $0)) s later than asked for: nothing was recorded before.\n"
        }
        return TextTable.text([columns]) + (lacking ?? "")
    }
}

/// The list of clips in relay's response.
struct CtlClips: Decodable {
    let clips: [CtlClip]

    /// The clip with the ID `name`, or otherwise the newest clip with this name.
    func clip(_ name: String) -> CtlClip? {
        clips.first { $0.id == name } ?? clips.last { $0.name == name }
    }

    /// The running clip that was started last. It may begin earlier than clips that were started before it.
    var pressedLast: CtlClip? {
        clips.reversed().filter { $0.state.known == .running }.max { ($0.pressed ?? "") < ($1.pressed ?? "") }
    }

    var text: String { clips.isEmpty ? "there are no clips\n" : TextTable.text(clips.map(\.columns)) }
}

extension CtlSubcommand {
    /// Returns the API's path of the clips of `channel`.
    fileprivate func clips(of channel: CtlChannelOptions, _ api: ControlAPI) async throws -> String {
        try await api.path(ofChannel: channel.channel) + "/clips"
    }

    /// Asks relay for the clip with the ID `name`, or otherwise for the newest clip with this name.
    fileprivate func clip(_ name: String, _ path: String, _ api: ControlAPI) async throws -> CtlClip {
        guard let found = try await api.ask("GET", path).decoded(CtlClips.self).clip(name) else {
            throw ControlAPI.Failure(.refused, "There is no clip of this name.")
        }
        return found
    }
}

/// `relay ctl clip start`: begins a clip.
struct CtlClipStartCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Begins a clip with the frame that is on air now.")

    private struct NewClip: Encodable {
        let id: String?
        let name: String?
        let at: Double?
        let before: Double?
    }

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Option(
        help: ArgumentHelp("So much before belongs to it, too; up to 10m.", valueName: "time"),
        transform: ArgumentParsing.duration)
    var before: Duration?

    @Option(help: ArgumentHelp("The program's time of its first frame, in seconds, in place of now.", valueName: "s"))
    var at: Double?

    @Option(help: "The clip's id, of letters, digits and hyphens. The same one again begins no other clip.")
    var id: String?

    @Argument(help: "What it is called.")
    var name: String?

    func perform(_ api: ControlAPI) async throws {
        let asked = NewClip(id: id, name: name, at: at, before: before?.inSeconds)
        try put(try await api.ask("POST", try await clips(of: channel, api), asked), as: CtlClip.self, \.text)
    }
}

/// `relay ctl clip stop`: ends a clip.
struct CtlClipStopCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Ends a clip before the frame that is on air now.",
        discussion: "A clip has three frames at least. Without a name it is the one that runs and was pressed last.")

    private struct Stop: Encodable { let at: Double? }

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Option(help: ArgumentHelp("The program's time of its end, in seconds, in place of now.", valueName: "s"))
    var at: Double?

    @Option(help: "The clip by its id, in place of its name; its start may still be under way.")
    var id: String?

    @Argument(help: "The clip, by its name or the first column of list.")
    var clip: String?

    func validate() throws {
        if id != nil, clip != nil { throw ValidationError("A clip is named by its name or by --id, not by both.") }
    }

    /// Returns the ID of the clip that the arguments name. An ID is not looked up in the list, because the list lacks a
    /// clip whose start is still being processed.
    private func wanted(_ path: String, _ api: ControlAPI) async throws -> String {
        if let id { return id }
        if let clip { return try await self.clip(clip, path, api).id }
        guard let last = try await api.ask("GET", path).decoded(CtlClips.self).pressedLast else {
            throw ControlAPI.Failure(.refused, "No clip is running.")
        }
        return last.id
    }

    func perform(_ api: ControlAPI) async throws {
        let path = try await clips(of: channel, api)
        let id = try await wanted(path, api)
        let answer = try await api.ask("POST", "\(path)/\(ControlAPI.encoded(id))/stop", Stop(at: at))
        guard !answer.bytes.isEmpty else {
            Terminal.put("The clip \(id) ends there as soon as its start has come.\n")
            return
        }
        try put(answer, as: CtlClip.self, \.text)
    }
}

/// `relay ctl clip list`: lists the clips.
struct CtlClipListCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists clips.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    func perform(_ api: ControlAPI) async throws {
        try put(try await api.ask("GET", try await clips(of: channel, api)), as: CtlClips.self, \.text)
    }
}

/// `relay ctl clip export`: makes an MP4 of a clip.
struct CtlClipExportCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Has relay make an MP4 of a clip.",
        discussion: "The clip stays there until it is removed. With -o it is fetched. Ctrl-C leaves the work to go on.")

    private struct Asked: Encodable { let handles: Bool }

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Flag(help: "With a frame more on each side, for a crossfade.")
    var handles = false

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file to fetch it to, which must not exist.", valueName: "file"))
    var output: String?

    @Argument(help: "The clip, by its name or the first column of list.")
    var clip: String

    func perform(_ api: ControlAPI) async throws {
        let path = try await clips(of: channel, api)
        let id = try await self.clip(clip, path, api).id
        try await CtlExportJob(output: output, options: options).make(api) {
            try await api.ask("POST", "\(path)/\(ControlAPI.encoded(id))/export", Asked(handles: handles))
        }
    }
}

/// `relay ctl clip delete`: deletes a clip, but not the recorded files.
struct CtlClipDeleteCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Forgets a clip. What was recorded stays, as long as retention lets it.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: "The clip, by its name or the first column of list.")
    var clip: String

    func perform(_ api: ControlAPI) async throws {
        let path = try await clips(of: channel, api)
        let id = try await self.clip(clip, path, api).id
        _ = try await api.ask("DELETE", "\(path)/\(ControlAPI.encoded(id))")
    }
}

/// `relay ctl clip project`: prints the clips as a run-down in YAML.
struct CtlClipProjectCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "project", abstract: "Prints the clips in their order as a run-down, in YAML.",
        discussion: "Its files are relative to the directory of the recordings.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    func perform(_ api: ControlAPI) async throws {
        Terminal.put(try await api.ask("GET", try await clips(of: channel, api) + "/project.yaml").text, to: 1)
    }
}
