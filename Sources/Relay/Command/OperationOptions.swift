// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Media

/// The flags of the process as a whole.
struct OperationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("End after this much of the program.", valueName: "time"),
        transform: ArgumentParsing.duration)
    var duration: Duration?

    @Option(help: ArgumentHelp("The channel's name, in file names and logs.", valueName: "name"))
    var channel = "relay"

    @Option(
        help: ArgumentHelp(
            "Run the channels of this file, in YAML, in place of flags.",
            discussion:
                "Config/relay.example.yaml has every key. SIGHUP reads the file again and applies what changed.",
            valueName: "file"))
    var config: String?

    @Option(help: "How log lines look. (default: text)")
    var logFormat: LogFormat?

    @Flag(help: "No status line, even on a terminal.")
    var noStatus = false

    @Flag(name: .shortAndLong, help: "Log details.")
    var verbose = false
}

/// How log lines look.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    /// For people.
    case text
    /// One JSON object a line.
    case json
}
