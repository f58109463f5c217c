// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// `relay stitch`: flags and projects have the requested effect on video and audio.
    @Suite("Flags of relay stitch")
    struct StitchFlagTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// The test signal, 6 s long, which is recorded once for all tests.
        private static let recorded = Task { try await SignalFile(seconds: 6) }

        private func signal() async throws -> String { try await Self.recorded.value.path }

        private func stitch(_ clips: [String], _ flags: [String] = [], to name: String = "out.mp4") async throws
            -> String
        {
            let path = directory.file(name)
            let result = try await RelayProcess.run(["stitch"] + clips + ["-o", path, "--overwrite"] + flags)
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            return path
        }

        /// Makes half a second of gray, with a white margin of `margin` columns on the left and on the right.
        private func margins(_ name: String, _ width: Int, _ margin: Int, _ filters: String = "null") async throws
            -> String
        {
            let path = directory.file(name)
            let luma = "lum='if(lt(X,\(margin))+gte(X,\(width - margin)),235,126)':cb=128:cr=128"
            try await Clip.make(
                path,
                ["-f", "lavfi", "-i", "nullsrc=s=\(width)x180:r=30:d=0.5,geq=\(luma),\(filters)"]
                    + ["-c:v", "libx264", "-pix_fmt", "yuv420p"])
            return path
        }

        /// Returns the brightness of the last frame of `path` at these positions: 0 is black, 1 gray, 2 white, and -1
        /// another value.
        private func levels(_ path: String, width: Int, at places: [(x: Int, y: Int)]) async throws -> [Int] {
            let raw = directory.file("raw")
            try await Clip.make(raw, ["-i", path, "-f", "rawvideo", "-pix_fmt", "gray"])
            let frame = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)).suffix(width * 180))
            guard frame.count == width * 180 else { throw HarnessFailure("\(path) has no frame.") }
            return places.map { place in
                let value = Int(frame[place.y * width + place.x])
                return [0, 128, 255].firstIndex { abs($0 - value) < 16 } ?? -1
            }
        }

        @Test(
            "Frames with another aspect ratio get black bars, are cropped or are stretched, as --fit specifies",
            arguments: [("contain", [0, 2, 1]), ("cover", [1, 1, 1]), ("stretch", [1, 2, 1])])
        func fit(fit: String, expected: [Int]) async throws {
            let wide = try await margins("wide.mp4", 320, 60)
            let path = try await stitch([wide], ["--size", "180x180", "--fit", fit])
            // The positions are at the top, on the left, and in the middle.
            let found = try await levels(path, width: 180, at: [(90, 4), (4, 90), (90, 90)])
            #expect(found == expected)
        }

        @Test("Non-square pixels are shown in their proportions, and copied video keeps its pixel aspect ratio")
        func pixelAspect() async throws {
            let square = try await margins("square.mp4", 320, 60)
            let wide = try await margins("wide.mp4", 240, 30, "setsar=4/3")
            let path = try await stitch([square, wide])
            // 30 of 240 columns become 40 of 320; there are no bars.
            let found = try await levels(path, width: 320, at: [(4, 90), (30, 90), (50, 90), (316, 90), (160, 4)])
            #expect(found == [2, 2, 1, 2, 1])
            let own = try await stitch([wide])
            #expect(try await Probe.value(own, "v:0", "sample_aspect_ratio") == "4:3")
            #expect(try await Probe.value(own, "v:0", "width") == "240")
        }

        @Test("--by-time sorts files by the recording times in their metadata")
        func byTime() async throws {
            var paths: [String] = []
            for (name, start, time) in [("a.mp4", 1, "14:00:10"), ("b.mp4", 0, "14:00:00")] {
                let path = directory.file(name)
                try await Clip.make(
                    path,
                    ["-ss", "\(start)", "-t", "1", "-i", try await signal(), "-c:v", "libx264", "-an"]
                        + ["-metadata", "creation_time=2026-11-21T\(time)Z"])
                paths.append(path)
            }
            let frames = try await DecodedFrames(try await stitch(paths, ["--by-time"]))
            #expect(frames.counters.map { $0.map(Int.init) } == Array(0..<60))
            let given = try await DecodedFrames(try await stitch(paths))
            #expect(given.counters.first == 30)
        }

        @Test("A stitched MOV file and a stitched fragmented file have chapters", arguments: ["mov", "fragmented"])
        func chapters(form: String) async throws {
            let signal = try await signal()
            let path = try await stitch(
                ["\(signal)#to=1,title=One", "\(signal)#from=2,to=3.5,title=Über"], ["--format", form],
                to: form == "mov" ? "out.mov" : "out.mp4")
            let list = try await run(
                "ffprobe",
                ["-v", "error", "-show_entries", "chapter=start_time:chapter_tags=title", "-of", "csv=p=0", path])
            #expect(list.split(separator: "\n") == ["0.000000,One", "1.000000,Über"])
            // A MOV file also has its chapters in a text track, which has the time base of the video and must not be
            // shown.
            let bases = try await run("ffprobe", ["-v", "error", "-show_chapters", "-of", "csv=p=0", path])
            #expect(bases.contains("1/10000000") == (form != "mov"), "\(bases)")
            let plan = try await RelayProcess.run(["stitch", path, "--dry-run"])
            #expect(plan.ending == .exited(0) && !plan.log.contains("subtitles"), "\(plan.log)")
            #expect(try await Probe.complaints(path) == "")
        }

        @Test("Each clip of a stitch project has its own transition and its own audio offset")
        func project() async throws {
            let signal = try await signal()
            let project = directory.file("show.yaml")
            let text = """
                segments:
                  - file: \(signal)
                    out: 2s
                  - {file: \(signal), in: 3s, out: 5s, transition: {type: fade, seconds: 0.5}}
                  - file: \(signal)
                    in: 2s
                    duration: 2s
                    audioOffset: 40ms
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: project))
            let path = try await stitch([project])
            let numbers = try await DecodedFrames(path).counters.map { $0.map(Int.init) }
            try #require(numbers.count == 180)
            #expect(Array(numbers[..<60]) == Array(0..<60) && Array(numbers[75..<120]) == Array(105..<150))
            // A transition blends both frames. Where their numbers differ, either no number can be read, or one of
            // them.
            #expect(Array(numbers[60..<75]) != Array(90..<105))
            #expect(Array(numbers[120...]) == Array(60..<120))
            let (whole, audio) = (try await DecodedAudio(signal), try await DecodedAudio(path))
            // The range contains two beeps of the last clip, and no part of its fade. The clip begins at sample 192
            // 000, with sample 96 000 of its file.
            let range = 195_000..<285_000
            let own = DecodedAudio(samples: Array(audio.samples[range]))
            let errors = (-2...2).map { off in
                own.difference(
                    from: DecodedAudio(samples: range.map { whole.samples[$0 - 96_000 - 1920 + off] }),
                    in: 0..<range.count)
            }
            #expect(errors[2] < 0.01 && errors.min() == errors[2], "\(errors)")
        }

        @Test(
            "A stitch that a full disk interrupted can be resumed, and writes the same file except for creation times",
            .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
        func fullDisk() async throws {
            let noise = directory.file("noise.mp4")
            // The clip has 2 MB per second, more than any estimate.
            try await Clip.make(
                noise,
                ["-f", "lavfi", "-i", "nullsrc=s=322x180:r=30:d=6,geq=lum=random(1)*255:cb=128:cr=128"]
                    + ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-qp", "18"])
            let flags = ["--size", "320x180", "--crf", "1", "--preset", "ultrafast", "--resume"]
            let arguments = ["stitch", noise, noise, noise] + flags + ["-o"]
            let whole = directory.file("out.mp4")
            #expect(try await RelayProcess.run(arguments + [whole]).ending == .exited(0))
            // The disk has room for the first ten seconds twice, but not for all 18 seconds.
            let disk = try await SmallDisk(megabytes: 48)
            let output = "\(disk.path)/out.mp4"
            let full = try await RelayProcess.run(arguments + [output])
            #expect(full.ending == .exited(73) && full.log.contains("No space left"), "\(full.log)")
            #expect(fileNames(in: disk.path) == [".out.mp4.resume"])
            try await run("mount", ["-o", "remount,size=100m", disk.path])
            let result = try await RelayProcess.run(arguments + [output])
            #expect(
                result.ending == .exited(0) && result.log.contains("300 of them by the run before"), "\(result.log)")
            #expect(fileNames(in: disk.path) == ["out.mp4"])
            let (one, other) = (
                try Data(contentsOf: URL(fileURLWithPath: whole)), try Data(contentsOf: URL(fileURLWithPath: output))
            )
            // The tables contain the time at which they were begun, so they differ in a few bytes.
            #expect(one.count == other.count && zip(one, other).count { $0 != $1 } < 40)
        }
    }
}
