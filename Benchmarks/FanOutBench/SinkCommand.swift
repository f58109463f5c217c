// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import Networking
internal import Publisher

/// Receives the bytes that the other commands send, with as little CPU time as possible, so that enough CPU time
/// remains for the measurement.
struct SinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sink", abstract: "Accept publishers and discard what they send, until killed.")

    @Option(help: "The port on 127.0.0.1; 0 lets the kernel choose. It is printed.")
    var port: UInt16 = 0

    @Flag(help: "No RTMP: discard all bytes of all connections.")
    var raw = false

    func run() throws {
        DescriptorLimit.raise()
        let listener = try LoopbackSocket.listening(port: port, backlog: 4096)
        print(LoopbackSocket.port(of: listener))
        fflush(nil)
        Sink(listener: listener, isRaw: raw).run()
    }
}
