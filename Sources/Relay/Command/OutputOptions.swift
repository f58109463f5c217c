// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Networking
internal import Publisher
internal import RTMP

/// The flags that name live outputs. Addresses are read here and not by the parser, whose messages would show them
/// with their keys.
struct OutputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Publish by RTMP or RTMPS. May be given again and again.",
            discussion: "rtmp://host[:port]/app/key or rtmps://…; with a login rtmp://user:password@host/app/key",
            valueName: "url"))
    var rtmp: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send MPEG-TS by SRT. May be given again and again.",
            discussion: "srt://host:port?mode=caller&latency=200&passphrase=…&streamid=…, times in milliseconds; "
                + "with mode=listener receivers call us, with mode=rendezvous both call.", valueName: "url"))
    var srt: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send to any address, with options. May be given again and again.",
            discussion:
                "An address as for --rtmp or --srt, udp://host-or-group:port (MPEG-TS; ?ttl=, localaddr=, dscp=, "
                + "pkt_size=), hls:directory or rtmp-listen://[address][:port]/app/name, from which players pull, on the "
                + "loopback interface unless an address is given, such as 0.0.0.0 (?players=, how many, key=, which they "
                + "add to the name as ?key=; rtmps-listen:// with --tls-cert and --tls-key). Behind a #, here and there, options of this output: "
                + "name=youtube, rendition=archive (an encoding that --rendition names), queue=2s (what may wait for a slow target), queue-bytes=8MB, retry=forever or a number, "
                + "backup=address (used after backup-after=3 failures in a row; the first is looked at each "
                + "primary-check=15s and gets the stream back when it answers). "
                + "For RTMP(S): proxy=http://… or socks5://…, tls-ca=file, tls=insecure, enhanced=yes (the server takes HEVC, "
                + "AV1, Opus and AC-3, which --copy can bring). For HLS: segment=4s, list=6, "
                + "endlist=program, always or never (which ends close the playlist). "
                + "A comma in a value is written %2C. "
                + "In addresses and values, ${NAME} is a variable of the environment and ${file:/path} a file of mode 600, "
                + "which keep secrets out of the command line; write $${ for ${ itself.",
            valueName: "address"))
    var output: [String] = []

    @Option(
        help: ArgumentHelp(
            "A program, or an address, that decides which clients may play an --output of rtmp-listen://.",
            discussion: "As --on-publish; the event is play.", valueName: "program"))
    var onPlay: String?

    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp(
            "Trust the authorities in this PEM file, and no others, with all rtmps:// outputs.", valueName: "file"))
    var authorities: String?

    private var transport: RTMPTransport {
        RTMPTransport(tls: authorities.map { .authority(file: $0) } ?? .system)
    }

    func apply(to configuration: inout ChannelConfiguration) throws {
        configuration.outputs =
            try read(rtmp, of: "--rtmp", schemes: ["rtmp"]) + read(srt, of: "--srt", schemes: ["srt"])
            + read(output, of: "--output", schemes: [])
        if let onPlay {
            guard configuration.outputs.contains(where: { $0.address.scheme == "rtmp-listen" }) else {
                throw ValidationError("--on-play is for an --output of rtmp-listen://. Leave it out.")
            }
            do throws(ClientDecision.Fault) {
                configuration.onPlay = try ClientDecision(onPlay, of: "--on-play")
            } catch {
                throw ValidationError("\(error)")
            }
        }
        if Set(configuration.outputs.map(\.text)).count < configuration.outputs.count {
            throw ValidationError("The same output address is given twice; give each once.")
        }
        let names = configuration.outputNames
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw ValidationError("Two outputs have the name \(twice); give each its own by #name=.")
        }
    }

    /// Returns how the output with this index was given, such as `--srt number 1`.
    func label(of index: Int) -> String {
        var number = index
        for (flag, texts) in [("--rtmp", rtmp), ("--srt", srt)] {
            if number < texts.count { return "\(flag) number \(number + 1)" }
            number -= texts.count
        }
        return "--output number \(number + 1)"
    }

    private func read(_ texts: [String], of flag: String, schemes: [String]) throws -> [OutputSpecification] {
        try texts.enumerated().map { index, text in
            do {
                return try OutputSpecification(text, schemes: schemes, standard: transport)
            } catch {
                throw ValidationError("\(flag) number \(index + 1) is not usable: \(error)")
            }
        }
    }
}
