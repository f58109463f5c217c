// SPDX-License-Identifier: Apache-2.0

package import Networking

/// An address at which an RTMP server receives or offers a stream:
/// `rtmp-listen://[address][:port]/app[/instance…]/name[?options]`, or the same with `rtmps-listen://`, which is RTMP
/// over TLS.
///
/// Without an address, the server listens on the loopback interface only; `0.0.0.0` and `::` mean all interfaces. The
/// name of a received stream is its key. An option of a received stream is `takeover=yes`: a second publisher then
/// replaces the first. An offered stream has two options. `key=` is a key that players add to the name as `?key=`.
/// `players=` is the maximum number of players.
///
/// The description contains no secrets, so that an interpolated address cannot leak them.
package struct RTMPListenURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The direction of the stream.
    package enum Role: Sendable {
        /// Clients publish the stream to the server.
        case input
        /// Clients play the stream from the server.
        case output
    }

    /// The default maximum number of players.
    static let usualPlayers = 256

    /// The direction of the stream.
    package let role: Role
    /// Whether the connection uses TLS.
    package let isSecure: Bool
    /// The numeric address to listen on; an IPv6 address without brackets.
    package let host: String
    /// The port; by default 1935, or 443 with TLS.
    package internal(set) var port: UInt16
    /// The application with its instance, such as `live`.
    package let app: String
    let name: String
    /// Whether a second publisher replaces the first at any time, and not only when the first is silent; false for an
    /// output.
    package let takesOver: Bool
    /// Maximum number of players; 0 for an input.
    package let maximumPlayers: Int
    let playKey: String?

    /// Whether this address and `other` have the same direction, application and stream.
    package func hasSameStream(as other: RTMPListenURL) -> Bool {
        role == other.role && app == other.app && name == other.name
    }

    /// Parses the address `text`.
    package init(_ text: String, for role: Role) throws(AddressError) {
        let parts = try URLParts(text)
        guard ["rtmp-listen", "rtmps-listen"].contains(parts.scheme) else {
            throw AddressError("The address must begin with rtmp-listen:// or rtmps-listen://.")
        }
        guard parts.user == nil else { throw AddressError("An address to listen at has no user.") }
        self.role = role
        isSecure = parts.scheme == "rtmps-listen"
        host = HostAddress.listening(at: parts.host)
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

    /// The address without its options. At most two characters of a received stream's key remain.
    package var description: String {
        let place = "\(isSecure ? "rtmps" : "rtmp")-listen://\(URLParts.bracketed(host)):\(port)"
        return "\(place)/\(app)/\(role == .input ? URLParts.masked(name) : name)"
    }

    package var debugDescription: String { description }

    /// The address in masked form, for `dump` and mirrors.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    /// The application and the stream's name, as clients write them.
    var path: String { "\(app)/\(name)" }
}
