// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import RTMP
internal import Upload

/// A command that decides whether a client is allowed to publish or play: exit status 0 allows it.
///
/// The command is the path of a program, not a line for a shell: text from a client is never interpreted, and never
/// becomes an argument. The program gets its information in environment variables. It is run only for clients that have
/// the right stream key.
struct ClientCommand: Sendable {
    /// The default time limit of a decision. It is shorter than the server's own limit, so that the command is ended
    /// before the server gives up.
    static let usualLimit = Duration.seconds(8)
    /// The maximum length of one value that a client sent, in Unicode scalars.
    private static let longestValue = 2048

    /// The path of the program that decides.
    let program: String
    /// The channel for which the command decides.
    let channel: String
    /// How long to wait for the command.
    var limit = usualLimit
    /// Receives the reason for each refusal of a client, without secrets.
    let notice: @Sendable (String) -> Void

    /// Describes why the program at `path` cannot be run; nil if it can be run. `flag` is the flag that names the
    /// command.
    static func fault(_ path: String, of flag: String) -> TextFailure? {
        if ChildCommand.canRun(path) { return nil }
        // A path that resembles an address can contain a password, so the error does not repeat it.
        let named = path.contains("://") ? "this" : path
        return TextFailure(
            "\(option: flag) takes the path of a program or an http:// or https:// address, and \(named) is not one.")
    }

    /// Returns whether the command allows the `request` of the client at `address`. A command that fails, cannot be run
    /// or takes longer than its limit refuses the client.
    func allows(_ request: RTMPStreamRequest, from address: String) async -> Bool {
        let command = ChildCommand(
            program: ChildCommand.absolute(program), arguments: [], environment: environment(request, address),
            limit: limit)
        do throws(DeliveryFailure) {
            let outcome = try await command.run()
            if !outcome.isSuccess { tell(request, address, "\(program) \(outcome.ending)") }
            return outcome.isSuccess
        } catch {
            tell(request, address, "\(program): \(error)")
            return false
        }
    }

    private func tell(_ request: RTMPStreamRequest, _ address: String, _ reason: String) {
        notice("A client at \(address) may not \(request.action.rawValue): \(reason).")
    }

    /// The environment variables that describe the client to the command.
    func environment(_ request: RTMPStreamRequest, _ address: String) -> [String: String] {
        let facts = Self.facts(request, address, channel: channel)
        return Dictionary(uniqueKeysWithValues: facts.map { ("RELAY_\($0.uppercased())", $1) })
    }

    /// The facts about a client that requests a stream of `channel`, by their names.
    static func facts(_ request: RTMPStreamRequest, _ address: String, channel: String) -> [String: String] {
        [
            "event": request.action.rawValue, "channel": channel, "address": address, "app": request.app,
            "stream": request.name, "query": request.query, "client": request.client,
        ].mapValues(plain)
    }

    /// Returns `text` without characters that must not be in an environment, cut to the maximum length.
    private static func plain(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        plain.append(contentsOf: text.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }.prefix(longestValue))
        return String(plain)
    }
}
