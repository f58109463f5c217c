// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A real proxy on the loopback interface that accepts only `bob` with the password `correct-horse`.
final class TestProxy: Sendable {
    /// The port on which the proxy listens.
    let port: Int
    private let directory: TemporaryDirectory
    private let child: ChildProcess

    private init(port: Int, directory: TemporaryDirectory, child: ChildProcess) async throws {
        self.port = port
        self.directory = directory
        self.child = child
        try await eventually("\(child.program) listens at \(port)", within: .seconds(5)) {
            guard child.isRunning else { throw HarnessFailure("\(child.program) did not start: \(child.errors)") }
            return Ports.isUsed(port, by: "tcp")
        }
    }

    /// Returns tinyproxy, which supports CONNECT, and permits connections to `target` only.
    static func http(target: Int) async throws -> TestProxy {
        let (port, directory) = (try Ports.free(), try TemporaryDirectory())
        let configuration = directory.file("tinyproxy.conf")
        try """
        Port \(port)
        Listen 127.0.0.1
        Timeout 60
        MaxClients 10
        Allow 127.0.0.1
        BasicAuth bob correct-horse
        ConnectPort \(target)
        LogFile "\(directory.file("log"))"
        PidFile "\(directory.file("pid"))"

        """.write(toFile: configuration, atomically: true, encoding: .utf8)
        let child = try ChildProcess("tinyproxy", ["-d", "-c", configuration])
        return try await TestProxy(port: port, directory: directory, child: child)
    }

    /// Returns microsocks, which supports SOCKS 5.
    static func socks() async throws -> TestProxy {
        let (port, directory) = (try Ports.free(), try TemporaryDirectory())
        let child = try ChildProcess(
            "microsocks", ["-i", "127.0.0.1", "-p", "\(port)", "-u", "bob", "-P", "correct-horse"])
        return try await TestProxy(port: port, directory: directory, child: child)
    }
}
