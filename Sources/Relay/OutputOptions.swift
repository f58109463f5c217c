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
    }
}
