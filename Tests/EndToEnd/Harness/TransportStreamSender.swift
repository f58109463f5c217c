// SPDX-License-Identifier: Apache-2.0

/// Sends a transport stream file by UDP as it is, packet by packet, at the pace of its own clock references, as
/// `scripts/live-inputs` does. Its audio can follow later than it stands in the file: a multiplex as broadcasters make
/// them, with the same time stamps.
enum TransportStreamSender {
    /// Begins to send `path` to `port` of this machine.
    static func start(_ path: String, to port: Int, audioLater delay: Double) throws -> ChildProcess {
        try ChildProcess("python3", ["\(Tools.package)/scripts/live-inputs.d/late.py", path, "\(port)", "\(delay)"])
    }
}
