// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Status
import TestSupport
import Testing

@testable import Control

@Suite("The Unix socket of the control server")
struct ControlSocketTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path("relay.sock") }

    init() throws { directory = try TemporaryDirectory() }

    /// The permissions of the file at `path`.
    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    /// The sentence with which a socket at ``path`` is refused.
    private func refusal() -> String {
        let failure = #expect(throws: ControlServer.Failure.self) { try ControlSocket(path) }
        return failure?.description ?? ""
    }

    @Test("The control socket is created in a private directory, and gets its permissions before its final name")
    func mode() throws {
        let socket = try ControlSocket(path)
        let listener = try UnixListener(socket.bindPath)
        #expect(try permissions(URL(fileURLWithPath: socket.bindPath).deletingLastPathComponent().path) == 0o700)
        #expect(!directory.all.contains("relay.sock"))
        try socket.publish()
        #expect(try permissions(path) == 0o660 && directory.all == ["relay.sock"])
        socket.remove()
        #expect(directory.all.isEmpty)
        withExtendedLifetime(listener) {}
    }

    @Test("A control socket at which another process answers is kept, and the refusal says what to do")
    func inUse() throws {
        let listener = try UnixListener(path)
        #expect(refusal().contains("another process answers there; name another path with --http-socket"))
        #expect(directory.all == ["relay.sock"])
        withExtendedLifetime(listener) {}
    }

    @Test("The control socket of a process that was killed is replaced")
    func abandoned() throws {
        _ = try UnixListener(path)
        let socket = try ControlSocket(path)
        let listener = try UnixListener(socket.bindPath)
        try socket.publish()
        #expect(try permissions(path) == 0o660)
        withExtendedLifetime(listener) {}
    }

    @Test("A file at the control socket's path that is not a socket is not removed")
    func otherFile() throws {
        try directory.write([1, 2, 3], to: "relay.sock")
        #expect(refusal().contains("no socket"))
        #expect(try directory.bytes("relay.sock") == [1, 2, 3])
    }

    @Test("If another process creates the control socket first, its socket is kept, and an error says so")
    func race() throws {
        let socket = try ControlSocket(path)
        let listeners = (try UnixListener(socket.bindPath), try UnixListener(path))
        let failure = #expect(throws: ControlServer.Failure.self) { try socket.publish() }
        #expect(failure?.description.contains("another process answers there") == true)
        socket.remove()
        #expect(directory.all == ["relay.sock"])
        withExtendedLifetime(listeners) {}
    }

    @Test("When a server ends it removes its own control socket, but not a socket of another process")
    func removal() throws {
        let socket = try ControlSocket(path)
        let listener = try UnixListener(socket.bindPath)
        try socket.publish()
        unlink(path)
        let other = try UnixListener(path)
        socket.remove()
        #expect(directory.all == ["relay.sock"])
        withExtendedLifetime((listener, other)) {}
    }

    @Test("A second server at the same control socket does not start, and leaves the first server's socket")
    func servers() throws {
        var settings = ControlSettings()
        settings.socket = path
        let servers = (0..<2).map { _ in
            ControlServer(settings, host: FakeHost(), events: EventLog(), version: "1", logger: quiet)
        }
        // The tasks of a stopped server may still use it after the test has ended, so the servers are never released.
        for server in servers { _ = Unmanaged.passRetained(server) }
        try servers[0].start()
        #expect(throws: ControlServer.Failure.self) { try servers[1].start() }
        servers[1].stop()
        #expect(refusal().contains("another process answers"))
        servers[0].stop()
        #expect(directory.all.isEmpty)
    }
}
