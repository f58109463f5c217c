// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media

@testable import Control
@testable import Networking

/// Parses `text` as each field of a request's head that the API reads.
func readHead(_ text: String) {
    readHost(text)
    if let token = RequestHead.bearerToken(text) { require(!token.isEmpty && text.hasSuffix(token)) }
    require(!RequestHead.mediaType(text).contains(";"))
    require(!RequestHead.names(text, "\"1a\"") || text.contains("\"1a\"") || text.contains("*"))
    readForwarded(text)
    for size: Int64 in [0, 1, 1000, .max] {
        guard case .part(let range) = ByteRange(text, size: size) else { continue }
        require(range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty)
    }
}

/// A host name that is not this host must never count as this host.
private func readHost(_ text: String) {
    for authority in [text, RequestHead.authority(ofOrigin: text)] {
        guard let host = RequestHead.host(of: authority) else { continue }
        require(!host.isEmpty && host == host.lowercased())
        // An address consists of the characters of an address, so no name can look like one.
        require(IPAddress(host) == nil || host.utf8.allSatisfy("0123456789abcdef.:".utf8.contains))
    }
}

/// The client's address must be an address in the header field, or that of the peer.
private func readForwarded(_ text: String) {
    let proxies = ["10.0.0.0/8", "::1"].compactMap { AddressRange($0) }
    require(RequestHead.client(forwarded: text, from: "192.0.2.1", proxies: proxies) == "192.0.2.1")
    let client = RequestHead.client(forwarded: text, from: "10.0.0.1", proxies: proxies)
    require(client == "10.0.0.1" || IPAddress(client) != nil)
    require(client.utf8.allSatisfy("0123456789abcdefABCDEF.:".utf8.contains))
    _ = ClientNetwork(client)
    if let range = AddressRange(text), let own = IPAddress(String(text.prefix { $0 != "/" })) {
        require(range.contains(own))
    }
}

/// Parses `text` as a query value under each rule, as a component of a path, and as a time.
func readQuery(_ text: String) {
    let rules: [QueryRule] = [
        .choice(["0", "1"]), .integer(32...1920), .integer(.min ... .max), .number(0...31_536_000), .text(least: 1),
    ]
    for rule in rules where rule.allows(text) {
        switch rule {
        case .integer(let range): require(Int(text).map(range.contains) == true)
        case .number: require(Double(text).map { $0.isFinite } == true)
        case .text: require(!text.isEmpty)
        case .choice: break
        }
    }
    if let component = RequestHead.pathComponent(text) { require(!component.utf8.contains(0)) }
    require(RequestHead.matches(text, text) || text.split(separator: "/").contains { $0.hasPrefix("{") })
    _ = RequestHead.matches(text, "/v1/channels/{channel}/recordings/{recording}/media.mp4")
    guard let time = try? ClockTime.milliseconds(text, "from") else { return }
    require(ClockTime.all.contains(time) && text.hasSuffix("Z"))
}
