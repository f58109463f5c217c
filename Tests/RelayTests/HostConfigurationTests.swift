// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Control
import Encoder
import Foundation
import Ingest
import Media
import Networking
import Program
import Status
import TestSupport
import Testing

@testable import Channel
@testable import Relay
@testable import Studio

@Suite("Configuration files")
struct HostConfigurationTests {
    private func read(_ text: String) throws -> HostConfiguration {
        try HostConfiguration(parsing: text, path: "relay.yaml")
    }

    /// Returns the errors for an invalid file.
    private func faults(_ text: String) -> [String] {
        do {
            _ = try read(text)
            return []
        } catch let failure as ConfigurationFailure {
            return failure.lines
        } catch {
            return ["\(error)"]
        }
    }

    private func root(_ path: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(path)
    }

    @Test(
        "Two listeners that cannot share a port are refused in one error with the reason",
        arguments: [
            ("rtmp-listen://0.0.0.0/live/a", "rtmp-listen://0.0.0.0/live/b", nil),
            ("rtmp-listen://0.0.0.0/live/a", "rtmp-listen://0.0.0.0/live/a", "has the same application and stream key"),
            ("rtmp-listen://0.0.0.0/live/a", "rtmp-listen://127.0.0.1/live/b", "name one address"),
            ("rtmp-listen://0.0.0.0/live/a", "rtmp-listen://127.0.0.1:1936/live/b", nil),
            ("srt://0.0.0.0:9000?mode=listener", "srt://127.0.0.1:9000?mode=listener", "each needs its own"),
            ("srt://0.0.0.0:9000?mode=listener", "srt://host:9000", nil),
            ("srt://:9000?mode=listener&streamid=a", "srt://:9000?mode=listener&streamid=b", nil),
            ("srt://:9000?mode=listener&streamid=a", "srt://:9000?mode=listener&streamid=a", "has the same stream id"),
            ("rtmp-listen://0.0.0.0:8443/live/a", "test:", "http.address listens at port 8443, too"),
        ] as [(String, String, String?)])
    func listeners(_ one: String, _ two: String, _ fault: String?) {
        let found = faults(
            """
            http: {address: "127.0.0.1:8443"}
            channels:
              - {name: one, input: "\(one)", recording: {directory: /tmp/one}}
              - {name: two, input: "\(two)", recording: {directory: /tmp/two}}
            """)
        #expect(found.count == (fault == nil ? 0 : 1) && found.allSatisfy { $0.contains(fault ?? "") }, "\(found)")
    }

    @Test("If a separate audio input cannot share another channel's port, the error names the key audioInput")
    func audioListeners() {
        for (audio, fault) in [
            ("rtmp-listen://127.0.0.1/live/a", "has the same application and stream key" as String?),
            ("rtmp-listen://127.0.0.1/live/b", nil), ("alsa:default", nil),
        ] {
            let found = faults(
                """
                channels:
                  - {name: one, input: "rtmp-listen://127.0.0.1/live/a", recording: {directory: /tmp/one}}
                  - {name: two, input: "test:", audioInput: "\(audio)", recording: {directory: /tmp/two}}
                """)
            #expect(found.count == (fault == nil ? 0 : 1), "\(found)")
            #expect(found.allSatisfy { $0.contains("audioInput") && $0.contains(fault ?? "") }, "\(found)")
        }
    }

    @Test("Two channels whose files would have the same names in one directory, first or second, are refused")
    func recordedTwice() {
        for (other, name) in [
            ("directory: /tmp/a", "show-cam1"), ("directory: /tmp/b, also: /tmp/a", "show-cam1"),
            ("directory: /tmp/b/../a", "show-cam1"), ("directory: /tmp/b", nil),
            ("directory: /tmp/b, also: /tmp/c", nil),
        ] as [(String, String?)] {
            let found = faults(
                """
                channels:
                  - name: show
                    inputs: [{address: "test:", name: cam1}, {address: "test:", name: cam2}]
                    recording: {directory: /tmp/a, also: /tmp/c, sources: true}
                  - {name: show-cam1, input: "test:", recording: {\(other)}}
                """)
            #expect(found.count == (name == nil ? 0 : 1), "\(other): \(found)")
            #expect(found.allSatisfy { $0.contains("Files called \(name ?? "") would be those of two channels") })
        }
    }

    @Test("A second recording directory that equals the first is refused at its key in the configuration file")
    func secondDirectory() {
        let found = faults(
            """
            channels:
              - {name: a, input: "test:", recording: {directory: /tmp/a, also: /tmp/b/../a}}
            """)
        #expect(found.count == 1 && found.first?.hasPrefix("relay.yaml:2:") == true, "\(found)")
        #expect(found.first?.contains("channels[0].recording.also: recording.also: /tmp/b/../a and /tmp/a") == true)
    }

    @Test("Every flag, except for the listed ones, has a key in the configuration file, and every key has a flag")
    func isComplete() {
        let help = RunCommand.helpMessage(columns: 10_000)
        let flags = Set(help.matches(of: /--[a-z][a-z-]*/).map { String($0.output) })
        // The help of a flag may mention the flags of other programs. Such a flag is not a flag of relay.
        let keys = Set(
            ConfigurationKey.all.flatMap { key in
                if case .choice(let flags) = key.form { return flags.values.compactMap(\.self) }
                return [key.flag]
            } + ["--input", "--output"])
        #expect(keys.intersection(ConfigurationKey.flagsWithoutKey).isEmpty)
        #expect(flags.subtracting(keys).subtracting(ConfigurationKey.flagsWithoutKey).subtracting(["--bwlimit"]) == [])
        #expect(keys.subtracting(flags) == [])
        #expect(Set(ConfigurationKey.all.map(\.path)).count == ConfigurationKey.all.count)
    }

    @Test("The example configuration file has every key, and is valid")
    func example() throws {
        let text = try String(contentsOf: root("Config/relay.example.yaml"), encoding: .utf8)
        let read = ConfigurationReader(
            try ConfigurationNode(parsing: text, path: "relay.example.yaml", words: ConfigurationKey.words))
        let marked = Set(read.channels.flatMap(\.marks.keys))
        #expect(
            Set(ConfigurationKey.all.map(\.path) + ConfigurationKey.mappings + ["input", "inputs", "outputs"])
                .subtracting(marked) == [])
        let options = (AddressOption.ofInput + AddressOption.ofOutput).map(\.key)
        let ofScenes =
            SceneLayout.keys + SceneLayout.Inset.keys + ConfigurationReader.overlayKeys
            + ConfigurationReader.stingerKeys + ConfigurationReader.renditionOptions.map(\.key)
            + ConfigurationKey.mappings
        for key in options + ofScenes + ["address", "input", "inputs", "outputs", "format", "verbose", "status"] {
            #expect(text.contains(try Regex("(?m)^ *(- )?\(key):")), "\(key)")
        }
        let http = ConfigurationReader.httpKeys + ConfigurationReader.webhookKeys + ConfigurationReader.tokenKeys
        for key in http { #expect(text.contains(try Regex("(?m)^ +(- )?\(key):")), "\(key)") }
        let usable = text.replacing("${STREAM_KEY}", with: "key")
            .replacing(/\$\{file:[^}]*\}/, with: "key-of-more-than-twelve")
            .replacing("/etc/relay/inside.pem", with: "/dev/null").replacing("/etc/relay/show.yaml", with: "/tmp")
            .replacing(/\/usr\/local\/bin\/[a-z-]+/, with: "/bin/true")
            .replacing(/\/(srv\/media|usr\/share\/fonts)\/.*(png|mov|ttf)/, with: #filePath)
        let file = try self.read(usable)
        #expect(file.channels.map(\.name) == ["studio", "relayed", "archive", "show"])
        let studio = file.channels[0].configuration
        #expect(studio.outputNames == ["srt-1", "platform", "rtmp-1", "hls-1"] && studio.sources[0].backups.count == 2)
        #expect(studio.sources[0].input.tracks.audioOffset == .milliseconds(40) && studio.sources[0].input.isReference)
        #expect(studio.recording?.isClockAligned == true && studio.encoder.gop == .seconds(2))
        #expect(studio.recording?.also == "/mnt/second/studio")
        #expect(studio.outputs[1].rendition == "archive" && studio.recording?.rendition == "archive")
        #expect(studio.recordedEncoder.rateControl == .bitrate(12_000_000) && studio.recordedEncoder.tune == nil)
        let show = file.channels[3].configuration
        #expect(show.sources.map(\.name) == ["cam1", "cam2", "guest", "desk", "mic", "opener"])
        #expect(show.sources[5].whenOff == .close && !show.sources[5].input.tracks.hasAudio)
        #expect(show.sources[0].input.connection.transport == .udp && show.sources[0].backups.count == 2)
        #expect(show.sources[3].input.connection.pixelFormat == "mjpeg")
        #expect(show.sources[4].input.connection.sampleRate == 48_000)
        #expect(show.sources[2].audio.gain == -6 && show.sources[2].audio.isMuted && !show.sources[1].audio.isMuted)
        #expect(show.scenes.map(\.name) == ["duo", "corner", "all"] && show.scenes[2].layout.overlays == ["logo"])
        #expect(show.overlays.map(\.name) == ["logo", "clock"] && show.overlays[0].size == .width(0.15))
        #expect(show.overlays[1].isVisible == true && show.overlays[1].x == 0.05 && show.stingers.map(\.cut) == [0.5])
        #expect(show.scenes[0].layout.inset == .init(x: 0.025, y: 0.025, width: 0.3) && show.audioChoice == .mix)
        #expect(show.scenes[1].layout.inset == .init(x: 0.025, y: 0.025, width: 0.25))
        #expect(file.channels[1].configuration.copies && !file.channels[2].configuration.isPaced)
        #expect(file.http.tokens.count == 2 && file.http.basePath == "/relay" && file.http.hosts == ["studio.example"])
        #expect(file.http.trustedProxies == ["192.0.2.1", "10.0.0.0/8"].compactMap { AddressRange($0) })
        #expect(
            file.http.webhooks.first?.level == .warning && file.http.webhooks.first?.kinds.contains(.alarm) == true)
    }

    @Test("All errors of a configuration file are reported with positions, and unknown keys with the nearest known key")
    func mistakes() {
        let found = faults(
            """
            channels:
              - name: a
                outpust: [rtmp://host/live/key]
                encoder:
                  gop: [1]
                  vidoeBitrate: 4M
                recording: {directory: /tmp/a}
              - name: b
                input: {adress: file.mp4}
                loop: yes
            chanels: 1
            """)
        #expect(
            found == [
                "relay.yaml:3:5: channels[0].outpust: There is no such key; is outputs meant?",
                "relay.yaml:5:12: channels[0].encoder.gop: It is one value, not a list or a mapping.",
                "relay.yaml:6:7: channels[0].encoder.vidoeBitrate: There is no such key; is videoBitrate meant?",
                "relay.yaml:9:12: channels[1].input: It has no address.",
                "relay.yaml:9:13: channels[1].input.adress: There is no such key; is address meant?",
                "relay.yaml:10:11: channels[1].loop: It is true or false.",
                "relay.yaml:11:1: chanels: There is no such key; is channels meant?",
            ])
    }

    @Test(
        "An option that the command line would refuse is refused at its key in the configuration file",
        arguments: [
            ("encoder: {gop: 100s}", "relay.yaml:4:20: channels[0].encoder.gop: encoder.gop must be at most 60s"),
            ("encoder: {crf: 23}", "relay.yaml:4:20: channels[0].encoder.crf: encoder.crf is for recordings alone"),
            ("recording: {segment: 10m}", "channels[0].recording.segment: recording.segment is for recordings"),
            ("copy: all", "channels[0].copy: copy needs an input that is encoded already"),
            ("encoder: {size: 3x4}", "encoder.size: The value '3x4' is invalid for encoder.size"),
            ("loop: true\n    input: srt://host:1", "channels[0].loop: loop is for files"),
            ("slate: /no/such/file", "channels[0].slate: slate: there is no file"),
        ])
    func rules(text: String, expected: String) {
        let found = faults("channels:\n  - name: a\n    outputs: [rtmp://host/live/secret]\n    \(text)\n")
        #expect(found.count == 1 && found.first?.contains(expected) == true, "\(found)")
        #expect(!found.joined().contains("secret") && !found.joined().contains("--"))
    }

    @Test("A trusted proxy that is neither an address nor a network is reported at its position in the file")
    func trustedProxies() {
        let found = faults(
            """
            http: {trustedProxies: [10.0.0.0/8, proxy.example]}
            channels:
              - {name: a, input: "test:", recording: {directory: /tmp/a}}
            """)
        #expect(
            found == [
                "relay.yaml:1:37: http.trustedProxies[1]: It is an IP address or a network, such as 192.0.2.1 or "
                    + "10.0.0.0/8."
            ])
    }

    @Test("Every flag that is named in an error message of the sources exists")
    func flagsInSentences() throws {
        let help = RunCommand.helpMessage(columns: 10_000)
        var named: Set<String> = []
        let files = FileManager.default.enumerator(at: root("Sources"), includingPropertiesForKeys: nil)
        for file in (files?.allObjects ?? []).compactMap({ $0 as? URL }) where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            named.formUnion(
                text.matches(of: /(?:option: |OptionReference\()"(--[a-z-]+)"/).map { String($0.output.1) })
        }
        #expect(named.count > 30)
        for flag in named { #expect(help.contains(try Regex("\(flag)(?![a-z-])")), "\(flag)") }
    }

    @Test(
        "A configuration error is reported at the line and column of the wrong value, whatever the message says",
        arguments: [
            (
                "outputs: [udp://127.0.0.1:1, \"udp://127.0.0.1:2#name=x\", \"udp://127.0.0.1:3#name=x\"]",
                "relay.yaml:3:62: channels[0].outputs[2]: Two outputs have the name x"
            ),
            (
                "outputs: [udp://127.0.0.1:1, udp://127.0.0.1:2, udp://127.0.0.1:1]",
                "relay.yaml:3:53: channels[0].outputs[2]: The same output address is given twice"
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    inputs: [\"test:\", {address: \"test:\", standby: hot}]",
                "relay.yaml:4:23: channels[0].inputs[1]: standby= is for live inputs"
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    inputs: [\"test:\", \"test:\"]\n    scenes:\n"
                    + "      one: {layout: single, sources: [input-1]}\n      two: {layout: single, sources: [cam]}",
                "relay.yaml:7:12: channels[0].scenes.two: scenes two: there is no source cam"
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    inputs: [\"test:\", \"test:\"]\n    scenes:\n"
                    + "      one: {layout: pp, sources: [input-1, input-2]}",
                "relay.yaml:6:21: channels[0].scenes.one.layout: It is single, pip, split-horizontal, split-vertical, "
                    + "grid or slate; is pip meant?"
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    inputs: [\"test:\", \"test:\"]\n    scenes:\n"
                    + "      one: {layout: pip, sources: [input-1, input-2], inset: {x: 0.5, width: 1.5}}",
                "relay.yaml:6:78: channels[0].scenes.one.inset.width: It is a part of the frame, from 0 to 1."
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    inputs: [\"test:\", \"test:\"]\n    scenes:\n"
                    + "      one: {layout: pip, sources: [input-1, input-2], inset: {corner: top-right, width: 1}}",
                "relay.yaml:6:12: channels[0].scenes.one: The inset lies outside of the frame"
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    renditions:\n      a: {gop: 1}\n      b: {gop: 1h}",
                "relay.yaml:6:10: channels[0].renditions.b: renditions b: gop="
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    encoder: {profile: best, bFrames: 2}",
                "relay.yaml:4:24: channels[0].encoder.profile: The value 'best' is invalid for encoder.profile"
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    encoder: {profile: baseline, bFrames: 2}",
                "relay.yaml:4:24: channels[0].encoder.profile: The baseline profile has no B-frames; use encoder.profile"
            ),
            (
                "outputs: [\"udp://127.0.0.1:1#rendition=c\"]",
                "relay.yaml:3:15: channels[0].outputs[0]: outputs number 1 is not usable: There is no rendition c, nor "
                    + "any other: see renditions."
            ),
            (
                "outputs: [udp://127.0.0.1:1]\n    onPlay: /bin/true",
                "relay.yaml:4:13: channels[0].onPlay: onPlay is for an outputs of rtmp-listen://."
            ),
            (
                "recording: {directory: /tmp/a, upload: nothing}",
                "relay.yaml:3:44: channels[0].recording.upload: recording.upload takes a remote of rclone"
            ),
        ])
    func places(text: String, expected: String) {
        let found = faults("channels:\n  - name: a\n    \(text)\n")
        #expect(found.count == 1 && found.first?.hasPrefix(expected) == true, "\(found)")
        #expect(!found.joined().contains("--"))
    }

    @Test("If a value of one channel cannot be parsed, the errors of other channels are still reported")
    func apart() {
        let right = (0..<11).map { "  - {name: c\($0), outputs: [\"udp://127.0.0.1:\($0 + 1)\"]}" }
        var lines = ["channels:"] + right
        lines[2] = "  - {name: c1, outputs: [\"udp://127.0.0.1:2\"], encoder: {gop: 100s}}"
        lines[11] = "  - {name: c10, loop: perhaps, outputs: [\"udp://127.0.0.1:11\"]}"
        let found = faults(lines.joined(separator: "\n"))
        #expect(found.count == 2 && found.first?.contains("channels[1].encoder.gop") == true, "\(found)")
        #expect(found.last?.contains("channels[10].loop: It is true or false.") == true)
    }

    @Test("An invalid output is reported with its index and its position in the file, and without its stream key")
    func wrongOutput() {
        let found = faults(
            """
            channels:
              - outputs:
                  - rtmp://host/live/secret
                  - address: rtmp://host/live/topsecret
                    queue: 100h
            """)
        #expect(found.count == 1)
        #expect(found[0].hasPrefix("relay.yaml:4:9: channels[0].outputs[1]: outputs number 2 is not usable: queue="))
        #expect(!found[0].contains("secret"))
    }

    @Test(
        "An unusable configuration file is reported in one line that contains no secret of the file",
        arguments: [
            ("", "relay.yaml: The file is empty."),
            ("channels: []", "There is no channel"),
            ("channels: {name: a}", "relay.yaml:1:11: channels: It is a list"),
            ("[1, 2]", "The file is a mapping"),
            ("channels:\n  - name: a\n    name: b", "name: A key is here twice."),
            ("channels: []\nhttp: {}\nhttp: {}", "http: A key is here twice."),
            ("channels: []\nhttp:\n  socket: /a\n  socket: /b", "socket: A key is here twice."),
            ("http:\n  tokens: [{role: view, role: operate}]", "role: A key is here twice."),
            ("channels:\n  - outputs: [{address: \"srt://h:1\", secretrest}]", "[0]: There is no such key."),
            ("channels:\n  - {secret1: 1, secret1: 2}", "A key is here twice."),
            ("channels: [\"secret", "This is no YAML"),
            ("channels:\n  - name: a", "relay.yaml:2:5: channels[0]: There is nothing to do"),
            (
                "channels:\n  - {name: a, outputs: [udp://127.0.0.1:1]}\n  - {name: a, outputs: [udp://127.0.0.1:1]}",
                "relay.yaml:3:12: channels[1].name: Another channel has this name"
            ),
        ])
    func unusable(text: String, expected: String) {
        let found = faults(text)
        #expect(found.count == 1 && found.first?.contains(expected) == true, "\(found)")
        #expect(!found.joined().contains("secret"))
    }

    @Test("An output's address that is written in place of a key is not repeated in the error")
    func addressAsKey() {
        let found = faults("channels:\n  - outputs: [{rtmps://host/app/secret, name: x}]")
        #expect(found.count == 2 && found.joined().contains("Does it lack address: in front"), "\(found)")
        #expect(!found.joined().contains("secret"))
    }

    @Test("A configuration file that references make too large, or that is nested too deep, is refused")
    func bombs() {
        var lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        for level in 1...9 {
            lines.append(
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ") + "]")
        }
        #expect(faults(lines.joined(separator: "\n")).first?.contains("too large") == true)
        let deep = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
        #expect(faults("channels: " + deep).first?.contains("nested too deep") == true)
    }

    @Test("A configuration file and the equivalent flags give the same configuration")
    func flags() throws {
        let file = try read(
            """
            log: {format: json, verbose: true, status: false}
            channels:
              - recording: {sync: 5, directory: /srv/a}
                input: {address: "srt://host:1", backups: ["udp://239.0.0.1:5000", {address: b.mp4, audioTrack: eng}]}
                encoder: {videoBitrate: 800000, gop: 1.5}
                outputs: [{address: "rtmp://host/app/a", name: x, backup: "rtmp://host/app/b,c"}]
            """)
        #expect(file.log == .init(format: .json, isVerbose: true, showsStatus: false))
        let channel = try #require(file.channels.first)
        #expect(channel.outputs.map(\.text) == ["--output=rtmp://host/app/a#name=x,backup=rtmp://host/app/b%2Cc"])
        #expect(channel.recording == ["--record=/srv/a", "--sync=5s"])
        #expect(
            channel.others == [
                "--input=srt://host:1#backup=udp://239.0.0.1:5000,backup=b.mp4#audio-track=eng",
                "--video-bitrate=800000", "--gop=1.5s",
            ])
    }

    @Test("A reload ignores a changed order of keys and changed comments, and detects changed values")
    func differences() throws {
        let one = try read("channels: [{name: a, input: \"test:\", outputs: [udp://127.0.0.1:1], encoder: {gop: 1}}]")
        let same = try read(
            """
            # another way to write it
            channels:
              - encoder:
                  gop: 1
                outputs:
                  - "udp://127.0.0.1:1"
                input: "test:"
                name: a
            """)
        let more = try read(
            "channels: [{name: a, input: \"test:\", outputs: [udp://127.0.0.1:1, udp://127.0.0.1:2], encoder: {gop: 1}}]"
        )
        let other = try read("channels: [{name: a, input: \"test:\", outputs: [udp://127.0.0.1:1], encoder: {gop: 2}}]")
        #expect(one.channels[0].isIdentical(to: same.channels[0]))
        #expect(
            !one.channels[0].isIdentical(to: more.channels[0]) && one.channels[0].hasSameProgram(as: more.channels[0]))
        #expect(!one.channels[0].hasSameProgram(as: other.channels[0]))
    }

    @Test("After a reload the channels are in the order of the file, whichever of them were started again")
    func order() throws {
        let channel = { (name: String) in "  - {name: \(name), outputs: [udp://127.0.0.1:1]}\n" }
        let file = try read("channels:\n" + ["one", "two", "three"].map(channel).joined())
        for runs in [["two", "three", "one"], ["three", "one", "two"], ["three", "two", "one"]] {
            #expect(file.ordered(runs) { $0 } == ["one", "two", "three"])
        }
        #expect(file.ordered(["other", "two", "one"]) { $0 } == ["one", "two", "other"])
    }

    @Test("A reload detects a changed secret in the backup address of an output")
    func secrets() throws {
        let identity = { (value: String) in
            try OutputSpecification("rtmps://host/app/key#backup=rtmps://b/app/${KEY}", secrets: .init { _ in value })
                .identity
        }
        #expect(try identity("a") != identity("b"))
        #expect(try identity("a") == identity("a"))
    }

    @Test("Flags that the configuration file could contain are refused together with --config")
    func besides() {
        #expect(RunCommand.flagBesidesFile(in: ["relay", "--config", "a.yaml", "--verbose", "-v"]) == nil)
        #expect(RunCommand.flagBesidesFile(in: ["relay", "--config=a.yaml", "--rtmp=x"]) == "--rtmp")
    }

    @Test("The distance of two keys is their number of typos, and a key far from all others has no nearest key")
    func distance() {
        #expect(EditDistance.between("gop", "gpo") == 1 && EditDistance.between("", "abc") == 3)
        #expect(EditDistance.between("kitten", "sitting") == 3)
        #expect(EditDistance.nearest(to: "xyz", among: ["outputs", "input"]) == nil)
    }
}
