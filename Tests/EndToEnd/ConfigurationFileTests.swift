// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// A process that runs the channels of a configuration file, and reloads this file.
    @Suite("Configuration files")
    struct ConfigurationFileTests {
        private let directory: TemporaryDirectory
        private var path: String { directory.file("relay.yaml") }

        init() throws { directory = try TemporaryDirectory() }

        private func write(_ text: String, to name: String = "relay.yaml") throws {
            try text.write(toFile: directory.file(name), atomically: true, encoding: .utf8)
        }

        /// Returns the text of a channel that sends the test pattern to these outputs.
        private func channel(_ name: String, outputs: [String], more: String = "") -> String {
            """
              - name: \(name)
                encoder: {size: 320x180, preset: ultrafast, videoBitrate: 1M, frameRate: 30}
                outputs: [\(outputs.map { "\"\($0)\"" }.joined(separator: ", "))]
            \(more.isEmpty ? "" : "    \(more)\n")
            """
        }

        /// Returns what a server receives in 15 s while `changes` happen.
        private func received(
            _ changes: (RelayProcess, _ url: String) async throws -> Void
        ) async throws -> (packets: [String], log: String) {
            let server = try await RTMPServer.running()
            try write("channels:\n" + channel("one", outputs: [server.url()], more: "duration: 15"))
            let relay = try RelayProcess(["--config", path])
            try await server.hasReceived(within: .seconds(5))
            try await changes(relay, server.url())
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            return (try await codedPackets(of: try await server.recording()), result.log)
        }

        @Test(
            "A reload that adds an output, changes nothing or fails does not affect the output that is on air"
        )
        func reload() async throws {
            let guest = try await RTMPServer.running()
            let undisturbed = try await received { _, _ in }
            let disturbed = try await received { relay, url in
                relay.process.signal(SIGHUP)
                try await relay.says("changed_channels=0", within: .seconds(5))
                try write(
                    "channels:\n" + channel("one", outputs: ["\(guest.url())#name=guest", url], more: "duration: 15"))
                relay.process.signal(SIGHUP)
                try await relay.says("changed_channels=1", within: .seconds(5))
                try await guest.hasReceived(within: .seconds(5))
                try write("channels:\n" + channel("one", outputs: [url], more: "duraton: 15"))
                relay.process.signal(SIGHUP)
                try await relay.says("relay.yaml:5:5: channels[0].duraton: There is no such key", within: .seconds(5))
            }
            #expect(undisturbed.packets.count > 500)
            #expect(disturbed.packets == undisturbed.packets)
            #expect(!disturbed.log.contains("guest: removed"))
            let frames = try await DecodedFrames(try await guest.recording())
            #expect(frames.breaksBeforeEnd.isEmpty && !frames.counters.isEmpty)
        }

        @Test(
            "Reloads change and end a channel that waits for its publisher, and the other channel continues")
        func channels() async throws {
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let other = { (key: String) in
                """
                  - name: two
                    copy: all
                    input: rtmp-listen://127.0.0.1:\(port)/live/\(key)
                    outputs: ["udp://127.0.0.1:\(port)"]

                """
            }
            let one = channel("one", outputs: [server.url()], more: "recording: {directory: \(directory.path)/one}")
            try write("channels:\n" + one + other("secretkey"))
            let relay = try RelayProcess(["--config", path])
            try await server.hasReceived(within: .seconds(5))
            try await relay.says("waiting for a publisher", within: .seconds(5))
            try write("channels:\n" + one + other("another"))
            relay.process.signal(SIGHUP)
            try await relay.says("changed_channels=1", within: .seconds(20))
            try write("channels:\n" + one)
            relay.process.signal(SIGHUP)
            try await relay.says("the channel is ended by the configuration file", within: .seconds(20))
            try await eventually("the port is given up", within: .seconds(10)) { (try? RawClient(port: port)) == nil }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0) && !result.log.contains("secretkey"), "\(result.log)")
            let frames = try await DecodedFrames(try await server.recording())
            #expect(frames.breaksBeforeEnd.isEmpty && !frames.counters.isEmpty)
        }

        @Test(
            "relay keeps running when its only channel is changed and renamed; a channel that ended is not restarted")
        func onlyChannel() async throws {
            let server = try await RTMPServer.running()
            // Each channel has its own stream key, because the server names its files by the key and the second.
            let channel = { (name: String, key: String, rate: String, more: String) in
                self.channel(name, outputs: [server.url(key: key)], more: more).replacing("1M", with: rate)
            }
            try write("channels:\n" + channel("one", "a", "1M", ""))
            let relay = try RelayProcess(["--config", path])
            try await server.hasReceived(within: .seconds(10))
            try write("channels:\n" + channel("one", "b", "500k", ""))
            relay.process.signal(SIGHUP)
            try await relay.says("changed_channels=1", within: .seconds(20))
            try await server.hasReceived(recording: 2, within: .seconds(10))
            try write("channels:\n" + channel("other", "c", "500k", "duration: 3"))
            relay.process.signal(SIGHUP)
            try await relay.says("changed_channels=2", within: .seconds(20))
            try await server.hasReceived(recording: 3, within: .seconds(10))
            let result = try await relay.finished(within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await server.finishedRecordings().count == 3)
        }

        @Test(
            "A reload that changes the recording restarts the recording, and the files of both recordings are complete")
        func recording() async throws {
            let server = try await RTMPServer.running()
            let record = { (length: String) in "recording: {directory: \(directory.path)/rec, segment: \(length)}" }
            try write("channels:\n" + channel("one", outputs: [server.url()], more: record("1h")))
            let relay = try RelayProcess(["--config", path])
            try await relay.says("segment opened", within: .seconds(10))
            try await server.hasReceived(within: .seconds(5))
            try write("channels:\n" + channel("one", outputs: [server.url()], more: record("2h")))
            relay.process.signal(SIGHUP)
            try await relay.says("the recording starts again", within: .seconds(10))
            try await relay.says("_000002.mp4.part", within: .seconds(10))
            // A recording that cannot be set up is not started, and the current recording continues.
            try write("plain", to: "plain")
            let wrong = "recording: {directory: \(directory.file("plain"))/rec}"
            try write("channels:\n" + channel("one", outputs: [server.url()], more: wrong))
            relay.process.signal(SIGHUP)
            try await relay.says("the recording before it continues", within: .seconds(10))
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.file("rec"))
                .filter { $0.hasSuffix(".mp4") }
            #expect(files.count == 2)
            for file in files {
                #expect(try await DecodedFrames(directory.file("rec/\(file)")).breaksBeforeEnd.isEmpty, "\(file)")
            }
            #expect(try await DecodedFrames(try await server.recording()).breaksBeforeEnd.isEmpty)
        }

        @Test("When a channel is reopened, it goes on air even if its recording cannot be set up")
        func lacking() async throws {
            let server = try await RTMPServer.running()
            // The recording's directory cannot be created as long as its parent, `disk`, is a file. This file is
            // removed later.
            try write("plain", to: "disk")
            let set = RecordingSet(directory: directory.file("disk/rec"))
            try write(
                "channels:\n"
                    + channel("one", outputs: [server.url()], more: "recording: {directory: \(set.directory)}"))
            let relay = try RelayProcess(["--config", path])
            try await relay.says("the channel is opened again", within: .seconds(10))
            try await relay.says("the channel is not recorded, which is tried again", within: .seconds(10))
            try await server.hasReceived(within: .seconds(10))
            try FileManager.default.removeItem(atPath: directory.file("disk"))
            try await relay.says("segment opened", within: .seconds(30))
            try await eventually("media is recorded", within: .seconds(10)) {
                try set.open.contains {
                    try FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int ?? 0 > 50_000
                }
            }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.finished.count == 1 && set.open.isEmpty)
            let recorded = try await DecodedFrames(try #require(set.finished.first))
            #expect(recorded.breaksBeforeEnd.isEmpty && !recorded.counters.isEmpty)
            #expect(try await DecodedFrames(try await server.recording()).breaksBeforeEnd.isEmpty)
        }

        /// The output of `relay check --json`.
        private struct Report: Decodable {
            struct Row: Decodable {
                let channel: String
                let subject: String
                let result: String
                let text: String
            }

            let rows: [Row]
        }

        @Test("relay check reports which inputs, outputs and disks would work, and changes nothing")
        func check() async throws {
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let clip = directory.file("clip.mp4")
            try await run(
                "ffmpeg",
                ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-c:v", "libx264", clip])
            try write("clip", to: "plain")
            try write(
                """
                channels:
                  - name: good
                    input: {address: \(clip)}
                    encoder: {size: 320x180, preset: ultrafast, frameRate: 25, videoBitrate: 1M}
                    outputs: ["\(server.url())", "rtmp-listen://127.0.0.1:\(port)/live/out", "udp://127.0.0.1:\(port)"]
                    recording:
                      directory: \(directory.file("new/rec"))
                      also: \(directory.file("new/second"))
                      upload: "relay-knows-none:x"
                  - name: bad
                    input: \(directory.file("none.mp4"))
                    outputs: ["rtmp://127.0.0.1:\(port)/live/secretkey", "hls:\(directory.file("plain"))/hls"]
                    recording: {directory: \(directory.path), expect: 1000000h, onSegment: /no/program, also: /proc/relay}
                """)
            let result = try await RelayProcess.run(["check", path, "--json"])
            #expect(result.ending == .exited(69) && !result.log.contains("secretkey"), "\(result.log)")
            let start = try #require(result.log.firstIndex(of: "{"))
            let rows = try JSONDecoder().decode(Report.self, from: Data(result.log[start...].utf8)).rows
            let words = { (channel: String) in
                rows.filter { $0.channel == channel }.map { "\($0.subject) \($0.result)" }
            }
            #expect(
                words("good") == [
                    "input ok", "output rtmp-1 ok", "output rtmp-listen-1 ok", "output udp-1 ok", "recording ok",
                    "second recording ok", "upload warning", "encoder ok",
                ], "\(rows)")
            #expect(
                words("bad") == [
                    "input failed", "output rtmp-1 failed", "output hls-1 failed", "recording failed",
                    "second recording failed", "upload failed", "encoder ok",
                ], "\(rows)")
            #expect(rows.first?.text.contains("320x180, 25") == true, "\(rows)")
            try write("channels:\n" + channel("one", outputs: [server.url()]))
            #expect(try await RelayProcess.run(["check", path]).ending == .exited(0))
            #expect(server.recordings.isEmpty && !FileManager.default.fileExists(atPath: directory.file("new")))
        }

        @Test("relay check of a program with several sources reports the cost of decoding and composing them")
        func checkedSources() async throws {
            let port = try Ports.free()
            let clip = directory.file("clip.mp4")
            try await run(
                "ffmpeg",
                ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-c:v", "libx264", clip])
            try write(
                """
                channels:
                  - name: show
                    inputs:
                      - {address: \(clip), name: one}
                      - {address: \(clip), name: two}
                      - {address: \(directory.file("none.mp4")), name: three}
                    scenes: {both: {layout: split-vertical, sources: [one, two]}}
                    encoder: {preset: ultrafast}
                    outputs: ["udp://127.0.0.1:\(port)"]
                """)
            let log = try await RelayProcess.run(["check", path, "--json"]).log
            let start = try #require(log.firstIndex(of: "{"))
            let rows = try JSONDecoder().decode(Report.self, from: Data(log[start...].utf8)).rows
            let text = try #require(rows.first { $0.subject == "sources" }, "\(rows)").text
            #expect(text.contains("2 of 320x180 at 25") && text.contains("with split-vertical need"), "\(text)")
            #expect(
                text.contains("one ") && text.contains("two ") && text.contains("; 1 could not be tried"), "\(text)")
        }

        @Test(
            "A missing or invalid configuration file ends relay with exit status 64 and an error without secrets")
        func wrong() async throws {
            try write("channels:\n  - outputs: [rtmp://host/live/secretkey]\n    encoder: {gop: never}\n")
            let result = try await RelayProcess.run(["--config", path])
            #expect(result.ending == .exited(64))
            #expect(
                result.log.contains("relay.yaml:3:20: channels[0].encoder.gop:") && !result.log.contains("secretkey"))
            let missing = try await RelayProcess.run(["--config", directory.file("none.yaml")])
            #expect(missing.ending == .exited(64) && missing.log.contains("No such file or directory"))
        }
    }
}
