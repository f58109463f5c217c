// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Encoder
import Ingest
import Media
import Segmenter
import Testing

@testable import Channel
@testable import Relay

@Suite("Combinations of flags")
struct ChannelConfigurationTests {
    private func configuration(_ arguments: String...) throws -> ChannelConfiguration {
        try RunCommand.parse(arguments).channelConfiguration()
    }

    /// Returns the message with which `arguments` are refused; empty if they are accepted.
    private func refusal(_ arguments: String...) -> String {
        do {
            _ = try RunCommand.parse(arguments)
            return ""
        } catch {
            return RunCommand.message(for: error)
        }
    }

    @Test("--copy of several inputs is refused, and the message gives the reason")
    func copiesSeveral() {
        for flag in ["--copy", "--copy-video", "--copy-audio"] {
            let message = refusal(
                "--input", "srt://a:1", "--input", "srt://b:1", flag, "--rtmp", "rtmp://host/live/key")
            #expect(message.contains("\(flag) passes one --input on"), "\(message)")
        }
    }

    @Test("With an output as the only flag, all other settings have their defaults")
    func defaults() throws {
        let configuration = try configuration("--rtmp", "rtmp://host/live/key")
        #expect(configuration.sources.map(\.input.isTest) == [true] && configuration.isPaced && !configuration.loops)
        #expect(configuration.encoder.rateControl == .bitrate(4_000_000))
        #expect(configuration.encoder.preset == .veryfast && configuration.encoder.profile == .high)
        #expect(configuration.encoder.gop == .seconds(2) && configuration.encoder.audioBitrate == 160_000)
        #expect(configuration.outputs.count == 1 && configuration.recording == nil)
        #expect(configuration.duration == nil && configuration.size == nil && configuration.frameRate == nil)
    }

    @Test("An SD program without color tags is tagged with the usual color for its size; existing tags are kept")
    func color() throws {
        let untagged = VideoFormat(width: 720, height: 576, frameRate: FrameRate(25), color: .unspecified)
        let own = try configuration("--rtmp", "rtmp://host/live/key")
        let large = try configuration("--rtmp", "rtmp://host/live/key", "--size", "1280x720")
        #expect(own.shape(untagged).color == .bt601With625Lines)
        #expect(large.shape(untagged).color == .bt709)
        var tagged = untagged
        tagged.color = .bt601With525Lines
        #expect(large.shape(tagged).color == .bt601With525Lines)
    }

    @Test("A program of several sources is SDR, even if the first source is HDR")
    func dynamicRange() throws {
        let output = ["--rtmp", "rtmp://host/live/key"]
        let parse = { (more: [String]) in
            try RunCommand.parse(["--input", "phone.mov"] + more + output).channelConfiguration()
        }
        for transfer in [UInt8(16), 18] {
            let color = ColorDescription(primaries: 9, transfer: transfer, matrix: 9, isFullRange: false)
            let native = VideoFormat(width: 1920, height: 1080, frameRate: FrameRate(25), color: color)
            #expect(try parse([]).shape(native).color == color)
            #expect(try parse(["--overlay", "name=text:Live"]).shape(native).color == color)
            #expect(try parse(["--input", "cam.mp4"]).shape(native).color == .bt709)
            let small = try parse(["--input", "cam.mp4", "--size", "720x576"])
            #expect(small.shape(native).color == .bt601With625Lines)
        }
    }

    @Test("With several sources, standby= is accepted for live sources and refused for sources that are not live")
    func standby() throws {
        let camera = "srt://h:1#name=cam,standby=keyframes"
        let file = try configuration("--input", "test:", "--input", camera, "--rtmp", "rtmp://host/live/key")
        #expect(file.sources.map(\.selection.unseen) == [.hot, .keyframes])
        #expect(refusal("--input", camera, "--input", "test:#standby=cold", "--rtmp", "rtmp://h/a/b").contains("test:"))
        let recorded = ["--record-sources", "--segment", "30m", "--record", "d"]
        let arguments = ["--input", "test:", "--input"]
        #expect(throws: (any Error).self) { try RunCommand.parse(arguments + [camera] + recorded) }
        let backed = try RunCommand.parse(arguments + ["\(camera),backup=loop.mp4"] + recorded).channelConfiguration()
        #expect(backed.sources[1].selection.unseen == .hot && backed.sources[1].selection.standby == .keyframes)
    }

    @Test("An output flag may be repeated, once for each output")
    func outputs() throws {
        let configuration = try configuration(
            "--rtmp", "rtmp://a/live/key", "--rtmp", "rtmp://b/live/key", "--srt", "srt://c:9000", "--record", "d")
        #expect(configuration.outputs.count == 3)
        #expect(configuration.recording?.directory == "d")
    }

    @Test("A recording's expected length is set by --expect, or else by --duration, and is an hour by default")
    func expectedLength() throws {
        #expect(try configuration("--record", "d").recording?.expected == .seconds(3600))
        #expect(try configuration("--record", "d", "--expect", "2h").recording?.expected == .seconds(7200))
        #expect(try configuration("--record", "d", "--duration", "10s").recording?.expected == .seconds(10))
        let both = try configuration("--record", "d", "--duration", "10s", "--expect", "2h")
        #expect(both.recording?.expected == .seconds(7200))
    }

    @Test("The recording flags reach the recorder's configuration")
    func recording() throws {
        let recording = try configuration(
            "--record", "d", "--segment", "2GB", "--disk-reserve", "5MB", "--disk-warn", "1h"
        ).recording
        #expect(recording?.length == .bytes(2_000_000_000))
        #expect(recording?.reserve?.bytes == 5_000_000)
        #expect(recording?.warning == .seconds(3600))
    }

    @Test("Contradictory or invalid flags are refused in a sentence that gives the reason")
    func contradictions() {
        #expect(refusal().contains("nothing to do"))
        #expect(refusal("--rtmp", "rtmp://host/live/key", "--unpaced").contains("--unpaced"))
        #expect(refusal("--rtmp", "rtmp://host/live/key", "--crf", "20").contains("--video-bitrate"))
        #expect(refusal("--record", "d", "--crf", "20", "--video-bitrate", "1M").contains("exclude"))
        #expect(refusal("--record", "d", "--crf", "52").contains("1 to 51"))
        #expect(refusal("--record", "d", "--bframes", "17").contains("0 to 16"))
        #expect(refusal("--record", "d", "--gop", "61s").contains("60s"))
        #expect(refusal("--record", "d", "--loop", "--input", "udp://host:1").contains("--loop"))
        #expect(refusal("--record", "d", "--channel", "a/b").contains("--channel"))
        #expect(refusal("--record", "").contains("--record"))
        #expect(refusal("--record", "d", "--crf", "20", "--unpaced").isEmpty)
    }

    @Test("A separate audio input that has no audio, or that does not fit --unpaced, is refused")
    func audioInput() {
        let record = ["--record", "d", "--input", "a.mp4", "--audio-input"]
        let refused = { (audio: String, flags: [String]) -> String in
            do {
                _ = try RunCommand.parse(record + [audio] + flags)
                return ""
            } catch {
                return RunCommand.message(for: error)
            }
        }
        for audio in ["v4l2:/dev/video0", "music.mp4#audio=no"] {
            let text = refused(audio, [])
            #expect(text.contains("--audio-input is not usable") && text.contains("gives no audio"), "\(text)")
        }
        #expect(refused("alsa:default", ["--unpaced"]).contains("--unpaced is for files: alsa:default"))
        for audio in ["music.wav", "test:", "https://h/x.m3u8"] { #expect(refused(audio, ["--unpaced"]).isEmpty) }
        #expect(refused("alsa:default", []).isEmpty)
    }

    @Test("A separate audio input that listens for another input's stream is refused without showing the stream key")
    func audioListener() {
        for (input, audio, isRefused) in [
            ("rtmp-listen://0.0.0.0/live/topsecret", "rtmp-listen://127.0.0.1/live/topsecret", true),
            ("rtmp-listen://127.0.0.1/live/topsecret", "rtmp-listen://127.0.0.1/live/other", false),
            ("rtmp-listen://127.0.0.1/live/topsecret", "rtmp-listen://127.0.0.1:1936/live/topsecret", false),
            ("srt://:9000?mode=listener", "srt://:9000?mode=listener", true),
            ("srt://:9000?mode=listener&streamid=a", "srt://:9000?mode=listener&streamid=b", false),
            ("srt://h:9000", "srt://h:9000", false),
        ] {
            let text = refusal("--record", "d", "--input", input, "--audio-input", audio)
            #expect(text.contains("listens for the same stream") == isRefused, "\(audio): \(text)")
            #expect(text.isEmpty != isRefused && !text.contains("topsecret"), "\(audio): \(text)")
            let backup = refusal("--record", "d", "--input", "srt://h:1#backup=\(input)", "--audio-input", audio)
            #expect(backup.isEmpty != isRefused, "\(audio): \(backup)")
        }
    }

    @Test("The message about a refused output address names the flag and its position, and not the stream key")
    func addresses() {
        let text = refusal("--rtmp", "rtmp://host/live/good", "--rtmp", "http://host/live/topsecretkey")
        #expect(text.contains("--rtmp number 2"))
        #expect(!text.contains("topsecret"))
        let twice = refusal("--rtmp", "rtmp://host/live/topsecretkey", "--rtmp", "rtmp://host/live/topsecretkey")
        #expect(twice.contains("twice") && !twice.contains("topsecret"))
    }
}
