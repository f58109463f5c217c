// SPDX-License-Identifier: Apache-2.0

import FanOut
import Ingest
import Publisher
import Studio
import TestSupport
import Testing

@testable import Channel

@Suite("Properties derived from a channel's configuration")
struct ChannelConfigurationModelTests {
    private static let live = ["srt://cam:9000", "rtmp://host/live/key", "udp://@:5000", "rtsp://cam/1"]
    private static let rest = ["show.mp4", "test:", "v4l2:/dev/video0", "lavfi:testsrc2", "https://host/x.m3u8"]

    private func pick<Value>(_ values: [Value], _ random: inout SeededRandom) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    private func options(_ random: inout SeededRandom) -> SourceSelector.Options {
        SourceSelector.Options(
            timeout: .milliseconds(Int.random(in: 200...60_000, using: &random)),
            returnAfter: pick([nil, Duration.zero, Duration.seconds(10)], &random),
            standby: pick(SourceSelector.Standby.allCases, &random),
            unseen: pick(SourceSelector.Standby.allCases, &random), hasSlate: Bool.random(using: &random))
    }

    private func source(_ name: String, _ random: inout SeededRandom) -> ChannelConfiguration.Source {
        // Half of the sources have live inputs only.
        let texts = Bool.random(using: &random) ? Self.live : Self.live + Self.rest
        let backups = (0..<Int.random(in: 0...3, using: &random)).map { _ in InputLocation(pick(texts, &random)) }
        return ChannelConfiguration.Source(
            name: name, input: InputLocation(pick(texts, &random)), backups: backups, selection: options(&random),
            whenOff: pick(WhenOff.allCases, &random))
    }

    /// A program of `count` sources.
    private func configuration(of count: Int, _ random: inout SeededRandom) -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        configuration.name = "news"
        configuration.audioInput = pick([nil, InputLocation("alsa:default")], &random)
        configuration.slate = pick([nil, SlateSpecification.bars, SlateSpecification.file(path: "a.png")], &random)
        configuration.runDownDirectory = pick([nil, "/run-downs"], &random)
        configuration.sources = (0..<count).map { source("cam\($0)", &random) }
        return configuration
    }

    @Test("A channel without configuration has one source, the test pattern, which is named by its address")
    func usual() {
        let configuration = ChannelConfiguration()
        #expect(configuration.sources.map(\.name) == ["test:"] && configuration.sources[0].input.isTest)
        #expect(!configuration.hasScenes && !configuration.hasChoice && configuration.allInputs.count == 1)
    }

    @Test(
        "A source lists its inputs in order of preference; without a name, it is named by its first input's address"
    )
    func inputs() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let name = pick([nil, "main"], &random)
            var source = source("cam", &random)
            source = ChannelConfiguration.Source(name: name, input: source.input, backups: source.backups)
            #expect(source.inputs == [source.input] + source.backups)
            #expect(source.inputNames == [name ?? source.input.description] + source.backups.map(\.description))
        }
    }

    @Test("A program has scenes unless it has only one source and neither overlays nor run-downs")
    func scenes() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            var program = configuration(of: Int.random(in: 0...3, using: &random), &random)
            if Bool.random(using: &random) { program.overlays = [try OverlaySpecification("clock=text:now")] }
            let isAlone = program.sources.count == 1 && program.overlays.isEmpty && program.runDownDirectory == nil
            #expect(program.hasScenes != isAlone)
            let hasBackups = program.sources.contains { !$0.backups.isEmpty }
            #expect(program.hasChoice == (hasBackups || program.slate != nil))
        }
    }

    @Test("The list of all inputs has each source's inputs in order, then the audio input, each exactly once")
    func allInputs() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let program = configuration(of: Int.random(in: 0...6, using: &random), &random)
            let expected = program.sources.flatMap { [$0.input] + $0.backups }
            #expect(program.allInputs == expected + (program.audioInput.map { [$0] } ?? []))
        }
    }

    @Test("A source can provide packets to copy if and only if all of its inputs are live and none is a device")
    func keepsPackets() {
        var random = SeededRandom()
        let live = Set(Self.live.map { InputLocation($0) })
        var kept = 0
        for _ in 0..<600 {
            let source = source("cam", &random)
            #expect(source.canKeepPackets == source.inputs.allSatisfy { live.contains($0) }, "\(source.inputs)")
            if source.canKeepPackets { kept += 1 }
        }
        #expect(kept > 0)
    }

    @Test("A source switches between its inputs by its own options, and uses a slate if the program has one")
    func choice() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let program = configuration(of: 2, &random)
            for source in program.sources {
                var expected = source.selection
                expected.hasSlate = program.slate != nil
                #expect(program.choice(of: source) == expected)
            }
        }
    }

    // MARK: Outputs

    private static let addresses = ["rtmp://host/live/a", "rtmps://host/live/a", "srt://host:9000", "udp://host:5000"]
    private static let names = ["rtmp-1", "rtmp-2", "rtmp-3", "srt-1", "srt-2", "udp-1", "main", "rtmp-01", "rtmp"]

    /// Returns random outputs. About half of them have a name, and all names are different.
    private func outputs(_ random: inout SeededRandom) throws -> [OutputSpecification] {
        var names = Self.names.shuffled(using: &random)
        return try (0..<Int.random(in: 0...9, using: &random)).map { _ in
            let address = pick(Self.addresses, &random)
            return try OutputSpecification(
                Bool.random(using: &random) ? address : "\(address)#name=\(names.removeLast())")
        }
    }

    @Test("An output has its configured name, or else its protocol's name and the lowest free number")
    func outputNames() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            var program = ChannelConfiguration()
            program.outputs = try outputs(&random)
            let (names, given) = (program.outputNames, program.outputs.compactMap(\.name))
            #expect(names.count == program.outputs.count)
            for (index, (output, name)) in zip(program.outputs, names).enumerated() {
                if let own = output.name {
                    #expect(name == own)
                    continue
                }
                let scheme = output.address.kind.name.rawValue
                let number = try #require(Int(name.dropFirst(scheme.count + 1)), "\(name)")
                try #require(number > 0)
                let before = names[..<index]
                #expect(name == "\(scheme)-\(number)" && !before.contains(name))
                let lower = (1..<number).map { "\(scheme)-\($0)" }
                #expect(lower.allSatisfy { before.contains($0) || given.contains($0) }, "\(names)")
            }
        }
    }

    @Test("Outputs never get the same name, unless a name is configured twice")
    func uniqueNames() throws {
        var random = SeededRandom()
        var doubled: [[String]] = []
        for _ in 0..<500 {
            var program = ChannelConfiguration()
            program.outputs = try outputs(&random)
            let names = program.outputNames
            if Set(names).count < names.count { doubled.append(names) }
        }
        #expect(doubled.isEmpty, "\(doubled.count): \(doubled.prefix(3))")
    }

    @Test("A new output gets its protocol's name and the lowest number that no other output has")
    func freeNames() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let numbers = (0..<Int.random(in: 0...8, using: &random)).map { _ in Int.random(in: 0...8, using: &random) }
            let names = numbers.map { "srt-\($0)" } + ["rtmp-1", "srt-", "srt-01", "SRT-1"]
            let free = try OutputSpecification("srt://host:9000").address.freeName(besides: names)
            #expect(free == (1...10).map { "srt-\($0)" }.first { !names.contains($0) })
        }
    }

    @Test("The list of unused renditions has each rendition that no output takes, once and in order")
    func untakenRenditions() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let names = ["archive", "low", "preview", "main"].shuffled(using: &random)
            let taken = names.filter { _ in Bool.random(using: &random) }
            var program = ChannelConfiguration()
            program.renditions = try names.map { try RenditionSpecification("\($0)#gop=1s") }
            program.outputs = try (taken + taken.prefix(1)).map {
                try OutputSpecification("rtmp://host/live/key#rendition=\($0)")
            }
            program.outputs.append(try OutputSpecification("srt://host:9000"))
            #expect(program.untakenRenditions == names.filter { !taken.contains($0) })
        }
    }

    @Test("A channel that does not record has no names of recordings, and the number of recorded videos is 0")
    func recordsNothing() {
        var random = SeededRandom()
        let program = configuration(of: 3, &random)
        #expect(program.recordedNames.isEmpty && program.recordedVideos == 0)
    }
}
