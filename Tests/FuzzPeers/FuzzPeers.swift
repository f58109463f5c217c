// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import Networking
@testable import Relay
@testable import Upload

/// The function that libFuzzer calls with each input. `scripts/fuzz --of peers` compiles it with the files that read
/// what other hosts, servers and programs tell relay, and what an earlier run of relay left. The first byte selects what
/// is tested with the rest. No input may cause a crash, a hang or unbounded memory use.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzPeers(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 2 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let bytes = Array(input.dropFirst(2))
    switch FuzzCase.given ?? Int(input[0] % 6) {
    case 0: readStore(bytes, Int(input[1]))
    case 1: liveInFleet(bytes, seed: input[1])
    case 2: readUpload(String(decoding: bytes, as: UTF8.self))
    case 3: readReply(bytes, status: Int(input[1]) * 4)
    case 4: readEvents(bytes, cut: Int(input[1]))
    default: readNotes(bytes, Int(input[1]))
    }
    return 0
}

private enum FuzzCase {
    /// The only case to test, if the environment names one.
    static let given = getenv("RELAY_FUZZ_CASE").flatMap { Int(String(cString: $0)) }
}

func require(_ condition: Bool) {
    if !condition { abort() }
}

// MARK: Programs and servers

/// Reads `text` as rclone's answers, and as the errors of a program.
private func readUpload(_ text: String) {
    for name in RcloneFeatures(parsing: text).hashes {
        require(!name.isEmpty && name.utf8.first != UInt8(ascii: "-") && !name.utf8.contains { $0 <= 32 })
    }
    require(RcloneListing(parsing: text).hashes.values.allSatisfy { !$0.isEmpty })
    let said = ErrorText.of(text)
    require(said.unicodeScalars.count <= 300 && !said.unicodeScalars.contains { [10, 13, 0x2028].contains($0.value) })
    // No user and no query of the address may be said.
    let word = text.unicodeScalars.prefix { $0.value > 32 && $0 != "/" && $0 != "@" && $0 != "\u{85}" }
    guard word.count < 200, !word.contains(where: { $0.properties.isWhitespace || "?#".unicodeScalars.contains($0) })
    else { return }
    for address in ["https://secret9876:\(String(word))@h/p", "https://h/\(String(word))?\(String(word))secret9876"] {
        require(!ErrorText.of("Failed: \"\(address)\"").contains("secret9876"))
    }
}

/// Reads the lines of `bytes` as the fields of a response's head, and all of it as the body of a refusal.
private func readReply(_ bytes: [UInt8], status: Int) {
    let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    let fields = lines.compactMap { line -> (name: String, value: String)? in
        let sides = line.split(separator: ":", maxSplits: 1)
        return sides.count == 2 ? (String(sides[0]), String(sides[1])) : nil
    }
    let head = HTTPReplyHead(status: status) { name in fields.first { $0.name == name }?.value }
    require(head.length ?? 0 >= 0 && head.isSuccess == (status / 100 == 2))
    let refusal = APIRefusal.lines(status, bytes)
    require(!refusal.isEmpty)
}

/// Reads `bytes` as a stream of events. Where the stream is cut must not matter.
private func readEvents(_ bytes: [UInt8], cut: Int) {
    let longest = 64
    var (whole, parts) = (EventStreamParser(longest: longest), EventStreamParser(longest: longest))
    let messages = whole.take(bytes)
    let middle = min(bytes.count, cut)
    require(parts.take(Array(bytes[..<middle])) + parts.take(Array(bytes[middle...])) == messages)
    for message in messages {
        // A byte that is not valid UTF-8 becomes a character of three bytes.
        let lengths = [message.event, message.data, message.id ?? ""].map(\.utf8.count)
        require(lengths.allSatisfy { $0 <= 3 * longest })
    }
    var parser = EventStreamParser()
    for message in parser.take(bytes) {
        require(!message.event.isEmpty && !message.event.utf8.contains(10))
        show(message.data)
    }
    show(String(decoding: bytes, as: UTF8.self))
}

/// Reads `json` as an event. Its line must not move the cursor of a terminal, or look like two lines.
private func show(_ json: String) {
    let isPlain = { (text: String) in
        text.unicodeScalars.allSatisfy { $0.value >= 32 && !(0x7F..<0xA0).contains($0.value) }
    }
    if let event = try? CtlEvent(json: json) { require(isPlain(event.line)) }
    for text in [PrintedText.escaped(json), PrintedText.message(json), PrintedText.value(json)] {
        require(isPlain(text))
    }
    _ = PrintedText.json(json)
}
