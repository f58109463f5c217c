// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import Logging
import Media
import TestSupport
import Testing

@Suite("Playback of files")
struct FileTests {
    private let x264 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]

    @Test(
        "Audio of a file begins at the right time in every container format",
        arguments: [".mp4", ".flv", ".ts", ".mkv", ".mov"])
    func audioStart(suffix: String) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=2", "-f", "lavfi", "-i", burst, "-c:v", "libx264",
            "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "160k", suffix: suffix)
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        let taken = sink.taken
        #expect(taken.frames.count == 60)
        #expect(source.description.video?.frameRate == FrameRate(30))
        #expect(taken.firstAudio == 0)
        #expect(taken.jumps.isEmpty)
        let start = try #require(onset(taken.audio))
        // AAC spreads an attack over some samples; a priming that was not skipped would be 1024 samples.
        #expect(abs(start - 24_000) < 80, "\(suffix) starts at \(start)")
        for (index, frame) in taken.frames.enumerated() {
            #expect(abs(frame.nanoseconds - Int64(index) * 1_000_000_000 / 30) <= 1_000_000)
        }
        #expect(source.status.decodeErrors == 0)
    }

    @Test(
        "Playback of a file begins at the frame nearest to the requested time, with the matching audio",
        arguments: [".mp4", ".ts", ".mkv", ".mov"])
    func start(suffix: String) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=2", "-f", "lavfi", "-i", burst, "-c:v", "libx264",
            "-preset", "veryfast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "160k", suffix: suffix)
        for (moment, first) in [(Duration.milliseconds(410), 12), (.milliseconds(1400), 42)] {
            let sink = CollectingSink()
            try clip.play(into: sink, from: moment)
            let taken = sink.taken
            #expect(taken.frames.count == 60 - first && taken.frames.first?.nanoseconds == 0, "\(suffix)")
            #expect(taken.firstAudio == 0)
            if first == 12 {
                let start = try #require(onset(taken.audio))
                #expect(abs(start - 4800) < 120, "\(suffix) starts at \(start)")
            }
        }
        let sink = CollectingSink()
        try clip.play(into: sink, from: .seconds(9))
        #expect(sink.taken.frames.isEmpty)
    }

    @Test("Only a file with a single frame is reported as an image, and not one of which a single frame is played")
    func images() throws {
        let image = try Clip("-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-frames:v", "1", suffix: ".png")
        let video = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=2", "-c:v", "libx264", "-preset", "ultrafast", "-g", "1",
            "-pix_fmt", "yuv420p", suffix: ".mp4")
        for (clip, start) in [(image, Duration.zero), (video, .milliseconds(1967))] {
            let sink = CollectingSink()
            try clip.play(into: sink, from: start)
            #expect(sink.taken.frames.count == 1 && sink.taken.isImage == (clip === image), "\(clip.path)")
        }
    }

    @Test("If files that refer to other files are forbidden, a playlist is refused whatever its name is")
    func lists() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=0.2", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt",
            "yuv420p", suffix: ".ts")
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.2,\nfile://\(clip.path)\n#EXT-X-ENDLIST\n"
        let directory = try TemporaryDirectory()
        var options = IngestOptions()
        options.isSelfContained = true
        for (name, text) in [
            ("list.m3u8", playlist), ("list.mp4", playlist),
            ("join.mp4", "ffconcat version 1.0\nfile '\(clip.path)'\n"),
        ] {
            try directory.write(text.utf8, to: name)
            let location = InputLocation(directory.path(name))
            let error = #expect(throws: IngestError.self) {
                _ = try SourceOpener.open(location, options: options, logger: quiet)
            }
            #expect(error.map { "\($0)" }?.contains("it is no file that holds its media itself") == true, "\(name)")
        }
    }

    @Test(
        "If files that refer to other files are forbidden, a media file in any usual container is still opened",
        arguments: [".mp4", ".mov", ".mkv", ".ts", ".flv", ".avi", ".mpg", ".png", ".jpg"])
    func containers(suffix: String) throws {
        let still = [".png", ".jpg"].contains(suffix) ? ["-frames:v", "1"] : []
        let path = NSTemporaryDirectory() + "relay-container-\(UUID().uuidString)\(suffix)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Clip.run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=0.5"] + still + [path])
        var options = IngestOptions()
        options.isSelfContained = true
        let source = try SourceOpener.open(InputLocation(path), options: options, logger: quiet)
        #expect(source.description.video != nil)
        source.stop()
    }

    @Test("A stream without parameter sets cannot be opened, which causes an error and not a crash")
    func unknownSize() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i", burst, "-c:v", "libx264", "-bsf:v",
            "filter_units=remove_types=7-8", "-c:a", "aac", suffix: ".ts")
        let sink = CollectingSink()
        do {
            try clip.play(into: sink)
        } catch let error as IngestError {
            #expect("\(error)".contains(clip.path))
        }
        #expect(sink.taken.frames.isEmpty)
    }

    @Test("Uncompressed audio of a file is played at its exact sample position")
    func exactAudio() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i", burst, "-c:v", "rawvideo",
            "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", suffix: ".nut")
        let sink = CollectingSink()
        try clip.play(into: sink)
        #expect(sink.taken.frames.count == 50)
        #expect(sink.taken.audio.count == 96_000)
        #expect(onset(sink.taken.audio, threshold: 0.01) == 24_001)
    }

    @Test("Audio that starts after the first frame keeps its distance from that frame")
    func lateAudio() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-itsoffset", "0.3", "-f", "lavfi", "-i", burst,
            "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "pcm_s16le", suffix: ".mov")
        let sink = CollectingSink()
        try clip.play(into: sink)
        #expect(sink.taken.firstAudio == 14_400)
        #expect(onset(sink.taken.audio, threshold: 0.01) == 38_401)
    }

    @Test("Audio before the first frame is cut off exactly to the sample")
    func earlyAudio() throws {
        let clip = try Clip(
            "-itsoffset", "0.2", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i", burst,
            "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-c:a", "pcm_s16le", suffix: ".mkv")
        let sink = CollectingSink()
        try clip.play(into: sink)
        #expect(sink.taken.firstAudio == 0)
        #expect(onset(sink.taken.audio, threshold: 0.01) == 24_001 - 9600)
        #expect(sink.taken.audio.count == 96_000 - 9600)
    }

    @Test("Mono audio at 44.1 kHz becomes stereo at 48 kHz with the same level, length and position")
    func mono() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i",
            burst.replacingOccurrences(of: "48000", with: "44100"), "-c:v", "libx264", "-preset", "ultrafast",
            "-c:a", "pcm_s16le", suffix: ".mov")
        let sink = CollectingSink()
        try clip.play(into: sink)
        let audio = sink.taken.audio
        #expect(audio.count == 96_000)
        #expect(abs((onset(audio, threshold: 0.3) ?? 0) - 24_003) <= 2)
        #expect(abs((audio.max() ?? 0) - 0.8) < 0.02)
    }

    @Test("5.1 audio is mixed down to stereo")
    func surround() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-f", "lavfi", "-i",
            "aevalsrc='0|0|0.5*sin(2*PI*1000*t)|0|0|0':c=5.1:s=48000:d=1", "-c:v", "libx264", "-preset", "ultrafast",
            "-c:a", "pcm_s16le", suffix: ".mov")
        let sink = CollectingSink()
        try clip.play(into: sink)
        #expect(sink.taken.audio.count == 48_000)
        #expect(abs((sink.taken.audio.max() ?? 0) - 0.3536) < 0.01)
    }

    @Test("A file without audio is described as such, and playing it ends both tracks")
    func silent() throws {
        let clip = try Clip("-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", suffix: ".mp4")
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        #expect(!source.description.hasAudio)
        #expect(sink.taken.frames.count == 25)
        #expect(sink.taken.ended == [.video, .audio])
    }

    @Test("The cover image of an audio file does not count as video")
    func coverArt() throws {
        let cover = try Clip("-f", "lavfi", "-i", "testsrc2=s=320x180", "-frames:v", "1", suffix: ".png")
        let clip = try Clip(
            "-f", "lavfi", "-i", burst, "-i", cover.path, "-map", "0", "-map", "1", "-c:v", "copy",
            "-disposition:v", "attached_pic", suffix: ".mp3")
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        #expect(source.description.video == nil)
        #expect(sink.taken.frames.isEmpty)
        #expect(sink.taken.firstAudio == 0)
        #expect(abs((onset(sink.taken.audio) ?? 0) - 24_000) < 1200)
    }

    @Test("In a file with a variable frame rate every frame keeps its time")
    func variableRate() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=2", "-vf", "select='not(between(n,20,29))+eq(n,25)'",
            "-vsync", "vfr", "-c:v", "libx264", "-preset", "ultrafast", suffix: ".mp4")
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        let times = sink.taken.frames.map { ($0.nanoseconds * 30 + 500_000_000) / 1_000_000_000 }
        #expect(times == Array(0..<20) + [25] + Array(30..<60))
        #expect(source.description.video?.frameRate == FrameRate(30))
    }

    @Test("A truncated file is played up to the point of truncation")
    func truncated() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=4", "-f", "lavfi", "-i", burst, "-c:a", "aac",
            suffix: ".mkv")
        try clip.truncate(to: 0.5)
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        #expect((20..<100).contains(sink.taken.frames.count))
        #expect(sink.taken.ended == [.video, .audio])
        #expect(source.status.framesDecoded == Int64(sink.taken.frames.count))
    }

    @Test("Opening a file that does not exist fails, and the error gives the reason")
    func noMedia() throws {
        let location = InputLocation("/nonexistent/clip.mp4")
        let logger = Logger(label: "test")
        #expect {
            try SourceOpener.open(location, options: IngestOptions(), logger: logger)
        } throws: { error in
            "\(error)" == "The input /nonexistent/clip.mp4 cannot be opened: No such file or directory."
        }
    }

    @Test("No still frame can be loaded from a file with audio alone, and the error says that it has no video")
    func noVideo() throws {
        let clip = try Clip("-f", "lavfi", "-i", "sine=d=0.5:r=48000", "-c:a", "pcm_s16le", suffix: ".wav")
        let location = InputLocation(clip.path)
        #expect(throws: IngestError.noVideo(input: location.description)) {
            try StillFrame.load(location, format: .usual, logger: Logger(label: "test"))
        }
        #expect("\(IngestError.noVideo(input: "a.wav"))" == "The input a.wav has no video stream.")
    }

    @Test("The error of an input that delivers nothing in the time allowed does not say that the input ended")
    func emptyInTime() {
        #expect("\(IngestError.empty(input: "a.mp4"))" == "The input a.mp4 delivered not a single frame or sample.")
    }

    @Test("While the sink accepts no more audio, further frames of the file are still delivered")
    func badInterleaving() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i", burst, "-c:a", "aac",
            suffix: ".mp4")
        let sink = CollectingSink(frames: 10, audio: 4800)
        try clip.play(into: sink)
        #expect(sink.taken.frames.count == 10)
        #expect((4800..<9600).contains(sink.taken.audio.count))
    }
}
