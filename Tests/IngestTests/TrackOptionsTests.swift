// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Media
import SourceClock
import TestSupport
import Testing

@testable import Ingest

@Suite("Selection of an input's tracks")
struct TrackOptionsTests {
    @Test("Options for tracks, channels and audio offset are parsed from an input's address, even a file's")
    func parsing() {
        for address in ["/a/show.ts", "udp://@:5000", "alsa:hw:1"] {
            let location = InputLocation(
                address + "#program=2,video-track=1,audio-track=ENG,channels=3+4,audio-offset=-40ms")
            #expect(location.fault == nil && InputLocation(address).place == location.place)
            #expect(location.tracks.program == 2 && location.tracks.video == .number(1))
            #expect(location.tracks.audio == .language("eng") && location.tracks.channels == [2, 3])
            #expect(location.tracks.audioOffset == .milliseconds(-40))
            #expect(location.description == InputLocation(address).description)
        }
        #expect(InputLocation("a.ts#channels=2").tracks.channels == [1, 1])
        #expect(InputLocation("a.ts#audio-offset=+1.5s").tracks.audioOffset == .milliseconds(1500))
        #expect(InputLocation("udp://@:1#latency=1s,audio-track=2").latency == .seconds(1))
        #expect(InputLocation("take#1=a.mp4").place == .file(path: "take#1=a.mp4"))
    }

    @Test(
        "An invalid track option is named in the error, without its value",
        arguments: [
            ("a.ts#audio-track=0", "audio-track"), ("a.ts#video-track=e_g", "video-track"),
            ("a.ts#channels=1+2+3", "channels"), ("a.ts#channels=0", "channels"), ("a.ts#channels=L+R", "channels"),
            ("a.ts#audio-offset=6s", "audio-offset"), ("a.ts#audio-offset=--1s", "audio-offset"),
            ("a.ts#audio-offset=", "no value"), ("a.ts#program=70000", "program"),
            ("a.ts#program=1,program=2", "given twice"), ("udp://@:1#program=1,secret=x", "number 2 behind #"),
            ("test:#audio-track=1", "leave its options out"),
            ("rtmp-listen://127.0.0.1/live/secret#audio-track=2", "leave its options out"),
        ])
    func faults(text: String, sentence: String) throws {
        let fault = try #require(InputLocation(text).fault)
        #expect(fault.contains(sentence) && !fault.contains("secret"), "\(fault)")
    }

    /// A multiplex of two programs; the first has audio in two languages.
    private func multiplex() throws -> Clip {
        let tone = { (level: String) in "aevalsrc='\(level)*sin(2*PI*1000*t)':s=48000:d=2" }
        return try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=2",
            "-f", "lavfi", "-i", tone("0.1"), "-f", "lavfi", "-i", tone("0.3"), "-f", "lavfi", "-i", tone("0.6"),
            "-map", "0", "-map", "2", "-map", "3", "-map", "1", "-map", "4", "-metadata:s:a:0", "language=deu",
            "-metadata:s:a:1", "language=eng", "-metadata:s:a:2", "language=fra",
            "-program", "title=One:program_num=11:st=0:st=1:st=2", "-program", "title=Two:program_num=22:st=3:st=4",
            "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".ts")
    }

    private func open(_ clip: Clip, _ options: String) throws -> any MediaSource {
        try SourceOpener.open(
            InputLocation(clip.path + options), options: IngestOptions(), logger: Logger(label: "test"))
    }

    /// The width of the first frame, and the level of the audio in the middle.
    private func play(_ source: any MediaSource) throws -> (width: Int?, level: Float) {
        let sink = CollectingSink()
        source.start(into: sink, video: source.description.video, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        let audio = sink.taken.audio
        return (sink.taken.frames.first?.width, audio[audio.count / 3..<audio.count * 2 / 3].max() ?? 0)
    }

    @Test(
        "A program of a multiplex is selected by its number, and a track by its number or language",
        arguments: [
            ("#program=11,audio-track=1", 320, Float(0.1)), ("#audio-track=deu", 320, 0.1),
            ("#program=11,audio-track=2", 320, 0.3),
            ("#program=11,audio-track=eng", 320, 0.3), ("#program=22", 160, 0.6), ("#audio-track=eng", 320, 0.3),
            ("#program=22,audio-track=fra,video-track=1", 160, 0.6),
        ])
    func multiplexed(options: String, width: Int, level: Float) throws {
        let clip = try multiplex()
        let found = try play(open(clip, options))
        #expect(found.width == width && abs(found.level - level) < level / 5, "\(found)")
    }

    @Test(
        "A program, track or channel that does not exist is refused, with a list of what exists",
        arguments: [
            ("#program=3", "there is no program 3 in it; it has 11 (One) and 22 (Two)"),
            ("#audio-track=fra", "no audio track fra in it; there are 1 (deu, aac) and 2 (eng, aac)"),
            ("#program=22,audio-track=2", "no audio track 2 in it; there is 1 (fra, aac)"),
            ("#program=22,video-track=2", "no video track 2 in it; there is 1 (h264)"),
            ("#channels=2", "there is no channel 2 in its audio, which has 1 channel"),
        ])
    func missing(options: String, sentence: String) throws {
        let clip = try multiplex()
        #expect {
            try open(clip, options)
        } throws: { error in
            "\(error)".contains(sentence)
        }
        // Packets that are passed through are selected by the same options.
        guard !options.contains("channels") else { return }
        let packets = LibAVPacketSource(InputLocation(clip.path + options), loops: false, logger: Logger(label: "test"))
        #expect(throws: IngestError.self) { try packets.open() }
    }

    @Test("Audio tracks that are not used are listed once, whether the input is decoded or copied")
    func uncarried() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=1", "-f", "lavfi", "-i", "sine=d=1:r=48000", "-map", "0:v",
            "-map", "1:a", "-map", "1:a", "-map", "1:a", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt",
            "yuv420p", "-c:a", "aac", "-c:a:2", "ac3", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1",
            "language=deu", suffix: ".ts")
        let expected = ["audio track 2 (AAC, deu)", "audio track 3 (AC-3)"]
        let log = CollectedLog(from: .notice)
        let first = InputLocation(clip.path + "#audio-track=1")
        let source = try SourceOpener.open(first, options: IngestOptions(), logger: log.logger)
        #expect(source.status.uncarriedTracks == expected)
        let packets = LibAVPacketSource(first, loops: false, logger: log.logger)
        _ = try packets.open()
        #expect(packets.status.uncarriedTracks == expected)
        #expect(log.lines(containing: "audio track 2 (AAC, deu) is not carried").count == 2)
        let other = try SourceOpener.open(
            InputLocation(clip.path + "#audio-track=3"), options: IngestOptions(), logger: log.logger)
        #expect(other.status.uncarriedTracks == ["audio track 1 (AAC, eng)", "audio track 2 (AAC, deu)"])
        let silent = try SourceOpener.open(
            InputLocation(clip.path + "#audio=no"), options: IngestOptions(), logger: log.logger)
        #expect(silent.status.uncarriedTracks == [])
    }

    @Test("Audio that no output carries is refused when packets are copied, unless the program encodes its audio")
    func otherAudio() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=1", "-f", "lavfi", "-i", "sine=d=1:r=48000", "-c:v",
            "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "mp2", suffix: ".ts")
        let (location, logger) = (InputLocation(clip.path), Logger(label: "test"))
        let copied = LibAVPacketSource(location, loops: false, logger: logger)
        #expect(throws: IngestError.cannotBeCopied(input: clip.path, reason: "mp2 is not carried")) {
            try copied.open()
        }
        let encoded = LibAVPacketSource(location, loops: false, decodesOtherAudio: true, logger: logger)
        let stream = try encoded.open().stream
        #expect(stream.video?.codec == .h264 && stream.audio?.codec == .pcm)
        #expect(stream.audio?.audioFormat?.sampleRate == 48_000)
    }

    @Test(
        "With multichannel audio the requested channels are played",
        arguments: [("", Float(0.1)), ("#channels=3+4", 0.5), ("#channels=4", 0.7), ("#channels=2+1", 0.3)])
    func channels(options: String, level: Float) throws {
        let wave = [0.1, 0.3, 0.5, 0.7].map { "\($0)*sin(2*PI*1000*t)" }.joined(separator: "|")
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-f", "lavfi", "-i",
            "aevalsrc='\(wave)':s=48000:d=1:c=4.0", "-c:v", "rawvideo", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le",
            suffix: ".nut")
        let found = try play(open(clip, options))
        // If all four channels are played, the left channel also contains the rear and the center channel.
        #expect(options.isEmpty ? found.level > level : abs(found.level - level) < 0.02, "\(found)")
    }

    @Test("A file's audio is moved by the requested offset, exact to the sample", arguments: [120, -120, 1500, -400])
    func fileOffset(milliseconds: Int) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i", burst, "-c:v", "rawvideo",
            "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", suffix: ".nut")
        let sink = CollectingSink()
        let source = try open(clip, "#audio-offset=\(milliseconds)ms")
        source.start(into: sink, video: source.description.video, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        #expect(sink.taken.frames.count == 50)
        #expect(onset(sink.taken.audio, threshold: 0.01) == 24_001 + milliseconds * 48)
        #expect(sink.taken.audio.count == 96_000 + milliseconds * 48)
    }

    @Test(
        "The audio offset also applies to audio without video, and a loop of such audio has no gap",
        arguments: [250, -250])
    func loopOffset(milliseconds: Int) throws {
        let clip = try Clip("-f", "lavfi", "-i", "sine=1000:r=48000:d=1", "-c:a", "pcm_s16le", suffix: ".wav")
        let source = try SourceOpener.open(
            InputLocation(clip.path + "#audio-offset=\(milliseconds)ms"), options: IngestOptions(loop: true),
            logger: Logger(label: "test"))
        let sink = CollectingSink(frames: 0, audio: 3 * 48_000)
        source.start(into: sink, video: nil, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        #expect(sink.taken.firstAudio == Int64(max(0, milliseconds * 48)))
        #expect(sink.taken.jumps.isEmpty)
    }

    @Test(
        "Copied audio gets the audio offset, and at most one packet of it begins before the program",
        arguments: [-300, 300])
    func copyOffset(offset: Int64) throws {
        let frames = TrackDescription(
            video: .h264, frames: FrameFormat(width: 320, height: 180, sampleAspectRatio: .square, color: .bt709),
            timeBase: .milliseconds, decoderConfiguration: SharedBytes([1]))
        let tone = TrackDescription(
            audio: .aac, format: .program, timeBase: .milliseconds, decoderConfiguration: SharedBytes([2]))
        var timeline = PacketTimeline(
            PacketSourceDescription(
                stream: StreamDescription(video: frames, audio: tone), canWait: false, clock: .rtmp, stampBits: 32),
            audioOffset: .milliseconds(offset))
        // Packets on air have finer time bases than milliseconds, so their times are converted here.
        let milliseconds = { (packet: EncodedPacket) in packet.timeBase.rescale(packet.pts, to: .milliseconds) }
        var audio: [Int64] = []
        for time in stride(from: Int64(0), to: 2000, by: 20) {
            for track in [frames, tone] {
                let packet = EncodedPacket(
                    of: track, pts: 5000 + time, dts: 5000 + time, duration: 20, isKeyframe: true,
                    payload: SharedBytes([0]))
                let taken = timeline.take(packet, at: MonotonicInstant(time, in: .milliseconds))
                audio += taken.filter { $0.track == .audio }.map(milliseconds)
                for frame in taken where frame.track == .video { #expect(milliseconds(frame) == time) }
            }
        }
        let first = max(-20, offset)
        #expect(audio == Array(stride(from: first, to: 2000 + offset, by: 20)))
    }
}
