// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// srt-live-transmit, which writes what it receives to a transport stream file.
final class SRTReceiver: Sendable {
    /// Which side calls the other.
    enum Role: String {
        case listener
        case caller
        case rendezvous
    }

    let port: Int
    private let latency: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Starts a receiver. `port` is its own port if it listens, and otherwise relay's. `options` are options of the SRT
    /// address, such as `passphrase=…`.
    init(_ role: Role = .listener, port: Int? = nil, latency: Int = 200, options: String = "") async throws {
        let port = try port ?? Ports.free()
        (self.port, self.latency) = (port, latency)
        directory = try TemporaryDirectory()
        let query = "mode=\(role.rawValue)&latency=\(latency)" + (options.isEmpty ? "" : "&" + options)
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

    /// Returns the address to which relay sends.
    func url(options: String = "") -> String {
        "srt://127.0.0.1:\(port)?latency=\(latency)" + (options.isEmpty ? "" : "&" + options)
    }

    /// The path of the file with everything that was received so far.
    var file: String { directory.file("received.ts") }

    /// Waits until this many bytes were received.
    func hasReceived(bytes: Int, within limit: Duration) async throws {
        try await eventually("\(bytes) bytes arrive by SRT", within: limit) {
            if fileSize(file) >= bytes { return true }
            guard process.isRunning else { throw HarnessFailure("srt-live-transmit ended: \(process.errors)") }
            return false
        }
    }

    /// Stops the process with SIGSTOP.
    func freeze() { process.signal(SIGSTOP) }

    /// Undoes ``freeze()``.
    func thaw() { process.signal(SIGCONT) }

    /// Kills the process, as in a crash.
    func kill() async throws {
        process.signal(SIGKILL)
        try await process.ending(within: .seconds(5))
    }

    /// Waits until the receiver is rejected or gives up, and then kills it. srt-live-transmit may not notice that its
    /// call was rejected, and then waits forever, although libsrt has logged the rejection.
    func isSentAway(within limit: Duration) async throws {
        try await eventually("the receiver is sent away", within: limit) {
            !process.isRunning || process.errors.contains("REJECT")
        }
        process.signal(SIGKILL)
        try await process.ending(within: .seconds(5))
    }

    /// Waits for the end of the connection, and returns the path of the file with everything that was received.
    func recording() async throws -> String {
        try await process.ending(within: .seconds(10))
        return file
    }
}
