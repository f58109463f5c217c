// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Media

/// The flags that concern the process, and the name and duration of its channel.
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

    @Option(
        help: ArgumentHelp(
            "Serve the web page, the HTTP API and metrics here.",
            discussion:
                "host:port, such as 127.0.0.1:8080. An address that others can reach needs --http-token. Certificates and "
                + "more are keys of a configuration file.", valueName: "address"))
    var http: String?

    @Option(
        help: ArgumentHelp(
            "Serve the API, without tokens, on this Unix socket.",
            discussion: "With RUNTIME_DIRECTORY in the environment, as systemd sets it, it is relay.sock there.",
            valueName: "path"))
    var httpSocket: String?

    @Option(
        help: ArgumentHelp(
            "Who shows this token by HTTP may look (view=…) or do everything (operate=…). May be given again and again.",
            discussion: "12 characters or more; ${NAME} and ${file:/path} keep it out of the command line.",
            valueName: "role=token"))
    var httpToken: [String] = []

    @Option(
        help: ArgumentHelp(
            "Tell this address of events by HTTP. May be given again and again.",
            discussion:
                "https://host/path, with options behind a #: secret=… (what deliveries are signed with), "
                + "events=output+alarm (kinds; all without it), level=warning (nothing that matters less), tls-ca=file. "
                + "${NAME} and ${file:/path} are replaced as in --output. docs/control.md says what is sent.",
            valueName: "address"))
    var webhook: [String] = []

    @Option(help: "How log lines look. (default: text)")
    var logFormat: LogFormat?

    @Flag(help: "No status line, even on a terminal.")
    var noStatus = false

    @Flag(name: .shortAndLong, help: "Log details.")
    var verbose = false
}

/// The format of log lines.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    /// Text for people.
    case text
    /// One JSON object on each line.
    case json
}
