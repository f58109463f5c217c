// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Networking

@Suite("UDP sockets")
struct UDPSocketTests {
    private static func open(_ port: UInt16, _ query: String = "") throws -> UDPSocket {
        let address = try #require(HostAddress(literal: "127.0.0.1", port: port))
        return try UDPSocket.open(try UDPURL("udp://127.0.0.1:\(port)\(query)"), [address])
    }

    @Test("Each datagram arrives whole, and in order")
    func sends() throws {
        let receiver = try LoopbackSocket()
        let socket = try Self.open(receiver.port, "?ttl=3&dscp=46&buffer_size=100000&localaddr=127.0.0.1")
        for length in [1, 188, 1316] { #expect(socket.send([UInt8](repeating: 7, count: length)) == .sent) }
        #expect((0..<4).map { _ in receiver.receive()?.count } == [1, 188, 1316, nil])
    }

    @Test("After a datagram that was not received, the next one is sent, and the sender learns of the loss")
    func refused() throws {
        var receiver: LoopbackSocket? = try LoopbackSocket()
        let port = try #require(receiver).port
        let socket = try Self.open(port)
        receiver = nil
        #expect(socket.send([1]) == .sent)
        #expect(socket.send([2]) == .sentAfterLoss("Connection refused"))
    }

    @Test("A datagram that is too long for UDP fails, and the socket can still send")
    func tooLong() throws {
        let receiver = try LoopbackSocket()
        let socket = try Self.open(receiver.port)
        #expect(socket.send([UInt8](repeating: 0, count: 70_000)) == .failed("Message too long"))
        #expect(socket.send([1]) == .sent)
        #expect(receiver.receive() == [1])
    }

    @Test("A name without an address, and a local address of another family, open no socket")
    func unusable() throws {
        let url = try UDPURL("udp://127.0.0.1:9?localaddr=::1")
        let address = try #require(HostAddress(literal: "127.0.0.1", port: 9))
        for (addresses, reason) in [([], "the name has no address"), ([address], "of another address family")] {
            let failure = #expect(throws: OutputFailure.self) { try UDPSocket.open(url, addresses) }
            #expect(failure?.kind == .unreachable && failure?.reason.contains(reason) == true)
        }
    }
}
