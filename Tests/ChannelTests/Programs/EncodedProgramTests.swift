// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Encoder
import FanOut
import Ingest
import Media
import Program
import Status
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("An encoded program")
struct EncodedProgramTests {
    private let packets = CollectedPackets()
    private let hub = PacketStream()

    /// A program of the test signal that no clock paces.
    private func configuration(lasting duration: Duration?) -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        (configuration.size, configuration.frameRate) = (FrameSize(width: 320, height: 180), FrameRate(25))
        (configuration.isPaced, configuration.duration) = (false, duration)
        (configuration.encoder.isLive, configuration.encoder.preset) = (false, .ultrafast)
        return configuration
    }

    /// Makes a program whose packets are collected.
    private func make(
        _ configuration: ChannelConfiguration, renditions: [String: PacketStream] = [:]
    ) throws -> EncodedProgram {
        let listening = try ChannelListening(
            configuration, resources: HostResources(), opening: ChannelOpening(), logger: quiet)
        let program = try EncodedProgram(
            configuration, into: hub, renditions: renditions,
            recordings: ChannelRecordings(hub: hub, group: DispatchGroup()), listening: listening, clock: SystemClock(),
            logger: quiet)
        hub.begin(program.description, keyframes: program.keyframes)
        hub.add(packets)
        for rendition in program.renditions {
            rendition.stream.begin(rendition.encoder.description, keyframes: rendition.encoder)
        }
        return program
    }

    /// Whether the packets of audio follow each other without a hole, from the encoder's priming to `end`, in samples.
    private func isComplete(_ packets: CollectedPackets, to end: Int64) -> Bool {
        let audio = packets.all.filter { $0.track == .audio }
        guard let first = audio.first, let last = audio.last else { return false }
        return first.pts == -1024 && last.pts + 1024 >= end
            && zip(audio, audio.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 }
    }

    @Test("A program with a duration publishes exactly the frames that begin in it and gapless audio, and then ends")
    func length() throws {
        let program = try make(configuration(lasting: .milliseconds(2980)))
        #expect(program.description.video?.frameFormat?.width == 320 && program.description.audio != nil)
        #expect(program.director == nil && program.recordedSources == nil && program.renditions.isEmpty)
        #expect(program.run() == .done)
        // A frame that has begun is shown in full.
        #expect(packets.frames.map(\.pts).sorted() == Array(0..<75))
        #expect(packets.frames.filter(\.isKeyframe).map(\.pts) == [0, 50])
        let times = packets.frames.map(\.dts)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 } && isComplete(packets, to: 144_000))
        let status = program.status
        #expect(status.program.frames == 75 && status.encoder.framesOut == 75 && status.renditions == nil)
        #expect(status.frameRate == FrameRate(25) && status.sources.count == 1)
    }

    @Test("Renditions have the same frames as the program, in their own sizes and with their own keyframes")
    func renditions() throws {
        var configuration = configuration(lasting: .seconds(2))
        configuration.renditions = try ["small#size=160x90", "tiny#size=160x90,gop=400ms", "same#gop=1s"].map {
            try RenditionSpecification($0)
        }
        let streams = Dictionary(uniqueKeysWithValues: configuration.renditions.map { ($0.name, PacketStream()) })
        let collected = streams.mapValues { stream in
            let packets = CollectedPackets()
            stream.add(packets)
            return packets
        }
        let program = try make(configuration, renditions: streams)
        #expect(program.renditions.map(\.name) == ["small", "tiny", "same"])
        #expect(program.renditions.map { $0.encoder.description.video?.frameFormat?.width } == [160, 160, 320])
        #expect(program.run() == .done)
        #expect(packets.frames.map(\.pts).sorted() == Array(0..<50))
        let expected: [(String, [Int64])] = [("small", [0]), ("tiny", [0, 10, 20, 30, 40]), ("same", [0, 25])]
        for (name, keyframes) in expected {
            let packets = try #require(collected[name])
            #expect(packets.frames.map(\.pts).sorted() == Array(0..<50), "\(name)")
            #expect(packets.frames.filter(\.isKeyframe).map(\.pts) == keyframes, "\(name)")
            #expect(isComplete(packets, to: 96_000), "\(name)")
        }
        #expect(program.status.renditions?.map(\.droppedFrames) == [0, 0, 0])
    }

    @Test("When an endless program is stopped, all its frames on air are published, and it ends normally")
    func stopped() throws {
        var configuration = configuration(lasting: nil)
        configuration.renditions = [try RenditionSpecification("small#size=160x90")]
        let program = try make(configuration)
        let end = Mutex<ChannelEnd?>(nil)
        DispatchQueue(label: "program").async {
            let result = program.run()
            end.withLock { $0 = result }
        }
        try eventually("frames are on air") { program.status.program.frames > 30 }
        program.stop()
        program.stop()
        try eventually("the program ends") { end.withLock { $0 } != nil }
        let (result, frames) = (end.withLock { $0 }, program.status.program.frames)
        #expect(result == .done && packets.frames.map(\.pts).sorted() == Array(0..<frames))
        #expect(isComplete(packets, to: frames * 1920))
    }

    @Test("A program that is stopped before it begins ends without a frame")
    func stoppedBefore() throws {
        let program = try make(configuration(lasting: .seconds(2)))
        program.stop()
        #expect(program.run() == .done && packets.frames.isEmpty)
    }

    @Test("A missing input, or settings that the encoder refuses, cause a failure that names what was attempted")
    func failures() {
        var missing = configuration(lasting: .seconds(1))
        missing.sources = [.init(input: InputLocation("/nonexistent/clip.mp4"))]
        let unreadable = #expect(throws: ChannelFailure.self) { try make(missing) }
        #expect(unreadable?.cause == .inputUnreadable && unreadable?.attempt == .openInput("/nonexistent/clip.mp4"))
        #expect(unreadable?.error is IngestError)
        var refused = configuration(lasting: .seconds(1))
        (refused.encoder.profile, refused.encoder.rateControl) = (.baseline, .quality(0))
        let failure = #expect(throws: ChannelFailure.self) { try make(refused) }
        #expect(failure?.cause == .internalError && failure?.attempt == .openEncoder() && failure?.error != nil)
    }
}
