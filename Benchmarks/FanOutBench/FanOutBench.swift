// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// Measures the cost of fan-out, without an encoder: the packets of a file go through the real packet stream, queues
/// and RTMP outputs in real time. `scripts/bench fanout` runs it.
@main
struct FanOutBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay-fanout-bench",
        abstract: "Measures what it costs to send one stream to many RTMP outputs.",
        subcommands: [RunCommand.self, FloorCommand.self, SinkCommand.self])
}

/// The options that all measuring commands have.
struct MeasureOptions: ParsableArguments {
    @Option(help: "An MP4 or FLV file with H.264 and AAC; it is read into memory and repeated.")
    var input: String

    @Option(help: "How many outputs.")
    var outputs = 100

    @Option(help: "The port of the sink on 127.0.0.1.")
    var port: UInt16

    @Option(help: "Length of the window in which CPU time is counted, in seconds.")
    var seconds = 20

    @Option(help: "Seconds on air before the window.")
    var warmUp = 3

    func validate() throws {
        guard outputs >= 0, seconds > 0, warmUp >= 0, port > 0 else {
            throw ValidationError("--outputs and --warm-up are 0 or more, --seconds and --port 1 or more.")
        }
    }
}
