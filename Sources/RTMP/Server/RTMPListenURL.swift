// SPDX-License-Identifier: Apache-2.0

package import Networking

/// Where an RTMP server receives a stream or offers one: `rtmp-listen://[address][:port]/app[/instance…]/name[?options]`,
/// or the same with `rtmps-listen://`, which is RTMP over TLS.
///
/// Without an address it listens on the loopback interface only; `0.0.0.0` and `::` name all. The name of a stream that
/// is received is its key. Options: of a stream that is received `takeover=yes`, by which a second publisher takes the
/// place of the first; of one that is offered `key=`, which players add to the name as `?key=`, and `players=`, how
/// many there may be.
///
/// It prints itself without its secrets, so that interpolation cannot leak them.
package struct RTMPListenURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// What the server does with the stream.
    package enum Role: Sendable {
        /// Clients publish it here.
        case input
        /// Clients play it from here.
        case output
    }

    /// How many players there may be, if the address does not say.
    static let usualPlayers = 256

    /// What the server does with the stream.
    package let role: Role
    /// Whether the connection is TLS.
    package let isSecure: Bool
    /// The address to listen at, numeric, an IPv6 one without brackets.
    package let host: String
    /// The port; 1935, or 443 with TLS, unless the address says otherwise.
    package internal(set) var port: UInt16
    /// The application with its instance, such as `live`.
    package let app: String
    let name: String
    /// Whether a second publisher takes the place of the first.
    package let takesOver: Bool
    /// How many players there may be.
    package let maximumPlayers: Int
    let playKey: String?

    /// Whether both receive, or both offer, the same stream of one application.
    package func hasSameStream(as other: RTMPListenURL) -> Bool {
        role == other.role && app == other.app && name == other.name
    }

    /// The address in `text`.
    package init(_ text: String, for role: Role) throws(AddressError) {
        let parts = try URLParts(text)
        guard ["rtmp-listen", "rtmps-listen"].contains(parts.scheme) else {
            throw AddressError("The address must begin with rtmp-listen:// or rtmps-listen://.")
        }
        guard parts.user == nil else { throw AddressError("An address to listen at has no user.") }
        self.role = role
        isSecure = parts.scheme == "rtmps-listen"
        host = ["", "localhost"].contains(parts.host) ? "127.0.0.1" : parts.host
        port = parts.port ?? (isSecure ? 443 : 1935)
        guard HostAddress(literal: host, port: port) != nil else {
            throw AddressError("The address to listen at must be a numeric one of this machine, such as 0.0.0.0.")
        }
        let components = parts.path.split(separator: "/", omittingEmptySubsequences: false)
        guard components.count > 1, !components.contains("") else {
            throw AddressError("The address needs an app and a stream's name: rtmp-listen://host/app/name.")
        }
        app = components.dropLast().map { URLParts.decode($0) }.joined(separator: "/")
        name = URLParts.decode(components[components.count - 1])
        var options = OptionList(query: parts.query, of: "RTMP")
        let isInput = role == .input
        takesOver = isInput ? try options.takeChoice("takeover", of: Answer.self) == .yes : false
        maximumPlayers =
            isInput ? 0 : try options.takeNumber("players", in: 1...10_000).map(Int.init) ?? Self.usualPlayers
        playKey = isInput ? nil : try options.take("key")
        try options.finish()
        if let playKey, playKey.isEmpty { throw AddressError("The RTMP option key is empty.") }
    }

    private enum Answer: String, CaseIterable {
        case yes
        case no
    }

    /// The address; of the key at most its first two characters, and without the players' key.
    package var description: String {
        let place = "\(isSecure ? "rtmps" : "rtmp")-listen://\(URLParts.bracketed(host)):\(port)"
        return "\(place)/\(app)/\(role == .input ? URLParts.masked(name) : name)"
    }

    package var debugDescription: String { description }

    /// What `dump` and mirrors see: the masked form only.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    /// What a client names by application and stream.
    var path: String { "\(app)/\(name)" }
}
