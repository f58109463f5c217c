// SPDX-License-Identifier: Apache-2.0

/// Sends a transport stream file by UDP, packet by packet and unchanged, at the pace of its PCR, as
/// `scripts/live-inputs` does. Its audio can be sent later than its position in the file, with unchanged timestamps, as
/// broadcasters multiplex it.
enum TransportStreamSender {
    /// Starts to send `path` to `port` of this machine.
    static func start(_ path: String, to port: Int, audioLater delay: Double) throws -> ChildProcess {
        try ChildProcess("python3", ["\(Tools.package)/scripts/live-inputs.d/late.py", path, "\(port)", "\(delay)"])
    }
}
