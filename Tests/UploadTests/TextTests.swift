// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Catalogue
@testable import Upload

@Suite("Text that uploads parse and write")
struct TextTests {
    @Test("The retry interval of uploads grows by half from one second to five minutes, and stays there")
    func delays() {
        #expect(RetryDelay.after(1) == .seconds(1))
        #expect(RetryDelay.after(2) == .milliseconds(1500))
        #expect(RetryDelay.after(3) == .milliseconds(2250))
        #expect(RetryDelay.after(14) < .seconds(300))
        #expect(RetryDelay.after(16) == .seconds(300))
        #expect(RetryDelay.after(1_000_000) == .seconds(300))
    }

    @Test("An rclone remote consists of a name and a path, and files are placed below that path")
    func remotes() throws {
        let cases = [
            ("archive:bucket/path", "archive:bucket/path/a.mp4"),
            ("archive:bucket/path//", "archive:bucket/path/a.mp4"),
            ("archive:", "archive:a.mp4"), (":local:/mnt/x", ":local:/mnt/x/a.mp4"), ("archive:/", "archive:/a.mp4"),
        ]
        for (text, place) in cases { #expect(try RcloneRemote(parsing: text).place(of: "a.mp4") == place) }
        #expect(try RcloneRemote(parsing: "a b:x").place(of: "2026/a.mp4") == "a b:x/2026/a.mp4")
    }

    @Test("Files of a second record directory are uploaded to a folder of their own, so that they replace no others")
    func secondDirectory() throws {
        for (text, place) in [
            ("archive:bucket/path", "archive:bucket/path/also/a.mp4"), ("archive:", "archive:also/a.mp4"),
            ("archive:/", "archive:/also/a.mp4"), (":local:/mnt/x", ":local:/mnt/x/also/a.mp4"),
        ] {
            let target = UploadTarget.remote(try RcloneRemote(parsing: text), limit: "1M").ofSecondDirectory
            guard case .remote(let remote, let limit) = target else {
                Issue.record("\(target)")
                continue
            }
            #expect(remote.place(of: "a.mp4") == place && limit == "1M")
        }
        #expect(UploadTarget.command("/bin/true").ofSecondDirectory == .command("/bin/true"))
    }

    @Test(
        "An invalid rclone remote, or one with secrets in its name, is refused without showing the secrets",
        arguments: [
            "", ":", "::", "/mnt/archive", "archive", "-x:y", "--config=x:y", ":webdav,url='http://h',pass=hunter2:x",
            "s3,secret_access_key=hunter2:bucket", "a/b:c",
        ])
    func refused(_ text: String) throws {
        let refusal = try #require(throws: TextFailure.self) { try RcloneRemote(parsing: text) }
        #expect(refusal.description.hasPrefix("--upload takes") && !refusal.description.contains("hunter2"))
    }

    @Test("An upload's error text is the last line of output without its time, with secrets in URLs masked")
    func errors() {
        let lines = """
            2026/11/21 13:05:52 NOTICE: something else
            2026/11/21 13:05:52 Failed to copyto: Put "https://me:hunter2@host:81/a/b?sig=hunter2&x=1": dial tcp: refused

            """
        #expect(ErrorText.of(lines) == #"Failed to copyto: Put "https://host:81/a/b?***": dial tcp: refused"#)
        #expect(ErrorText.of("no date here\n") == "no date here")
        #expect(ErrorText.of("\n \n") == "")
        #expect(ErrorText.of(String(repeating: "x", count: 10_000)).count == 300)
        // Regression: one character with very many accents was not cut off.
        #expect(ErrorText.of("x" + String(repeating: "\u{301}", count: 10_000)).unicodeScalars.count == 300)
        #expect(ErrorText.of("a\u{85}b\u{B}") == "b")
    }

    // Regression: each further address cost a call in a call, until the stack was full.
    @Test("A line that consists of address beginnings is read without much memory")
    func manyAddresses() {
        #expect(ErrorText.of(String(repeating: "://", count: 100_000)) == String(repeating: "://", count: 100))
    }

    // Regression: only the first address in a word was masked. If a redirection followed, the log showed the password
    // in the second address.
    @Test(
        "If a word of an error text contains several URLs, each is shown without user and query",
        arguments: [
            ("https://h/a->https://u:hunter2@i/b", "https://h/a->https://i/b"),
            ("\"https://u:hunter2@h\",\"https://u:hunter2@i/b?k=hunter2\"", "\"https://h\",\"https://i/b?***\""),
            ("https://h,ftp://u:hunter2@i", "https://h,ftp://i"), ("a://b://u:hunter2@c/d", "a://b://c/d"),
            ("x=https://u:hunter2@h/p#hunter2", "x=https://h/p?***"), ("://", "://"), ("https://", "https://"),
            ("https://u:hunter2@", "https://"), ("https://h?k=hunter2,https://u:hunter2@i", "https://h?***"),
            // Regression: with an accent after it, a mark was another character, and the secret behind it was shown.
            ("https://h?\u{301}k=hunter2", "https://h?***"), ("https://h#\u{301}hunter2", "https://h?***"),
            ("https://u:hunter2@\u{301}h", "https://\u{301}h"), ("https://\u{301}u:hunter2@h", "https://h"),
        ])
    func addresses(word: String, text: String) {
        #expect(ErrorText.of(word) == text)
        #expect(ErrorText.of("2026/11/21 13:05:52 ERROR : \(word)") == "ERROR : \(text)")
    }

    @Test("No secret of a URL is in an upload's error text, however many URLs a line contains")
    func secrets() {
        var random = SeededRandom()
        let pieces = [
            "https://", "http://", "u:hunter2@", "hunter2@", "host", "/path", "?k=hunter2", "#hunter2", " ", "\"", ",",
            "->",
            "\n", "://", ":443", "\t",
        ]
        for _ in 0..<3000 {
            // A user follows the scheme of an address, and a query follows its host.
            let host = random.text(of: ["host", "/path", ",", "->", "\"", ":443"], upTo: 3)
            func address(_ random: inout SeededRandom) -> String {
                let scheme = random.pick(["https://", "sftp://"])
                let user = random.pick(["", "u:hunter2@", "hunter2@"])
                return "\(scheme)\(user)h\(host)"
            }
            let first = address(&random)
            let second = address(&random)
            let query = random.pick(["", "?k=hunter2", "#hunter2", "?k=hunter2\"", "?a=b,hunter2"])
            let gap = random.pick(["", ",", "->", " ", "\"", "\n"])
            let text = ErrorText.of("Failed: \(first)\(gap)\(second)\(query)")
            #expect(!text.contains("hunter2"), "\(first)\(gap)\(second)\(query): \(text)")
            let other = ErrorText.of(random.text(of: pieces, upTo: 12))
            #expect(other.count <= 300 && !other.contains(where: \.isNewline))
        }
    }

    @Test("rclone's output is parsed; if it is invalid, the file's size and hash are unknown")
    func answers() {
        let listing = RcloneListing(parsing: #"{"Size": 42, "IsDir": false, "Hashes": {"md5": "ab"}}"#)
        #expect(listing.size == 42 && listing.hashes == ["md5": "ab"])
        #expect(RcloneListing(parsing: #"{"Size": -1, "IsDir": true}"#).size == nil)
        #expect(RcloneListing(parsing: "nonsense").size == nil)
        #expect(RcloneFeatures(parsing: #"{"Name": "x", "Hashes": ["md5"]}"#).hashes == ["md5"])
        #expect(RcloneFeatures(parsing: "null").hashes.isEmpty)
    }

    // Regression: an empty hash on both sides counted as the same bytes, and a flag of rclone counted as a hash.
    @Test("Only a hash's name and a value that is not empty are taken from rclone's output")
    func unusableHashes() {
        let names = #"{"Hashes": ["--config=x", "", "a b", "-", "SHA-1", "md5", "quick\u0301"]}"#
        #expect(RcloneFeatures(parsing: names).hashes == ["SHA-1", "md5"])
        let listing = RcloneListing(parsing: #"{"Size": 42, "Hashes": {"md5": "", "sha1": "ab"}}"#)
        #expect(listing.size == 42 && listing.hashes == ["sha1": "ab"])
    }

    @Test("The environment variables of an upload command describe the file")
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
