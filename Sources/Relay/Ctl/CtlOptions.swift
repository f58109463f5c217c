// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Networking

/// The options by which a command finds the running relay.
struct CtlPlace: ParsableArguments {
    @Option(help: ArgumentHelp("The Unix socket of the relay.", valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp("The address of its HTTP server, such as https://studio.example:8080.", valueName: "url"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "What the server wants to be shown; ${file:/path} keeps it out of the command line.", valueName: "token"))
    var token: String?

    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp("Trust the authorities in this PEM file, and no others.", valueName: "file"))
    var authorities: String?

    func validate() throws {
        if url != nil, socket != nil {
            throw ValidationError("--url and --socket exclude each other; give one of them.")
        }
        if url == nil, token != nil || authorities != nil {
            throw ValidationError("--token and --tls-ca are for --url: the Unix socket needs neither.")
        }
    }

    /// Returns the API of the relay that the options select. Overwrites the secrets in the memory of the command line.
    func api(secrets: SecretReferences = .process) throws -> ControlAPI {
        ArgumentMask.hideValues(followingAny: ["--token"])
        ArgumentMask.hideAddresses()
        guard let url else {
            return ControlAPI(HTTPEndpoint(socket: socket ?? ControlKeys.standardSocket ?? "/run/relay/relay.sock"))
        }
        do {
            let endpoint = try HTTPEndpoint(url)
            let trust = authorities.map { TLSVerification.authority(file: $0) } ?? .system
            let token = try token.map { try secrets.expand($0) } ?? (try? secrets.expand("${RELAY_TOKEN}"))
            if token != nil, !endpoint.isPrivate {
                Terminal.put("note: the token is sent unencrypted; https:// keeps it secret\n")
            }
            return ControlAPI(endpoint, trust: trust, token: token)
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

/// The options of all `ctl` commands.
struct CtlOptions: ParsableArguments {
    @OptionGroup var place: CtlPlace

    @Flag(help: "Print what relay answers, in JSON.")
    var json = false
}

/// A command that sends requests to a running relay.
protocol CtlSubcommand: AsyncParsableCommand {
    var options: CtlOptions { get }

    /// Carries out the command.
    func perform(_ api: ControlAPI) async throws
}

extension CtlSubcommand {
    func run() async throws {
        let api = try options.place.api()
        do {
            try await perform(api)
        } catch let failure as ControlAPI.Failure {
            for line in failure.lines { Terminal.put("Error: \(PrintedText.escaped(line))\n") }
            throw failure.status.code
        }
    }

    /// Prints the response: as JSON if that was requested, otherwise as `text`.
    func put<Answer: Decodable>(_ answer: ControlAPI.Answer, as type: Answer.Type, _ text: (Answer) -> String) throws {
        Terminal.put(options.json ? answer.text + "\n" : text(try answer.decoded(type)), to: 1)
    }
}

/// The options that select the channel.
struct CtlChannelOptions: ParsableArguments {
    @Option(help: "The channel; not needed where there is one.")
    var channel: String?
}

/// Formats rows in columns.
enum TextTable {
    /// Returns one line for each of `rows`, with its cells aligned in columns; the last column is not padded.
    static func text(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(PrintedText.escaped) }
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }
}
