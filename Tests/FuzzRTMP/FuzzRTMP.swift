// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import RTMP

/// What libFuzzer calls with each input, compiled by `scripts/fuzz --of rtmp` with the files of the RTMP server that do no
/// I/O. The first byte says what the rest is; nothing in it may trap, hang, eat memory, or mean something else when it
/// comes in other pieces.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzRTMP(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard count > 1 else { return 0 }
    let bytes = Array(input.dropFirst(2))
    switch FuzzCase.given ?? Int(input[0] % 6) {
    case 0: converse(Prelude.greeted + bytes, cut: Int(input[1]))
    case 1: converse(Prelude.published + bytes, cut: Int(input[1]))
    case 2: readChunks(bytes, cut: Int(input[1]))
    case 3: _ = AMF0Reader.values(bytes)
    case 4: _ = try? FLVVideo(body: bytes[...])
    default: _ = try? FLVAudio(body: bytes[...])
    }
    return 0
}

private enum FuzzCase {
    /// The only case that is tried, if one was named.
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
    /// And `publish`.
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

/// What a conversation came to: events, and how it ended. Not what was answered: when bytes are acknowledged depends on
/// how many come at once.
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
