// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Encoder
import Media
import Testing

@testable import Channel
@testable import Relay
@testable import Studio

@Suite("Renditions")
struct RenditionTests {
    private func configuration(_ arguments: String...) throws -> ChannelConfiguration {
        try RunCommand.parse(["--rtmp", "rtmp://host/live/key"] + arguments).channelConfiguration()
    }

    /// Returns the message with which `arguments` are refused; empty if they are accepted.
    private func refusal(_ arguments: [String]) -> String {
        do {
            _ = try RunCommand.parse(arguments)
            return ""
        } catch {
            return RunCommand.message(for: error)
        }
    }

    private func file(_ channel: String) throws -> HostConfiguration {
        try HostConfiguration(parsing: "channels:\n  - name: a\n\(channel)", path: "relay.yaml")
    }

    /// Returns the errors for an invalid channel.
    private func faults(_ channel: String) -> [String] {
        do {
            _ = try file(channel)
            return []
        } catch {
            return (error as? ConfigurationFailure)?.lines ?? ["\(error)"]
        }
    }

    @Test("A rendition has its own settings, and the program's settings by default")
    func inherits() throws {
        let configuration = try configuration(
            "--gop", "1s", "--preset", "fast", "--tune", "zerolatency", "--size", "640x360",
            "--rendition", "archive#video-bitrate=12M,tune=none,size=1280x720",
            "--rendition", "b#gop=500ms,bframes=0,profile=main,audio-bitrate=96k,preset=slow")
        let settings = configuration.renditions.map { $0.settings(beside: configuration.encoder) }
        #expect(settings[0].rateControl == .bitrate(12_000_000) && settings[0].gop == .seconds(1))
        #expect(settings[0].preset == .fast && settings[0].tune == nil && settings[0].audioBitrate == 160_000)
        #expect(settings[1].gop == .milliseconds(500) && settings[1].bFrames == 0 && settings[1].profile == .main)
        #expect(settings[1].preset == .slow && settings[1].tune == .zerolatency && settings[1].audioBitrate == 96_000)
        #expect(settings[1].rateControl == configuration.encoder.rateControl)
        let program = VideoFormat(
            width: 640, height: 360, frameRate: FrameRate(25), sampleAspectRatio: .init(4, 3), color: .unspecified)
        let scaled = configuration.renditions[0].format(of: program)
        #expect(scaled.width == 1280 && scaled.height == 720 && scaled.sampleAspectRatio == .square)
        // Another size must not change the meaning of the colors.
        #expect(scaled.color == .bt601With525Lines && scaled.frameRate == program.frameRate)
        #expect(configuration.renditions[1].format(of: program) == program)
    }

    @Test("Outputs and the recording may name a rendition, and an unused rendition is accepted")
    func names() throws {
        let configuration = try configuration(
            "--rendition", "a#gop=1s", "--rendition", "b#video-bitrate=9M", "--rendition", "c#gop=3s",
            "--srt", "srt://host:1#rendition=a", "--record", "/tmp/x", "--record-rendition", "b")
        #expect(configuration.outputs.map(\.rendition) == [nil, "a"] && configuration.recording?.rendition == "b")
        #expect(configuration.untakenRenditions == ["c"])
        #expect(configuration.recordedEncoder.rateControl == .bitrate(9_000_000))
    }

    @Test(
        "An invalid rendition is refused in one sentence",
        arguments: [
            (["--rendition", "archive"], "--rendition is NAME#OPTION=VALUE"),
            (["--rendition", "a b#gop=1s"], "--rendition is NAME#OPTION=VALUE"),
            (["--rendition", "a#gop=100s"], "--rendition a: gop= is a time from"),
            (["--rendition", "a#video-bitrate=1"], "--rendition a: video-bitrate=: It must be from 50k"),
            (["--rendition", "a#size=3x4"], "--rendition a: size=: Both sides must be even"),
            (["--rendition", "a#tune=fast"], "or none."),
            (["--rendition", "a#fps=25"], "is unknown to rendition"),
            (["--rendition", "a#gop=1s", "--rendition", "a#gop=2s"], "--rendition a: there are two"),
            (["--rendition", "a#profile=baseline,bframes=2"], "the baseline profile has no B-frames"),
            (["--srt", "srt://h:1#rendition=x"], "--srt number 1 is not usable: There is no rendition x, nor any"),
            (
                ["--rendition", "a#gop=1s", "--rendition", "b#gop=1s", "--output", "udp://h:1#rendition=x"],
                "--output number 1 is not usable: There is no rendition x; there are a and b."
            ),
            (
                ["--rendition", "a#gop=1s", "--record", "/tmp/x", "--record-rendition", "x"],
                "--record-rendition: There is no rendition x; there is a."
            ),
            (["--record-rendition", "a"], "--record-rendition is for recordings"),
            (["--input", "rtmp://h/a/b", "--copy", "--rendition", "a#gop=1s"], "and --copy passes it on"),
            (["--input", "rtmp://h/a/b", "--copy-audio", "--rendition", "a#gop=1s"], "and --copy-audio passes it on"),
        ])
    func wrong(arguments: [String], expected: String) {
        let said = refusal(["--rtmp", "rtmp://host/live/key"] + arguments)
        #expect(said.contains(expected), "\(said)")
    }

    @Test("Renditions are refused for an unpaced program")
    func unpaced() {
        let said = refusal(["--record", "/tmp/x", "--unpaced", "--rendition", "a#gop=1s"])
        #expect(said.contains("--rendition is for a program in real time"), "\(said)")
    }

    @Test("In a configuration file a rendition has a name, and its settings are keys or options as in the flag")
    func keys() throws {
        let file = try file(
            """
                outputs: [{address: "udp://127.0.0.1:1", rendition: b}]
                renditions:
                  b: {videoBitrate: 800k, size: 640x360, bFrames: 1}
                  a: {video-bitrate: 12M, gop: 1}
                recording: {directory: /tmp/x, rendition: a}
            """)
        let channel = file.channels[0]
        #expect(
            channel.others == [
                "--rendition=a#video-bitrate=12M,gop=1s", "--rendition=b#video-bitrate=800k,size=640x360,bframes=1",
                "--channel=a",
            ])
        #expect(channel.recording == ["--record=/tmp/x", "--record-rendition=a"])
        #expect(channel.configuration.outputs[0].rendition == "b" && channel.configuration.untakenRenditions.isEmpty)
    }

    @Test("Moving an output to another rendition keeps the program on air; changing a rendition restarts the program")
    func changes() throws {
        let text = { (outputs: String, renditions: String, recorded: String) in
            """
                outputs: [\(outputs)]
                renditions: {\(renditions)}
                recording: {directory: /tmp/x, rendition: \(recorded)}
            """
        }
        let (one, two) = ("udp://127.0.0.1:1", "udp://127.0.0.1:2#rendition=b")
        let (a, b) = ("a: {gop: 1}", "b: {gop: 3}")
        let before = try file(text("\"\(one)\"", "\(a), \(b)", "a")).channels[0]
        let more = try file(text("\"\(one)\", \"\(two)\"", "\(b), \(a)", "b")).channels[0]
        let other = try file(text("\"\(one)\"", "\(a), b: {gop: 4}", "a")).channels[0]
        #expect(before.hasSameProgram(as: more) && !before.isIdentical(to: more))
        #expect(!before.hasSameProgram(as: other))
    }

    @Test(
        "An invalid rendition in a configuration file is reported with its position",
        arguments: [
            ("    renditions: [a]", "relay.yaml:4:17: channels[0].renditions: It is a mapping"),
            ("    renditions:\n      a: {}", "relay.yaml:5:10: channels[0].renditions.a: It says nothing"),
            (
                "    renditions:\n      a: {vidoeBitrate: 4M}",
                "relay.yaml:5:11: channels[0].renditions.a.vidoeBitrate: There is no such key; is videoBitrate meant?"
            ),
            (
                "    renditions:\n      a: {gop: 1}\n      b: {size: 3x4}",
                "relay.yaml:6:10: channels[0].renditions.b: renditions b: size=: Both sides must be even"
            ),
            (
                "    renditions: {a: {gop: 1}}\n    recording: {directory: /tmp/x, rendition: b}",
                "relay.yaml:5:47: channels[0].recording.rendition: recording.rendition: There is no rendition b; there is a."
            ),
            (
                "    copy: all\n    input: srt://h:1\n    renditions: {a: {gop: 1}}",
                "channels[0].renditions: renditions is for a program that is encoded here, and copy passes it on"
            ),
        ])
    func mistakes(text: String, expected: String) {
        let found = faults("    outputs: [udp://127.0.0.1:1]\n\(text)")
        #expect(found.count == 1 && found.first?.contains(expected) == true, "\(found)")
    }

    @Test("An output that names an unknown rendition is reported by its index and position")
    func unknown() {
        let found = faults("    renditions: {a: {gop: 1}}\n    outputs:\n      - udp://127.0.0.1:1#rendition=x")
        #expect(
            found == [
                "relay.yaml:5:9: channels[0].outputs[0]: outputs number 1 is not usable: There is no rendition x; "
                    + "there is a."
            ], "\(found)")
    }
}
