// SPDX-License-Identifier: Apache-2.0

import Archive
import ArgumentParser
import Segmenter
import Testing

@testable import Channel
@testable import Relay

@Suite("Recording flags")
struct RecordOptionsTests {
    private func recording(_ arguments: String...) throws -> ChannelConfiguration.Recording? {
        try RunCommand.parse(["--record", "d"] + arguments).channelConfiguration().recording
    }

    /// Returns the message with which `arguments` are refused; empty if they are accepted.
    private func refusal(_ arguments: String...) -> String { refusal(arguments) }

    private func refusal(_ arguments: [String]) -> String {
        do {
            _ = try RunCommand.parse(["--record", "d"] + arguments)
            return ""
        } catch {
            return RunCommand.message(for: error)
        }
    }

    @Test("By default recordings are hybrid MP4 files that are named in UTC and synchronised every 10 s")
    func defaults() throws {
        let recording = try #require(try recording())
        #expect(recording.format == .hybrid && recording.template == .standard && !recording.isClockAligned)
        #expect(recording.sync == .every(.seconds(10)))
        #expect(recording.localOffset(UTCTime(milliseconds: 0)) == 0)
    }

    @Test("The flags for format, name, synchronisation and time zone reach the recorder")
    func flags() throws {
        let recording = try #require(
            try recording(
                "--record-format", "ts", "--record-name", "{date}/{sequence}", "--sync", "fragment", "--timezone",
                "Europe/Berlin", "--segment", "30m", "--segment-align", "clock"))
        #expect(recording.format == .ts && recording.sync == .fragment && recording.isClockAligned)
        #expect(try recording.template == NameTemplate(parsing: "{date}/{sequence}"))
        // The times are 2026-01-21 and 2026-07-21.
        #expect(recording.localOffset(UTCTime(milliseconds: 1_768_953_600_000)) == 3600)
        #expect(recording.localOffset(UTCTime(milliseconds: 1_784_592_000_000)) == 7200)
    }

    @Test(
        "A recording flag without --record is refused",
        arguments: [
            ["--segment", "1h"], ["--segment-align", "clock"], ["--record-format", "ts"], ["--record-name", "{start}"],
            ["--timezone", "UTC"], ["--sync", "never"], ["--expect", "1h"], ["--disk-warn", "1h"],
            ["--disk-reserve", "1GB"], ["--record-sources"], ["--replay", "1m"], ["--clips-only"],
            ["--record-also", "e"],
        ])
    func withoutRecord(flag: [String]) {
        do {
            _ = try RunCommand.parse(["--rtmp", "rtmp://host/live/key"] + flag)
            Issue.record("\(flag) is accepted")
        } catch {
            #expect(RunCommand.message(for: error).hasPrefix("\(flag[0]) is for recordings"))
        }
    }

    @Test("A second directory gets a recording of its own, and is refused if it is, contains or lies in the first one")
    func alsoRecorded() throws {
        let recording = try #require(try recording("--record-also", "e", "--segment", "10m"))
        #expect(recording.also == "e" && recording.second?.directory == "e")
        #expect(recording.second?.length == .duration(.seconds(600)))
        #expect(try self.recording()?.second == nil)
        for directory in ["d", "d/", "./d", "e/../d", "d/e", "."] {
            let refusal = refusal("--record-also", directory)
            #expect(refusal.hasPrefix("--record-also: "), "\(directory)")
            #expect(refusal.contains("the same directory, or one is in the other"), "\(directory)")
        }
        #expect(refusal("--record-also", "").contains("--record-also is empty"))
    }

    @Test("The replay buffer is 10 s by default with --clips-only, and --replay accepts 1 s to 5 min")
    func replay() throws {
        let usual = try #require(try recording("--clips-only"))
        #expect(usual.isForClips && usual.replay == .seconds(10))
        let more = try #require(try recording("--replay", "5m"))
        #expect(!more.isForClips && more.replay == .seconds(300))
        #expect(try recording()?.replay == nil)
        for length in ["999ms", "301s"] {
            #expect(throws: (any Error).self) { try recording("--replay", length) }
        }
    }

    @Test("Recordings of sources are named after the channel and the source")
    func sources() throws {
        let flags = ["--record", "d", "--record-sources", "--channel", "show", "--input", "test:#name=cam1"]
        let configuration = try RunCommand.parse(flags + ["--input", "test:"]).channelConfiguration()
        #expect(configuration.recording?.sources == ["cam1", "input-2"])
        #expect(configuration.recordedNames == ["show", "show-cam1", "show-input-2"])
    }

    @Test(
        "--record-sources is refused with a single input, and with flags that do not fit recordings of sources",
        arguments: [
            (["--input", "test:"], "for several --input"),
            (["--input", "a", "--input", "b", "--segment", "2GB"], "give --segment a time"),
            (["--input", "a", "--input", "b", "--record-name", "{start}_{sequence}"], "put {channel}"),
        ])
    func sourcesRefused(flags: [String], sentence: String) {
        do {
            _ = try RunCommand.parse(["--record", "d", "--record-sources"] + flags)
            Issue.record("\(flags) are accepted")
        } catch {
            #expect(RunCommand.message(for: error).contains(sentence))
        }
    }

    @Test("Invalid recording flags are refused with the reason or with valid values")
    func refusals() {
        #expect(refusal("--record-name", "{number}").contains("no field {number}"))
        #expect(refusal("--record-name", "../{sequence}").contains("below the record directory"))
        #expect(refusal("--sync", "often").contains("fragment, segment, never"))
        #expect(refusal("--timezone", "Mars/Olympus").contains("Europe/Berlin"))
        #expect(refusal("--segment-align", "clock", "--segment", "7m30s").isEmpty)
        #expect(refusal("--segment-align", "clock", "--segment", "7m").contains("divides a day"))
        #expect(refusal("--segment-align", "clock", "--segment", "1GB").contains("divides a day"))
        #expect(refusal("--segment-align", "clock", "--unpaced").contains("real time"))
        #expect(refusal("--record-format", "mkv").contains("hybrid"))
        #expect(refusal("--record-name", "{channel}_{sequence}").isEmpty)
        for name in ["{channel}_{sequence}", "{start}_{sequence}", "{channel}_{time}"] {
            #expect(refusal("--record-name", name, "--upload", "a:b").contains("must not replace"), "\(name)")
        }
        #expect(refusal("--record-name", "{date}/{channel}_{time}", "--upload", "a:b").isEmpty)
    }

    @Test("A template of file names is refused if a name for the channel or a source would be too long")
    func longNames() {
        let (short, long) = (String(repeating: "a", count: 75), String(repeating: "a", count: 76))
        let name = "{channel}_{channel}_{channel}_{sequence}"
        #expect(refusal("--record-name", name, "--channel", short).isEmpty)
        #expect(refusal("--record-name", name, "--channel", long).hasPrefix("--record-name: "))
        #expect(refusal("--record-name", name, "--channel", long).contains("255 at most"))
        #expect(refusal("--record-name", "{channel}/{channel}_{channel}_{sequence}", "--channel", long).isEmpty)
        #expect(refusal("--record-name", String(repeating: "%F", count: 30) + "_{sequence}").contains("255 at most"))
        // The name of a source is longer than that of its channel.
        let sources = [
            "--record-sources", "--channel", short, "--input", "test:#name=one", "--input", "test:#name=two",
            "--record-name",
        ]
        #expect(refusal(sources + ["{channel}_{sequence}"]).isEmpty)
        #expect(refusal(sources + [name]).contains("\(short)-one"))
    }
}
