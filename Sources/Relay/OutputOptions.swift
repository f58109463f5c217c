// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Publisher

/// The flags that name live outputs. Addresses are read here and not by the parser, whose messages would show them
/// with their keys.
struct OutputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Publish by RTMP. May be given again and again.", discussion: "rtmp://host[:port]/app/key", valueName: "url"
        ))
    var rtmp: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send MPEG-TS by SRT. May be given again and again.",
            discussion: "srt://host:port?mode=caller&latency=200&passphrase=…&streamid=…, times in milliseconds; "
                + "with mode=listener receivers call us.", valueName: "url"))
    var srt: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send to an address of any kind. May be given again and again.",
            discussion: "udp://host-or-group:port?ttl=1&localaddr=…, hls:directory#segment=4s,list=6",
            valueName: "address"))
    var output: [String] = []

    func apply(to configuration: inout ChannelConfiguration) throws {
        if Set(rtmp).count < rtmp.count || Set(srt).count < srt.count {
            throw ValidationError("The same output address is given twice; give each once.")
        }
        for (index, text) in rtmp.enumerated() {
            do {
                configuration.outputs.append(.rtmp(try RTMPURL(text)))
            } catch {
                throw ValidationError("--rtmp number \(index + 1) is not usable: \(error)")
            }
        }
        for (index, text) in srt.enumerated() {
            do {
                configuration.outputs.append(.srt(try SRTURL(text)))
            } catch {
                throw ValidationError("--srt number \(index + 1) is not usable: \(error)")
            }
        }
        for (index, text) in output.enumerated() {
            do {
                configuration.outputs.append(try Self.output(text))
            } catch {
                throw ValidationError("--output number \(index + 1) is not usable: \(error)")
            }
        }
    }

    private static func output(_ text: String) throws(PublisherURLError) -> ChannelConfiguration.Output {
        guard text.lowercased().hasPrefix("hls:") else { return .udp(try UDPURL(text)) }
        let parts = text.split(separator: "#", maxSplits: 1).map(String.init)
        var values: [String: String] = [:]
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: ",") {
            let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
            values[sides[0]] = sides.count > 1 ? sides[1] : ""
        }
        return .hls(try HLSLocation(parts[0]), try HLSOptions(values))
    }
}
