// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import Status
import TestSupport
import Testing

@testable import Control

@Suite("Addresses on which the HTTP server listens")
struct ControlServerTests {
    private let directory: TemporaryDirectory
    private let log = CollectedLog()

    init() throws { directory = try TemporaryDirectory() }

    private func server(_ settings: ControlSettings) -> ControlServer {
        ControlServer(settings, host: FakeHost(), events: EventLog(), version: "test", logger: log.logger)
    }

    /// A listener that looks to the server like one of another process.
    private func other() async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
    }

    private func settings(_ port: Int, socket: String? = nil) -> ControlSettings {
        var settings = ControlSettings()
        (settings.address, settings.socket) = (.init(host: "127.0.0.1", port: port), socket)
        return settings
    }

    @Test("If the HTTP port is in use, relay starts, logs this once, and opens the port as soon as it is free")
    func takenPort() async throws {
        let other = try await other()
        let port = try #require(other.localAddress?.port)
        let server = server(settings(port, socket: directory.path("relay.sock")))
        try server.start()
        #expect(server.port == nil && directory.all == ["relay.sock"])
        #expect(log.lines.count == 1 && log.lines.first?.contains("127.0.0.1:\(port)") == true, "\(log.lines)")
        let failures = server.open()
        server.tell(failures)
        #expect(failures.count == 1 && log.lines.count == 1)
        try await other.close()
        #expect(server.open().isEmpty && server.port == port)
        server.stop()
    }

    @Test("relay starts even if the HTTP certificate is unreadable and the socket's directory is missing")
    func missingFiles() throws {
        var settings = settings(0, socket: directory.path("missing/relay.sock"))
        settings.certificate = (directory.path("certificate.pem"), directory.path("key.pem"))
        let server = server(settings)
        try server.start()
        #expect(server.port == nil && log.lines.count == 2, "\(log.lines)")
        server.stop()
    }

    @Test("If another relay answers at the control socket, relay does not start, and the error says that it is in use")
    func takenSocket() throws {
        let path = directory.path("relay.sock")
        let first = server(settings(0, socket: path))
        try first.start()
        let second = server(settings(0, socket: path))
        let failure = #expect(throws: ControlServer.Failure.self) { try second.start() }
        #expect(failure?.isInUse == true)
        #expect(log.lines.isEmpty)
        first.stop()
    }

    @Test("The check of listening addresses distinguishes a port in use from an address that cannot be used")
    func trials() async throws {
        let other = try await other()
        let port = try #require(other.localAddress?.port)
        let path = directory.path("missing/relay.sock")
        let taken = ControlServer.trial(of: settings(port, socket: path), logger: quiet)
        #expect(taken.map { $0.failure?.isInUse } == [true, false])
        #expect(taken.map(\.place) == ["127.0.0.1:\(port)", path])
        var secure = settings(0)
        secure.certificate = (directory.path("certificate.pem"), directory.path("key.pem"))
        let wrong = ControlServer.trial(of: secure, logger: quiet)
        #expect(wrong.count == 1 && wrong.first?.failure?.description.contains("certificate") == true)
        try directory.write([1], to: "certificate.pem")
        try directory.write([1], to: "key.pem")
        let empty = ControlServer.trial(of: secure, logger: quiet)
        #expect(empty.first?.failure?.description.contains("holds no certificate in PEM") == true, "\(empty)")
        let free = ControlServer.trial(of: settings(0, socket: directory.path("free.sock")), logger: quiet)
        #expect(free.count == 2 && free.allSatisfy { $0.failure == nil })
        try await other.close()
    }
}
