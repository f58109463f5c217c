// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import Synchronization
import TLSSamples
import TestSupport
import Testing

@testable import Networking
@testable import RTMP

@Suite("An RTMP server with TLS")
struct RTMPSServerTests {
    private let files = TLSSamples.Files(TLSSamples.one)
    private let server = RTMPServer(limits: .patient)

    private func url(_ path: String, _ role: RTMPListenURL.Role) throws -> RTMPListenURL {
        var url = try RTMPListenURL("rtmps-listen://127.0.0.1/\(path)", for: role)
        url.port = 0
        return url
    }

    private func identity() throws -> TLSServerIdentity {
        try TLSServerIdentity(certificate: files.certificate, key: files.key) { _ in }
    }

    /// A client that trusts the certificate in `trusted`, on its own thread, because the handshake blocks.
    private func client(_ port: UInt16, trusting trusted: TLSSamples.Files) async throws -> ServerClient {
        let address = try #require(HostAddress(literal: "127.0.0.1", port: port))
        let socket = try TCPSocket.connect(to: [address], name: "server", within: .seconds(5), opened: { _ in true })
        return try await client(over: socket, trusting: trusted)
    }

    private func client(over socket: TCPSocket, trusting trusted: TLSSamples.Files) async throws -> ServerClient {
        let certificate = trusted.certificate
        return try await withCheckedThrowingContinuation { continuation in
            _ = BlockingWork.start("test.tls") {
                continuation.resume(
                    with: Result {
                        try TLSTunnel.open(
                            over: socket, host: "127.0.0.1", trust: .authority(file: certificate), within: .seconds(5))
                    }.map { ServerClient($0) })
            }
        }
    }

    @Test("A client publishes over TLS, and a later client gets the new certificate after the files were changed")
    func publishes() async throws {
        let (identity, record) = (try identity(), StreamRecord())
        let registration = try server.receive(url("live/key", .input), identity: identity, receiver: record)
        let (old, new) = (TLSSamples.Files(TLSSamples.one), TLSSamples.Files(TLSSamples.two))
        let first = try await client(registration.port, trusting: old)
        first.say(ClientBytes.publishing("key"))
        try await first.hear("NetStream.Publish.Start")
        first.say(ClientBytes.message(9, [0x17, 1, 0, 0, 0, 9], time: 5, stream: 1, csid: 6))
        try await eventually { record.times == [5] }
        files.write(TLSSamples.two)
        // The server still uses the old certificate.
        await #expect(throws: OutputFailure.self) { _ = try await client(registration.port, trusting: new) }
        identity.look()
        let second = try await client(registration.port, trusting: new)
        second.say(ClientBytes.publishing("key"))
        try await second.hear("NetStream.Publish.BadName")
    }

    @Test("A TLS publisher that disconnects without close_notify counts as disconnected, not as failed")
    func unclean() async throws {
        let record = StreamRecord()
        let registration = try server.receive(url("live/key", .input), identity: identity(), receiver: record)
        let address = try #require(HostAddress(literal: "127.0.0.1", port: registration.port))
        let network = try TCPSocket.connect(to: [address], name: "server", within: .seconds(5), opened: { _ in true })
        let client = try await client(over: network, trusting: files)
        client.say(ClientBytes.publishing("key"))
        try await client.hear("NetStream.Publish.Start")
        network.shutDown()
        try await eventually { record.log.last == "ended 1: the client closed the connection" }
    }

    @Test("An RTMP player gets its stream over TLS, and is disconnected when the server releases it")
    func plays() async throws {
        let host = PlayerRecord()
        let registration = try server.offer(url("live/program", .output), identity: identity(), host: host)
        let client = try await client(registration.port, trusting: files)
        client.say(ClientBytes.playing("program"))
        try await client.hear("NetStream.Play.Start")
        try await eventually { host.players.withLock { $0.count } == 1 }
        try send(host)
        try await eventually {
            client.listen()
            return client.messages.count { $0.type == 9 } == 100
        }
        // The player's messages arrive, too.
        client.say(ClientBytes.message(4, [0, 6, 1, 2, 3, 4], csid: 2))
        try await eventually { hears(host) }
        host.players.withLock { $0 = [] }
        try await client.beClosed()
    }

    /// Sends a hundred frames, which are more than the tunnel can buffer.
    private func send(_ host: PlayerRecord) throws {
        let player = try #require(host.players.withLock { $0.first })
        var (buffer, timeline) = (OutboundBuffer(), RTMPTimeline())
        var chunks = RTMPChunkWriter(streamID: player.handover.streamID)
        for index in 0..<100 {
            let frame = Samples.video(pts: Int64(index), dts: Int64(index), bytes: 3000)
            chunks.append(timeline.message(for: frame), to: &buffer)
        }
        while !buffer.isEmpty {
            switch player.socket.send(buffer) {
            case .bytes(let count): _ = buffer.consume(count)
            case .wouldBlock: continue
            default: throw OutputFailure(.lost, step: "send", reason: "the player is gone")
            }
        }
    }

    private func hears(_ host: PlayerRecord) -> Bool {
        guard let player = host.players.withLock({ $0.first }) else { return false }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { memory in
            if case .bytes(let count) = player.socket.receive(into: memory) { return count > 0 }
            return false
        }
    }

    @Test("An rtmps:// address without a certificate, and a certificate for a port without TLS, are refused")
    func configuration() throws {
        let record = StreamRecord()
        #expect(throws: OutputFailure.self) { try server.receive(url("live/key", .input), receiver: record) }
        let registration = try server.receive(url("live/key", .input), identity: identity(), receiver: record)
        var plain = try RTMPListenURL("rtmp-listen://127.0.0.1/live/other", for: .input)
        plain.port = 0
        let failure = #expect(throws: OutputFailure.self) { try server.receive(plain, receiver: record) }
        #expect(failure?.reason.contains("with and without TLS") == true)
        withExtendedLifetime(registration) {}
    }

    @Test("A client that sends RTMP without TLS to an RTMPS port is disconnected")
    func plain() async throws {
        let record = StreamRecord()
        let registration = try server.receive(url("live/key", .input), identity: identity(), receiver: record)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.publishing("key"))
        try await client.beClosed()
        #expect(record.log.isEmpty)
    }

    private final class Notices: Sendable {
        let all = Mutex<[String]>([])
    }

    @Test("A TLS handshake that fails is reported with the reason, and a client that leaves before it is not")
    func handshakes() async throws {
        let notices = Notices()
        let server = RTMPServer(limits: .patient, notice: { text in notices.all.withLock { $0.append(text) } })
        let registration = try server.receive(
            url("live/key", .input), identity: identity(), receiver: StreamRecord())
        // A port scanner's connection is closed as soon as it is released.
        _ = ServerClient(port: registration.port)
        try await eventually("the scanner is gone") {
            server.status.listeners.map { [Int($0.accepted), $0.connections] } == [[1, 0]]
        }
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.publishing("key"))
        try await client.beClosed()
        try await eventually("the failure is reported") { notices.all.withLock { !$0.isEmpty } }
        let told = notices.all.withLock { $0 }
        #expect(told.count == 1 && told[0].contains("the TLS handshake failed: "))
        #expect(server.status.listeners.map(\.closed) == [["broken": 1]])
        withExtendedLifetime(registration) {}
    }
}
