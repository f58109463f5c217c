// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `relay ctl mark`: sets a marker at the current moment of the program.
struct CtlMarkCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "mark", abstract: "Marks this moment of the program, in all that can carry it.")

    private struct NewMarker: Encodable { let text: String }
    private struct Marker: Decodable {
        let time: String
        let programSeconds: Double
    }

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: "What is to be said of it.")
    var text: String

    func perform(_ api: ControlAPI) async throws {
        let path = try await api.path(ofChannel: channel.channel)
        try put(try await api.ask("POST", "\(path)/markers", NewMarker(text: text)), as: Marker.self) {
            "\($0.time)  \(Figure.clock($0.programSeconds))\n"
        }
    }
}

/// `relay ctl keyframe`: requests a keyframe.
struct CtlKeyframeCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(commandName: "keyframe", abstract: "Asks for a keyframe.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    func perform(_ api: ControlAPI) async throws {
        _ = try await api.ask("POST", try await api.path(ofChannel: channel.channel) + "/keyframe")
    }
}

/// `relay ctl reload`: makes relay read its configuration file again.
struct CtlReloadCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Has relay read its configuration file again.",
        discussion: "A file with mistakes changes nothing: they are printed, and the exit status is 1.")

    private struct Reloaded: Decodable { let changedChannels: Int }

    /// How long a reload may take. It waits up to 15 s for the end of each channel that it changes, one after the other.
    private static let patience = Duration.seconds(600)

    @OptionGroup var options: CtlOptions

    func perform(_ api: ControlAPI) async throws {
        try put(try await api.ask("POST", "/v1/reload", within: Self.patience), as: Reloaded.self) {
            $0.changedChannels == 1 ? "1 channel changed\n" : "\($0.changedChannels) channels changed\n"
        }
    }
}

/// `relay ctl check`: tests an output's address from the running relay, without going live.
struct CtlCheckCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Tries an output's address, as the running relay sees it, without going live.")

    private struct Address: Encodable { let address: String }
    private struct Check: Decodable {
        struct Step: Decodable {
            let name: String
            let state: String
            let detail: String
        }
        let isUsable: Bool
        let steps: [Step]
    }

    @OptionGroup var options: CtlOptions

    @Argument(help: "The address, with options behind a #.")
    var address: String

    func perform(_ api: ControlAPI) async throws {
        let answer = try await api.ask("POST", "/v1/check", Address(address: address))
        try put(answer, as: Check.self) { TextTable.text($0.steps.map { [$0.name, $0.state, $0.detail] }) }
        if !(try answer.decoded(Check.self).isUsable) { throw ExitStatus.refused.code }
    }
}
