// SPDX-License-Identifier: Apache-2.0

import CSRT
import Dispatch
import Media
import Networking
import Synchronization
import TestSupport
import Testing

@testable import SRT

/// An input that receives everything, on its own thread.
private final class Collector: Sendable {
    private struct State {
        /// The bytes of each connection.
        var connections: [[UInt8]] = []
        var failure: OutputFailure?
        var hasEnded = false
        var events: [SRTInput.Event] = []
    }

    let input: SRTInput
    private let state: SharedState<State>

    /// Receives at `url`; `times` limits the number of connections.
    init(_ url: String, server: SRTServer, times: Int = .max) throws {
        let state = SharedState(State())
        self.state = state
        input = SRTInput(try SRTURL(url, for: .input), server: server) { event in
            state.value.withLock { $0.events.append(event) }
        }
        DispatchQueue(label: "test.input").async { [input] in Self.run(input, state, times) }
    }

    deinit { input.stop() }

    private static func run(_ input: SRTInput, _ state: SharedState<State>, _ times: Int) {
        var buffer = [UInt8](repeating: 0, count: 500)  // less than a message
        do throws(OutputFailure) {
            for _ in 0..<times {
                guard let connection = try input.connect() else { break }
                state.value.withLock { $0.connections.append([]) }
                while let count = buffer.withUnsafeMutableBytes({ input.receive(from: connection, into: $0) }) {
                    state.value.withLock { $0.connections[$0.connections.count - 1] += buffer.prefix(count) }
                }
            }
        } catch {
            state.value.withLock { $0.failure = error }
        }
        state.value.withLock { $0.hasEnded = true }
    }

    var connections: [[UInt8]] { state.value.withLock { $0.connections } }
    var failure: OutputFailure? { state.value.withLock { $0.failure } }
    var hasEnded: Bool { state.value.withLock { $0.hasEnded } }
    var events: [SRTInput.Event] { state.value.withLock { $0.events } }

    /// Whether an event contains this text.
    func tells(_ text: String) -> Bool { events.contains { "\($0)".contains(text) } }
}

private final class SharedState<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: sending Value) { self.value = Mutex(value) }
}

/// Calls `make` until the sender that it returns is connected, because the port may not be open yet.
private func connected(_ make: () -> SRTSender) throws -> SRTSender {
    var sender = make()
    try eventually("the sender is let in") {
        if sender.isConnected { return true }
        sender = make()
        return false
    }
    return sender
}

/// Sends enough data for the stream check, and more until `condition` holds.
private func send(_ sender: SRTSender, _ mark: UInt8, until condition: () -> Bool) throws {
    try eventually("what is sent arrives") {
        sender.send(SRTSender.message(mark))
        return condition()
    }
}

/// Waits until `input` calls `peer`. Returns nil if the call failed.
private func accept(_ input: Collector, at peer: SRTSender) throws -> SRTSender? {
    var sender: SRTSender?
    try eventually("the receiver calls") {
        sender = peer.accept()
        return sender != nil || input.hasEnded
    }
    return sender
}

@Suite("SRT inputs")
struct SRTInputTests {
    private let server = SRTServer()

    private func url(_ port: UInt16, _ query: String) -> String {
        "srt://127.0.0.1:\(port)?mode=listener&latency=20" + (query.isEmpty ? "" : "&" + query)
    }

    @Test("Two streams share an SRT port, and stream ID and passphrase decide which stream a caller sends")
    func sharedPort() throws {
        let port = try LoopbackSocket.freePort()
        let one = try Collector(url(port, "streamid=one&passphrase=correct-horse"), server: server)
        let two = try Collector(url(port, "streamid=two"), server: server)
        let first = try connected { SRTSender(port: port, streamID: "one", passphrase: "correct-horse") }
        let second = try connected { SRTSender(port: port, streamID: "#!::r=two,m=publish") }
        try send(first, 1) { one.connections.first?.isEmpty == false }
        try send(second, 2) { two.connections.first?.isEmpty == false }
        #expect(one.connections.first?.starts(with: SRTSender.message(1)) == true)
        #expect(two.connections.first?.starts(with: SRTSender.message(2)) == true)
        #expect(one.events.contains(.connected(address: "127.0.0.1", isEncrypted: true)))
        #expect(two.events.contains(.connected(address: "127.0.0.1", isEncrypted: false)))
    }

    @Test("SRT callers with a wrong stream ID, passphrase or mode are rejected; the connected sender continues")
    func refusals() throws {
        let port = try LoopbackSocket.freePort()
        let input = try Collector(url(port, "streamid=right-name&passphrase=correct-horse"), server: server)
        let good = try connected { SRTSender(port: port, streamID: "right-name", passphrase: "correct-horse") }
        try send(good, 1) { input.connections.first?.isEmpty == false }
        #expect(SRTSender(port: port, streamID: "wrong", passphrase: "correct-horse").rejection == 1404)
        #expect(SRTSender(port: port, passphrase: "correct-horse").rejection == 1404)
        #expect(SRTSender(port: port, streamID: "#!::r=right-name,m=request").rejection == 1405)
        #expect(SRTSender(port: port, streamID: "#!::r=right-name,t=file").rejection == 1415)
        #expect(SRTSender(port: port, streamID: "right-name", passphrase: "correct-horse").rejection == 1409)
        let before = input.connections[0].count
        try send(good, 1) { input.connections[0].count > before + 10_000 }
        #expect(input.connections.count == 1)
        try eventually("the port tells of it") { input.tells("1404") && input.tells("1409") }
        #expect(!input.tells("correct-horse") && !input.tells("right-name"))
        #expect(input.input.statistics.callersRejected == 5)
    }

    @Test("Guessed stream IDs are counted and callers of that network limited, but a right ID is accepted later")
    func guesses() throws {
        let (port, clock) = (try LoopbackSocket.freePort(), ManualClock())
        let server = SRTServer(clock: clock)
        let input = try Collector(url(port, "streamid=right-name"), server: server)
        try eventually("the port is open") { input.events.contains(.waiting) }
        let rejections = (0..<15).map { SRTSender(port: port, streamID: "wrong\($0)").rejection }
        #expect(rejections == Array(repeating: 1404, count: 11) + Array(repeating: 1429, count: 4))
        #expect(server.wrongKeys == 11)
        try eventually("the port tells of it") { input.tells("stream keys are being guessed: 11 wrong ones") }
        let sender = try connected {
            clock.advance(by: .milliseconds(500))
            return SRTSender(port: port, streamID: "right-name")
        }
        try send(sender, 2) { input.connections.last?.isEmpty == false }
    }

    @Test("A wrong or missing SRT passphrase is rejected and reported, while another stream of the port continues")
    func passphrases() throws {
        let port = try LoopbackSocket.freePort()
        let input = try Collector(url(port, "streamid=a&passphrase=correct-horse&pbkeylen=32"), server: server)
        let other = try Collector(url(port, "streamid=b"), server: server)
        let sender = try connected { SRTSender(port: port, streamID: "b") }
        let wrong = SRTSender(port: port, streamID: "a", passphrase: "wrong-battery")
        #expect(wrong.rejection == CInt(SRT_REJ_BADSECRET.rawValue))
        let missing = SRTSender(port: port, streamID: "a")
        #expect(missing.rejection == CInt(SRT_REJ_UNSECURE.rawValue))
        try send(sender, 2) { other.connections.first?.isEmpty == false }
        try eventually("the port tells of it") { input.tells("passphrase") || other.tells("passphrase") }
        #expect(!input.tells("horse") && !input.tells("battery"))
        #expect(input.connections.isEmpty)
    }

    @Test("With takeover= in the address, a second SRT sender replaces the first one, which is disconnected")
    func takeover() throws {
        let port = try LoopbackSocket.freePort()
        let input = try Collector(url(port, "takeover=yes"), server: server)
        let first = try connected { SRTSender(port: port, streamID: "anything") }
        try send(first, 1) { input.connections.first?.isEmpty == false }
        let second = try connected { SRTSender(port: port) }
        try send(second, 2) { input.connections.count == 2 && !input.connections[1].isEmpty }
        #expect(input.connections[1].starts(with: SRTSender.message(2)))
        try eventually("the first is closed") { !first.isConnected }
        #expect(input.tells("another sender took it over"))
    }

    @Test("An SRT port stays open when a sender disconnects, and the input's counters are kept")
    func comesBack() throws {
        let port = try LoopbackSocket.freePort()
        let input = try Collector(url(port, ""), server: server)
        let first = try connected { SRTSender(port: port) }
        // libsrt does not count for a connection any more once it has ended, so the input must have read the counters
        // before.
        try send(first, 1) { input.input.statistics.totals.bytesReceived > 20_000 }
        first.hangUp()
        let second = try connected { SRTSender(port: port) }
        try send(second, 2) { input.connections.count == 2 && !input.connections[1].isEmpty }
        let statistics = input.input.statistics
        #expect(statistics.connections == 2 && statistics.totals.packetsDropped == 0)
        #expect(statistics.totals.bytesReceived > 20_000 && statistics.totals.packetsUnique >= 16)
    }

    @Test("SRT data that is not a transport stream is refused with a reason, and the next caller is accepted")
    func otherMedia() throws {
        let port = try LoopbackSocket.freePort()
        let input = try Collector(url(port, ""), server: server)
        let stranger = try connected { SRTSender(port: port) }
        let matroska = [0x1A, 0x45, 0xDF, 0xA3] + [UInt8](repeating: 7, count: 1000)
        try eventually("it is sent away") {
            stranger.send(matroska)
            return input.tells("not an MPEG transport stream")
        }
        let sender = try connected { SRTSender(port: port) }
        try send(sender, 3) { input.connections.first?.isEmpty == false }
    }

    @Test("Each stream of a shared SRT port has its own latency")
    func latencies() throws {
        let port = try LoopbackSocket.freePort()
        let inputs = try [300, 700].map {
            try Collector("srt://127.0.0.1:\(port)?mode=listener&streamid=\($0)&latency=\($0)", server: server)
        }
        for latency in [300, 700] {
            let sender = try connected { SRTSender(port: port, streamID: "\(latency)") }
            #expect(sender.receiverLatency == CInt(latency))
        }
        withExtendedLifetime(inputs) {}
    }

    @Test("SRT inputs that cannot share a port are refused when they are opened")
    func conflicts() throws {
        let port = try LoopbackSocket.freePort()
        let first = try Collector(url(port, "streamid=a"), server: server)
        _ = try connected { SRTSender(port: port, streamID: "a") }
        let same = try Collector(url(port, "streamid=a"), server: server)
        try eventually { same.failure?.reason.contains("same stream id") == true }
        let different = try Collector(url(port, "streamid=b&mss=1400"), server: server)
        try eventually { different.failure?.reason.contains("same options") == true }
        withExtendedLifetime(first) {}
    }

    @Test("An SRT input that waits for a caller ends at once when it is stopped, and its port is free again")
    func stops() throws {
        let port = try LoopbackSocket.freePort()
        let input = try Collector(url(port, ""), server: server)
        let sender = try connected { SRTSender(port: port) }
        input.input.stop()
        try eventually("it ends") { input.hasEnded && input.failure == nil }
        sender.hangUp()
        let next = try Collector(url(port, ""), server: SRTServer())
        try eventually("it waits") { next.events.contains(.waiting) || next.failure != nil }
        #expect(next.failure == nil)
        _ = try connected { SRTSender(port: port) }
    }

    @Test("An SRT port whose previous socket is still closing can be opened again")
    func reopened() throws {
        let port = try LoopbackSocket.freePort()
        let url = try SRTURL(url(port, ""), for: .input)
        let address = try #require(HostAddress(literal: "127.0.0.1", port: port))
        for _ in 0..<100 {
            let registration = try server.receive(url, at: address) { _ in }
            registration.cancel()
        }
    }

    @Test("An SRT caller connects to a sender; the error for a wrong passphrase or a silent port contains no secret")
    func calls() throws {
        let port = try LoopbackSocket.freePort()
        let address = "srt://127.0.0.1:\(port)?latency=20"
        let peer = SRTSender(listening: port, passphrase: "correct-horse")
        let wrong = try Collector(address + "&passphrase=wrong-battery", server: server)
        try eventually { wrong.failure?.kind == .refused }
        #expect(wrong.failure?.reason.contains("battery") == false)
        let patient = address + "&passphrase=correct-horse&connect_timeout=60000"
        let input = try Collector(patient, server: server, times: 1)
        let sender = try #require(try accept(input, at: peer), "\(input.failure?.reason ?? "")")
        try send(sender, 4) { input.connections.first?.isEmpty == false || input.hasEnded }
        #expect(input.connections.first?.isEmpty == false, "\(input.failure?.reason ?? "")")
        sender.hangUp()
        try eventually("the end is noticed") { input.hasEnded }
        peer.hangUp()
        let silent = try Collector(address + "&connect_timeout=200", server: server)
        try eventually { silent.failure?.kind == .unreachable }
    }

    @Test("A transport stream is recognized by its sync bytes, wherever it begins")
    func check() {
        let packets = SRTSender.message(1)
        #expect(TransportStreamCheck.judge(packets) == .transportStream)
        #expect(TransportStreamCheck.judge(Array(packets.dropFirst(100))) == .transportStream)
        #expect(TransportStreamCheck.judge(Array(packets.prefix(700))) == .unknown)
        let timed = (0..<6).flatMap { _ in [1, 2, 3, 4, 0x47] + [UInt8](repeating: 9, count: 187) }
        #expect(TransportStreamCheck.judge(timed) == .transportStream)
        #expect(TransportStreamCheck.judge([UInt8](repeating: 0, count: TransportStreamCheck.limit)) == .other)
        #expect(TransportStreamCheck.judge(Array("FLV".utf8)) == .unknown)
    }

    @Test("Missing SRT packets are reported at once, then at most every ten seconds")
    func drops() {
        var watch = SRTDropWatch()
        #expect(watch.note(0, at: 0) == nil)
        #expect(watch.note(3, at: 1) == 3)
        #expect(watch.note(5, at: .zero + .seconds(10)) == nil)
        #expect(watch.note(9, at: .zero + .seconds(10) + .nanoseconds(1)) == 6)
        #expect(watch.note(9, at: .zero + .seconds(50)) == nil)
    }

    @Test("An SRT input's address accepts takeover= and all options of an output except callers=")
    func addresses() throws {
        #expect(try SRTURL("srt://:9000?takeover=yes", for: .input).takesOver)
        #expect(try !SRTURL("srt://:9000", for: .input).takesOver)
        for (text, part) in [
            ("srt://:9000?callers=2", "unknown to SRT"), ("srt://h:9000?takeover=yes", "mode=listener"),
            ("srt://:9000?takeover=maybe", "takeover"), ("srt://h:9000?latency=200000", "0 to 60000"),
        ] {
            let error = #expect(throws: AddressError.self) { try SRTURL(text, for: .input) }
            #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        }
        #expect(throws: AddressError.self) { try SRTURL("srt://:9000?takeover=yes") }
    }
}
