// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Networking
import TestSupport
import Testing

@testable import Publisher
@testable import RTMP

@Suite("Kinds of outputs")
struct OutputKindTests {
    /// An example address for each kind.
    private static let addresses = [
        OutputKind.rtmp.name: "rtmp://host/live/key", OutputKind.rtmpListen.name: "rtmp-listen://:1935/live/name",
        OutputKind.srt.name: "srt://host:9000", OutputKind.udp.name: "udp://239.0.0.1:5000",
        OutputKind.hls.name: "hls:/tmp/live",
    ]

    @Test("No two kinds of outputs share a name, an address prefix or the name of a counter")
    func apart() {
        for values in [
            OutputKind.all.flatMap(\.names).map(\.rawValue), OutputKind.all.flatMap(\.beginnings),
            OutputKind.all.flatMap(\.numbers).map(\.key), OutputKind.all.flatMap(\.numbers).map(\.metric),
        ] {
            #expect(Set(values).count == values.count, "\(values)")
        }
    }

    @Test("An output kind accepts exactly the options that it lists", arguments: OutputKind.all.map(\.name))
    func options(name: OutputKindName) throws {
        let kind = try #require(OutputKind.all.first { $0.name == name })
        let address = try #require(Self.addresses[name], "give an example of \(name)")
        var list = OptionList([:], of: kind.title)
        let read = try OutputAddress(address, options: &list)
        #expect(read.kind.name == name)
        #expect(Set(list.known) == Set(kind.options.map(\.name)))
    }

    @Test("An address belongs to the output kind whose complete scheme it begins with, ignoring case")
    func beginnings() {
        for (text, kind) in [
            ("RTMPS://host/a/b", .rtmp), ("rtmps-listen://host/a/b", .rtmpListen), ("hls:live", .hls),
            ("udp:", .udp), ("rtmpx://host/a/b", nil), ("rtmpss://host/a/b", nil), ("srt2://host:1", nil), ("", nil),
        ] as [(String, OutputKind?)] {
            #expect(OutputKind.of(text)?.name == kind?.name, "\(text)")
        }
    }

    @Test("A target reports the name of its kind, and RTMP with TLS a name of its own")
    func reportedNames() throws {
        let server = RTMPServer()
        let resources = OutputResources(
            writers: RTMPWriterPool(), server: server, identity: nil, onPlay: nil, stream: PacketStream())
        let reported = { (text: String) in
            var list = OptionList([:], of: "test")
            return try OutputAddress(text, options: &list).destination.target(name: "a", with: resources).kind
        }
        for kind in OutputKind.all where kind.name != OutputKind.rtmpListen.name {
            #expect(try reported(try #require(Self.addresses[kind.name])) == kind.name)
        }
        #expect(try reported("rtmps://host/live/key") == OutputKind.rtmp.secureName)
        var url = try RTMPListenURL("rtmp-listen://127.0.0.1/live/name", for: .output)
        url.port = 0
        let listening = try url.target(name: "a", with: resources)
        #expect(listening.kind == OutputKind.rtmpListen.name)
        listening.leave()
        #expect(OutputKind.rtmpListen.name(isSecure: true) == OutputKind.rtmpListen.secureName)
        #expect(OutputKind.srt.name(isSecure: true) == OutputKind.srt.name)
    }

    @Test("Only outputs that receivers connect to have a listening port")
    func ports() throws {
        let port = { (text: String) in
            var list = OptionList([:], of: "test")
            return try OutputAddress(text, options: &list).destination.listening
        }
        let offer = try #require(try port("rtmps-listen://0.0.0.0/live/name"))
        #expect(offer.port == 443 && offer.transport == .tcp && offer.offer?.isSecure == true)
        let listener = try #require(try port("srt://:9000?mode=listener"))
        #expect(listener.port == 9000 && listener.transport == .udp && listener.offer == nil)
        for text in ["srt://host:9000", "udp://host:5000", "rtmp://host/live/key", "hls:/tmp/live"] {
            #expect(try port(text) == nil, "\(text)")
        }
    }

    @Test("The check of an RTMP address says that the certificate is right only if the certificate is verified")
    func certificates() throws {
        let checked = { (text: String, values: [String: String]) throws -> String in
            var list = OptionList(values, of: "test")
            let destination = try OutputAddress(text, options: &list).destination
            return try #require(destination as? RTMPDestination).checked
        }
        #expect(try checked("rtmp://host/live/name", [:]).hasSuffix(": the server answers"))
        #expect(try checked("rtmps://host/live/name", [:]).hasSuffix("answers, its certificate is right"))
        #expect(
            try checked("rtmps://host/live/name", ["tls": "insecure"]).hasSuffix(
                "answers, its certificate is not verified"))
    }

    @Test("The check of an output's address gives a rating and the reason")
    func checks() throws {
        let resources = OutputCheckResources(server: RTMPServer()) { () throws(OutputFailure) in nil }
        let finding = { (text: String) in
            var list = OptionList([:], of: "test")
            return try OutputAddress(text, options: &list).destination.check(with: resources)
        }
        let directory = try TemporaryDirectory()
        let (there, later) = (directory.path, directory.path("live"))
        #expect(try finding("hls:\(there)") == OutputFinding(.usable, "\(there) can be written"))
        #expect(try finding("hls:\(later)") == OutputFinding(.usable, "\(later) can be made in \(there)"))
        #expect(try finding("udp://127.0.0.1:9") == OutputFinding(.usable, "udp://127.0.0.1:9: the name is known"))
    }
}
