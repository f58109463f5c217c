// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// srt-live-transmit, writing what it receives to a transport stream file.
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

    /// Starts a receiver. `port` is its own if it listens, else relay's. `options` are those of the address, such as
    /// `passphrase=…`.
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

    /// Where to send to.
    func url(options: String = "") -> String {
        "srt://127.0.0.1:\(port)?latency=\(latency)" + (options.isEmpty ? "" : "&" + options)
    }

    /// Everything received so far.
    var file: String { directory.file("received.ts") }

    /// Waits until this much arrived.
    func hasReceived(bytes: Int, within limit: Duration) async throws {
        try await eventually("\(bytes) bytes arrive by SRT", within: limit) {
            if fileSize(file) >= bytes { return true }
            guard process.isRunning else { throw HarnessFailure("srt-live-transmit ended: \(process.errors)") }
            return false
        }
    }

    /// Stops it in its tracks.
    func freeze() { process.signal(SIGSTOP) }

    /// Undoes ``freeze()``.
    func thaw() { process.signal(SIGCONT) }

    /// Kills it, as a crash would.
    func kill() async throws {
        process.signal(SIGKILL)
        try await process.ending(within: .seconds(5))
    }

    /// Waits until it is sent away or gives up, and ends it: srt-live-transmit can miss that its call was refused, and
    /// then waits for ever, although libsrt has told it so in its log.
    func isSentAway(within limit: Duration) async throws {
        try await eventually("the receiver is sent away", within: limit) {
            !process.isRunning || process.errors.contains("REJECT")
        }
        process.signal(SIGKILL)
        try await process.ending(within: .seconds(5))
    }

    /// Waits for the end of the connection, and returns the file with all that was received.
    func recording() async throws -> String {
        try await process.ending(within: .seconds(10))
        return file
    }
}
