// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Files of all kinds, which are played from beginning to end.
    @Suite("Input files")
    struct InputTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Records `input` as fast as possible, and returns the only file.
        private func record(_ input: String, _ arguments: [String] = []) async throws -> String {
            let result = try await RelayProcess.run(
                ["--input", input, "--unpaced", "--preset", "ultrafast", "--record", set.directory] + arguments)
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.finished.count == 1)
            return try #require(set.finished.first)
        }

        /// Returns a file that relay has recorded: the test signal of `seconds` seconds.
        private func signal(seconds: Int) async throws -> String {
            let own = directory.file("signal")
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "\(seconds)s", "--record", own])
            #expect(result.ending == .exited(0), "\(result.log)")
            return try #require(RecordingSet(directory: own).finished.first)
        }

        private static func clip(_ filters: String) -> [String] {
            ["-f", "lavfi", "-i", "testsrc2=d=2:\(filters)", "-f", "lavfi", "-i", "sine=d=2:r=48000"]
                + ["-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "-shortest"]
        }

        @Test(
            "An input's audio sample that is NaN or infinite becomes silence, and the program continues",
            arguments: ["0/0", "1/0"])
        func badSample(sample: String) async throws {
            let input = directory.file("bad.mkv")
            let tone = "aevalsrc='if(eq(n,48000),\(sample),0.3*sin(2*PI*1000*t))':s=48000:d=2"
            try await Clip.make(
                input,
                ["-f", "lavfi", "-i", "testsrc2=d=2:s=160x90:r=25", "-f", "lavfi", "-i", tone, "-c:v", "libx264"]
                    + ["-preset", "ultrafast", "-c:a", "pcm_f32le"])
            let path = try await record(input, ["--meter"])
            let audio = try await DecodedAudio(path)
            #expect(abs(audio.samples.count - 2 * 48_000) <= 1024)
            #expect(audio.samples[48_100..<52_000].contains { abs($0) > 0.2 })
        }

        @Test("A looped file is played without a gap in video or audio")
        func loop() async throws {
            let path = try await record(try await signal(seconds: 2), ["--loop", "--duration", "7s"])
            let frames = try await DecodedFrames(path)
            #expect(frames.counters == (0..<210).map { UInt32($0 % 60) })
            let audio = try await DecodedAudio(path)
            #expect(abs(audio.samples.count - 7 * 48_000) <= 1024)
            // A second of the signal's tone contains whole periods, so the tone continues across each repetition.
            #expect(audio.beeps.count == 7)
            for (index, beep) in audio.beeps.enumerated() {
                #expect(abs(beep - index * 48_000) < 240, "\(audio.beeps)")
            }
            for seam in [96_000, 192_000, 288_000] {
                #expect(audio.error(in: seam - 1024..<seam - 64, beepLength: 3200) < 0.02, "before \(seam)")
                #expect(audio.error(in: seam + 4000..<seam + 6000, beepLength: 3200) < 0.02, "after \(seam)")
            }
        }

        @Test("A file is played in real time to its last frame, and then relay ends")
        func pacedToTheEnd() async throws {
            let server = try await RTMPServer.running()
            let input = try await signal(seconds: 4)
            let clock = ContinuousClock()
            let start = clock.now
            let result = try await RelayProcess.run(["--input", input, "--preset", "ultrafast", "--rtmp", server.url()])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(clock.now - start > .seconds(3))
            let frames = try await DecodedFrames(try await server.recording())
            #expect(frames.breaks.isEmpty)
            #expect(frames.span == 0...119)
        }

        @Test("An input with an odd width or height is shown with even ones")
        func oddSize() async throws {
            let input = directory.file("odd.mkv")
            try await Clip.make(
                input, ["-f", "lavfi", "-i", "testsrc=d=2:s=321x181:r=30", "-c:v", "ffv1", "-pix_fmt", "yuv444p"])
            let path = try await record(input)
            #expect(try await Probe.value(path, "v:0", "width") == "320")
            #expect(try await Probe.value(path, "v:0", "height") == "180")
            #expect(try await Probe.times(path, "v:0").count == 60)
            #expect(try await Probe.complaints(path).isEmpty)
        }

        @Test("An input with rotation metadata is shown upright")
        func rotated() async throws {
            let (upright, input) = (directory.file("upright.mp4"), directory.file("rotated.mp4"))
            try await Clip.make(upright, Self.clip("s=320x180:r=30"))
            try await Clip.make(input, ["-i", upright, "-c", "copy", "-metadata:s:v:0", "rotate=90"])
            let path = try await record(input)
            #expect(try await Probe.value(path, "v:0", "width") == "180")
            #expect(try await Probe.value(path, "v:0", "height") == "320")
            #expect(try await Probe.times(path, "v:0").count == 60)
        }

        @Test("An input with non-square pixels keeps its aspect ratio")
        func anamorphic() async throws {
            let input = directory.file("anamorphic.mp4")
            try await Clip.make(input, Self.clip("s=360x288:r=25,setsar=16/11"))
            let path = try await record(input)
            #expect(try await Probe.value(path, "v:0", "sample_aspect_ratio") == "16:11")
            #expect(try await Probe.value(path, "v:0", "width") == "360")
        }

        @Test("Untagged SD video is tagged BT.709 in an HD program, and BT.601 in a program of its own size")
        func untaggedColor() async throws {
            let input = directory.file("untagged.avi")
            try await Clip.make(
                input,
                ["-f", "lavfi", "-i", "testsrc2=d=1:s=720x576:r=25", "-c:v", "ffv1", "-pix_fmt", "yuv420p"])
            let path = try await record(input, ["--size", "1280x720"])
            for entry in ["color_space", "color_primaries", "color_transfer"] {
                #expect(try await Probe.value(path, "v:0", entry) == "bt709")
            }
            let own = directory.file("own")
            let result = try await RelayProcess.run(
                ["--input", input, "--unpaced", "--preset", "ultrafast", "--record", own])
            #expect(result.ending == .exited(0), "\(result.log)")
            let small = try #require(RecordingSet(directory: own).finished.first)
            #expect(try await Probe.value(small, "v:0", "color_space") == "bt470bg")
        }

        @Test("A program whose frames need no filter loads neither libavfilter nor libavdevice")
        func loadedLibraries() async throws {
            let relay = try RelayProcess(Shape.small + ["--record", set.directory])
            try await eventually("the recording has begun", within: .seconds(30)) { !set.open.isEmpty }
            // Each read returns at most a page, and `String(contentsOfFile:)` reads only once.
            let file = try #require(FileHandle(forReadingAtPath: "/proc/\(relay.process.pid)/maps"))
            var data = Data()
            while let page = try file.read(upToCount: 1 << 16), !page.isEmpty { data += page }
            let maps = String(decoding: data, as: UTF8.self)
            #expect(maps.contains("libavcodec"))
            #expect(!maps.contains("libavfilter") && !maps.contains("libavdevice"))
            let result = try await relay.end(by: SIGINT, within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
        }

        /// Makes empty files with the names of libavfilter, which the loader finds before the real library and cannot
        /// load.
        private func withoutFilters() throws -> [String: String] {
            let libraries = directory.file("libraries")
            try FileManager.default.createDirectory(atPath: libraries, withIntermediateDirectories: true)
            for major in 5...20 {
                try Data().write(to: URL(fileURLWithPath: "\(libraries)/libavfilter.so.\(major)"))
            }
            let before = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
            return ["LD_LIBRARY_PATH": [libraries, before].compactMap(\.self).joined(separator: ":")]
        }

        @Test("If frames need libavfilter and it is not installed, relay ends with exit status 66")
        func noFilters() async throws {
            let result = try await RelayProcess.run(
                ["--input", try await signal(seconds: 2), "--size", "640x480", "--record", set.directory],
                environment: try withoutFilters())
            #expect(result.ending == .exited(66), "\(result.log)")
            #expect(result.log.contains(/cannot be decoded: libavfilter.so.[0-9]+ is not installed/), "\(result.log)")
        }

        @Test("If a live input needs libavfilter and it is not installed, relay ends without reopening the input")
        func noFiltersLive() async throws {
            let input = try await signal(seconds: 4)
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "udp://127.0.0.1:\(port)", "--size", "640x480", "--record", set.directory],
                environment: try withoutFilters())
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            let sender = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-stream_loop", "5", "-i", input, "-c", "copy", "-f", "mpegts"]
                    + ["udp://127.0.0.1:\(port)?pkt_size=1316"])
            let result = try await relay.finished(within: .seconds(40))
            sender.signal(SIGTERM)
            #expect(result.ending == .exited(66), "\(result.log)")
            #expect(result.log.contains(/cannot be decoded: libavfilter.so.[0-9]+ is not installed/), "\(result.log)")
            #expect(!result.log.contains("will be opened again"))
        }

        @Test("An input with a variable frame rate is recorded at a constant rate with the same length")
        func variableRate() async throws {
            let input = directory.file("variable.mkv")
            // The clip has every frame of the first second, and then every third frame.
            try await Clip.make(
                input,
                [
                    "-f", "lavfi", "-i", "testsrc2=d=4:s=320x180:r=30", "-vf", "select='lt(t,1)+not(mod(n,3))'",
                    "-vsync",
                    "vfr", "-c:v", "libx264", "-preset", "ultrafast",
                ])
            let path = try await record(input, ["--fps", "30"])
            let times = try await Probe.times(path, "v:0")
            #expect((117...121).contains(times.count), "\(times.count)")
            for (index, time) in times.enumerated() { #expect(abs(time - Double(index) / 30) < 0.001) }
        }

        @Test("An input without audio is recorded with silence of the same length as the video")
        func noAudio() async throws {
            let input = directory.file("silent.mp4")
            try await Clip.make(
                input, ["-f", "lavfi", "-i", "testsrc2=d=3:s=320x180:r=30", "-c:v", "libx264", "-preset", "ultrafast"])
            let path = try await record(input)
            let audio = try await DecodedAudio(path)
            #expect(abs(audio.samples.count - 144_000) <= 1024)
            #expect(audio.samples.allSatisfy { abs($0) < 0.001 })
            #expect(try await Probe.times(path, "v:0").count == 90)
        }

        @Test("With --audio-input the program's audio comes from a second file, at the same position")
        func secondFile() async throws {
            let (frame, audio) = (directory.file("frame.mp4"), directory.file("audio.wav"))
            try await Clip.make(
                frame,
                ["-f", "lavfi", "-i", "testsrc2=d=3:s=320x180:r=30", "-c:v", "libx264", "-preset", "ultrafast"])
            try await Clip.make(
                audio, ["-f", "lavfi", "-i", "aevalsrc='if(gte(t,1),0.5*sin(2*PI*1000*t),0)':s=44100:d=3"])
            let path = try await record(frame, ["--audio-input", audio])
            let decoded = try await DecodedAudio(path)
            let onset = try #require(decoded.samples.firstIndex { abs($0) > 0.2 })
            #expect(abs(onset - 48_000) < 240, "\(onset)")
            #expect(abs(decoded.samples.count - 144_000) <= 1024)
        }

        @Test("Conversion of frame size and frame rate changes neither the length nor the position of the audio")
        func converted() async throws {
            let path = try await record(try await signal(seconds: 4), ["--size", "640x360", "--fps", "60"])
            #expect(try await Probe.value(path, "v:0", "width") == "640")
            let frames = try await DecodedFrames(path, width: 640, height: 360)
            #expect(frames.counters.count == 240)
            #expect(try await DecodedAudio(path).beeps.count == 4)
        }
    }
}
