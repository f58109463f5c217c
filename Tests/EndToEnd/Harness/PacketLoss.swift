// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Makes the kernel lose random UDP packets to and from one port, as long as this object exists.
/// `scripts/test` removes the firewall rules of tests that were killed. It finds them by their comment.
final class PacketLoss: Sendable {
    /// Whether this user may make the kernel lose packets here.
    static let isPossible: Bool = {
        guard let loss = try? PacketLoss(port: Ports.free(), probability: 0.5) else { return false }
        return !loss.rules.isEmpty
    }()

    private let rules: [[String]]

    init(port: Int, probability: Double) throws {
        rules = ["--dport", "--sport"].map { side in
            ["INPUT", "-p", "udp", side, "\(port)", "-m", "statistic", "--mode", "random"]
                + ["--probability", "\(probability)", "-m", "comment", "--comment", "relay-test", "-j", "DROP"]
        }
        for rule in rules { try Self.iptables(["-I"] + rule) }
    }

    deinit { for rule in rules { try? Self.iptables(["-D"] + rule) } }

    private static func iptables(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Tools.path(of: "iptables"))
        process.arguments = ["-w", "5"] + arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw HarnessFailure("iptables \(arguments) failed.") }
    }
}
