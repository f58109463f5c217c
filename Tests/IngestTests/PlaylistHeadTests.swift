// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import Testing

@testable import Ingest

@Suite("Beginning of an HLS playlist")
struct PlaylistHeadTests {
    @Test("The target duration is parsed from a list of segments", arguments: ["\n", "\r\n"])
    func target(newline: String) throws {
        let lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:12", "#EXTINF:11.5,", "a.ts", "#EXTI"]
        let head = try #require(PlaylistHead(lines.joined(separator: newline)))
        #expect(head.target == .seconds(12))
        #expect(head.variant == nil)
    }

    @Test("The address of the first variant is parsed from a list of variants")
    func variant() throws {
        let text = """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",URI="audio.m3u8"

            #EXT-X-STREAM-INF:BANDWIDTH=1280000
            #EXT-X-NOTE
            low/index.m3u8?token=1
            #EXT-X-STREAM-INF:BANDWIDTH=2560000
            mid/index.m3u8
            """
        let head = try #require(PlaylistHead(text))
        #expect(head.target == nil)
        #expect(head.variant == "low/index.m3u8?token=1")
    }

    @Test("No target duration is read from a text that is not a playlist, or if the duration is implausible")
    func others() {
        #expect(PlaylistHead("<html>") == nil)
        #expect(PlaylistHead("") == nil)
        for value in ["0", "-1", "61", "x", "99999999999999999999", ""] {
            #expect(PlaylistHead("#EXTM3U\n#EXT-X-TARGETDURATION:\(value)\n")?.target == nil)
        }
    }

    @Test(
        "The address of a variant is resolved relative to the address of its list",
        arguments: [
            ("low.m3u8", "http://h:8/a/b.m3u8?x=/y", "http://h:8/a/low.m3u8"),
            ("/low.m3u8", "http://h:8/a/b.m3u8", "http://h:8/low.m3u8"),
            ("//g/low.m3u8", "https://h/a/b.m3u8", "https://g/low.m3u8"),
            ("low.m3u8", "http://h", "http://h/low.m3u8"), ("https://g/l", "http://h/a", "https://g/l"),
            ("?b=1", "http://h/a/b.m3u8?a=1", "http://h/a/b.m3u8?b=1"),
            ("l?a=http://g/", "http://h/a", "http://h/l?a=http://g/"),
        ])
    func resolve(reference: String, base: String, address: String) {
        #expect(PlaylistHead.resolve(reference, in: base) == address)
    }

    @Test("A download of a playlist's beginning stops at the limit, or at the playlist's end")
    func resource() throws {
        let path = NSTemporaryDirectory() + "relay-head-\(UUID().uuidString)"
        try Data(0..<200).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        for (limit, count) in [(50, 50), (200, 200), (100_000, 200)] {
            let head = try ResourceHead(
                of: "file:" + path, limit: limit, timeout: .seconds(60), interrupter: Interrupter(), subject: "head")
            #expect(head.bytes == Array(0..<UInt8(count)))
        }
        #expect(throws: AVFailure.self) {
            try ResourceHead(
                of: "file:" + path + "x", limit: 50, timeout: .seconds(60), interrupter: Interrupter(), subject: "head")
        }
    }

    @Test(
        "An HTTP response ends at its stated length, or when the connection is closed, whether announced or not",
        arguments: ["Content-Length: 9\r\n", "Connection: close\r\n", ""])
    func response(headers: String) throws {
        let server = try RecordingServer { _ in "HTTP/1.0 200 OK\r\n\(headers)\r\n#EXTM3U\n1" }
        defer { withExtendedLifetime(server) {} }
        let head = try ResourceHead(
            of: "http://127.0.0.1:\(server.port)/list", limit: 50, timeout: .seconds(60), interrupter: Interrupter(),
            subject: "head")
        #expect(head.bytes == Array("#EXTM3U\n1".utf8))
    }

    @Test("An HTTP response that ends before its announced length is an error")
    func cutOff() throws {
        let server = try RecordingServer { _ in "HTTP/1.0 200 OK\r\nContent-Length: 20\r\n\r\n#EXTM3U\n1" }
        defer { withExtendedLifetime(server) {} }
        #expect(throws: AVFailure.self) {
            try ResourceHead(
                of: "http://127.0.0.1:\(server.port)/list", limit: 50, timeout: .seconds(60),
                interrupter: Interrupter(),
                subject: "head")
        }
    }
}
