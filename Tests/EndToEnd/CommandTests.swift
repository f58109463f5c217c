// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Serial {
    /// The messages of the command, and its exit status.
    @Suite("The relay command line")
    struct CommandTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Runs relay with arguments that cannot work. Checks the exit status, and that the log contains one error line
        /// with `hint`. Returns the log.
        @discardableResult
        private func refuses(
            _ arguments: [String], status: Int32, hint: String? = nil, location: SourceLocation = #_sourceLocation
        ) async throws -> String {
            let result = try await RelayProcess.run(arguments, within: .seconds(20))
            let text = "\(arguments): \(result.log)"
            #expect(result.ending == .exited(status), "\(text)", sourceLocation: location)
            let lines = result.log.split(separator: "\n").filter { $0.contains("Error: ") || $0.contains(" error ") }
            #expect(lines.count == 1, "\(text)", sourceLocation: location)
            if let hint { #expect(lines.first?.contains(hint) ?? false, "\(text)", sourceLocation: location) }
            #expect(!result.log.contains("Fatal error"), "\(text)", sourceLocation: location)
            return result.log
        }

        private static let wrongValues: [(flag: String, value: String)] = [
            ("--video-bitrate", "fast"), ("--video-bitrate", "0"), ("--video-bitrate", "900G"),
            ("--video-bitrate", "nan"), ("--audio-bitrate", "1"), ("--gop", "0s"), ("--gop", "2h"), ("--gop", "x"),
            ("--bframes", "17"), ("--bframes", "-1"), ("--bframes", "two"), ("--size", "1280"), ("--size", "1281x720"),
            ("--size", "0x0"), ("--size", "99999999999x2"), ("--fps", "0"), ("--fps", "30/0"), ("--fps", "1000"),
            ("--fps", "abc"), ("--crf", "52"), ("--crf", "-1"), ("--crf", "nan"), ("--preset", "warp"),
            ("--tune", "piano"), ("--profile", "ultra"), ("--segment", "0"), ("--segment", "10ms"),
            ("--segment", "1kB"),
            ("--segment", "ten"), ("--segment", "99999999999999h"), ("--expect", "soon"), ("--disk-warn", "-5"),
            ("--disk-reserve", "much"), ("--duration", "0"), ("--duration", "1e99"), ("--channel", "a/b"),
            ("--channel", ""), ("--log-format", "xml"), ("--input", ""), ("--audio-input", ""),
            ("--audio-input", "v4l2:/dev/video0"), ("--audio-input", "a.mp4#audio=no"), ("--nonsense", "1"),
        ]

        @Test("relay devices lists devices as text and as JSON, even if there is no device")
        func devices() async throws {
            let text = try await RelayProcess.run(["devices"])
            #expect(text.ending == .exited(0), "\(text.log)")
            #expect(text.log.contains("v4l2:/dev/video") || text.log.contains("No device here captures video (V4L2)."))
            let json = try await RelayProcess.run(["devices", "--json"])
            let list = try #require(
                try JSONSerialization.jsonObject(with: Data(json.log.utf8)) as? [String: [Any]], "\(json.log)")
            #expect(Set(list.keys) == ["audio", "video"])
        }

        @Test("An invalid flag value is refused in one sentence before any output goes live")
        func wrongValues() async throws {
            for (flag, value) in Self.wrongValues {
                try await refuses(["--record", directory.file("r"), "\(flag)=\(value)"], status: 64)
            }
            #expect(fileNames(in: directory.path).isEmpty)
        }

        @Test("A malformed output address is refused in one sentence, which does not contain the key")
        func wrongAddresses() async throws {
            let addresses = [
                ("--rtmp", "rtmp://"), ("--rtmp", "rtmp://host"), ("--rtmp", "rtmp://host/"),
                ("--rtmp", "rtmp://host/live/"), ("--rtmp", "http://host/live/topsecretkey"),
                ("--rtmp", "rtmp://host:99999/live/topsecretkey"), ("--rtmp", "rtmp://host:x/live/topsecretkey"),
                ("--rtmp", "rtmp://[::1/live/topsecretkey"), ("--rtmp", "rtmp://host/live/topsecretkey with space"),
                ("--rtmp", ""), ("--srt", ""), ("--srt", "srt://host"), ("--srt", "srt://:9000?mode=caller"),
                ("--srt", "srt://host:9000?mode=sideways"), ("--srt", "srt://host:9000?nonsense=1"),
                ("--srt", "srt://host:9000?latency=soon"), ("--srt", "srt://host:9000?passphrase=topsecret"),
                ("--srt", "srt://host:9000?passphrase=topsecretkey&pbkeylen=17"), ("--srt", "udp://host:9000"),
                ("--srt", "srt://host:9000/path"),
            ]
            for (flag, address) in addresses {
                let log = try await refuses([flag, address, "--duration", "1s"], status: 64)
                #expect(!log.contains("topsecret"), "\(log)")
            }
        }

        @Test("An output address without a flag, or as another flag's value, is refused without showing its key")
        func misplacedAddresses() async throws {
            let address = "rtmp://host/live/topsecretkey"
            for arguments in [
                [address], ["--rtpm", address], ["--rtmp", "rtmp://host/live/key", address], ["--duration", address],
                ["--duration=\(address)"], ["--channel", address, "--record", "r"],
            ] {
                let log = try await refuses(arguments, status: 64)
                #expect(!log.contains("topsecret"), "\(log)")
            }
        }

        @Test("Contradictory flags are refused")
        func contradictions() async throws {
            let rtmp = ["--rtmp", "rtmp://127.0.0.1:24000/live/topsecretkey"]
            let record = ["--record", directory.file("r")]
            try await refuses([], status: 64, hint: "nothing to do")
            try await refuses(rtmp + ["--unpaced"], status: 64, hint: "--unpaced")
            try await refuses(rtmp + ["--crf", "20"], status: 64, hint: "--crf")
            try await refuses(rtmp + rtmp, status: 64, hint: "twice")
            try await refuses(record + ["--crf", "20", "--video-bitrate", "1M"], status: 64, hint: "exclude")
            try await refuses(record + ["--profile", "baseline", "--bframes", "2"], status: 64, hint: "baseline")
            try await refuses(
                record + ["--unpaced", "--input", "udp://127.0.0.1:24000"], status: 64, hint: "--unpaced")
            try await refuses(record + ["--loop", "--input", "srt://127.0.0.1:24000"], status: 64, hint: "--loop")
            try await refuses(record + ["stray"], status: 64, hint: "stray")
            #expect(fileNames(in: directory.path).isEmpty)
        }

        @Test(
            "An invalid overlay, stinger, rendition or rendered show's input is refused like any invalid flag value")
        func wrongParts() async throws {
            let rtmp = ["--rtmp", "rtmp://127.0.0.1:24000/live/key"]
            try await refuses(
                rtmp + ["--overlay", "a=text:b#x=2"], status: 64, hint: "--overlay a: The overlay option x")
            let two = rtmp + ["--input", "a.mp4#name=a", "--input", "b.mp4#name=b"]
            try await refuses(two + ["--stinger", "wipe=wipe.mov#cut=9"], status: 64, hint: "--stinger wipe: ")
            try await refuses(rtmp + ["--rendition", "small#size=1x1"], status: 64, hint: "--rendition small: size=")
            let show = ["render", directory.file("show.yaml"), "-o", directory.file("show.mp4")]
            try await refuses(show + ["--input", "a.mp4#name=a,at=soon"], status: 64, hint: "at=")
        }

        @Test(
            "A signal while relay waits for its only input ends relay with exit status 69",
            arguments: [SIGINT, SIGTERM, SIGHUP])
        func endsWhileOpening(signal: Int32) async throws {
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "srt://127.0.0.1:\(port)?mode=listener", "--record", directory.file("r")])
            try await relay.says("waiting for an SRT sender", within: .seconds(10))
            let ended = try await relay.end(by: signal, within: .seconds(10))
            #expect(ended.ending == .exited(69), "\(ended.log)")
        }

        @Test("An input that cannot be read, or that has no frame, ends relay with exit status 66")
        func unreadable() async throws {
            let text = directory.file("notes.txt")
            try "This is no video.\n".write(toFile: text, atomically: true, encoding: .utf8)
            let empty = directory.file("empty.mp4")
            try Data().write(to: URL(fileURLWithPath: empty))
            let audio = directory.file("audio.wav")
            try await Clip.make(audio, ["-f", "lavfi", "-i", "sine=d=1"])
            let silent = directory.file("silent.mp4")
            try await Clip.make(silent, ["-f", "lavfi", "-i", "testsrc=d=1:s=320x180", "-c:v", "libx264"])
            let record = ["--record", directory.file("r"), "--unpaced"]
            for input in [directory.file("missing.mp4"), directory.path, text, empty, audio] {
                try await refuses(record + ["--input", input], status: 66, hint: input)
            }
            try await refuses(record + ["--input", silent, "--audio-input", silent], status: 66, hint: "no audio")
            try await refuses(
                record + ["--input", silent, "--audio-input", directory.file("missing.wav")], status: 66,
                hint: "missing.wav")
            #expect(RecordingSet(directory: directory.file("r")).finished.isEmpty)
        }

        @Test("A recording directory that cannot be written ends relay with exit status 73")
        func unwritable() async throws {
            let file = directory.file("file")
            try Data().write(to: URL(fileURLWithPath: file))
            let shape = Shape.small + ["--unpaced", "--duration", "1s"]
            try await refuses(shape + ["--record", file], status: 73, hint: file)
            try await refuses(shape + ["--record", "\(file)/below"], status: 73, hint: file)
            try await refuses(shape + ["--record", "/proc/relay"], status: 73, hint: "/proc/relay")
        }

        @Test("If no server can be reached and there is no recording, relay ends with exit status 69")
        func nobodyListens() async throws {
            let (first, second) = (try Ports.free(), try Ports.free())
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "2s", "--rtmp", "rtmp://127.0.0.1:\(first)/live/topsecretkey"]
                    + ["--srt", "srt://127.0.0.1:\(second)?passphrase=topsecretphrase"])
            #expect(result.ending == .exited(69), "\(result.log)")
            #expect(result.log.contains("no output ever came on air"))
            #expect(!result.log.contains("topsecret"), "\(result.log)")
        }

        @Test("If no server can be reached and there is a recording, relay continues")
        func recordingIsEnough() async throws {
            let set = RecordingSet(directory: directory.file("r"))
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "2s", "--rtmp", "rtmp://127.0.0.1:\(try Ports.free())/live/key"]
                    + ["--record", set.directory])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await set.counters().count == 60)
        }

        @Test("Neither the log nor the process list contains an output's key")
        func secrets() async throws {
            let server = try await RTMPServer.running()
            let secret = "passphrase=topsecretphrase&pbkeylen=32"
            let receiver = try await SRTReceiver(options: secret)
            let gone =
                "rtmp://user:topsecretpassword@127.0.0.1:\(try Ports.free())/live/topsecretother?token=topsecrettoken"
            let relay = try RelayProcess(
                Shape.small + ["--duration", "5s", "--verbose", "--rtmp", server.url(key: "topsecretkey")]
                    + ["--srt", receiver.url(options: secret), "--rtmp=\(gone)"])
            try await server.hasReceived(bytes: 50_000, within: .seconds(10))
            let arguments = FileManager.default.contents(atPath: "/proc/\(relay.process.pid)/cmdline") ?? Data()
            let shown = String(decoding: arguments, as: UTF8.self)
            #expect(shown.contains("--rtmp") && shown.contains("127.0.0.1"))
            #expect(!shown.contains("topsecret"), "\(shown)")
            let result = try await relay.finished(within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("topsecret"), "\(result.log)")
            #expect(try await DecodedFrames(try await server.recording()).counters.count == 150)
        }

        @Test(
            "Keys are read from the environment and from files, and appear neither in the log nor in the process list")
        func references() async throws {
            let server = try await RTMPServer.running()
            let (file, open) = (directory.file("passphrase"), directory.file("open"))
            try "topsecretphrase\n".write(toFile: file, atomically: true, encoding: .utf8)
            try "topsecretphrase\n".write(toFile: open, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
            let receiver = try await SRTReceiver(options: "passphrase=topsecretphrase&pbkeylen=32")
            let srt = { (path: String) in receiver.url(options: "passphrase=${file:\(path)}&pbkeylen=32") }
            let relay = try RelayProcess(
                Shape.small + ["--duration", "4s", "--verbose", "--rtmp", server.url(key: "${STREAM_KEY}")]
                    + [
                        "--srt", srt(file), "--output",
                        "rtmp://127.0.0.1:\(try Ports.free())/live/key#backup=${BACKUP}",
                    ],
                environment: [
                    "STREAM_KEY": "topsecretkey", "BACKUP": "rtmp://127.0.0.1:\(try Ports.free())/live/topsecretbackup",
                ])
            try await server.hasReceived(within: .seconds(10))
            let contents = FileManager.default.contents(atPath: "/proc/\(relay.process.pid)/cmdline") ?? Data()
            let arguments = String(decoding: contents, as: UTF8.self)
            #expect(arguments.contains("--rtmp"), "relay's arguments were not read")
            #expect(!arguments.contains("topsecret"))
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("topsecret"), "\(result.log)")
            #expect(try await server.recording().contains("topsecretkey"))
            #expect(try await DecodedFrames(try await receiver.recording()).counters.count == 120)

            let log = try await refuses(["--srt", srt(open), "--duration", "1s"], status: 64, hint: "chmod 600")
            #expect(!log.contains("topsecret"))
            try await refuses(["--rtmp", server.url(key: "${NOT_SET}")], status: 64, hint: "NOT_SET is not set")
        }

        @Test(
            "An input address whose slashes are missing is refused without showing its key"
        )
        func malformedInputs() async throws {
            for address in [
                "rtmp:/host/live/topsecretkey", "https:user:topsecret@host/x", "cache:rtmp:/host/topsecret",
            ] {
                let log = try await refuses(
                    ["--record", directory.file("r"), "--input", address], status: 64, hint: "://")
                #expect(!log.contains("topsecret"), "\(log)")
            }
            let nested = "cache:http://user:topsecret@127.0.0.1:\(try Ports.free())/x.ts?topsecret"
            let log = try await refuses(["--record", directory.file("r"), "--input", nested], status: 66)
            #expect(!log.contains("topsecret"), "\(log)")
        }

        @Test("On SIGUSR2 an output that has given up connects again")
        func retried() async throws {
            let server = try RTMPServer()
            let relay = try RelayProcess(
                Shape.small + ["--output", "\(server.url())#name=late,retry=1", "--record", directory.file("r")])
            try await relay.says("given up", within: .seconds(30))
            try await server.start()
            relay.process.signal(SIGUSR2)
            try await relay.says("tried again because of SIGUSR2", within: .seconds(20))
            try await server.hasReceived(within: .seconds(30))
            let result = try await relay.end(by: SIGINT, within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await DecodedFrames(try await server.recording()).breaksBeforeEnd.isEmpty)
        }

        @Test("Each line of the JSON log is an object with time, level and message")
        func jsonLog() async throws {
            let server = try await RTMPServer.running()
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "3s", "--log-format", "json", "--rtmp", server.url()]
                    + ["--rtmp", "rtmp://127.0.0.1:\(try Ports.free())/live/key", "--record", directory.file("r")])
            #expect(result.ending == .exited(0), "\(result.log)")
            let lines = result.log.split(separator: "\n")
            #expect(lines.count >= 5)
            for line in lines {
                let object = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
                for key in ["time", "level", "message"] { #expect(object[key]?.isEmpty == false, "\(line)") }
            }
            #expect(result.log.contains(#""output":"rtmp-1""#))
        }

        @Test("On a terminal relay shows a status line for the program, for each output and for the recording")
        func statusLines() async throws {
            let server = try await RTMPServer.running()
            let command =
                [try Tools.relay()] + Shape.small
                + ["--duration", "4s", "--rtmp", server.url(), "--record", directory.file("r")]
            // script(1) gives the command a terminal.
            let text = try await run(
                "script", ["-q", "-e", "-c", command.joined(separator: " "), "/dev/null"], within: .seconds(30))
            for piece in ["fps", "encoder ", "rtmp-1    live", "record    recording", "disk ok"] {
                #expect(text.contains(piece), "\(piece): \(text)")
            }
        }

        @Test("--help and --version print readable text, and end with exit status 0")
        func help() async throws {
            let help = try await RelayProcess.run(["--help"])
            #expect(help.ending == .exited(0))
            for flag in ["--input", "--rtmp", "--srt", "--record", "--segment", "--duration", "Exit status"] {
                #expect(help.log.contains(flag))
            }
            #expect(try await RelayProcess.run(["--version"]).ending == .exited(0))
        }
    }
}
