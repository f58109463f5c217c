// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Networking
internal import RTMP

extension OutputKind {
    /// The output kind RTMP and RTMPS, which publishes on a server.
    package static let rtmp = OutputKind(
        "rtmp", secure: "rtmps", beginnings: ["rtmp://", "rtmps://"], title: "RTMP",
        help: "rtmp://host[:port]/app/key or rtmps://…; with a login rtmp://user:password@host/app/key",
        options: RTMPTransport.options
    ) { text, options, defaults throws(AddressError) in
        let url = try RTMPURL(text)
        let standard = RTMPTransport(tls: defaults.tls)
        return RTMPDestination(
            url: url, transport: try RTMPTransport(taking: &options, standard: standard, isSecure: url.isSecure))
    }
}

/// A parsed `rtmp://` or `rtmps://` address: a stream on an RTMP server, and the way to connect to the server.
struct RTMPDestination: OutputDestination {
    let url: RTMPURL
    let transport: RTMPTransport

    var descriptors: Int { url.isSecure ? 5 : 2 }
    var isUnverified: Bool { url.isSecure && transport.tls == .insecure }

    func target(name: String, with resources: OutputResources) throws(OutputFailure) -> any OutputTarget {
        RTMPTarget(url: url, name: name, pool: resources.writers, transport: transport)
    }

    func check(with _: OutputCheckResources) -> OutputFinding {
        OutputFinding.of { () throws(OutputFailure) in
            try EndpointCheck.connect(
                to: url.host, port: url.port, proxy: transport.proxy, tls: url.isSecure ? transport.tls : nil)
            return checked
        }
    }

    /// What the check of the address has found if the server answers.
    var checked: String {
        let certificate = isUnverified ? ", its certificate is not verified" : ", its certificate is right"
        return "\(url): the server answers\(url.isSecure ? certificate : "")"
    }
}
