// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Media
import Synchronization
import TestSupport

@testable import Networking
@testable import RTMP

/// A client on its own socket, for the test's thread.
final class ServerClient {
    private let socket: TCPSocket
    private var descriptor: CInt { socket.descriptor }
    private var parser = RTMPInboundParser()
    private var skipped = 0
    /// The server's messages after its handshake.
    private(set) var messages: [RTMPInboundParser.Message] = []
    /// Whether the server was seen to close the connection.
    private(set) var isClosed = false

    /// A connection to `port` of the loopback interface, from `source`.
    init(port: UInt16, from source: String = "127.0.0.1") {
        let descriptor = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        socket = TCPSocket(owning: descriptor)
        _ = HostAddress(literal: source, port: 0)?.withSockaddr { bind(descriptor, $0, $1) }
        _ = HostAddress(literal: "127.0.0.1", port: port)?.withSockaddr { connect(descriptor, $0, $1) }
    }

    /// A client on an existing connection.
    init(_ socket: TCPSocket) { self.socket = socket }

    /// A client that publishes with `key` at `port` and was accepted.
    static func publishing(_ key: String, at port: UInt16) async throws -> ServerClient {
        let client = ServerClient(port: port)
        client.say(ClientBytes.publishing(key))
        try await client.hear("NetStream.Publish.Start")
        return client
    }

    /// Sends `bytes`. Stops if the socket accepts no bytes for `milliseconds`, because the server has paused reading.
    /// Returns the number of bytes sent.
    @discardableResult
    func say(_ bytes: [UInt8], waiting milliseconds: CInt = 5000) -> Int {
        var sent = 0
        while sent < bytes.count {
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&entry, 1, milliseconds) > 0 else { return sent }
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
            if count < 0 { return sent }
            sent += count
        }
        return sent
    }

    /// Reads the available messages.
    func listen() {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
            guard count > 0 else {
                if count == 0 || errno != EAGAIN { isClosed = true }
                return
            }
            let greeting = min(3073 - skipped, count)
            skipped += greeting
            messages += (try? parser.parse(bytes[greeting..<count])) ?? []
        }
    }

    /// The server's commands and codes, in order.
    var words: [String] {
        messages.filter { $0.type == 20 }.compactMap { message in
            let values = AMF0Reader.values(message.body)
            return values.last?.text("code") ?? values.first?.text
        }
    }

    /// Waits until the server has sent `word` this many times. Throws if it is not sent in time, or if the server
    /// closes the connection first.
    func hear(_ word: String, times: Int = 1) async throws {
        try await eventually(word) {
            listen()
            if words.count(where: { $0 == word }) >= times { return true }
            guard !isClosed else { throw Closed(waitedFor: word, heard: words) }
            return false
        }
    }

    /// Waits until the server closes the connection.
    func beClosed() async throws {
        try await eventually("the connection's end") {
            listen()
            return isClosed
        }
    }

    /// The server closed the connection before the expected message.
    struct Closed: Error {
        let waitedFor: String
        let heard: [String]
    }
}

extension RTMPServerLimits {
    /// Limits that a slow machine does not reach; a test about a limit sets its own.
    static var patient: RTMPServerLimits {
        var limits = RTMPServerLimits()
        limits.handshakeTime = .seconds(600)
        limits.requestTime = .seconds(600)
        limits.authorizationTime = .seconds(600)
        limits.silence = .seconds(600)
        limits.takeoverSilence = .seconds(600)
        limits.refusalTime = .milliseconds(50)
        return limits
    }
}

/// Records the messages of a stream.
final class StreamRecord: RTMPStreamReceiver {
    struct State {
        var publications: [RTMPPublication] = []
        var log: [String] = []
        var times: [UInt32] = []
        var bytes = 0
        var pausesAfter: Int?
    }

    let state = Mutex(State())

    var log: [String] { state.withLock { $0.log } }
    var times: [UInt32] { state.withLock { $0.times } }

    func publicationBegan(_ publication: RTMPPublication) {
        state.withLock { state in
            state.publications.append(publication)
            state.log.append("began \(state.publications.count)")
        }
    }

    func publication(_ publication: RTMPPublication, sent message: RTMPPublishedMessage) {
        let pauses = state.withLock { state in
            state.times.append(message.timestamp)
            if case .video(let video) = message.content, case .frame(let bytes, _, _, _) = video.content {
                state.bytes += bytes.count
            }
            return state.times.count == state.pausesAfter
        }
        if pauses { publication.pause() }
    }

    func publication(_ publication: RTMPPublication, ended end: RTMPPublication.End) {
        state.withLock { state in
            let number = (state.publications.firstIndex { $0 === publication } ?? -2) + 1
            state.log.append("ended \(number): \(end)")
        }
    }
}

/// Records the players that joined.
final class PlayerRecord: RTMPPlayerHost {
    let players = Mutex<[RTMPPlayer]>([])

    func joined(_ player: RTMPPlayer) { players.withLock { $0.append(player) } }
}
