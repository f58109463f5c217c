// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Shows that are rendered faster than real time.
    @Suite("Rendered shows")
    struct RenderTests {
        private let directory: TemporaryDirectory
        private let files: ShowFiles
        private let show = """
            segments:
              - {source: white, frames: 20}
              - {source: black, frames: 40, transition: {type: fade, seconds: 0.5}}
              - {file: ramp.mp4, in: 0.5s, transition: {type: wipe-left, seconds: 0.2}}
              - {source: white, frames: 15, transition: {type: stinger, name: card}}
              - scene: {layout: pip, sources: [black, file]}
                file: ramp.mp4
                frames: 30
            """

        init() throws {
            directory = try TemporaryDirectory()
            files = ShowFiles(directory: directory)
        }

        /// Makes a stinger of twelve frames. The frames in its middle are opaque.
        private func card() async throws -> String {
            let path = directory.file("card.mov")
            let alpha = "format=rgba,geq=r=128:g=128:b=128:a='255*between(N,4,8)'"
            try await run(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "color=gray:size=320x180:rate=30,\(alpha)"]
                    + ["-frames:v", "12", "-c:v", "qtrle", path])
            return path
        }

        private func names() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory.file("")).sorted()
        }

        @Test(
            "A rendered show has the same frames as on air, each at its position, and is faster than real time")
        func frames() async throws {
            try await files.ramp()
            let path = try files.show(show)
            let sources = try await files.sources() + ["--stinger", "card=\(try await card())#cut=0.2"]
            let live = try await RelayProcess.run(
                Shape.small + ["--record", directory.file("rec"), "--duration", "4s", "--rundown", path]
                    + ["--frame-hashes", directory.file("live.txt")] + sources)
            #expect(live.ending == .exited(0), "\(live.log)")
            let output = directory.file("show.mp4")
            let result = try await RelayProcess.run(
                ["render", path, "-o", output, "--frame-hashes", directory.file("made.txt")] + Shape.small + sources)
            #expect(result.ending == .exited(0) && result.log.contains("120 frames"), "\(result.log)")
            #expect(result.duration < .seconds(4))
            let rendered = try await files.lumas(of: output)
            let aired = try await files.lumas(of: try files.recorded())
            #expect(rendered.count == 120 && aired.count == 120)
            let other = zip(rendered, aired).enumerated().filter { abs($1.0 - $1.1) > 1 }
            #expect(other.isEmpty, "\(other)")
            // The frames before the encoder are identical. The encoders may make different decisions.
            let hashes = try ["live.txt", "made.txt"].map { name in
                try String(contentsOfFile: directory.file(name), encoding: .utf8).split(separator: "\n")
            }
            #expect(hashes[0] == hashes[1] && hashes[0].count == 121)
            // A stinger is as long as its file, so its length is known only when the file was read.
            let short = try files.show(
                "segments:\n  - {source: white, duration: 0.3s, transition: {type: stinger, name: card}}\n")
            let refused = try await RelayProcess.run(
                ["render", short, "-o", directory.file("out.mp4")] + Shape.small + sources)
            #expect(
                refused.ending == .exited(64) && refused.log.contains("show.yaml:2:")
                    && refused.log.contains("segments[0].transition: It lasts longer than the segment."), "\(refused)")
            #expect(
                try names() == [
                    "black.mp4", "card.mov", "live.txt", "made.txt", "ramp.mp4", "raw", "rec", "show.mp4", "show.yaml",
                    "white.mp4",
                ])
        }

        @Test("A render with a truncated file reports the error, and leaves no file behind")
        func cutOff() async throws {
            try await files.ramp()
            let path = directory.file("half.mp4")
            try await run(
                "ffmpeg",
                ["-v", "error", "-i", directory.file("ramp.mp4"), "-c", "copy", "-movflags", "+faststart", path])
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.truncate(atOffset: try file.seekToEnd() * 2 / 3)
            try file.close()
            let show = try files.show("segments: [{file: half.mp4}, {file: ramp.mp4}]")
            let before = try names()
            let result = try await RelayProcess.run(["render", show, "-o", directory.file("out.mp4")] + Shape.small)
            #expect(
                result.ending == .exited(66) && result.log.contains("half.mp4: The file is cut off: it was 1"),
                "\(result)")
            #expect(try names() == before)
        }

        @Test("A cancelled render leaves no file behind, and an existing output file is kept")
        func cancelled() async throws {
            let sources = try await files.sources()
            let path = try files.show(
                "{loop: true, segments: [{source: white, duration: 1s}, {source: black, duration: 1s}]}")
            let output = directory.file("show.mp4")
            try Data("kept".utf8).write(to: URL(fileURLWithPath: output))
            let before = try names()
            let relay = try RelayProcess(
                ["render", path, "-o", output, "--force", "--duration", "10h"] + Shape.small + sources)
            try await eventually("it writes", within: .seconds(20)) {
                try names().contains { $0.hasPrefix(".show.mp4.") }
            }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(130) && result.log.contains("nothing was made"), "\(result)")
            #expect(try names() == before)
            #expect(try String(contentsOfFile: output, encoding: .utf8) == "kept")
        }

        @Test(
            "If another program fills the disk during a render, the render fails with a message",
            .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
        func fullDisk() async throws {
            let sources = try await files.sources()
            let path = try files.show(
                "{loop: true, segments: [{source: white, duration: 1s}, {source: black, duration: 1s}]}")
            let disk = try await SmallDisk(megabytes: 64)
            let (output, ballast) = ("\(disk.path)/show.mp4", "\(disk.path)/ballast")
            try Data("kept".utf8).write(to: URL(fileURLWithPath: output))
            let relay = try RelayProcess(
                ["render", path, "-o", output, "--force", "--duration", "20m", "--size", "320x180", "--fps", "30"]
                    + ["--preset", "ultrafast", "--video-bitrate", "100k", "--audio-bitrate", "32k"] + sources)
            try await eventually("it writes", within: .seconds(20)) {
                fileNames(in: disk.path).contains { hidden in
                    fileNames(in: "\(disk.path)/\(hidden)").contains { $0.contains(".mp4") }
                }
            }
            // The space that is left is less than the reserve, which is a tenth of the disk.
            try Data(count: 61_500_000).write(to: URL(fileURLWithPath: ballast))
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(73), "\(result)")
            #expect(result.log.contains("the disk was full") && result.log.contains(" free"), "\(result.log)")
            #expect(fileNames(in: disk.path) == ["ballast", "show.mp4"])
            #expect(try String(contentsOfFile: output, encoding: .utf8) == "kept")
        }

        @Test("A render refuses an output path that is a source of the show or a directory, and does not change it")
        func ownFile() async throws {
            let sources = try await files.sources()
            let path = try files.show("segments: [{source: white, frames: 9}]")
            let input = directory.file("white.mp4")
            let (before, size) = (try names(), fileSize(input))
            for (output, reason) in [(input, "one of the show's own files"), (directory.path, "is a directory")] {
                let result = try await RelayProcess.run(["render", path, "-o", output, "--force"] + sources)
                #expect(result.ending == .exited(73) && result.log.contains(reason), "\(result)")
            }
            #expect(try names() == before && fileSize(input) == size)
        }

        @Test("In a rendered show a file's last frame fills a segment of fixed length that is longer than the file")
        func behindTheEnd() async throws {
            try await files.ramp()
            let show = try files.show(
                "segments: [{file: ramp.mp4, frames: 40}, {file: ramp.mp4, in: 1s, frames: 5}, "
                    + "{file: ramp.mp4, in: 10s, duration: 0.2s}]")
            let output = directory.file("out.mp4")
            let result = try await RelayProcess.run(["render", show, "-o", output] + Shape.small)
            #expect(result.ending == .exited(0) && result.log.contains("51 frames"), "\(result)")
            let seen = try await files.seen(in: output)
            #expect(seen == (0..<51).map { "\(min($0, 29))" })
            // A segment that plays to the end of its file cannot begin after that end.
            let over = try await RelayProcess.run(
                ["render", try files.show("segments: [{file: ramp.mp4, in: 10s}]"), "-o", directory.file("over.mp4")]
                    + Shape.small)
            #expect(over.ending == .exited(66) && over.log.contains("It has no frame at 10s"), "\(over)")
        }

        @Test(
            "An impossible render is refused with the reason, and makes no file",
            arguments: [
                ("segments: [{source: white}]", [], 64, "white lasts until somebody says so"),
                ("{loop: true, name: Round, segments: [{source: white, frames: 9}]}", [], 64, "Round begins again"),
                ("segments: [{file: gone.mp4}]", [], 64, "There is no file gone.mp4"),
                ("segments: [{file: show.yaml}]", [], 66, "show.yaml"),
                (
                    "segments: [{source: white, frames: 9}]", ["--input", "udp://127.0.0.1:9#name=live"], 64,
                    "rendered from files"
                ),
                ("segments: [{source: cam, frames: 9}]", [], 64, "There is no source cam"),
            ] as [(String, [String], Int32, String)])
        func refused(_ text: String, _ more: [String], _ status: Int32, _ reason: String) async throws {
            let sources = try await files.sources()
            let path = try files.show(text)
            let before = try names()
            let nowhere = try await RelayProcess.run(["render", path, "-o", directory.file("no/out.mp4")] + sources)
            #expect(nowhere.ending != .exited(0))
            let result = try await RelayProcess.run(["render", path, "-o", directory.file("out.mp4")] + sources + more)
            #expect(result.ending == .exited(status) && result.log.contains(reason), "\(result)")
            #expect(try names() == before)
        }
    }
}
