// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension SerialShows {
    /// `relay recordings export`: clips of real recordings, which ffmpeg decodes.
    @Suite("Export of clips from recordings")
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

        /// Five files that are recorded once for all tests. They are recorded in real time, because the dates of files
        /// overlap if a program runs faster than the wall clock.
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

        /// Returns when the first file began.
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
            "A clip across three files has every frame once, with audio in sync and the packets as recorded",
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

        @Test("A recording gap is kept in an exported clip: frames and audio after it keep their timestamps")
        func gap() async throws {
            try await record()
            try FileManager.default.removeItem(atPath: set.finished[1])
            let (path, report) = try await clip(0, 12, [])
            #expect(report.gaps.count == 1 && report.files == 2)
            #expect(try await Probe.complaints(path) == "")
            let times = try await Probe.times(path, "v:0")
            let index = try #require(zip(times, times.dropFirst()).enumerated().first { $1.1 - $1.0 > 1 }?.offset)
            #expect(abs(times[index + 1] - times[0] - 10) < 0.001 && index == 149)
            // This is the second of the remaining files. In the clip, its audio must have the same delay relative to
            // its frames.
            let source = set.finished[1]
            let first = try #require(try await Probe.times(source, "v:0").first)
            let expected = try await Probe.times(source, "a:0").map { $0 - first + times[index + 1] }
            let audio = try await Probe.times(path, "a:0").filter { $0 > times[index] + 1 }
            #expect(abs((audio.first ?? 0) - times[index + 1]) < 0.05)
            for time in expected.dropFirst().prefix(50) {
                #expect(audio.contains { abs($0 - time) < 0.0002 }, "no audio at \(time)")
            }
        }

        @Test("If a clip begins one frame before a keyframe, its first frame is encoded after a hidden frame")
        func headOfOneFrame() async throws {
            try await record()
            let recorded = try await set.counters()
            let (path, report) = try await clip(3.97, 7.5, ["--exact"])
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty, "\(frames.breaks)")
            #expect(frames.counters.first == recorded[119] && frames.counters.count == 225 - 119)
            #expect(try await Probe.value(path, "v:0", "nb_frames") == "\(225 - 119 + 1)")
            #expect(frames.counters.count == report.copiedFrames + report.encodedFrames && report.widenedStartMs <= 33)
            #expect(try await AVOffset(path, frames: frames).worst < 1)
        }

        @Test("An export from a damaged or foreign file names the file in its error; a repaired copy can be exported")
        func damaged() async throws {
            try await record()
            let start = try await start()
            let file = set.finished[1]
            let name = URL(fileURLWithPath: file).lastPathComponent
            let path = directory.file("out.mp4")
            let arguments = ["--from", moment(start, 1), "--to", "+12s", "-o", path]
            let whole = try #require(FileManager.default.contents(atPath: file))
            let foreign = try await Clip.noisy(seconds: 1, in: directory)
            defer { try? FileManager.default.removeItem(atPath: foreign) }
            let cut = whole.prefix(whole.count / 2)
            for bytes in [try #require(FileManager.default.contents(atPath: foreign)), cut] {
                try bytes.write(to: URL(fileURLWithPath: file))
                let result = try await export(arguments)
                #expect(result.ending == .exited(66), "\(result.log)")
                #expect(result.log.hasPrefix("Error: \(name) cannot be used: "), "\(result.log)")
                #expect(result.log.split(separator: "\n").count == 1)
                #expect(!fileNames(in: directory.path).contains { $0.contains("out.mp4") })
            }
            #expect(try await RelayProcess.run(["recordings", "repair", set.directory]).ending == .exited(0))
            let (repaired, report) = try await clip(1, 13, [])
            #expect(report.files == 3 && report.gaps.count == 1)
            #expect(try await Probe.complaints(repaired) == "")
            // When the original file is intact again, the repaired copy is not used.
            try whole.write(to: URL(fileURLWithPath: file))
            let (_, again) = try await clip(1, 12.5, [])
            #expect(again.files == 3 && again.gaps.isEmpty)
        }

        @Test("An export omits a file that is still being written, and names it; without another file the export fails")
        func beingWritten() async throws {
            try await record()
            let start = try await start()
            let files = set.finished
            try FileManager.default.removeItem(atPath: files[4])
            // Opens the file as a recorder does.
            try FileManager.default.moveItem(atPath: files[3], toPath: files[3] + ".part")
            let descriptor = open(files[3] + ".part", O_RDONLY)
            defer { close(descriptor) }
            try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            let name = URL(fileURLWithPath: files[3] + ".part").lastPathComponent
            let path = directory.file("out.mp4")
            let result = try await export(["--from", moment(start, 12), "--to", "+7s", "-o", path])
            #expect(result.ending == .exited(0) && !result.log.contains("nothing was recorded"), "\(result.log)")
            #expect(result.log.contains("what is being written now, \(name), is not in it"), "\(result.log)")
            let later = try await export(["--from", moment(start, 16), "--to", "+1s", "-o", path, "--force"])
            #expect(later.ending == .exited(66) && later.log.contains("is being written now: \(name)"), "\(later.log)")
            for file in files[..<3] { try FileManager.default.removeItem(atPath: file) }
            let none = try await export(["--from", moment(start, 1), "--to", "+1s", "-o", path, "--force"])
            #expect(none.ending == .exited(66))
            #expect(none.log.contains("There is no finished recording in \(set.directory)."), "\(none.log)")
        }

        @Test("An export into the recording directory, or over a recording, is refused")
        func outputs() async throws {
            try await record()
            let start = try await start()
            let arguments = ["--from", moment(start, 1), "--to", "+2s", "--force", "-o"]
            let source = set.finished[0]
            let (linked, alias) = (directory.file("linked.mp4"), directory.file("alias"))
            try FileManager.default.linkItem(atPath: source, toPath: linked)
            try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: set.directory)
            let before = fileNames(in: set.directory)
            let size = fileSize(source)
            for (output, sentence) in [
                (source, "among the recordings"), (set.directory + "/clip.mp4", "among the recordings"),
                (alias + "/clip.mp4", "among the recordings"), (linked, "is the recording"),
            ] {
                let result = try await export(arguments + [output])
                #expect(result.ending == .exited(73) && result.log.contains(sentence), "\(result.log)")
            }
            #expect(fileNames(in: set.directory) == before && fileSize(source) == size)
        }

        private static let always = ["--from", "2020-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z"]

        @Test("A clip from transport streams has every frame of every file once, with audio in sync")
        func transportStream() async throws {
            let recorded = try await RelayProcess.run(
                Shape.small + ["--record-format", "ts", "--segment", "2s", "--duration", "5s"]
                    + ["--record", set.directory])
            #expect(recorded.ending == .exited(0), "\(recorded.log)")
            #expect(fileNames(in: set.directory).count { $0.hasSuffix(".ts") } == 3)
            let path = directory.file("out.mp4")
            let result = try await export(Self.always + ["-o", path])
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty && frames.counters.count == 150, "\(frames.breaks)")
            // A transport stream cannot hide the packet that its first audio packet needs, so the first beep does not
            // count.
            #expect(try await AVOffset(path, frames: frames, joins: [0]).worst < 1)
            #expect(try await Probe.complaints(path) == "")
        }

        @Test("In a clip, files with another frame size are re-encoded with each frame at its time; gaps are reported")
        func different() async throws {
            for (size, length) in [("320x180", "5s"), ("480x270", "3s")] {
                let recorded = try await RelayProcess.run(
                    ["--size", size, "--fps", "30", "--preset", "veryfast", "--duration", length, "--segment", "2s"]
                        + ["--record", set.directory])
                #expect(recorded.ending == .exited(0), "\(recorded.log)")
            }
            try #require(set.finished.count == 5)
            try FileManager.default.removeItem(atPath: set.finished[1])
            let path = directory.file("out.mp4")
            let result = try await export(Self.always + ["-o", path])
            #expect(result.ending == .exited(0) && result.log.contains("does not go with"), "\(result.log)")
            #expect(result.log.contains("nothing was recorded from"), "\(result.log)")
            let counters = try await DecodedFrames(path).counters.map { $0 ?? .max }
            // The last frame before the gap of two seconds is held, and so is the last frame before the second run.
            let first: [UInt32] = Array(0..<60) + Array(repeating: 59, count: 60) + Array(120..<150)
            #expect(counters.prefix(150).elementsEqual(first) && counters.suffix(90).elementsEqual(0..<90))
            #expect(counters.dropFirst(150).dropLast(90).allSatisfy { $0 == 149 }, "\(counters.count)")
            #expect(try await Probe.complaints(path) == "")
        }

        @Test("Several ranges are exported to one clip each, or to one clip together", arguments: [false, true])
        func ranges(isJoined: Bool) async throws {
            try await record()
            let recorded = try await set.counters()
            let start = try await start()
            let ranges = [(1.0, 2.5), (4.0, 6.0), (11.0, 11.5)]
            let path = directory.file("out.mp4")
            let flags = ranges.flatMap { ["--from", moment(start, $0.0), "--to", moment(start, $0.1)] }
            let result = try await export(flags + ["-o", path] + (isJoined ? ["--join"] : ["--exact"]))
            #expect(result.ending == .exited(0), "\(result.log)")
            let wanted = ranges.map { Array(recorded[Int($0.0 * 30)..<Int($0.1 * 30)]) }
            guard isJoined else {
                for (number, frames) in wanted.enumerated() {
                    let clip = try await DecodedFrames(directory.file("out-\(number + 1).mp4"))
                    #expect(clip.counters == frames, "clip \(number + 1)")
                }
                return
            }
            #expect(try await DecodedFrames(path).counters == wanted.flatMap(\.self))
            #expect(try await Probe.complaints(path) == "")
            let uneven = try await export(["--from", moment(start, 1)] + flags + ["-o", directory.file("b.mp4")])
            #expect(uneven.ending == .exited(64) && uneven.log.contains("given together"), "\(uneven.log)")
        }

        @Test("An impossible export is refused in one sentence, and leaves no file behind and overwrites none")
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
            "Too little disk space for an export is reported before any data is written",
            .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
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
