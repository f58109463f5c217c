// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `relay ctl output`: the live outputs of a channel.
struct CtlOutputCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "output", abstract: "Adds, removes, pauses and changes live outputs.",
        discussion: """
            Addresses are written as for --output, with options behind a #. ${NAME} and ${file:/path} are refused: they \
            are for flags and files.
            """,
        subcommands: [
            CtlOutputAddCommand.self, CtlOutputRemoveCommand.self, CtlOutputPauseCommand.self,
            CtlOutputResumeCommand.self, CtlOutputRetryCommand.self, CtlOutputSetCommand.self,
        ])
}

/// The body of a request that adds or changes an output.
private struct OutputChange: Encodable {
    var paused: Bool?
    var address: String?
}

/// The options of all commands that concern one output.
struct CtlOutputOptions: ParsableArguments {
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: ArgumentHelp("The output, as status names it.", valueName: "name"))
    var name: String

    fileprivate func path(_ api: ControlAPI) async throws -> String {
        "\(try await api.path(ofChannel: channel.channel))/outputs/\(ControlAPI.encoded(name))"
    }
}

extension CtlSubcommand {
    fileprivate func putOutput(_ answer: ControlAPI.Answer) throws {
        try put(answer, as: CtlChannel.Output.self) { "\($0.name)  \($0.state)\n" }
    }
}

/// `relay ctl output add`: adds an output.
struct CtlOutputAddCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Begins to send to another address.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Argument(help: "The address, with options behind a #, such as name=second.")
    var address: String

    func perform(_ api: ControlAPI) async throws {
        let path = try await api.path(ofChannel: channel.channel)
        try putOutput(try await api.ask("POST", "\(path)/outputs", OutputChange(address: address)))
    }
}

/// `relay ctl output remove`: ends an output and removes it.
struct CtlOutputRemoveCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Ends an output for good.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var output: CtlOutputOptions

    func perform(_ api: ControlAPI) async throws { _ = try await api.ask("DELETE", output.path(api)) }
}

/// `relay ctl output pause`: takes an output off air.
struct CtlOutputPauseCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(commandName: "pause", abstract: "Takes an output off air.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var output: CtlOutputOptions

    func perform(_ api: ControlAPI) async throws {
        try putOutput(try await api.ask("PATCH", output.path(api), OutputChange(paused: true)))
    }
}

/// `relay ctl output resume`: puts a paused output on air again.
struct CtlOutputResumeCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Puts an output on air again that was paused.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var output: CtlOutputOptions

    func perform(_ api: ControlAPI) async throws {
        try putOutput(try await api.ask("PATCH", output.path(api), OutputChange(paused: false)))
    }
}

/// `relay ctl output retry`: immediately retries an output that waits, was refused or has given up.
struct CtlOutputRetryCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Tries an output at once that waits, was refused or has given up.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var output: CtlOutputOptions

    func perform(_ api: ControlAPI) async throws {
        try putOutput(try await api.ask("POST", output.path(api) + "/retry"))
    }
}

/// `relay ctl output set`: gives an output another address or other options.
struct CtlOutputSetCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Gives an output another address or other options, under its name.")

    @OptionGroup var options: CtlOptions
    @OptionGroup var output: CtlOutputOptions

    @Argument(help: "The address, with options behind a #.")
    var address: String

    func perform(_ api: ControlAPI) async throws {
        try putOutput(try await api.ask("PATCH", output.path(api), OutputChange(address: address)))
    }
}
