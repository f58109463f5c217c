// SPDX-License-Identifier: Apache-2.0

/// srt-live-transmit, writing what it receives to a transport stream file.
final class SRTReceiver: Sendable {
    /// Who calls whom.
    enum Role: String {
        case listener
        case caller
    }

    private let port: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess
    private let role: Role

    /// Starts a receiver. `options` are those of the address, such as `passphrase=…`.
    init(_ role: Role = .listener, port: Int? = nil, options: String = "") async throws {
        let port = try port ?? Ports.free()
        (self.port, self.role) = (port, role)
        directory = try TemporaryDirectory()
        let query = "mode=\(role.rawValue)&latency=200" + (options.isEmpty ? "" : "&" + options)
        process = try ChildProcess(
            "srt-live-transmit", ["-v", "-a", "no", "srt://127.0.0.1:\(port)?\(query)", "file://con"],
            output: directory.file("received.ts"))
        let child = process
        if role == .listener {
            try await eventually("srt-live-transmit listens", within: .seconds(5)) {
                guard child.isRunning else { throw HarnessFailure("srt-live-transmit ended: \(child.errors)") }
                return Ports.isUsed(port, by: "udp")
            }
        }
    }

    /// Where to send to.
    func url(options: String = "") -> String {
        "srt://127.0.0.1:\(port)?latency=200" + (options.isEmpty ? "" : "&" + options)
    }

    /// Waits for the end of the connection, and returns the file with all that was received.
    func recording() async throws -> String {
        try await process.ending(within: .seconds(10))
        return directory.file("received.ts")
    }
}
