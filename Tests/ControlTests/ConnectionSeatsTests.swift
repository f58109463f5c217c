// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import TestSupport
import Testing

@testable import Control

@Suite("Places for connections to the HTTP server")
struct ConnectionSeatsTests {
    /// Clients whose connections take one of `limit` places when they begin.
    private struct Clients {
        let seats: ConnectionSeats

        init(_ limit: Int) { seats = ConnectionSeats(limit) }

        func connect(from address: String) throws -> EmbeddedChannel {
            let channel = EmbeddedChannel()
            channel.remoteAddress = try SocketAddress(ipAddress: address, port: 50_000)
            try channel.pipeline.syncOperations.addHandler(SeatHandler(seats))
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 8080)).wait()
            return channel
        }
    }

    private static let request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/v1")

    private func ask(_ channel: EmbeddedChannel) throws {
        try channel.writeInbound(HTTPRequestPart.head(Self.request))
        try channel.writeInbound(HTTPRequestPart.end(nil))
    }

    private func answer(_ channel: EmbeddedChannel) throws {
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    @Test("If no place is free, a new connection replaces the oldest idle one of the network with most connections")
    func silent() throws {
        let clients = Clients(4)
        let operators = try clients.connect(from: "192.0.2.1")
        let silent = try (1...3).map { try clients.connect(from: "2001:db8:0:7::\($0)") }
        let next = try clients.connect(from: "198.51.100.1")
        #expect(silent.map(\.isActive) == [false, true, true])
        let last = try clients.connect(from: "198.51.100.2")
        #expect(silent.map(\.isActive) == [false, false, true])
        #expect([operators, next, last].map(\.isActive) == [true, true, true])
    }

    @Test("A connection keeps its place while its request is being answered, and may lose the place afterwards")
    func busy() throws {
        let clients = Clients(2)
        let (first, second) = (try clients.connect(from: "192.0.2.1"), try clients.connect(from: "192.0.2.2"))
        try ask(first)
        try ask(second)
        let third = try clients.connect(from: "192.0.2.3")
        #expect(first.isActive && second.isActive && third.isActive, "no connection is idle")
        try answer(second)
        _ = try clients.connect(from: "192.0.2.4")
        #expect(first.isActive && !second.isActive && !third.isActive)
    }

    @Test("A connection that sends its request slowly may be replaced by another one")
    func slow() throws {
        let clients = Clients(2)
        let slow = try clients.connect(from: "192.0.2.1")
        try slow.writeInbound(HTTPRequestPart.head(Self.request))
        let other = try clients.connect(from: "192.0.2.1")
        _ = try clients.connect(from: "192.0.2.2")
        #expect(!slow.isActive && other.isActive)
    }

    @Test("Ten thousand silent connections from as many networks never take more places than there are")
    func flood() throws {
        let clients = Clients(64)
        var open: [EmbeddedChannel] = []
        for number in 0..<10_000 {
            open.append(try clients.connect(from: "10.0.\(number >> 8).\(number & 255)"))
            open.removeAll { !$0.isActive }
            #expect(open.count == min(64, number + 1))
        }
    }

    @Test("Idle connections of one network never displace the only connection of another network")
    func walk() throws {
        var random = SeededRandom()
        let clients = Clients(8)
        let operators = try clients.connect(from: "192.0.2.1")
        var channels: [EmbeddedChannel] = []
        var busy: [ObjectIdentifier: Bool] = [:]
        for _ in 0..<2000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0...1:
                channels.append(try clients.connect(from: "198.51.100.1"))
                let idle = channels.count { $0.isActive && busy[ObjectIdentifier($0)] != true }
                #expect(idle <= 8)
            case 2:
                guard let channel = channels.randomElement(using: &random) else { continue }
                if busy[ObjectIdentifier(channel)] == true { try answer(channel) } else { try ask(channel) }
                busy[ObjectIdentifier(channel), default: false].toggle()
            default:
                guard let channel = channels.randomElement(using: &random) else { continue }
                channel.close(promise: nil)
            }
            channels.removeAll { !$0.isActive }
            #expect(operators.isActive)
        }
    }
}
