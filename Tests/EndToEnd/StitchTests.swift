// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// `relay stitch`: files of many kinds are joined into one file, which ffmpeg decodes.
    @Suite("relay stitch")
    struct StitchTests {
        private struct Report: Decodable {
            let copiedFrames: Int
            let encodedFrames: Int
            let clips: Int
        }

        private struct Plan: Decodable {
            struct Clip: Decodable {
                let copiedFrames: Int
                let encodedFrames: Int
                let reasons: [String]
                let notes: [String]
            }
            let codec: String
            let clips: [Clip]
        }

        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// The test signal, 12 s long, which is recorded once for all tests.
        private static let recorded = Task { try await SignalFile(seconds: 12) }

        private func signal() async throws -> String { try await Self.recorded.value.path }

        private func decoded<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(type, from: Data(text.utf8))
        }

        private func stitch(_ clips: [String], _ flags: [String] = []) async throws -> (path: String, Report) {
            let path = directory.file("out-\(UUID().uuidString).mp4")
            let result = try await RelayProcess.run(["stitch"] + clips + ["-o", path, "--json"] + flags)
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            return (path, try decoded(Report.self, result.log))
        }

        private func plan(_ clips: [String], _ flags: [String] = []) async throws -> Plan {
            let result = try await RelayProcess.run(["stitch"] + clips + ["--dry-run", "--json"] + flags)
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            return try decoded(Plan.self, result.log)
        }

        /// Returns the largest offset between audio and video in these files, in milliseconds. Files that other
        /// programs cut are rarely exact.
        private func worstOffset(of paths: [String]) async throws -> Double {
            var worst = 0.0
            for path in paths {
                worst = max(worst, try await AVOffset(path, frames: DecodedFrames(path)).worst)
            }
            return worst
        }

        /// Makes a file from 3 s of the signal with ffmpeg.
        private func variant(_ name: String, _ arguments: [String], from start: Int = 0) async throws -> String {
            let path = directory.file(name)
            try await Clip.make(path, ["-ss", "\(start)", "-t", "3", "-i", try await signal()] + arguments)
            return path
        }

        @Test("Twenty parts of one file are joined with every frame once and with the audio in sync")
        func pieces() async throws {
            let signal = try await signal()
            // The parts last from 0.1 s to 1.5 s. The lengths are in frames, so that nothing is rounded.
            let lengths = [3, 45, 7, 20, 31, 4, 12, 44, 9, 28, 16, 5, 38, 3, 22, 11, 17, 13, 6, 20]
            var (clips, frame) = ([String](), 0)
            for length in lengths {
                let (from, to) = (Double(frame) / 30, Double(frame + length) / 30)
                clips.append(String(format: "\(signal)#from=%.4f,to=%.4f", from, to))
                frame += length
            }
            let (path, report) = try await stitch(clips)
            #expect(report.clips == 20 && report.copiedFrames + report.encodedFrames == frame)
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty && frames.counters.first == 0 && frames.counters.count == frame)
            #expect(try await AVOffset(path, frames: frames).worst < 1)
            let audio = try await DecodedAudio(path)
            #expect(abs(audio.samples.count - frame * 1600) <= 1024)
            #expect(try await DecodedAudio(signal).difference(from: audio, in: 2000..<frame * 1600 - 2000) < 0.01)
        }

        @Test("Files that were encoded separately are joined without losing a frame, each with its audio in sync")
        func separate() async throws {
            let signal = try await signal()
            var clips: [String] = []
            for (index, length) in [1.0, 0.5, 2.1, 1.4].enumerated() {
                let path = directory.file("part\(index).mp4")
                let start = [0.0, 1.0, 1.5, 3.6][index]
                try await Clip.make(
                    path,
                    ["-ss", "\(start)", "-t", "\(length)", "-i", signal, "-c:v", "libx264", "-g", "30", "-bf", "2"])
                clips.append(path)
            }
            let (path, report) = try await stitch(clips)
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty && frames.counters.count == 150, "\(frames.breaks)")
            #expect(report.copiedFrames == 150)
            let own = try await worstOffset(of: clips)
            #expect(try await AVOffset(path, frames: frames, joins: [1]).worst < own + 1)
            let samples = try await DecodedAudio(path).samples
            #expect(abs(samples.count - 150 * 1600) <= 1024)
            let chapters = try await run("ffprobe", ["-v", "error", "-show_chapters", "-of", "csv", path])
            #expect(chapters.split(separator: "\n").count == 4 && chapters.contains("part2"), "\(chapters)")
        }

        @Test("Copied frames are identical to the source's, and only frames of GOPs that a cut divides are re-encoded")
        func smartRender() async throws {
            let signal = try await signal()
            let (path, report) = try await stitch(["\(signal)#from=1.5,to=7.3"])
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty && frames.counters.first == 45 && frames.counters.count == 174)
            // Frames 45 to 59 precede the keyframe at 2 s. After the last position at which the video can be cut
            // without re-encoding, there are at most three frames.
            #expect(report.encodedFrames >= 15 && report.encodedFrames <= 18, "\(report)")
            let source = try await Probe.frameHashes(signal)
            let result = try await Probe.frameHashes(path)
            try #require(result.count == 174)
            #expect(result[15..<171] == source[60..<216])
            #expect(try await AVOffset(path, frames: frames).worst < 1)
        }

        @Test("A clip whose format differs from the first clip's is re-encoded, and the reason is reported")
        func kinds() async throws {
            let h264 = ["-c:v", "libx264", "-g", "30"]
            let first = try await variant("first.mp4", h264)
            let kinds: [(name: String, arguments: [String], reason: String)] = [
                ("size.mp4", ["-vf", "scale=640:360"] + h264, "its frames are 640x360, not 320x180"),
                ("rate.mp4", ["-r", "15"] + h264, "it has 15 frames a second, not 30"),
                ("hevc.mp4", ["-c:v", "libx265", "-x265-params", "log-level=none"], "it is coded as hevc"),
                ("sets.mp4", h264 + ["-profile:v", "baseline"], "its parameter sets are not those of"),
                ("ten.mp4", h264 + ["-pix_fmt", "yuv420p10le"], "its frames are not of 8 bits"),
            ]
            for kind in kinds {
                let file = try await variant(kind.name, kind.arguments, from: 3)
                let plan = try await plan([first, file])
                #expect(plan.clips[0].reasons.isEmpty && plan.clips[1].copiedFrames == 0, "\(kind.name)")
                #expect(plan.clips[1].reasons.contains { $0.contains(kind.reason) }, "\(plan.clips[1].reasons)")
                let (path, _) = try await stitch([first, file])
                #expect(try await Probe.complaints(path) == "", "\(kind.name)")
                let frames = try await DecodedFrames(path)
                #expect(frames.counters.count == 180, "\(kind.name): \(frames.counters.count)")
                #expect(
                    frames.counters.first == 0 && Array(frames.counters[90..<93]) != [nil, nil, nil], "\(kind.name)")
                if kind.name != "rate.mp4" { #expect(frames.breaks.isEmpty, "\(kind.name): \(frames.breaks)") }
                // If ffmpeg converts to another frame rate, some flashes are lost.
                if kind.name == "rate.mp4" { continue }
                let offset = try await AVOffset(path, frames: frames, joins: [3]).worst
                #expect(offset < 23, "\(kind.name): \(offset)")
            }
        }

        @Test("Mono audio, audio with another sample rate, and missing audio are converted to the format of the result")
        func sounds() async throws {
            let video = ["-c:v", "libx264", "-g", "30"]
            let first = try await variant("first.mp4", video)
            for (name, arguments, isSilent) in [
                ("44100.mp4", ["-ar", "44100"], false), ("mono.mp4", ["-ac", "1"], false), ("none.mp4", ["-an"], true),
            ] {
                let file = try await variant(name, video + arguments, from: 3)
                let (path, report) = try await stitch([first, file])
                #expect(report.copiedFrames == 180 && report.encodedFrames == 0, "\(name)")
                let frames = try await DecodedFrames(path)
                #expect(frames.breaks.isEmpty && frames.counters.count == 180, "\(name): \(frames.breaks)")
                #expect(try await Probe.value(path, "a:0", "sample_rate") == "48000")
                let bound = try await worstOffset(of: [first] + (isSilent ? [] : [file])) + 1
                #expect(try await AVOffset(path, frames: frames, joins: [3]).worst < bound, "\(name)")
                let audio = try await DecodedAudio(path)
                let loudest = audio.samples[150_000..<280_000].map(abs).max() ?? 0
                #expect(isSilent ? loudest < 0.001 : loudest > 0.2, "\(name): \(loudest)")
            }
        }

        @Test("Frames hidden by an edit list stay hidden; rotated frames become upright, and varying rates constant")
        func edits() async throws {
            let first = try await variant("first.mp4", ["-c:v", "libx264", "-g", "30"])
            let cut = directory.file("cut.mp4")
            // This file begins within a GOP: ffmpeg also copies the frames from the keyframe on, and hides them.
            try await Clip.make(cut, ["-ss", "4.5", "-t", "3", "-i", try await signal(), "-c", "copy"])
            let (path, _) = try await stitch([first, cut])
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            let behind = Array(frames.counters[90...])
            #expect(behind.first == 135 && DecodedFrames.breaks(in: behind).isEmpty, "\(behind)")
            #expect(try await AVOffset(path, frames: frames).worst < 1)

            let upright = try await variant("upright.mp4", ["-vf", "transpose=clock", "-c:v", "libx264"], from: 3)
            let turned = directory.file("turned.mp4")
            try await Clip.make(turned, ["-i", upright, "-c", "copy", "-metadata:s:v:0", "rotate=90"])
            #expect(try await plan([first, turned]).clips[1].reasons.contains { $0.contains("turned") })
            let (whole, _) = try await stitch([first, turned])
            let standing = try await DecodedFrames(whole)
            #expect(standing.counters.count == 180 && standing.breaks.isEmpty, "\(standing.breaks)")

            let varying = try await variant(
                "varying.mp4", ["-vf", "select='not(eq(mod(n,7),3))'", "-vsync", "vfr", "-c:v", "libx264"], from: 3)
            #expect(try await plan([first, varying]).clips[1].reasons.contains("its frame rate varies"))
            let (steady, _) = try await stitch([first, varying])
            let shown = try await DecodedFrames(steady)
            #expect(shown.counters.count == 180)
            for (index, counter) in shown.counters.enumerated().dropFirst(90) {
                #expect(abs(Int(counter ?? 0) - index) <= 1, "\(index): \(counter ?? 0)")
            }
        }

        @Test("A transition between two clips shows frames of both, and the result is as long as both clips together")
        func transitions() async throws {
            let signal = try await signal()
            let (path, report) = try await stitch(
                ["\(signal)#to=4", "\(signal)#from=6,to=10"], ["--transition", "fade:1s"])
            #expect(report.encodedFrames >= 30 && report.copiedFrames >= 175, "\(report)")
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            #expect(frames.counters.count == 240)
            #expect(DecodedFrames.breaks(in: Array(frames.counters[..<120])).isEmpty)
            #expect(DecodedFrames.breaks(in: Array(frames.counters[150...])).isEmpty && frames.counters[150] == 210)
        }

        @Test(
            "Stitched MOV files and fragmented files contain the same packets at the same times as MP4",
            arguments: ["mov", "fragmented"])
        func forms(form: String) async throws {
            let signal = try await signal()
            let clips = ["\(signal)#from=0.1,to=3.5", "\(signal)#from=5,to=7.2", "\(signal)#from=1,to=2.5"]
            let (plain, _) = try await stitch(clips)
            let path = directory.file(form == "mov" ? "out.MOV" : "out.mp4")
            let flags = form == "mov" ? [] : ["--format", form]
            let result = try await RelayProcess.run(["stitch"] + clips + ["-o", path] + flags)
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await Probe.complaints(path) == "")
            #expect(try await Probe.frameHashes(path) == Probe.frameHashes(plain))
            #expect(try await Probe.times(path, "v:0") == Probe.times(plain, "v:0"))
            // In a fragmented file, ffmpeg also plays the audio before the first frame, which the edit list hides.
            let (audio, same) = (try await DecodedAudio(path).samples, try await DecodedAudio(plain).samples)
            #expect(audio.suffix(same.count) == same[...] && (form == "fragmented" || audio.count == same.count))
            let early = try await Probe.times(path, "a:0")[0]
            #expect(abs(early + Double(audio.count - same.count) / 48_000) < 0.001 && early > -0.05, "\(early)")
            let boxes = try Self.boxes(of: path)
            #expect(boxes.prefix(2) == (form == "mov" ? ["ftyp", "moov"] : ["ftyp", "free"]))
            let fragments = boxes.count { $0 == "moof" }
            #expect(form == "mov" ? fragments == 0 : fragments >= 4, "\(boxes)")
            // The stitched file can be stitched like any other file.
            let (again, report) = try await stitch([path, plain])
            #expect(report.clips == 2)
            #expect(try await DecodedFrames(again).counters.count == 2 * DecodedFrames(plain).counters.count)
        }

        /// Returns the types of the top-level boxes of a file.
        private static func boxes(of path: String) throws -> [String] {
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            var (types, position): ([String], Int) = ([], 0)
            while position + 16 <= data.count {
                let size = data[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
                types.append(String(decoding: data[position + 4..<position + 8], as: UTF8.self))
                let large = data[position + 8..<position + 16].reduce(0) { $0 << 8 | Int($1) }
                position += max(8, size == 1 ? large : size)
            }
            return types
        }

        @Test("Input that cannot be stitched is reported in one sentence, and no file is written")
        func refusals() async throws {
            let signal = try await signal()
            let text = directory.file("text.mp4")
            try Data("no video".utf8).write(to: URL(fileURLWithPath: text))
            let cut = directory.file("cut.mp4")
            let whole = try #require(FileManager.default.contents(atPath: signal))
            try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: cut))
            let audio = directory.file("audio.m4a")
            try await Clip.make(audio, ["-i", signal, "-vn"])
            let encrypted = directory.file("encrypted.mp4")
            let key = "00112233445566778899aabbccddeeff"
            try await Clip.make(
                encrypted,
                ["-i", signal, "-c", "copy", "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", key]
                    + ["-encryption_kid", key])
            let output = directory.file("out.mp4")
            let before = fileNames(in: directory.path)
            let cases: [([String], Int32, String)] = [
                ([], 64, "file"), ([directory.file("missing.mp4")], 66, "missing.mp4: No such file"),
                ([text], 66, "\(text) cannot be read"), ([cut], 66, cut), ([audio], 66, "\(audio) has no video"),
                ([encrypted], 66, "\(encrypted) is encrypted"),
                (["\(signal)#from=5,to=2"], 66, "\(signal): it would begin at 5s, which is not before its end at 2s"),
                (["\(signal)#from=50"], 66, "\(signal): it would begin at 50s, but lasts only 12s"),
                (["\(signal)#from=1,upto=2"], 64, "unknown"), ([signal, "--transition", "melt"], 64, "transition"),
            ]
            for (arguments, code, sentence) in cases {
                let result = try await RelayProcess.run(["stitch"] + arguments + ["-o", output])
                #expect(result.ending == .exited(code) && result.log.contains(sentence), "\(arguments): \(result.log)")
                if code == 66 { #expect(result.log.split(separator: "\n").count == 1, "\(result.log)") }
                #expect(fileNames(in: directory.path) == before)
            }
            let own = try await RelayProcess.run(["stitch", signal, "-o", signal, "--overwrite"])
            #expect(own.ending == .exited(73) && own.log.contains("is the clip"), "\(own.log)")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: output))
            let there = try await RelayProcess.run(["stitch", signal, "-o", output])
            #expect(there.ending == .exited(73) && there.log.contains("exists"), "\(there.log)")
            #expect(try String(contentsOfFile: output, encoding: .utf8) == "mine")
            #expect(try await RelayProcess.run(["stitch", signal, "-o", output, "--overwrite"]).ending == .exited(0))
            #expect(try await Probe.complaints(output) == "")
        }

        @Test(
            "A stitch ended by SIGINT leaves no file, and the next run removes the files of a killed one",
            arguments: [SIGINT, SIGKILL])
        func interrupted(signal number: Int32) async throws {
            let signal = try await signal()
            let output = directory.file("out.mp4")
            let relay = try RelayProcess(
                ["stitch"] + Array(repeating: signal, count: 20) + ["--size", "1920x1080", "-o", output])
            try await eventually("a work file", within: .seconds(60)) {
                fileNames(in: directory.path).contains {
                    $0.hasSuffix(".part") && fileSize(directory.file($0)) > 0
                }
            }
            let result = try await relay.end(by: number, within: .seconds(30))
            #expect(!FileManager.default.fileExists(atPath: output))
            if number == SIGINT {
                #expect(result.ending == .exited(130) && result.log.contains("cancelled"), "\(result.log)")
                #expect(fileNames(in: directory.path).isEmpty)
            }
            // The next run removes the files of a run that was killed.
            #expect(try await RelayProcess.run(["stitch", signal, "-o", output]).ending == .exited(0))
            #expect(fileNames(in: directory.path) == ["out.mp4"])
        }

        @Test(
            "A stitch that is resumed writes the same file as one without interruption, except for creation times",
            arguments: [SIGINT, SIGKILL])
        func resumed(signal number: Int32) async throws {
            let signal = try await signal()
            let arguments = ["stitch"] + Array(repeating: signal, count: 4) + ["--size", "640x360", "--resume", "-o"]
            let whole = directory.file("whole/out.mp4")
            try FileManager.default.createDirectory(atPath: directory.file("whole"), withIntermediateDirectories: true)
            #expect(try await RelayProcess.run(arguments + [whole]).ending == .exited(0))
            #expect(fileNames(in: directory.file("whole")) == ["out.mp4"])

            let output = directory.file("out.mp4")
            let relay = try RelayProcess(arguments + [output])
            let journal = directory.file(".out.mp4.resume")
            try await eventually("something is done", within: .seconds(60)) {
                fileSize(journal) > 10_000
            }
            _ = try await relay.end(by: number, within: .seconds(30))
            #expect(!FileManager.default.fileExists(atPath: output))
            let size = fileSize(journal)
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: journal))
            try handle.seekToEnd()
            // The bytes at the end look like an interrupted write.
            try handle.write(contentsOf: [0, 0, 1, 0, 123])
            try handle.close()
            let result = try await RelayProcess.run(arguments + [output])
            #expect(result.ending == .exited(0) && result.log.contains("by the run before"), "\(result.log)")
            #expect(size > 10_000 && fileNames(in: directory.path).sorted() == ["out.mp4", "whole"])

            let (one, other) = (
                try Data(contentsOf: URL(fileURLWithPath: whole)), try Data(contentsOf: URL(fileURLWithPath: output))
            )
            let media = try #require(one.range(of: Data("mdat".utf8))?.lowerBound)
            #expect(one.count == other.count && one[media...] == other[media...])
            // The tables contain the time at which they were begun, so they differ in a few bytes.
            #expect(zip(one, other).count { $0 != $1 } < 40)
            #expect(try await DecodedFrames(output).counters == DecodedFrames(whole).counters)
        }

        @Test(
            "A stitch reports missing disk space before it writes, and leaves no file if the disk fills up meanwhile",
            .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
        func noRoom() async throws {
            let signal = try await signal()
            let disk = try await SmallDisk(megabytes: 1)
            let result = try await RelayProcess.run(
                ["stitch"] + Array(repeating: signal, count: 40) + ["-o", "\(disk.path)/out.mp4"])
            #expect(result.ending == .exited(73) && result.log.contains("free"), "\(result.log)")
            #expect(fileNames(in: disk.path).isEmpty)
            // Noise needs more space than any estimate.
            let noise = directory.file("noise.mp4")
            try await Clip.make(
                noise,
                [
                    "-i", signal, "-vf", "noise=alls=100:allf=t,scale=640:360:flags=neighbor", "-c:v", "libx264", "-qp",
                    "18",
                ])
            let larger = try await SmallDisk(megabytes: 6)
            let full = try await RelayProcess.run(
                ["stitch", noise, "--size", "322x180", "--crf", "1", "-o", "\(larger.path)/out.mp4"])
            #expect(full.ending == .exited(73) && full.log.contains("No space left"), "\(full.log)")
            #expect(fileNames(in: larger.path).isEmpty)
        }
    }
}
