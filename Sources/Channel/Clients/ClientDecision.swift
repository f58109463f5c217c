// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Media
package import Networking
internal import RTMP

/// Decides whether a client is allowed to publish or play, either by a program or by a server that is asked over HTTP.
package enum ClientDecision: Sendable, Equatable {
    /// The program at this path decides; see ``ClientCommand``.
    case program(String)
    /// The server that answers at this address decides; see ``ClientHook``.
    case server(HTTPEndpoint)

    /// Parses `text`, the value of `flag`. An address can refer to secrets, which errors do not repeat.
    package init(_ text: String, of flag: String, secrets: SecretReferences = .process) throws(TextFailure) {
        let scheme = text.prefix { $0 != ":" }.lowercased()
        guard ["http", "https"].contains(scheme) else {
            if let fault = ClientCommand.fault(text, of: flag) { throw fault }
            self = .program(text)
            return
        }
        do {
            self = .server(try HTTPEndpoint(try secrets.expand(text)))
        } catch {
            throw TextFailure("\(option: flag) is not usable: \(error)")
        }
    }

    /// Returns the closure that decides about clients of `channel`. `notice` receives the reason for each refusal.
    func authorization(channel: String, notice: @escaping @Sendable (String) -> Void) -> RTMPAuthorization {
        switch self {
        case .program(let program):
            let command = ClientCommand(program: program, channel: channel, notice: notice)
            return { await command.allows($0, from: $1) }
        case .server(let endpoint):
            let hook = ClientHook(endpoint: endpoint, channel: channel, notice: notice)
            return { await hook.allows($0, from: $1) }
        }
    }
}

/// Asks a server whether a client is allowed to publish or play. An HTTP status from 200 to 299 allows it.
///
/// The server is asked only about clients that have the right stream key. The request is a POST whose JSON contains the
/// same facts that ``ClientCommand`` puts into the environment.
struct ClientHook: Sendable {

    let endpoint: HTTPEndpoint
    /// The channel for which the server decides.
    let channel: String
    /// Receives the reason for each refusal of a client, without secrets.
    let notice: @Sendable (String) -> Void

    /// Returns whether the server allows the `request` of the client at `address`. A server that cannot be reached,
    /// answers with any other status or takes longer than 8 s refuses the client.
    func allows(_ request: RTMPStreamRequest, from address: String) async -> Bool {
        let reason: String
        do throws(OutputFailure) {
            let answer = try await HTTPClient(endpoint).answer(
                to: HTTPClient.Request(
                    "POST", headers: [("Content-Type", "application/json")], body: body(request, address)),
                within: ClientCommand.usualLimit, readsBody: false)
            if answer.head.isSuccess { return true }
            reason = "\(endpoint.name) answers with \(answer.head.status)"
        } catch {
            reason = "\(endpoint.name): \(error)"
        }
        notice("A client at \(address) may not \(request.action.rawValue): \(reason).")
        return false
    }

    private func body(_ request: RTMPStreamRequest, _ address: String) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let facts = ClientCommand.facts(request, address, channel: channel)
        // Strings can always be encoded, so the empty object is never sent.
        return (try? encoder.encode(facts)).map(Array.init) ?? Array("{}".utf8)
    }
}
