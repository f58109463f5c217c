// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import Networking
@testable import RTMP

/// The function that libFuzzer calls with each input. `scripts/fuzz --of rtmp` compiles it with the files of the RTMP
/// server and of the RTMP outputs that do no I/O. The first byte selects what is tested with the rest. No input may
/// cause a crash, a hang or unbounded memory use, or give another result when it is split elsewhere.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzRTMP(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard count > 1 else { return 0 }
    let bytes = Array(input.dropFirst(2))
    switch FuzzCase.given ?? Int(input[0] % 9) {
    case 0: converse(Prelude.greeted + bytes, cut: Int(input[1]))
    case 1: converse(Prelude.published + bytes, cut: Int(input[1]))
    case 2: readChunks(bytes, cut: Int(input[1]))
    case 3: _ = AMF0Reader.values(bytes)
    case 4: _ = try? FLVVideo(body: bytes[...])
    case 5: _ = try? FLVAudio(body: bytes[...])
    case 6: hear(bytes, cut: Int(input[1]))
    case 7: readStatus(bytes)
    default: negotiate(bytes, cut: Int(input[1]))
    }
    return 0
}

private enum FuzzCase {
    /// The only case to test, if the environment names one.
    static let given = getenv("RELAY_FUZZ_CASE").flatMap { Int(String(cString: $0)) }
}

private enum Prelude {
    static let handshake: [UInt8] = [3] + [UInt8](repeating: 0, count: 2 * 1536)
    /// Handshake and `connect`.
    static let greeted =
        handshake
        + command { writer in
            writer.write("connect")
            writer.write(1)
            writer.writeObject([("app", .string("live"))])
        }
    /// Handshake, `connect` and `publish`.
    static let published =
        greeted
        + command { writer in
            writer.write("publish")
            writer.write(2)
            writer.writeNull()
            writer.write("key")
        }

    private static func command(_ write: (inout AMF0Writer) -> Void) -> [UInt8] {
        var writer = AMF0Writer()
        write(&writer)
        return [3, 0, 0, 0, 0, 0, UInt8(writer.bytes.count), 20, 1, 0, 0, 0] + writer.bytes
    }
}

/// The result of a conversation: its events and its failure. The answers are not included, because the times of
/// acknowledgements depend on how many bytes arrive at once.
private struct Outcome: Equatable {
    var events: [String] = []
    var failure: String?
}

private func converse(_ bytes: [UInt8], cut: Int) {
    let whole = outcome(of: [bytes[...]])
    let middle = min(bytes.count, 3073 + cut)
    guard outcome(of: [bytes[..<middle], bytes[middle...]]) == whole else { abort() }
}

private func outcome(of pieces: [ArraySlice<UInt8>]) -> Outcome {
    var (session, outcome) = (RTMPServerSession(), Outcome())
    do throws(RTMPServerSession.Failure) {
        for piece in pieces {
            let bytes = Array(piece)
            var cursor = 0
            while let event = try session.next(in: bytes.span, at: &cursor) {
                outcome.events.append("\(event)".prefix(while: { $0 != "(" }).lowercased())
                if case .requested = event { session.accept() }
            }
            _ = session.takeAnswers()
            guard cursor == bytes.count, session.heldBytes <= 34 << 20 else { abort() }
        }
    } catch {
        outcome.failure = "\(error)"
    }
    return outcome
}

private func readChunks(_ bytes: [UInt8], cut: Int) {
    let whole = messages(in: [bytes[...]])
    let middle = min(bytes.count, cut)
    guard messages(in: [bytes[..<middle], bytes[middle...]]) == whole else { abort() }
}

private func messages(in pieces: [ArraySlice<UInt8>]) -> [RTMPInboundParser.Message]? {
    var (parser, messages) = (RTMPInboundParser(), [RTMPInboundParser.Message]())
    for piece in pieces {
        guard let found = try? parser.parse(piece) else { return nil }
        messages += found
        guard parser.heldBytes <= RTMPInboundParser.maximumHeldBytes else { abort() }
    }
    return messages
}

// MARK: What the other side of an output answers

private enum Peers {
    /// A server with each kind of secret in its address.
    static let server = try? RTMPURL("rtmp://user:pass9876@media.example/live/key-of-stream?token=abcdef")
    static let http = try? ProxyURL("http://user:pass9876@127.0.0.1:3128")
    static let socks = ["socks5://127.0.0.1:1080", "socks5://user:pass9876@127.0.0.1:1080"].compactMap {
        try? ProxyURL($0)
    }
}

/// The messages that a server or a player sent while a stream was on air.
private struct Heard: Equatable {
    var messages: [RTMPStatusMessage] = []
    var wishes: [RTMPPlayerCommand] = []
}

private func hear(_ bytes: [UInt8], cut: Int) {
    let whole = heard(in: [bytes[...]])
    let middle = min(bytes.count, cut)
    guard heard(in: [bytes[..<middle], bytes[middle...]]) == whole else { abort() }
}

/// Returns the messages in `pieces`; nil if a piece has invalid chunks, because the messages before them in the same
/// piece are then lost.
private func heard(in pieces: [ArraySlice<UInt8>]) -> Heard? {
    var (channel, heard) = (RTMPBackChannel(parser: RTMPInboundParser()), Heard())
    for piece in pieces {
        let answer = channel.take(Array(piece))
        // At most one reply of each kind is kept: acknowledgement, ping response and window size.
        guard channel.takeReplies().count <= 3 else { abort() }
        if answer.failure != nil { return nil }
        heard.messages += answer.messages
        heard.wishes += answer.wishes
    }
    return heard
}

/// Reads a server's command: its message for an operator, its redirection, and the response to it as a login challenge.
private func readStatus(_ command: [UInt8]) {
    guard let message = RTMPStatusMessage(command: command) else { return }
    guard let url = Peers.server else { abort() }
    let words = message.words(masking: url)
    guard words.count <= 200, !words.contains("key-of-stream"), !words.contains("pass9876") else { abort() }
    _ = (message.failureKind, message.endsPublishing, message.isReconnectRequest)
    _ = message.address.flatMap { url.redirected(to: $0) }?.description
    var login = RTMPLogin(url: url, nonce: { "01234567" })
    for _ in 0..<3 { _ = try? login.answer(to: message) }
}

private func negotiate(_ bytes: [UInt8], cut: Int) {
    guard let http = Peers.http, Peers.socks.count == 2 else { abort() }
    let middle = min(bytes.count, cut)
    converse(with: http, in: [bytes[..<middle], bytes[middle...]])
    // A proxy that speaks SOCKS answers each message before it gets the next one.
    let single = bytes.prefix(600).map { [$0][...] }
    for proxy in Peers.socks { converse(with: proxy, in: single) }
}

private func converse(with proxy: ProxyURL, in pieces: [ArraySlice<UInt8>]) {
    var dialogue = proxy.dialogue(host: "media.example", port: 1935)
    guard !dialogue.begin().isEmpty else { abort() }
    for piece in pieces {
        guard let reaction = try? dialogue.take(Array(piece)), reaction != .done else { return }
        guard reaction != .send([]) else { abort() }
    }
    // The longest answers have two bytes for the methods, two for the login, and a name of 255 bytes.
    guard proxy.kind == .http || pieces.count < 2 + 2 + 4 + 256 + 2 else { abort() }
}
