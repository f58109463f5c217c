// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Files whose packets are copied: what their containers state beside the packets, and audio that no output carries.
    @Suite("Copying files")
    struct CopiedFileTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Makes a clip of the test signal, with a keyframe every two seconds.
        private func clip() async throws -> String {
            let made = RecordingSet(directory: directory.file("made"))
            let result = try await RelayProcess.run(
                Shape.small + ["--gop", "2s", "--unpaced", "--duration", "8s", "--record", made.directory])
            #expect(result.ending == .exited(0), "\(result.log)")
            return try #require(made.finished.first)
        }

        /// Records `input` as fast as possible. Returns the recorded file and the log.
        private func record(_ input: String, _ flags: [String]) async throws -> (file: String, log: String) {
            let result = try await RelayProcess.run(
                ["--input", input, "--unpaced", "--record", set.directory] + flags, within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.finished.count == 1)
            return (try #require(set.finished.first), result.log)
        }

        /// Expects that `file` has all frames of `input`, and that the beeps are as far from the flashes in both.
        private func expectTogether(_ file: String, as input: String) async throws {
            let (frames, before) = (try await DecodedFrames(file), try await DecodedFrames(input))
            #expect(frames.breaks.isEmpty && frames.span == before.span, "\(frames.breaks)")
            let offset = try await AVOffset(file, frames: frames)
            let truth = try await AVOffset(input, frames: before)
            #expect(offset.milliseconds.count >= 6 && offset.milliseconds.count == truth.milliseconds.count)
            // The first beep can begin in the middle of the recording's first audible packet.
            let off = zip(offset.milliseconds, truth.milliseconds).dropFirst().map { abs($0 - $1) }
            #expect((off.max() ?? 9) <= 2, "\(offset.milliseconds) against \(truth.milliseconds)")
            #expect(try await Probe.complaints(file).isEmpty)
        }

        @Test(
            "If one track of a file is encoded as fast as possible, no audio is lost, and audio and video stay in sync",
            arguments: [["--copy-video"], ["--copy-audio", "--preset", "slow", "--video-bitrate", "1M"]])
        func unpaced(flags: [String]) async throws {
            let input = try await clip()
            try await expectTogether(try await record(input, flags).file, as: input)
        }

        @Test(
            "Audio that no output carries is encoded with --copy-video, in sync with the copied video",
            arguments: [
                ("pcm_alaw", "mov"), ("pcm_mulaw", "mkv"), ("pcm_s24le", "mov"), ("mp2", "ts"), ("eac3", "mp4"),
            ])
        func otherAudio(codec: String, container: String) async throws {
            let input = directory.file("input.\(container)")
            try await Clip.make(input, ["-i", try await clip(), "-c:v", "copy", "-c:a", codec])
            let file = try await record(input, ["--copy-video"]).file
            #expect(try await Probe.value(file, "a:0", "codec_name") == "aac")
            let silent = directory.file("silent.mp4")
            let audible = directory.file("audible.mp4")
            try await Clip.make(silent, ["-i", input, "-an", "-c", "copy"])
            try await Clip.make(audible, ["-i", file, "-an", "-c", "copy"])
            #expect(try await DecodedFrames(audible).counters == DecodedFrames(silent).counters)
            try await expectTogether(file, as: input)
        }

        @Test("Frames that an edit list cuts off are not recorded, and what follows stays in sync")
        func editList() async throws {
            let input = directory.file("cut.mp4")
            try await Clip.make(input, ["-ss", "1.4", "-i", try await clip(), "-c", "copy"])
            let shown = try await DecodedFrames(input)
            #expect(shown.counters.first == 42)
            let (file, log) = try await record(input, ["--copy"])
            #expect(log.contains("an edit list cuts the file between two keyframes"), "\(log)")
            // The recording begins with the first keyframe that the edit list shows.
            let frames = try await DecodedFrames(file)
            #expect(frames.breaks.isEmpty && frames.counters.first == 60 && frames.span?.last == shown.span?.last)
            let offset = try await AVOffset(file, frames: frames)
            #expect(offset.milliseconds.count >= 5)
            #expect(offset.milliseconds.dropFirst().allSatisfy { abs($0) <= 2 }, "\(offset.milliseconds)")
        }

        @Test("Audio without video begins where the edit list of its file shows it, except for one packet")
        func audioEditList() async throws {
            let input = directory.file("cut.m4a")
            try await Clip.make(input, ["-i", try await clip(), "-vn", "-c", "copy", "-f", "ipod"])
            let movie = try Data(contentsOf: URL(fileURLWithPath: input))
            let cut = directory.file("later.m4a")
            try Self.hidingFirstSecond(of: movie).write(to: URL(fileURLWithPath: cut))
            let (whole, shown) = (try await DecodedAudio(input), try await DecodedAudio(cut))
            #expect((46_000...50_000).contains(whole.samples.count - shown.samples.count))
            let heard = try await DecodedAudio(try await record(cut, ["--copy"]).file)
            // The packet before the audible audio, and the hidden part of the first audible packet.
            #expect((0..<2048).contains(heard.samples.count - shown.samples.count))
        }

        /// Returns a movie with one track whose edit list begins one second later at 48 kHz.
        private static func hidingFirstSecond(of movie: Data) -> Data {
            var bytes = [UInt8](movie)
            guard let list = movie.range(of: Data("elst".utf8))?.upperBound else { return movie }
            // Version 0: four bytes of version and flags, the count, then the duration and the media time of an edit.
            let time = list + 12
            let old = bytes[time..<time + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let new = old + 48_000
            for place in 0..<4 { bytes[time + place] = UInt8(truncatingIfNeeded: new >> (24 - 8 * UInt32(place))) }
            return Data(bytes)
        }

        @Test("A recording in MP4 carries the rotation of a copied file, and the log names the outputs that do not")
        func rotation() async throws {
            let input = directory.file("rotated.mp4")
            try await Clip.make(input, ["-i", try await clip(), "-c", "copy", "-metadata:s:v:0", "rotate=90"])
            let result = try await RelayProcess.run(
                ["--input", input, "--duration", "3s", "--copy", "--record", set.directory]
                    + ["--output", "hls:\(directory.file("hls"))"], within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            let (before, after) = (
                try await Self.rotation(of: input), try await Self.rotation(of: try #require(set.finished.first))
            )
            #expect(before == "90" && after == before)
            #expect(result.log.contains("hls-1: the rotation of the video is not carried"), "\(result.log)")
        }

        @Test("Rotated video that is encoded lies upright, and the log does not speak of copied frames")
        func encodedRotation() async throws {
            let input = directory.file("rotated.mp4")
            try await Clip.make(input, ["-i", try await clip(), "-c", "copy", "-metadata:s:v:0", "rotate=90"])
            let (file, log) = try await record(input, ["--copy-audio", "--preset", "ultrafast"])
            #expect(try await Probe.value(file, "v:0", "width") == "180")
            #expect(try await Self.rotation(of: file).isEmpty && !log.contains("rotated"), "\(log)")
        }

        /// The rotation that a player applies to the video, in degrees; empty without one.
        private static func rotation(of path: String) async throws -> String {
            try await run(
                "ffprobe",
                ["-v", "error", "-select_streams", "v:0", "-show_entries", "stream_side_data=rotation"]
                    + ["-of", "csv=p=0", path]
            ).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}
