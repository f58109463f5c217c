// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Ports below the range that the system uses for outgoing connections.
enum Ports {
    private static let next = Mutex(Int.random(in: 24_000..<31_000))

    /// Returns a port that is unused for TCP and UDP, and that no other test gets.
    static func free() throws -> Int {
        for _ in 0..<500 {
            let port = next.withLock { port in
                port = port < 32_000 ? port + 1 : 24_000
                return port
            }
            if !isUsed(port, by: "tcp"), !isUsed(port, by: "udp") { return port }
        }
        throw HarnessFailure("No port from 24000 to 32000 is free.")
    }

    /// Whether a socket is bound to the port. The kernel's tables are read, because a trial connection would disturb a
    /// server.
    static func isUsed(_ port: Int, by transport: String) -> Bool {
        let suffix = ":" + String(port + 0x10000, radix: 16, uppercase: true).suffix(4)
        return ["", "6"].contains { family in
            let table = (try? String(contentsOfFile: "/proc/net/\(transport)\(family)", encoding: .utf8)) ?? ""
            return table.split(separator: "\n").dropFirst().contains { line in
                line.split(separator: " ").dropFirst().first?.hasSuffix(suffix) ?? false
            }
        }
    }
}
