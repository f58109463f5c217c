// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Media
import Networking
import PacketSamples
import Synchronization
import TestSupport
import Testing

@testable import RTMP

@Suite("An RTMP server on the loopback interface")
struct RTMPServerTests {
    private final class Notices: Sendable {
        let all = Mutex<[String]>([])
    }

    private let notices = Notices()
    private let warnings = Notices()
    private let record = StreamRecord()
    private let frame: [UInt8] = [0x17, 1, 0, 0, 0] + [UInt8](repeating: 7, count: 900)

    private func server(_ change: (inout RTMPServerLimits) -> Void = { _ in }) -> RTMPServer {
        var limits = RTMPServerLimits.patient
        change(&limits)
        return RTMPServer(
            limits: limits, clock: ManualClock(),
            notice: { [notices] text in notices.all.withLock { $0.append(text) } },
            warning: { [warnings] text in warnings.all.withLock { $0.append(text) } })
    }

    /// An address with any free port.
    private func url(_ path: String, _ role: RTMPListenURL.Role = .input) throws -> RTMPListenURL {
        var url = try RTMPListenURL("rtmp-listen://127.0.0.1/\(path)", for: role)
        url.port = 0
        return url
    }

    private func video(_ time: UInt32) -> [UInt8] {
        ClientBytes.message(9, frame, time: time, stream: 1, csid: 6, chunk: 4096)
    }

    /// Whether no notice contains a secret.
    private func isDiscreet() -> Bool {
        notices.all.withLock { $0.allSatisfy { !$0.contains("secret") } }
    }

    @Test("An RTMP port that was just closed can be opened again at once")
    func reopened() throws {
        let server = server()
        var again = try url("live/again")
        for _ in 0..<100 {
            let registration = try server.receive(again, receiver: record)
            again.port = registration.port
            registration.cancel()
        }
    }

    @Test("A publisher's messages are received in order until it ends the stream or disconnects")
    func publishes() async throws {
        let server = server()
        let registration = try server.receive(url("live/secret"), receiver: record)
        do {
            let client = try await ServerClient.publishing("secret", at: registration.port)
            for time in 0..<100 { client.say(video(UInt32(time) * 40)) }
            client.say(ClientBytes.command("deleteStream", 0, [.null, .number(1)], chunk: 4096))
            try await client.hear("NetStream.Unpublish.Success")
            #expect(record.times == (0..<100).map { $0 * 40 })
            client.say(ClientBytes.command("publish", 6, [.null, .string("secret")], stream: 1, chunk: 4096))
            try await client.hear("NetStream.Publish.Start", times: 2)
        }
        try await eventually { record.log.count == 4 }
        #expect(
            record.log == [
                "began 1", "ended 1: the client ended it", "began 2", "ended 2: the client closed the connection",
            ])
        withExtendedLifetime(registration) {}
    }

    @Test(
        "A client that publishes with a wrong key, in a wrong application or under an output's name is refused",
        arguments: [
            ("live", "secret2"), ("live", ""), ("other", "secret"), ("live", "program"), ("live/secret", "x"),
        ])
    func wrongKey(app: String, key: String) async throws {
        let server = server()
        let registration = try server.receive(url("live/secret"), receiver: record)
        let offer = try server.offer(url("live/program", .output), host: PlayerRecord())
        #expect(registration.port == offer.port)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.publishing(key, app: app))
        try await client.hear("NetStream.Publish.Denied")
        try await client.beClosed()
        #expect(record.log.isEmpty && isDiscreet())
    }

    private final class FreeDescriptors: Sendable {
        let count = Mutex(10)
    }

    @Test("An RTMP server accepts connections only while more descriptors are free than media needs")
    func fewDescriptors() async throws {
        let free = FreeDescriptors()
        let reserve = DescriptorReserve { free.count.withLock { $0 } }
        reserve.keep(forOutputs: 1, needing: 130, of: 1024)
        let server = RTMPServer(limits: .patient, clock: ManualClock(), reserve: reserve)
        let registration = try server.receive(url("live/secret"), receiver: record)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.publishing("secret"))
        try await eventually { reserve.pauses == 1 }
        #expect(server.status.listeners.map(\.accepted) == [0])
        free.count.withLock { $0 = 1000 }
        try await client.hear("NetStream.Publish.Start")
        #expect(reserve.pauses == 1)
        withExtendedLifetime(registration) {}
    }

    @Test("Wrong stream keys are counted, guessing is reported once, and the right key is still accepted")
    func guesses() async throws {
        let server = server { $0.guessWait = .milliseconds(1) }
        let registration = try server.receive(url("live/secret"), receiver: record)
        for index in 0..<15 {
            let client = ServerClient(port: registration.port)
            client.say(ClientBytes.publishing("guess\(index)"))
            try await client.hear("NetStream.Publish.Denied")
        }
        #expect(server.wrongKeys == 15)
        let name = "RTMP at 127.0.0.1:\(registration.port): stream keys are being guessed: "
        #expect(warnings.all.withLock { $0 } == [name + "11 wrong ones were shown, the last from 127.0.0.1"])
        let publisher = try await ServerClient.publishing("secret", at: registration.port)
        publisher.say(video(7))
        try await eventually { record.times == [7] }
        #expect(server.wrongKeys == 15)
    }

    @Test("After ten wrong stream keys of a network its next client has to wait, and other networks do not")
    func guessesWait() async throws {
        let server = server { $0.guessWait = .seconds(600) }
        let registration = try server.receive(url("live/secret"), receiver: record)
        for _ in 0..<10 {
            let client = ServerClient(port: registration.port, from: "127.0.0.2")
            client.say(ClientBytes.publishing("guess"))
            try await client.hear("NetStream.Publish.Denied")
        }
        let guesser = ServerClient(port: registration.port, from: "127.0.0.2")
        guesser.say(ClientBytes.publishing("another guess"))
        _ = try await ServerClient.publishing("secret", at: registration.port)
        guesser.listen()
        #expect(!guesser.words.contains("NetStream.Publish.Denied") && !guesser.isClosed)
        #expect(server.wrongKeys == 10)
    }

    @Test("Pausing or cancelling a publication that has ended does not affect the next one on the same connection")
    func pastPublication() async throws {
        let server = server()
        let registration = try server.receive(url("live/secret"), receiver: record)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.publishing("secret"))
        client.say(ClientBytes.command("closeStream", 0, [.null], stream: 1, chunk: 4096))
        try await client.hear("NetStream.Unpublish.Success")
        client.say(ClientBytes.command("publish", 6, [.null, .string("secret")], stream: 1, chunk: 4096))
        try await client.hear("NetStream.Publish.Start", times: 2)
        let first = try #require(record.state.withLock { $0.publications.first })
        first.cancel()
        first.pause()
        client.say(video(1))
        try await eventually { record.times == [1] }
        #expect(record.log == ["began 1", "ended 1: the client ended it", "began 2"])
    }

    @Test("A second publisher of a stream is refused, and the first publisher is not disturbed")
    func secondPublisher() async throws {
        let server = server()
        let registration = try server.receive(url("live/secret"), receiver: record)
        let first = try await ServerClient.publishing("secret", at: registration.port)
        first.say(video(0))
        try await eventually { record.times == [0] }
        let second = ServerClient(port: registration.port)
        second.say(ClientBytes.publishing("secret"))
        try await second.hear("NetStream.Publish.BadName")
        try await second.beClosed()
        first.say(video(40))
        try await eventually { record.times == [0, 40] }
        #expect(record.log == ["began 1"])
    }

    @Test(
        "With takeover=, or if the first publisher is silent, a second publisher replaces it",
        arguments: [true, false])
    func takeover(isAllowed: Bool) async throws {
        let server = server { $0.takeoverSilence = isAllowed ? .seconds(60) : .zero }
        let registration = try server.receive(url("live/secret\(isAllowed ? "?takeover=yes" : "")"), receiver: record)
        let first = try await ServerClient.publishing("secret", at: registration.port)
        let second = ServerClient(port: registration.port)
        second.say(ClientBytes.publishing("secret"))
        try await second.hear("NetStream.Publish.Start")
        try await first.beClosed()
        second.say(video(7))
        try await eventually { record.times == [7] }
        #expect(record.log == ["began 1", "ended 1: another client took it over", "began 2"])
    }

    @Test("A client is accepted or refused by the authorization, and bytes that the client sends meanwhile are kept")
    func authorization() async throws {
        let server = server()
        let asked = Mutex<[String]>([])
        let registration = try server.receive(
            url("live/secret"),
            authorization: { request, address in
                asked.withLock { $0.append("\(request.action) \(request.parameter("token") ?? "-") \(address)") }
                await Task.yield()
                return request.parameter("token") == "good"
            }, receiver: record)
        let (bad, good) = (ServerClient(port: registration.port), ServerClient(port: registration.port))
        bad.say(ClientBytes.publishing("secret?token=bad") + video(1))
        try await bad.hear("NetStream.Publish.Denied")
        try await bad.beClosed()
        good.say(ClientBytes.publishing("secret?token=good") + video(2) + video(3))
        try await eventually { record.times == [2, 3] }
        #expect(asked.withLock { $0 } == ["publish bad 127.0.0.1", "publish good 127.0.0.1"])
        #expect(isDiscreet())
    }

    @Test("A limited number of clients are authorized at a time, and every client gets a decision")
    func turns() async throws {
        let (server, host) = (server { $0.decisions = 2 }, PlayerRecord())
        let asked = Mutex((now: 0, most: 0))
        let registration = try server.offer(
            url("live/program", .output),
            authorization: { _, _ in
                asked.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                try? await Task.sleep(for: .milliseconds(2))
                asked.withLock { $0.now -= 1 }
                return true
            }, host: host)
        let clients = (0..<20).map { _ in ServerClient(port: registration.port) }
        for client in clients { client.say(ClientBytes.playing("program")) }
        // A client that leaves the queue does not take another client's turn.
        ServerClient(port: registration.port).say(ClientBytes.playing("program"))
        for client in clients { try await client.hear("NetStream.Play.Start") }
        #expect(asked.withLock { $0.most } <= 2)
    }

    @Test("If a client's authorization takes too long, it is cancelled and the client is refused")
    func authorizationDeadline() async throws {
        let server = server { $0.authorizationTime = .milliseconds(20) }
        let isCancelled = Mutex(false)
        let registration = try server.receive(
            url("live/secret"),
            authorization: { _, _ in
                try? await Task.sleep(for: .seconds(60))
                isCancelled.withLock { $0 = Task.isCancelled }
                return true
            }, receiver: record)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.publishing("secret"))
        try await client.hear("NetStream.Publish.Failed")
        try await client.beClosed()
        try await eventually { isCancelled.withLock { $0 } }
        #expect(record.log.isEmpty)
    }

    @Test("While the buffer for a publisher is full, its connection is not read, and later no byte is missing")
    func backPressure() async throws {
        let server = server()
        record.state.withLock { $0.pausesAfter = 10 }
        let registration = try server.receive(url("live/secret"), receiver: record)
        let client = try await ServerClient.publishing("secret", at: registration.port)
        // The client sends 200 MB, which is more than socket buffers can hold.
        let body = [0x17, 1, 0, 0, 0] + [UInt8](repeating: 1, count: 99_995)
        let isSent = Atomic(false)
        nonisolated(unsafe) let sender = client
        // The server reads nothing until the test has seen that it pauses, which takes long on a busy machine.
        let patience: CInt = 300_000
        let thread = Thread {
            sender.say(ClientBytes.chunkSize(1 << 20))
            for time in 0..<2000 {
                let message = ClientBytes.message(9, body, time: UInt32(time), stream: 1, csid: 6, chunk: 1 << 20)
                #expect(sender.say(message, waiting: patience) == message.count)
            }
            isSent.store(true, ordering: .releasing)
        }
        try await eventually { record.times.count == 10 }
        let publication = try #require(record.state.withLock { $0.publications.first })
        #expect(record.times.count == 10 && !isSent.load(ordering: .acquiring))
        #expect(publication.receivedBytes < 10 * 100_012 + 3 * 65_536)
        publication.resume()
        try await eventually { record.times.count == 2000 && isSent.load(ordering: .acquiring) }
        thread.join()
        #expect(record.state.withLock { $0.bytes } == 2000 * 99_995)
    }

    @Test("A client that requests nothing and a publisher that sends nothing are each disconnected at a deadline")
    func deadlines() async throws {
        let server = server {
            $0.handshakeTime = .milliseconds(30)
            $0.requestTime = .milliseconds(30)
            $0.silence = .milliseconds(60)
        }
        let registration = try server.receive(url("live/secret"), receiver: record)
        let silent = ServerClient(port: registration.port)
        let greeted = ServerClient(port: registration.port)
        greeted.say(ClientBytes.handshake)
        let connected = ServerClient(port: registration.port)
        connected.say(ClientBytes.handshake + ClientBytes.connect())
        let publisher = ServerClient(port: registration.port)
        publisher.say(ClientBytes.publishing("secret"))
        for client in [silent, greeted, connected, publisher] { try await client.beClosed() }
        try await eventually { record.log.count == 2 }
        #expect(record.log.last?.hasPrefix("ended 1: nothing came for") == true)
    }

    @Test("The number of connections that send nothing is limited, and other clients are still served")
    func silentCrowd() async throws {
        let server = server()
        let registration = try server.receive(url("live/secret"), receiver: record)
        let publisher = try await ServerClient.publishing("secret", at: registration.port)
        // One address may have a quarter of the waiting connections.
        let crowd = (0..<300).map { _ in ServerClient(port: registration.port) }
        try await eventually {
            for client in crowd { client.listen() }
            return crowd.count { $0.isClosed } == 300 - 128
        }
        let status = try #require(server.status.listeners.first)
        #expect([status.waiting, status.connections, Int(status.accepted)] == [128, 129, 301])
        #expect(status.closed == ["crowded": 172])
        publisher.say(video(1))
        try await eventually { record.times == [1] }
        let late = ServerClient(port: registration.port)
        late.say(ClientBytes.publishing("secret"))
        try await late.hear("NetStream.Publish.BadName")
        withExtendedLifetime(crowd) {}
    }

    @Test("Silent connections do not displace a client that waits for its authorization")
    func decisionInCrowd() async throws {
        let server = server { $0.waiting = 2 }
        let isAsked = Mutex(false)
        let isDecided = Mutex(false)
        let registration = try server.receive(
            url("live/secret"),
            authorization: { _, _ in
                isAsked.withLock { $0 = true }
                return (try? await eventually { isDecided.withLock { $0 } }) != nil
            }, receiver: record)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.publishing("secret"))
        try await eventually { isAsked.withLock { $0 } }
        let crowd = (0..<10).map { _ in ServerClient(port: registration.port) }
        for silent in crowd.prefix(8) { try await silent.beClosed() }
        isDecided.withLock { $0 = true }
        try await client.hear("NetStream.Publish.Start")
    }

    @Test("A client that does not read the server's messages is disconnected")
    func deafClient() async throws {
        let server = server()
        let registration = try server.receive(url("live/secret"), receiver: record)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.handshake + ClientBytes.connect())
        // Each ping of 18 bytes gets a reply of the same length; unread replies fill the socket, then reach the limit.
        let pings = (0..<100_000).flatMap { _ in ClientBytes.message(4, [0, 6, 1, 2, 3, 4], csid: 2) }
        var sent = 0
        try await eventually {
            let count = client.say(pings)
            sent += count
            return count < pings.count
        }
        try await eventually { notices.all.withLock { $0.contains { $0.contains("does not read") } } }
    }

    @Test("A port in use, and two streams with the same name, are reported before relay starts")
    func configuration() async throws {
        let server = server()
        let registration = try server.receive(url("live/secret-key"), receiver: record)
        var taken = try url("live/other")
        taken.port = registration.port
        #expect(throws: OutputFailure.self) { try self.server().receive(taken, receiver: record) }
        let twice = #expect(throws: OutputFailure.self) {
            try server.receive(url("live/secret-key"), receiver: record)
        }
        #expect(twice?.reason.contains("twice") == true && twice?.reason.contains("secret-key") == false)
    }

    @Test("An RTMP port stays open while a stream needs it, and cancelling a stream disconnects its publisher")
    func cancel() async throws {
        let server = server()
        let one = try server.receive(url("live/one"), receiver: record)
        let other = try server.receive(url("live/other"), receiver: StreamRecord())
        #expect(one.port == other.port)
        let client = try await ServerClient.publishing("one", at: one.port)
        one.cancel()
        try await client.beClosed()
        #expect(record.log.last == "ended 1: it is not wanted any more")
        let late = ServerClient(port: one.port)
        late.say(ClientBytes.publishing("one"))
        try await late.hear("NetStream.Publish.Denied")
        other.cancel()
        try await eventually { ServerClient(port: one.port).say(ClientBytes.handshake) == 0 || isRefused(one.port) }
    }

    /// Whether no socket listens at `port`.
    private func isRefused(_ port: UInt16) -> Bool {
        let client = ServerClient(port: port)
        client.listen()
        return client.isClosed
    }
}

extension RTMPServerTests {
    @Test("A player gets frames on its own socket; when it is released, another player is accepted")
    func plays() async throws {
        let (server, host) = (server(), PlayerRecord())
        let registration = try server.offer(url("live/program?players=1", .output), host: host)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.playing("program"))
        try await client.hear("NetStream.Play.Start")
        try await eventually { host.players.withLock { $0.count } == 1 }
        try { () throws in
            let player = try #require(host.players.withLock { $0.first })
            var (buffer, timeline) = (OutboundBuffer(), RTMPTimeline())
            var chunks = RTMPChunkWriter(streamID: player.handover.streamID)
            for index in 0..<3 {
                chunks.append(timeline.message(for: Samples.video(pts: Int64(index), dts: Int64(index))), to: &buffer)
            }
            let count = buffer.pendingBytes
            #expect(player.socket.send(buffer) == .bytes(count))
        }()
        try await eventually {
            client.listen()
            return client.messages.count { $0.type == 9 } == 3
        }
        let second = ServerClient(port: registration.port)
        second.say(ClientBytes.playing("program"))
        try await second.hear("NetStream.Play.Failed")
        try await second.beClosed()
        #expect(!client.isClosed)
        #expect(server.status.listeners.map(\.players) == [1])
        #expect(server.status.listeners.map(\.closed) == [["refused": 1]])
        host.players.withLock { $0 = [] }
        try await client.beClosed()
        let third = ServerClient(port: registration.port)
        third.say(ClientBytes.playing("program"))
        try await third.hear("NetStream.Play.Start")
    }

    @Test(
        "An RTMP player without the required key is refused",
        arguments: [
            ("program?key=secret", true), ("program", false), ("program?key=secre", false), ("program?key=", false),
        ])
    func playKey(name: String, isRight: Bool) async throws {
        let (server, host) = (server(), PlayerRecord())
        let registration = try server.offer(url("live/program?key=secret", .output), host: host)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.playing(name))
        try await client.hear(isRight ? "NetStream.Play.Start" : "NetStream.Play.StreamNotFound")
        #expect(isDiscreet())
    }

    @Test("A restarted output may offer its stream while the old one ends, and no other output may use that name")
    func successor() throws {
        let server = server()
        let first = try server.offer(url("live/program", .output), host: PlayerRecord())
        #expect(throws: OutputFailure.self) {
            try server.offer(url("live/program", .output), host: PlayerRecord())
        }
        let next = try server.offer(url("live/program", .output), isSuccessor: true, host: PlayerRecord())
        first.cancel()
        // The port stays open for the successor.
        #expect(next.port == first.port && server.status.listeners.count == 1)
        next.cancel()
    }

    @Test("Bytes that a player sends after its request to play are passed on to the output that serves it")
    func playersWords() async throws {
        let (server, host) = (server(), PlayerRecord())
        let registration = try server.offer(url("live/program", .output), host: host)
        let client = ServerClient(port: registration.port)
        client.say(ClientBytes.playing("program") + ClientBytes.message(4, [0, 6, 9, 9, 9, 9], csid: 2))
        try await eventually { host.players.withLock { $0.count } == 1 }
        let player = try #require(host.players.withLock { $0.first })
        #expect(player.handover.running == RTMPRunningStream(id: player.handover.streamID, name: "program"))
        var channel = RTMPBackChannel(handover: player.handover)
        var bytes = channel.unread()
        try await eventually {
            _ = channel.take(bytes)
            bytes = []
            if channel.owesReplies { return true }
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { memory in
                if case .bytes(let count) = player.socket.receive(into: memory) { bytes = Array(memory[..<count]) }
            }
            return false
        }
    }
}

/// Work on a thread, with a way to wait for it.
private final class Thread {
    private let group = DispatchGroup()

    init(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "test.sender").async(group: group, execute: work)
    }

    func join() { group.wait() }
}
