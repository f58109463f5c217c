// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Serial {
    /// `relay recordings export`: clips of real recordings, decoded by another program.
    @Suite("Export")
    struct ExportTests {
        private struct Report: Decodable {
            struct Gap: Decodable {
                let from: String
                let to: String
            }
            let start: String
            let milliseconds: Int
            let widenedStartMs: Int
            let widenedEndMs: Int
            let copiedFrames: Int
            let encodedFrames: Int
            let files: Int
            let gaps: [Gap]
        }

        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Five files, recorded once for all tests, in real time: files of a program that runs faster than the wall clock
        /// lie in it one over the other.
        private static let recorded = Task {
            let directory = try TemporaryDirectory()
            let result = try await RelayProcess.run(
                Shape.small + ["--preset", "veryfast", "--segment", "5s", "--duration", "22s"]
                    + ["--record", directory.file("recordings")])
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            return directory
        }

        private func record() async throws {
            let recorded = try await Self.recorded.value
            try FileManager.default.copyItem(atPath: recorded.file("recordings"), toPath: set.directory)
            try #require(set.finished.count == 5)
        }

        private func export(_ arguments: [String]) async throws -> RelayProcess.Finished {
            try await RelayProcess.run(["recordings", "export", set.directory] + arguments)
        }

        /// Milliseconds since 1970 at which the first file began.
        private func start() async throws -> Date {
            let text = try await run(
                "ffprobe", ["-v", "error", "-show_entries", "format_tags=date", "-of", "csv=p=0", set.finished[0]])
            let formatter = ISO8601DateFormatter()
            formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            return try #require(formatter.date(from: text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        private func moment(_ start: Date, _ seconds: Double) -> String {
            let formatter = ISO8601DateFormatter()
            formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            return formatter.string(from: start.addingTimeInterval(seconds))
        }

        private func clip(_ from: Double, _ to: Double, _ flags: [String]) async throws -> (path: String, Report) {
            let start = try await start()
            let path = directory.file("clip-\(from)-\(to)\(flags.count).mp4")
            let result = try await export(
                ["--from", moment(start, from), "--to", moment(start, to), "-o", path, "--json"] + flags)
            #expect(result.ending == .exited(0), "\(result.log)")
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return (path, try decoder.decode(Report.self, from: Data(result.log.utf8)))
        }

        private func packets(_ path: String) async throws -> [String] {
            let text = try await run(
                "ffmpeg", ["-v", "error", "-i", path, "-map", "0:v", "-c", "copy", "-f", "framemd5", "-"])
            return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
                $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }

        @Test(
            "A clip across three files shows every picture once, with sound in step and packets as recorded",
            arguments: [false, true])
        func clips(isExact: Bool) async throws {
            try await record()
            let recorded = try await set.counters()
            let (path, report) = try await clip(3.5, 12.6334, isExact ? ["--exact"] : [])
            #expect(report.files == 3 && report.gaps.isEmpty)
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty, "\(frames.breaks)")
            let first = isExact ? 105 : 60
            #expect(frames.counters.first == recorded[first])
            #expect(frames.counters.count == report.copiedFrames + report.encodedFrames)
            #expect(report.widenedStartMs == (isExact ? 0 : 1500) && report.widenedEndMs <= (isExact ? 33 : 133))
            #expect(try await AVOffset(path, frames: frames).worst < 1)
            var source: Set<String> = []
            for file in set.finished { source.formUnion(try await packets(file)) }
            let copied = try await packets(path).filter(source.contains).count
            #expect(copied == report.copiedFrames)
            if isExact {
                #expect(frames.counters.count == 379 - 105)
                #expect(report.encodedFrames <= 60 + 3)
            } else {
                #expect(report.encodedFrames == 0)
            }
        }

        @Test("A gap stays a gap: pictures and sound behind it are as late as they were")
        func gap() async throws {
            try await record()
            try FileManager.default.removeItem(atPath: set.finished[1])
            let (path, report) = try await clip(0, 12, [])
            #expect(report.gaps.count == 1 && report.files == 2)
            #expect(try await Probe.complaints(path) == "")
            let times = try await Probe.times(path, "v:0")
            let index = try #require(zip(times, times.dropFirst()).enumerated().first { $1.1 - $1.0 > 1 }?.offset)
            #expect(abs(times[index + 1] - times[0] - 10) < 0.001 && index == 149)
        }

        @Test("What cannot be exported is refused in a sentence, and nothing is left or overwritten")
        func refusals() async throws {
            try await record()
            let start = try await start()
            let path = directory.file("out.mp4")
            let cases: [([String], Int32, String)] = [
                (["--from", moment(start, 100), "--to", "+5s"], 66, "Nothing was recorded then"),
                (["--from", moment(start, 5), "--to", moment(start, 2)], 64, "--to must be later"),
                (["--from", "yesterday", "--to", "+5s"], 64, "--from is a time in UTC"),
                (["--from", moment(start, 1), "--to", "+5s", "--channel", "other"], 66, "of the channel other"),
            ]
            for (arguments, code, sentence) in cases {
                let result = try await export(arguments + ["-o", path])
                #expect(result.ending == .exited(code) && result.log.contains(sentence), "\(result.log)")
                #expect(!FileManager.default.fileExists(atPath: path))
            }
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
            let arguments = ["--from", moment(start, 1), "--to", "+5s", "-o", path]
            let result = try await export(arguments)
            #expect(result.ending == .exited(73) && result.log.contains("exists"), "\(result.log)")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
            #expect(try await export(arguments + ["--force"]).ending == .exited(0))
            #expect(try await Probe.complaints(path) == "")
            #expect(fileNames(in: directory.path).sorted() == ["out.mp4", "recordings"])
        }

        @Test(
            "A disk without room is met before anything is written",
            .enabled(if: SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
        func noRoom() async throws {
            try await record()
            let disk = try await SmallDisk(megabytes: 1)
            let result = try await export(
                ["--from", moment(try await start(), 0), "--to", "+20s", "-o", "\(disk.path)/clip.mp4"])
            #expect(result.ending == .exited(73) && result.log.contains("free"), "\(result.log)")
            #expect(fileNames(in: disk.path).isEmpty)
        }
    }
}
