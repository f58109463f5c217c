// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import SourceClock
import TestSupport
import Testing

@testable import Ingest

@Suite("Inputs with a hostile sender")
struct HostileInputTests {
    /// A playlist of one segment, which is the file at `path`.
    private static func playlist(_ path: String) -> String {
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.2,\nfile://\(path)\n#EXT-X-ENDLIST\n"
    }

    private static func clip() throws -> Clip {
        try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=0.2", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt",
            "yuv420p", suffix: ".ts")
    }

    @Test("A TCP sender that sends a playlist instead of media is refused, so it cannot show files of this machine")
    func playlistAsBytes() throws {
        let clip = try Self.clip()
        let text = Self.playlist(clip.path)
        let server = try RecordingServer(readsRequest: false) { _ in text }
        #expect(throws: IngestError.self) {
            _ = try SourceOpener.open(
                InputLocation("tcp://127.0.0.1:\(server.port)"), options: IngestOptions(), logger: quiet)
        }
    }

    @Test("A playlist by HTTP cannot name files of this machine", arguments: ["", "cache:"])
    func playlistByHTTP(wrapper: String) throws {
        let clip = try Self.clip()
        let text = Self.playlist(clip.path)
        let server = try RecordingServer { _ in
            "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
        }
        #expect(throws: IngestError.self) {
            _ = try SourceOpener.open(
                InputLocation("\(wrapper)http://127.0.0.1:\(server.port)/list.m3u8"), options: IngestOptions(),
                logger: quiet)
        }
        #expect(!server.values(of: "host", for: "/list.m3u8").isEmpty)
    }

    @Test("A local file that a list of variants over HTTP names is not read, not even for the target duration")
    func variantByHTTP() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = directory.path + "/list.m3u8"
        try "#EXTM3U\n#EXT-X-TARGETDURATION:17\n".write(toFile: path, atomically: true, encoding: .utf8)
        let server = try RecordingServer { _ in
            Self.response("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nfile://\(path)\n")
        }
        let location = InputLocation("http://127.0.0.1:\(server.port)/main.m3u8")
        let interrupter = Interrupter(clock: ManualClock())
        #expect(location.targetDuration("hls", KnownRedirections(), interrupter) == SourceClockSettings.usualTarget)
        #expect(!server.values(of: "host", for: "/main.m3u8").isEmpty)
    }

    @Test("An input over FTP, or over a protocol that wraps HTTP, is not allowed to open local files")
    func protocols() throws {
        for text in ["ftp://h/list.m3u8", "sftp://h/a", "cache:http://h/a", "async:https://h/a"] {
            let values = InputLocation(text).demuxerSettings(IngestOptions()).options.values
            let allowed = try #require(values["protocol_whitelist"]).split(separator: ",")
            #expect(!allowed.contains("file") && allowed.contains("tcp") && allowed.contains("https"), "\(text)")
        }
    }

    // MARK: Headers

    private static func response(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
    }

    @Test("Headers of an HTTP input are not sent to another server to which the input's server redirects")
    func redirectedElsewhere() throws {
        let other = try RecordingServer { _ in Self.response("") }
        let server = try RecordingServer { [port = other.port] _ in
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(port)/media.ts\r\nContent-Length: 0\r\n"
                + "Connection: close\r\n\r\n"
        }
        let text = "http://127.0.0.1:\(server.port)/live.ts#header=Authorization: Bearer secret"
        _ = try? SourceOpener.open(InputLocation(text), options: IngestOptions(), logger: quiet)
        #expect(server.values(of: "authorization", for: "/live.ts") == ["Bearer secret"])
        let values = other.values(of: "authorization", for: "/media.ts")
        #expect(!values.isEmpty && values.allSatisfy { $0 == "-" })
    }

    @Test("Headers of a playlist are sent for segments on the same server, but not for segments on other servers")
    func segmentsElsewhere() throws {
        let other = try RecordingServer { _ in Self.response("") }
        for isOther in [true, false] {
            let segment = isOther ? "http://127.0.0.1:\(other.port)/0.ts" : "0.ts"
            let list = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(segment)\n#EXT-X-ENDLIST\n"
            let server = try RecordingServer { Self.response($0.contains(" /list.m3u8 ") ? list : "") }
            let text = "http://127.0.0.1:\(server.port)/list.m3u8#header=Authorization: Bearer secret"
            _ = try? SourceOpener.open(InputLocation(text), options: IngestOptions(), logger: quiet)
            #expect(server.values(of: "authorization", for: "/list.m3u8").contains("Bearer secret"))
            let values = (isOther ? other : server).values(of: "authorization", for: "/0.ts")
            #expect(!values.isEmpty && values.allSatisfy { $0 == (isOther ? "-" : "Bearer secret") })
        }
    }

    private static func redirection(to url: String) -> String {
        "HTTP/1.1 302 Found\r\nLocation: \(url)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    }

    @Test(
        "Headers of a playlist are not sent to another server to which one of its segments or variants is redirected",
        arguments: ["/0.ts", "/low.m3u8"])
    func redirectedParts(path: String) throws {
        let main = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n"
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n0.ts\n#EXT-X-ENDLIST\n"
        let answer = { @Sendable (request: String) in
            Self.response(request.contains(" /main.m3u8 ") ? main : request.contains(" /low.m3u8 ") ? list : "")
        }
        let other = try RecordingServer(answer)
        let server = try RecordingServer { [port = other.port] request in
            request.contains(" \(path) ") ? Self.redirection(to: "http://127.0.0.1:\(port)\(path)") : answer(request)
        }
        let text = "http://127.0.0.1:\(server.port)/main.m3u8#header=Authorization: Bearer secret"
        _ = try? SourceOpener.open(InputLocation(text), options: IngestOptions(), logger: quiet)
        let asked = server.values(of: "authorization", for: path)
        #expect(!asked.isEmpty && asked.allSatisfy { $0 == "Bearer secret" })
        for place in Set([path, "/0.ts"]) {
            let values = other.values(of: "authorization", for: place)
            #expect(!values.isEmpty && values.allSatisfy { $0 == "-" }, "\(place)")
        }
    }

    @Test("A server is asked only once whether it redirects a playlist, even if the playlist is read several times")
    func readAgain() throws {
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n0.ts\n"
        let server = try RecordingServer { _ in Self.response(list) }
        let location = InputLocation("http://127.0.0.1:\(server.port)/list.m3u8#header=X-Key: secret")
        let (redirections, interrupter) = (KnownRedirections(), Interrupter(clock: ManualClock()))
        #expect(location.targetDuration("hls", redirections, interrupter) == .seconds(1))
        for _ in 0..<2 { #expect(location.playlistEnd(redirections, interrupter) == 1) }
        #expect(server.values(of: "x-key", for: "/list.m3u8") == ["secret", "secret", "secret", "secret"])
        #expect(server.values(of: "range", for: "/list.m3u8").filter { $0 == "bytes=0-0" }.count == 1)
    }

    @Test("Redirection answers are cached until the input is reopened; a server that did not answer is asked again")
    func knownRedirections() {
        let redirections = KnownRedirections()
        var asked: [String] = []
        func find(_ url: String, isAnswered: Bool = true) {
            _ = redirections.find(url) {
                asked.append(url)
                var found = HTTPRedirection(url)
                if isAnswered { _ = found.follow(status: 200, location: nil) }
                return found
            }
        }
        find("http://h/silent", isAnswered: false)
        for _ in 0..<2 { find("http://h/silent") }
        #expect(asked == ["http://h/silent", "http://h/silent"])
        asked = []
        find("http://h/list")
        for number in 0..<KnownRedirections.most - 1 { find("http://h/\(number)") }
        find("http://h/list")
        #expect(asked.count == KnownRedirections.most)
        find("http://h/another")
        find("http://h/list")
        #expect(asked.last == "http://h/another")
        find("http://h/0")
        #expect(asked.last == "http://h/0", "the one that was not used for the longest time is forgotten")
        redirections.forget()
        find("http://h/list")
        #expect(asked.last == "http://h/list")
    }

    @Test("Headers are sent after redirections within a server, but not to another server or after eight redirections")
    func redirections() {
        var here = HTTPRedirection("http://u:p@h:80/a/b?c")
        #expect(here.follow(status: 302, location: "/d") && here.url == "http://u:p@h:80/d" && here.keepsHeaders)
        #expect(!here.follow(status: 200, location: "/e") && !here.follow(status: 302, location: nil))
        #expect(!here.follow(status: 302, location: "file:///etc/passwd") && here.keepsHeaders)
        #expect(here.follow(status: 302, location: "/d?to=http://g/") && here.url == "http://u:p@h:80/d?to=http://g/")
        #expect(here.follow(status: 308, location: "https://H:80/e") && here.url == "https://H:80/e")
        #expect(!here.follow(status: 307, location: "http://h:80/e") && !here.keepsHeaders, "back to clear text")
        for other in ["http://h:81/", "http://g:80/", "//g:80/", "http://h:80@g/"] {
            var there = HTTPRedirection("http://h:80/")
            #expect(!there.follow(status: 301, location: other) && !there.keepsHeaders, "\(other)")
        }
        var circle = HTTPRedirection("http://h/")
        var count = 0
        while circle.follow(status: 302, location: "/"), count < 100 { count += 1 }
        #expect(count == 7 && !circle.keepsHeaders)
    }

    @Test("The request that looks for redirections contains no password")
    func passwords() {
        for (text, plain) in [
            ("http://u:p@h/a@b", "http://h/a@b"), ("https://h/a#b", "https://h/a"), ("http://u@h?x=@", "http://h?x=@"),
        ] {
            #expect(HTTPRedirection.withoutUser(text) == plain)
        }
    }
}
