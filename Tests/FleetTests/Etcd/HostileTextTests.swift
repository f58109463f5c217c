// SPDX-License-Identifier: Apache-2.0

import Fleet
import Foundation
import TestSupport
import Testing

/// Text from the store's servers and from other hosts may be invalid, so it is checked while it is parsed.
@Suite("Invalid texts from etcd and other hosts")
struct HostileTextTests {
    private static func range(key: String = "YQ==", fields: String = "") throws -> EtcdKeyValue? {
        let text = #"{"header":{"revision":"5"},"kvs":[{"key":"\#(key)"\#(fields)}],"count":"1"}"#
        return try EtcdAnswer.range(Array(text.utf8)).keys.first
    }

    @Test func `Integers of 64 bits are read exactly, as texts and as numbers, and larger ones are refused`() throws {
        for number in [Int64.max, .min, 7_587_870_341_223_456_789, 9_007_199_254_740_993, 0] {
            for text in ["\(number)", "\"\(number)\""] {
                let key = try Self.range(fields: #","create_revision":\#(text),"lease":\#(text)"#)
                #expect(key?.created == number && key?.lease == (number == 0 ? nil : number))
            }
        }
        for text in ["9223372036854775808", #""9223372036854775808""#, "1.5", #""1.5""#, #""""#, #"" 1""#, "[]", "{}"] {
            #expect(throws: EtcdAnswer.Failure.malformed, "\(text)") {
                try Self.range(fields: #","mod_revision":\#(text)"#)
            }
        }
    }

    @Test func `Bytes are read as Foundation writes them, and other texts are refused`() throws {
        var random = SeededRandom()
        for length in 0..<200 {
            let bytes = random.bytes(length)
            #expect(try Self.range(fields: #","value":"\#(Data(bytes).base64EncodedString())""#)?.value == bytes)
        }
        for text in [
            "a", "ab", "abc", "ab=c", "====", "ab==cd==", "a===", #"ab=\n"#, "äbcd", "ab-_", "ab1=x", "aaF=", "YQ",
        ] {
            #expect(throws: EtcdAnswer.Failure.malformed, "\(text)") { try Self.range(key: text) }
            #expect(throws: EtcdAnswer.Failure.malformed, "\(text)") { try Self.range(fields: #","value":"\#(text)""#) }
        }
        // This byte is not valid UTF-8.
        #expect(throws: EtcdAnswer.Failure.malformed) { try Self.range(key: Data([0xFF]).base64EncodedString()) }
    }

    // Regression: the revision after the greatest one, from which the watch began, stopped the process.
    @Test func `A revision that no other can follow is refused`() throws {
        let body = #"{"header":{"revision":"\#(Int64.max - 1)"}}"#
        #expect(try EtcdAnswer.revoke(Array(body.utf8)) == .max - 1)
        for text in ["\(Int64.max)", "\"\(Int64.max)\""] {
            let body = Array(#"{"header":{"revision":\#(text)}}"#.utf8)
            #expect(throws: EtcdAnswer.Failure.malformed) { try EtcdAnswer.range(body) }
        }
    }

    // Regression: a key with two slashes counted as the entry whose key has one.
    @Test(arguments: ["/relay//claim/c", "/relay/claim//c", "/relay/claim/", "/relay/claim", "/relay//", "/relay/x/c"])
    func `A key that is not exactly that of an entry is not taken for one`(key: String) throws {
        let layout = EtcdLayout(prefix: "/relay") { _ in nil }
        let read = try #require(layout.fleetKey(key))
        #expect(read.kind == .other || layout.key(read.kind, read.name) == key)
        #expect(layout.fleetKey("/relay\u{301}/claim/c") == nil && layout.fleetKey("/relay") == nil)
    }

    @Test func `A body that is too long or too deep is refused`() throws {
        func body(padding: Int) -> [UInt8] {
            Array(#"{"header":{"revision":"5"}}"#.utf8) + Array(repeating: UInt8(ascii: " "), count: padding)
        }
        let length = body(padding: 0).count
        #expect(try EtcdAnswer.revoke(body(padding: EtcdAnswer.limit - length)) == 5)
        #expect(throws: EtcdAnswer.Failure.malformed) {
            try EtcdAnswer.revoke(body(padding: EtcdAnswer.limit - length + 1))
        }
        for depth in [1000, 1 << 20] {
            let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let text = #"{"header":{"revision":"5"},"unknown":\#(deep)}"#
            #expect(throws: EtcdAnswer.Failure.malformed) { try EtcdAnswer.revoke(Array(text.utf8)) }
            #expect(throws: EtcdAnswer.Failure.malformed) {
                try EtcdAnswer.revoke(Array(String(repeating: "{\"a\":", count: depth).utf8))
            }
        }
    }

    @Test(arguments: [
        "", "{", "{\"a\"}", "01", "1.", "-", "+1", "\"\\x\"", "nulL", "1 2", "'a'", "[]", "null", "\"a\"", "{}",
        "{\"header\":[]}", "{\"header\":{\"revision\":\"0\"}}", "{\"header\":{\"revision\":\"-5\"}}",
        "{\"header\":{\"revision\":\"5\"}} x", "{\"header\":{\"revision\":\"5\"}",
    ])
    func `A body that is no JSON, or has no revision, is refused`(text: String) {
        #expect(throws: EtcdAnswer.Failure.malformed) { try EtcdAnswer.revoke(Array(text.utf8)) }
    }

    @Test func `Members that this version does not know are skipped, and empty ones count as absent`() throws {
        let text = #"{"new":[{"a":1}],"header":{"revision":"5","raft_term":"9"},"kvs":null,"count":null,"more":true}"#
        let answer = try EtcdAnswer.range(Array(text.utf8))
        #expect(answer.revision == 5 && answer.keys == [] && answer.count == 0)
    }

    @Test(arguments: [
        #"{"events":{}}"#, #"{"events":[1]}"#, #"{"events":[{}]}"#, #"{"events":[{"kv":{}}]}"#,
        #"{"events":[{"type":"RENAME","kv":{"key":"YQ=="}}]}"#, #"{"canceled":"yes"}"#,
    ])
    func `A line of a watch is refused as a whole if one of its changes cannot be parsed`(fields: String) {
        let text = #"{"result":{"header":{"revision":"5"},\#(fields.dropFirst())}"#
        #expect(throws: EtcdAnswer.Failure.malformed) { try EtcdAnswer.watchLine(Array(text.utf8)) }
    }

    @Test func `A value of the maximum length is parsed, and a longer one is refused`() {
        func value(_ length: Int) -> [UInt8] {
            let empty = #"{"host":""}"#.utf8.count
            return Array(#"{"host":"\#(String(repeating: "a", count: length - empty))"}"#.utf8)
        }
        #expect(FleetValue(.claim, value(1 << 16)) != nil)
        #expect(FleetValue(.claim, value(1 << 16 + 1)) == nil)
    }

    @Test(
        arguments: [
            (.offer, #"{"round":1,"to":5}"#), (.offer, #"{"round":1,"cut":"far"}"#), (.offer, #"{"to":"b"}"#),
            (.offer, #"{"round":1e400}"#), (.successor, #"{"host":"a","state":"armed"}"#),
            (.successor, #"{"host":"a","state":"gone"}"#), (.successor, #"{"state":"ready"}"#),
            (.claim, #"{"host":null}"#),
            (.host, "[]"), (.move, #""a""#),
        ] as [(FleetKey.Kind, String)])
    func `A value that can only partly be parsed is refused`(kind: FleetKey.Kind, text: String) {
        #expect(FleetValue(kind, Array(text.utf8)) == nil)
    }

    @Test func `Texts with any characters are written so that they are read again`() {
        var random = SeededRandom()
        let pieces = ["", "a", "\"\\/\n\u{1}", "größer 🎬", "\u{7F}", "\u{2028}", "\0"]
        for _ in 0..<500 {
            let name = random.text(of: pieces, upTo: 4)
            let value = FleetValue.host(name)
            #expect(FleetValue(.claim, Array(value.json.utf8)) == value)
        }
    }

    @Test func `A value with random damage is parsed or refused`() {
        var random = SeededRandom()
        let whole = Array(FleetValue.successor(HandoverSuccessor(host: "ä\"b", state: .armed(cut: 5))).json.utf8)
        for _ in 0..<5000 {
            var bytes = whole
            bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0 ... .max, using: &random)
            let cut = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            if let value = FleetValue(.successor, cut) {
                #expect(FleetValue(.successor, Array(value.json.utf8)) == value)
            }
        }
    }
}
