// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import RTMP
internal import Upload

/// A command that decides whether a client may publish or play: status 0 allows it.
///
/// It is a path, not a line for a shell: nothing that a client says is ever interpreted, and none of it is an argument.
/// What the command should know is in environment variables. It is asked about clients that have the right key.
struct ClientCommand: Sendable {
    /// Less than the server waits for a decision, so that its end is ours.
    static let usualLimit = Duration.seconds(8)
    /// How much a client can have to say.
    private static let longestValue = 2048

    /// The command's path.
    let program: String
    /// The channel that it is asked for.
    let channel: String
    /// How long it may take.
    var limit = usualLimit
    /// Who is told why a client was refused; without secrets.
    let notice: @Sendable (String) -> Void

    /// What is wrong with the command at `path`; nil if it can be run. `flag` names it.
    static func fault(_ path: String, of flag: String) -> TextFailure? {
        if ChildCommand.canRun(path) { return nil }
        // What looks like an address may hold a password.
        let named = path.contains("://") ? "this" : path
        return TextFailure(
            "\(option: flag) takes the path of a program or an http:// or https:// address, and \(named) is not one.")
    }

    /// Whether the command allows the `request` of the client at `address`. A command that fails, cannot be run or takes
    /// longer than its limit does not.
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

    /// What the command learns of the client.
    func environment(_ request: RTMPStreamRequest, _ address: String) -> [String: String] {
        let facts = Self.facts(request, address, channel: channel)
        return Dictionary(uniqueKeysWithValues: facts.map { ("RELAY_\($0.uppercased())", $1) })
    }

    /// What is known of a client that wants something of `channel`, by plain words.
    static func facts(_ request: RTMPStreamRequest, _ address: String, channel: String) -> [String: String] {
        [
            "event": request.action.rawValue, "channel": channel, "address": address, "app": request.app,
            "stream": request.name, "query": request.query, "client": request.client,
        ].mapValues(plain)
    }

    /// `text` without what has no place in an environment, and no longer than a client may make it.
    private static func plain(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        plain.append(contentsOf: text.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }.prefix(longestValue))
        return String(plain)
    }
}
