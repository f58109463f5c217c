// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// `--upload` with the real rclone, to a local remote and to a WebDAV server, which is also rclone; and
    /// `--on-segment`.
    @Suite("Upload of recordings")
    struct UploadTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet
        private let remote: String

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
            remote = directory.file("remote")
            try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: true)
        }

        private func record(_ flags: [String], seconds: Int = 12) async throws -> RelayProcess.Finished {
            try await RelayProcess.run(
                Shape.small + ["--record", set.directory, "--segment", "4s", "--duration", "\(seconds)s", "--unpaced"]
                    + flags)
        }

        /// Whether the remote contains exact copies of the finished files.
        private func isComplete(_ folder: String) -> Bool {
            let manager = FileManager.default
            return !set.finished.isEmpty
                && set.finished.allSatisfy {
                    manager.contentsEqual(atPath: $0, andPath: "\(folder)/\(($0 as NSString).lastPathComponent)")
                }
        }

        /// Starts rclone as a WebDAV server with a password, on the loopback interface.
        private func webdav(port: Int) async throws -> ChildProcess {
            let server = try ChildProcess(
                "rclone",
                ["serve", "webdav", remote, "--addr", "127.0.0.1:\(port)", "--user", "u", "--pass", "correct-horse"])
            try await eventually("rclone serves", within: .seconds(10)) { Ports.isUsed(port, by: "tcp") }
            return server
        }

        @Test("Recordings are uploaded byte for byte to a local rclone remote, and a second run uploads none of them")
        func local() async throws {
            let first = try await record(["--upload", ":local:\(remote)/a/b"])
            #expect(first.ending == .exited(0), "\(first.log)")
            #expect(set.finished.count == 3 && isComplete("\(remote)/a/b"))
            #expect(first.log.contains("verified by size and"))
            for name in fileNames(in: "\(remote)/a/b") {
                try FileManager.default.removeItem(atPath: "\(remote)/a/b/\(name)")
            }
            let second = try await record(["--upload", ":local:\(remote)/a/b"], seconds: 4)
            #expect(second.ending == .exited(0), "\(second.log)")
            #expect(set.finished.count == 4 && fileNames(in: "\(remote)/a/b").count == 1)
        }

        @Test("Recordings are queued in the catalogue while the server is unreachable, and the next run uploads them")
        func webdavComesBack() async throws {
            let port = try Ports.free()
            let configuration = directory.file("rclone.conf")
            let password = try await run("rclone", ["obscure", "correct-horse"])
                .trimmingCharacters(in: .whitespacesAndNewlines)
            try """
            [archive]
            type = webdav
            url = http://127.0.0.1:\(port)
            vendor = other
            user = u
            pass = \(password)

            """.write(toFile: configuration, atomically: true, encoding: .utf8)
            let flags = ["--upload", "archive:shows"]
            let environment = ["RCLONE_CONFIG": configuration]

            let away = try await RelayProcess.run(
                Shape.small + ["--record", set.directory, "--segment", "4s", "--duration", "8s", "--unpaced"] + flags,
                environment: environment, within: .seconds(120))
            #expect(away.ending == .exited(0), "\(away.log)")
            #expect(set.finished.count == 2 && away.log.contains("left to the next start"))
            #expect(!away.log.contains(password) && !away.log.contains("correct-horse"))

            let server = try await webdav(port: port)
            defer { server.signal(SIGTERM) }
            let back = try await RelayProcess.run(
                Shape.small + ["--record", set.directory, "--segment", "4s", "--duration", "4s", "--unpaced"] + flags,
                environment: environment)
            #expect(back.ending == .exited(0), "\(back.log)")
            #expect(set.finished.count == 3 && isComplete("\(remote)/shows"))
        }

        @Test("The upload program gets the properties of each finished recording, in order")
        func program() async throws {
            let (program, notes) = (directory.file("note it"), directory.file("notes"))
            try """
            #!/bin/sh
            echo "$RELAY_SEGMENT_NAME|$RELAY_FRAMES|$RELAY_DURATION|$RELAY_ENDING|$(stat -c %s "$RELAY_SEGMENT_PATH")" >> '\(notes)'

            """.write(toFile: program, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
            let result = try await record(["--on-segment", program])
            #expect(result.ending == .exited(0), "\(result.log)")
            let lines = try String(contentsOfFile: notes, encoding: .utf8).split(separator: "\n")
            let expected = zip(set.finished, ["rotate", "rotate", "stop"]).map { path, ending in
                "\((path as NSString).lastPathComponent)|120|4.000|\(ending)|\(fileSize(path))"
            }
            #expect(lines.map(String.init) == expected)
        }

        /// Makes an upload program. It appends the names of the files that it gets to `notes`, and exits with the
        /// status in the file `status`.
        private func hook() throws -> (program: String, notes: String, status: String) {
            let (program, notes, status) = (directory.file("hook"), directory.file("notes"), directory.file("status"))
            try """
            #!/bin/sh
            echo "$RELAY_SEGMENT_NAME" >> '\(notes)'
            exit "$(cat '\(status)')"

            """.write(toFile: program, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
            return (program, notes, status)
        }

        private func ctl(_ socket: String, _ arguments: String...) async throws -> String {
            try await run(Tools.relay(), ["ctl"] + arguments + ["--socket", socket])
        }

        @Test(
            "Recordings wait and are kept until the upload program accepts them, or until an operator skips them"
        )
        func failingProgram() async throws {
            let (program, notes, status) = try hook()
            let socket = directory.file("relay.sock")
            try "1".write(toFile: status, atomically: true, encoding: .utf8)
            let relay = try RelayProcess(
                Shape.small + ["--record", set.directory, "--segment", "1s", "--http-socket", socket]
                    + ["--on-segment", program, "--keep-size", "1MB", "--keep-min", "0s", "--expect", "1s"])
            try await relay.says("upload failed, to be tried again", within: .seconds(20))
            try await eventually("twelve files are kept, more than --keep-size", within: .seconds(40)) {
                set.finished.count >= 12
            }
            let failed = set.finished.map { ($0 as NSString).lastPathComponent }
            let report = try await ctl(socket, "status", "--json")
            #expect(report.contains("\"failingFiles\"") && !relay.process.errors.contains("segment deleted"))
            _ = try await ctl(socket, "upload", "skip", failed[1])
            try "0".write(toFile: status, atomically: true, encoding: .utf8)
            _ = try await ctl(socket, "upload", "retry")
            try await relay.says("segment handed over", within: .seconds(20))
            try await relay.says("segment deleted", within: .seconds(40))
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            let told = try String(contentsOfFile: notes, encoding: .utf8).split(separator: "\n").map(String.init)
            #expect(Set(failed).isSubset(of: told), "\(told)")
        }

        @Test("An unknown rclone remote, or a missing upload program, is refused before any output goes live")
        func refusals() async throws {
            for (flags, sentence) in [
                (["--upload", "nowhere-\(UInt32.random(in: 0 ..< .max)):x"], "rclone has no remote"),
                (["--upload", "no colon"], "takes a remote of rclone"),
                (["--upload", ":webdav,pass=secret-word:x"], "takes a remote by its name"),
                (["--on-segment", "/nonexistent"], "takes the path of a program"),
            ] {
                let result = try await record(flags)
                #expect(result.ending == .exited(64) && result.log.contains(sentence), "\(result.log)")
                #expect(!result.log.contains("secret-word"))
            }
            #expect(set.finished.isEmpty)
        }
    }
}
