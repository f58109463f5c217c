// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Catalogue
@testable import Upload

@Suite("What uploads read and say")
struct TextTests {
    @Test("The waits grow by half from a second to five minutes, and stay there")
    func delays() {
        #expect(RetryDelay.after(1) == .seconds(1))
        #expect(RetryDelay.after(2) == .milliseconds(1500))
        #expect(RetryDelay.after(3) == .milliseconds(2250))
        #expect(RetryDelay.after(14) < .seconds(300))
        #expect(RetryDelay.after(16) == .seconds(300))
        #expect(RetryDelay.after(1_000_000) == .seconds(300))
    }

    @Test("A remote is a name and a path; a file's place is below it")
    func remotes() throws {
        let cases = [
            ("archive:bucket/path", "archive:bucket/path/a.mp4"),
            ("archive:bucket/path//", "archive:bucket/path/a.mp4"),
            ("archive:", "archive:a.mp4"), (":local:/mnt/x", ":local:/mnt/x/a.mp4"), ("archive:/", "archive:/a.mp4"),
        ]
        for (text, place) in cases { #expect(try RcloneRemote(parsing: text).place(of: "a.mp4") == place) }
        #expect(try RcloneRemote(parsing: "a b:x").place(of: "2026/a.mp4") == "a b:x/2026/a.mp4")
    }

    @Test(
        "What is no remote is refused, and so is one with secrets in its name, which are not repeated",
        arguments: [
            "", ":", "::", "/mnt/archive", "archive", "-x:y", "--config=x:y", ":webdav,url='http://h',pass=hunter2:x",
            "s3,secret_access_key=hunter2:bucket", "a/b:c",
        ])
    func refused(_ text: String) throws {
        let refusal = try #require(throws: TextFailure.self) { try RcloneRemote(parsing: text) }
        #expect(refusal.description.hasPrefix("--upload takes") && !refusal.description.contains("hunter2"))
    }

    @Test("An error is the last line without its date, and an address in it keeps no user and no query")
    func errors() {
        let lines = """
            2026/11/21 13:05:52 NOTICE: something else
            2026/11/21 13:05:52 Failed to copyto: Put "https://me:hunter2@host:81/a/b?sig=hunter2&x=1": dial tcp: refused

            """
        #expect(ErrorText.of(lines) == #"Failed to copyto: Put "https://host:81/a/b?***": dial tcp: refused"#)
        #expect(ErrorText.of("no date here\n") == "no date here")
        #expect(ErrorText.of("\n \n") == "")
        #expect(ErrorText.of(String(repeating: "x", count: 10_000)).count == 300)
    }

    @Test("rclone's answers are read; what cannot be read is no file and no hash")
    func answers() {
        let listing = RcloneListing(parsing: #"{"Size": 42, "IsDir": false, "Hashes": {"md5": "ab"}}"#)
        #expect(listing.size == 42 && listing.hashes == ["md5": "ab"])
        #expect(RcloneListing(parsing: #"{"Size": -1, "IsDir": true}"#).size == nil)
        #expect(RcloneListing(parsing: "nonsense").size == nil)
        #expect(RcloneFeatures(parsing: #"{"Name": "x", "Hashes": ["md5"]}"#).hashes == ["md5"])
        #expect(RcloneFeatures(parsing: "null").hashes.isEmpty)
    }

    @Test("A command learns of the file by variables")
    func environment() {
        var segment = CatalogueSegment.sample("news_20261121T140310.123Z_000007.mp4")
        segment.duration = 61_002_900_000
        let environment = CommandDelivery.environment(segment, "/srv/a.mp4")
        #expect(
            environment == [
                "RELAY_SEGMENT_PATH": "/srv/a.mp4", "RELAY_SEGMENT_NAME": segment.name, "RELAY_CHANNEL": "test",
                "RELAY_START": "2026-11-21T14:03:10.123Z", "RELAY_DURATION": "61.003", "RELAY_FRAMES": "50",
                "RELAY_BYTES": "1000", "RELAY_ENDING": "rotate",
            ])
    }
}
