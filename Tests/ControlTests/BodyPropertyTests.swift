// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Control
@testable import Studio

/// Random request bodies that are almost valid.
@Suite("Random request bodies")
struct BodyPropertyTests {
    private static let keys = [
        "scene", "transition", "at", "layout", "sources", "inset", "overlays", "corner", "x", "y", "width", "fit",
        "type",
        "seconds", "easing", "color", "name", "gain", "muted", "audioOffset", "seek", "restart", "visible", "text",
        "other", "", "scene.layout", "é",
    ]
    private static let words = [
        "null", "true", "false", "0", "-1", "1", "0.5", "1e3", "1e400", "-0", "9223372036854775807",
        "9223372036854775808", "123456789012345678901234567890", #""fade""#, #""cut""#, #""stinger""#, #""dip""#,
        #""flip""#, ##""#0a64ff""##, ##""#12""##, #""pip""#, #""grid""#, #""single""#, #""crop""#, #""top-left""#,
        #""in-out""#, #""cam1""#, #""""#, #""\u0000""#, #""\ud83c\udfa5""#, #""\ud83c""#, "[]", "{}",
    ]

    /// Returns a JSON text with at most `depth` nested levels.
    private func json(_ depth: Int, _ random: inout SeededRandom) -> String {
        let kind = depth > 0 ? Int.random(in: 0..<4, using: &random) : 0
        let count = Int.random(in: 0...4, using: &random)
        switch kind {
        case 1:
            var items: [String] = []
            for _ in 0..<count { items.append(json(depth - 1, &random)) }
            return "[\(items.joined(separator: ","))]"
        case 2, 3:
            var members: [String] = []
            for _ in 0..<count {
                let key = random.pick(Self.keys)
                let value = json(depth - 1, &random)
                members.append("\"\(key)\":\(value)")
            }
            return "{\(members.joined(separator: ","))}"
        default: return random.pick(Self.words)
        }
    }

    /// Decodes `text` as a body of `type`. Returns true if it is accepted, and false if it is refused. Any other error
    /// is a fault, because a client would get it as an error of the server.
    private func isTaken<Value: Decodable>(_ text: String, as type: Value.Type) -> Bool {
        do {
            _ = try JSON.decode(type, from: Data(text.utf8))
            return true
        } catch let refusal as Refusal {
            #expect(refusal.detail.hasSuffix(".") && !refusal.detail.isEmpty, "\(text)")
            #expect([.malformed, .unusable].contains(refusal.kind), "\(text)")
        } catch {
            Issue.record("\(text): \(error)")
        }
        return false
    }

    @Test("A request body with any JSON is accepted, or refused with a sentence")
    func anyJSON() {
        var random = SeededRandom()
        for _ in 0..<1500 {
            let (first, second) = (random.pick(Self.keys), random.pick(Self.keys))
            let (one, two) = (json(3, &random), json(2, &random))
            let text = "{\"\(first)\":\(one),\"\(second)\":\(two)}"
            _ = isTaken(text, as: ProgramRequest.self)
            _ = isTaken(text, as: SourceRequest.self)
            _ = isTaken(text, as: OverlayRequest.self)
            _ = isTaken(json(4, &random), as: ProgramRequest.self)
        }
    }

    @Test("A valid request body with damaged bytes is accepted, or refused with a sentence")
    func damaged() {
        var random = SeededRandom()
        let good = [
            #"{"scene":{"layout":"pip","sources":["a","b"],"inset":{"x":0,"y":0,"width":0.5},"overlays":["x"]}}"#,
            ##"{"transition":{"type":"dip","seconds":1,"easing":"in-out","color":"#0a64ff"},"at":5}"##,
            #"{"transition":{"type":"stinger","name":"wipe"},"scene":"cam2"}"#,
        ]
        for text in good { #expect(isTaken(text, as: ProgramRequest.self), "\(text)") }
        for _ in 0..<1500 {
            var bytes = Array(random.pick(good).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                bytes[place] = random.pick(Array("{}[]\",:0-9e.tfn\u{0} é".utf8))
            }
            _ = isTaken(String(decoding: bytes, as: UTF8.self), as: ProgramRequest.self)
        }
    }

    @Test(
        "A request body with many nested levels is refused, and does not crash the process",
        arguments: [100, 1000, 30_000])
    func deep(levels: Int) {
        let lists = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        #expect(!isTaken(lists, as: ProgramRequest.self))
        let objects = String(repeating: #"{"scene":"#, count: levels) + "0" + String(repeating: "}", count: levels)
        #expect(!isTaken(objects, as: ProgramRequest.self))
        #expect(!isTaken(String(repeating: "[", count: levels), as: OverlayRequest.self))
    }

    @Test("A request value of a wrong type is refused with its key, and the message does not repeat the value")
    func secrets() {
        for key in SourceRequest.keys {
            let text = "{\"\(key)\":\"hunter2\"}"
            do {
                _ = try JSON.decode(SourceRequest.self, from: Data(text.utf8))
                Issue.record("\(text) was taken")
            } catch {
                let detail = (error as? Refusal)?.detail
                #expect(detail == "In the body, \(key) is of the wrong type.")
            }
        }
    }

    @Test("In requests null differs from an absent key only for an overlay's visibility, not for gain or mute")
    func nulls() throws {
        let decode = { (text: String) in try JSON.decode(OverlayRequest.self, from: Data(text.utf8)) }
        #expect(try decode("{}").visible == nil)
        #expect(try decode(#"{"visible":null}"#).visible == .scenes)
        #expect(try decode(#"{"visible":true}"#).visible == .shown)
        #expect(try decode(#"{"visible":false}"#).visible == .hidden)
        #expect(try decode("{}").isEmpty)
        #expect(try decode(#"{"seconds":1}"#).isEmpty)
        let source = try JSON.decode(SourceRequest.self, from: Data(#"{"gain":null,"muted":null}"#.utf8))
        #expect(source.isEmpty)
    }

    @Test("In responses infinities and NaN are encoded to JSON as strings, and keys are sorted")
    func numbers() {
        struct Values: Encodable {
            var z = Double.infinity
            var a = [-Double.infinity, Double.nan, 0.1]
            var none: Int?
            var path = "a/b"
        }
        let text = String(decoding: JSON.encode(Values()), as: UTF8.self)
        #expect(text == #"{"a":["-infinity","nan",0.1],"path":"a/b","z":"infinity"}"#)
    }
}
