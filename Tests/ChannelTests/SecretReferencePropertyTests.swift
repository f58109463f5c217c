// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import Channel

@Suite("References to secrets in random texts and files")
struct SecretReferencePropertyTests {
    private let directory: TemporaryDirectory
    /// A file that contains a secret.
    private let path: String

    private static let environment = [
        "KEY": "topsecret,#1", "_K2": "topsecret=é", "DOLLAR": "$", "BRACE": "}", "LOOP": "${KEY}", "MARK": "$${",
        "EMPTY": "", "1A": "topsecret", "A b": "topsecret",
    ]

    private let secrets = SecretReferences { Self.environment[$0] }

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path("key")
        try directory.write("topsecret${KEY}\n".utf8, to: "key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    /// All references that can be replaced, and the values that replace them.
    private var values: [String: String] {
        var values = Self.environment
        for name in ["EMPTY", "1A", "A b"] { values[name] = nil }
        values["file:\(path)"] = "topsecret${KEY}"
        return values
    }

    /// Expands `text`, read character by character from the left; nil if a reference in it cannot be replaced.
    private func read(_ text: String, _ values: [String: String]) -> String? {
        var (result, rest) = ("", text[...])
        while !rest.isEmpty {
            if rest.hasPrefix("$${") {
                result += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                let pieces = rest.dropFirst(2).split(separator: "}", maxSplits: 1, omittingEmptySubsequences: false)
                guard pieces.count == 2, let value = values[String(pieces[0])] else { return nil }
                result += value
                rest = pieces[1]
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result
    }

    /// The sentence with which `text` is refused; empty if it is accepted.
    private func refusal(_ text: String) -> String {
        do throws(SecretReferenceError) {
            _ = try secrets.expand(text)
            return ""
        } catch {
            return error.description
        }
    }

    private func text(of pieces: [String], atMost most: Int, _ random: inout SeededRandom) -> String {
        (0..<Int.random(in: 0...most, using: &random))
            .map { _ in pieces[Int.random(in: pieces.indices, using: &random)] }
            .joined()
    }

    @Test("Random texts with references to secrets are expanded to the same text as by a simple model")
    func reader() {
        var random = SeededRandom()
        let values = values
        let pieces = [
            "$", "$$", "{", "}", "${", "$${", "$$${", "${KEY}", "${_K2}", "${DOLLAR}", "${BRACE}", "${LOOP}", "${MARK}",
            "KEY", "K2", "_", "rtmp://h/", "é", ",", "#", "${file:\(path)}",
        ]
        let wrong = ["${EMPTY}", "${1A}", "${A b}", "${GONE}", "${}", "${file:key}", "${file:\(path)", "${file:}"]
        var (expanded, refused) = (0, 0)
        for number in 0..<4000 {
            let text = self.text(of: number % 2 == 0 ? pieces : pieces + wrong, atMost: 7, &random)
            let meant = read(text, values)
            #expect((try? secrets.expand(text)) == meant, "\(text)")
            let sentence = refusal(text)
            #expect(sentence.isEmpty == (meant != nil) && !sentence.contains("topsecret"), "\(text): \(sentence)")
            if meant == nil { refused += 1 } else { expanded += 1 }
        }
        #expect(expanded > 0 && refused > 0)
    }

    @Test("If each ${ in a text is escaped, the text expands to the original")
    func escaped() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let text = self.text(of: ["$", "{", "}", "${", "${KEY}", "$${", "a", "é", "/"], atMost: 9, &random)
            #expect(try secrets.expand(text.replacing("${", with: "$${")) == text, "\(text)")
        }
    }

    @Test("A file with a secret is accepted if only its owner has access, and refused otherwise")
    func modes() throws {
        for mode in 0o400...0o777 where mode & 0o400 != 0 {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let sentence = refusal("${file:\(path)}")
            if mode & 0o077 == 0 {
                #expect(sentence.isEmpty, "\(String(mode, radix: 8)): \(sentence)")
            } else {
                #expect(sentence.contains("chmod 600 \(path)"), "\(String(mode, radix: 8)): \(sentence)")
                #expect(!sentence.contains("topsecret"))
            }
        }
    }

    @Test("A link to a secret's file is treated like that file; a pipe, directory or device is refused at once")
    func kinds() throws {
        let (link, pipe) = (directory.path("link"), directory.path("pipe"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(try secrets.expand("${file:\(link)}") == "topsecret${KEY}")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(refusal("${file:\(link)}").contains("chmod 600"))
        try FileManager.default.removeItem(atPath: path)
        #expect(refusal("${file:\(link)}").contains("cannot be read"))
        try #require(mkfifo(pipe, 0o600) == 0)
        for place in [pipe, directory.path, "/dev/null"] {
            #expect(refusal("${file:\(place)}").contains("\(place) is no file"), "\(place)")
        }
    }

    @Test("A file with a secret may have up to 64 KiB")
    func lengths() throws {
        for count in [1, 2, 4095, 4096, 4097, 65_535, 65_536, 65_537, 70_000, 200_000] {
            let text = String(repeating: "x", count: count)
            try directory.write(text.utf8, to: "key")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let read = try? secrets.expand("<${file:\(path)}>")
            #expect((read == "<\(text)>") == (count <= 65_536), "\(count)")
            #expect(refusal("${file:\(path)}").contains("too long") == (count > 65_536), "\(count)")
        }
    }

    @Test("A file with a secret is read as one line without its line end, or refused, whatever bytes it contains")
    func bytes() throws {
        var random = SeededRandom()
        let bytes: [UInt8] = [0x20, 0x24, 0x41, 0x42, 0x61, 0x7B, 0x7D, 0x7E, 0x0A, 0x0D, 0x00, 0x7F, 0xC3, 0xA9, 0xFF]
        var read = 0
        for _ in 0..<1000 {
            var content = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                bytes[Int.random(in: bytes.indices, using: &random)]
            }
            try directory.write(content, to: "key")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            if content.last == 0x0A { content.removeLast() }
            if content.last == 0x0D { content.removeLast() }
            let isLine = !content.isEmpty && content.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            let meant = isLine ? String(validating: content, as: UTF8.self) : nil
            #expect((try? secrets.expand("${file:\(path)}")) == meant, "\(content)")
            if meant != nil { read += 1 }
        }
        #expect(read > 0)
    }
}
