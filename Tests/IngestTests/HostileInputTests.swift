// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Ingest

@Suite("Inputs whose sender wants more than to send media")
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

    @Test("A sender by TCP that sends a playlist instead of media is refused, so it cannot show files of this machine")
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

    @Test("For an input by FTP or through a protocol around HTTP, local files are not among the allowed protocols")
    func protocols() throws {
        for text in ["ftp://h/list.m3u8", "sftp://h/a", "cache:http://h/a", "async:https://h/a"] {
            let values = InputLocation(text).demuxerSettings(IngestOptions()).options.values
            let allowed = try #require(values["protocol_whitelist"]).split(separator: ",")
            #expect(!allowed.contains("file") && allowed.contains("tcp") && allowed.contains("https"), "\(text)")
        }
    }
}
