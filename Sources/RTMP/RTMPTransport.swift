// SPDX-License-Identifier: Apache-2.0

package import Networking

/// How an RTMP output reaches its server, and what the server supports.
package struct RTMPTransport: Sendable, Equatable {
    /// Which server certificates are accepted; ignored without TLS.
    package var tls: TLSVerification
    /// The proxy to use, if any.
    package var proxy: ProxyURL?
    /// Whether the server supports Enhanced RTMP, and so HEVC, AV1, Opus and AC-3.
    package var isEnhanced = false

    /// The options of an output's address that set these values.
    package static let options: [AddressOption] = [
        .init("proxy", "proxy", help: "proxy=http://… or socks5://…"), .init("tlsCa", "tls-ca", help: "tls-ca=file"),
        .init("tls", "tls", help: "tls=insecure"),
        .init(
            "enhanced", "enhanced", .answer,
            help: "enhanced=yes (the server takes HEVC, AV1, Opus and AC-3, which --copy can bring)"),
    ]

    package init(tls: TLSVerification = .system, proxy: ProxyURL? = nil) {
        self.tls = tls
        self.proxy = proxy
    }

    /// Removes the transport's options from `options`: `tls=insecure`, `tls-ca=FILE`, `proxy=URL`, and `enhanced=yes`
    /// or `enhanced=no`. Missing options have the values in `standard`. `isSecure` is whether the address is
    /// `rtmps://`.
    package init(
        taking options: inout OptionList, standard: RTMPTransport = RTMPTransport(), isSecure: Bool
    ) throws(AddressError) {
        self = standard
        let (mode, file) = (try options.take("tls"), try options.take("tls-ca"))
        if !isSecure, mode != nil || file != nil {
            throw AddressError("tls= and tls-ca= need an address that begins with rtmps://.")
        }
        if let mode, mode != "insecure" { throw AddressError("tls= takes the one value insecure.") }
        if mode != nil, file != nil { throw AddressError("tls=insecure and tls-ca= exclude each other.") }
        if let file { tls = .authority(file: file) }
        if mode != nil { tls = .insecure }
        if let answer = try options.take("enhanced") {
            guard ["yes", "no"].contains(answer) else { throw AddressError("enhanced= is yes or no.") }
            isEnhanced = answer == "yes"
        }
        if let text = try options.take("proxy") {
            do throws(AddressError) {
                proxy = try ProxyURL(text)
            } catch {
                throw AddressError("proxy= is not usable: \(error)")
            }
        }
    }
}
