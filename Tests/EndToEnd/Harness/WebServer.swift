// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Python's web server on the loopback interface, which serves one directory.
final class WebServer: Sendable {
    private let child: ChildProcess
    private let port: Int

    /// Starts the server.
    init(_ directory: String) async throws {
        let port = try Ports.free()
        let child = try ChildProcess(
            "python3", ["-m", "http.server", "\(port)", "--bind", "127.0.0.1", "--directory", directory])
        (self.child, self.port) = (child, port)
        try await eventually("the web server listens", within: .seconds(10)) {
            guard child.isRunning else { throw HarnessFailure("python3 ended: \(child.errors)") }
            return Ports.isUsed(port, by: "tcp")
        }
    }

    /// Returns the address of a file in the directory.
    func url(_ name: String) -> String { "http://127.0.0.1:\(port)/\(name)" }

    /// The log lines of requests for files that do not exist.
    var missing: [Substring] {
        child.errors.split(separator: "\n").filter { $0.contains("\" 404 ") }
    }
}
