// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Control
internal import Glibc
internal import Logging
internal import Media
internal import Networking
internal import Status

/// `relay run`, or `relay` without a subcommand: runs one channel from flags, or the channels of a configuration file.
struct RunCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Puts a program on air; what relay does without the name of a subcommand.",
        discussion: """
            Ctrl-C ends cleanly within 3 seconds; a second Ctrl-C ends at once, and the next start completes the file \
            that was open. SIGUSR1 begins a new file of the recording. SIGUSR2 tries the outputs again that have \
            given up after retry=, or were refused.
            """)

    @OptionGroup var flags: RunFlags

    var operation: OperationOptions { flags.operation }

    func check() throws {
        if operation.config == nil {
            _ = try channelConfiguration()
            _ = try httpSettings()
        }
    }

    func work() throws {
        if let path = operation.config { return try work(withFile: path) }
        if let flag = Self.repeated(in: CommandLine.arguments) {
            throw ValidationError("\(flag) is given twice, and there can be one. Leave one of them out.")
        }
        let http = try httpSettings()
        ArgumentMask.hideSecrets(
            followingAny: [
                "--rtmp", "--srt", "--output", "--input", "--audio-input", "--webhook", "--on-publish", "--on-play",
            ])
        ArgumentMask.hideValues(followingAny: ["--http-token"])
        let configuration = try channelConfiguration()
        try run(HostConfiguration(configuration, http: http))
    }

    /// Runs the channels of the configuration file.
    private func work(withFile path: String) throws {
        // SIGHUP, which reloads the configuration, is ignored until there is a configuration.
        signal(SIGHUP, SIG_IGN)
        if let flag = Self.flagBesidesFile(in: CommandLine.arguments) {
            throw ValidationError("With --config, the file says what \(flag) says. Leave it out.")
        }
        let file = try HostConfiguration.forCommand(at: path)
        try run(file)
    }

    /// Runs the channels until all have ended, and throws their exit status. `--log-format` overrides the file's
    /// setting; `--verbose` and `--no-status` apply in addition to the file's settings.
    private func run(_ configuration: HostConfiguration) throws {
        let log = configuration.log
        let notifier = ServiceNotifier.take()
        let terminal = Terminal(showsStatus: log.showsStatus && !operation.noStatus)
        let events = EventLog()
        // Without a file there is only one channel, so log lines for people need not contain its name.
        let writer = LogWriter(
            format: operation.logFormat ?? log.format ?? .text, namesChannels: configuration.path != nil, events: events
        ) { terminal.log($1, $0) }
        let level = operation.verbose || log.isVerbose ? Logger.Level.debug : .info
        LoggingSystem.bootstrap { RelayLogHandler(label: $0, writer: writer, logLevel: level) }
        let limit = DescriptorLimit.raise()
        if let shortage = DescriptorLimit.shortage(descriptors: configuration.descriptors, limit: limit) {
            throw ValidationError(shortage)
        }
        DescriptorReserve.shared.keep(
            forOutputs: configuration.outputCount, needing: DescriptorLimit.needed(configuration.descriptors), of: limit
        )
        let host = Host(terminal: terminal, notifier: notifier)
        let server = ControlServer(
            configuration.http, host: host, events: events, version: RelayVersion.text, logger: Logger(label: "relay"))
        do throws(ControlServer.Failure) {
            try server.start()
        } catch {
            Logger(label: "relay").error("\(error)")
            terminal.close()
            throw ExitStatus.nothingDelivered.code
        }
        let status = host.run(configuration)
        server.stop()
        writer.tellLeftOut(isEnd: true)
        terminal.close()
        throw status.code
    }

    /// Returns the first flag that conflicts with the configuration file; nil if there is no such flag.
    static func flagBesidesFile(in arguments: [String]) -> String? {
        let allowed: Set = ["--config", "--log-format", "--no-status", "--verbose"]
        return arguments.map { String($0.prefix { $0 != "=" }) }.first { $0.hasPrefix("--") && !allowed.contains($0) }
    }

    /// The first flag that is given twice although only one is allowed; nil if there is no such flag. The parser would
    /// silently use the second one and ignore the first.
    static func repeated(in arguments: [String]) -> String? {
        let single: Set = [
            "--audio-input", "--slate", "--rundown", "--record", "--record-also", "--segment", "--duration",
            "--channel",
        ]
        var seen: Set<Substring> = []
        let names = arguments.prefix { $0 != "--" }.map { $0.prefix { $0 != "=" } }
        return names.first { single.contains(String($0)) && !seen.insert($0).inserted }.map(String.init)
    }

    /// The configuration made from the flags; throws a sentence that says what is wrong with them.
    func channelConfiguration() throws(TextFailure) -> ChannelConfiguration { try flags.channelConfiguration() }

    /// The settings of the HTTP server made from the flags; throws a sentence that says what is wrong with them.
    private func httpSettings() throws -> ControlSettings {
        var keys = ControlKeys()
        (keys.address, keys.socket) = (operation.http, operation.httpSocket)
        keys.tokens = try operation.httpToken.map { text in
            guard let mark = text.firstIndex(of: "=") else {
                throw ValidationError("--http-token is a role, =, and the token: operate=${file:/etc/relay/token}.")
            }
            return ControlKeys.Token(role: String(text[..<mark]), token: String(text[text.index(after: mark)...]))
        }
        for (index, text) in operation.webhook.enumerated() {
            do {
                keys.webhooks.append(try ControlKeys.Webhook(flag: text))
            } catch {
                throw ValidationError("--webhook number \(index + 1) is not usable: \(error)")
            }
        }
        do throws(ControlKeys.Fault) {
            return try keys.settings()
        } catch {
            throw ValidationError("--\(Self.flag(of: error.key)): \(error.text)")
        }
    }

    /// Returns the name, without the hyphens in front, of the flag that is equivalent to a key of `http` in the file.
    private static func flag(of key: String) -> String {
        switch key.prefix(while: { $0 != "[" }) {
        case "address": "http"
        case "tokens": "http-token"
        case "webhooks": "webhook"
        default: key
        }
    }
}
