// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Encoder
import FanOut
import Ingest
import Media
import TestSupport
import Testing

@testable import Channel

@Suite("A program that copies one track and encodes the other")
struct TrackMixTests {
    private static let format = VideoFormat(width: 64, height: 48, frameRate: FrameRate(25))

    private func configuration(_ copying: ChannelConfiguration.Copying) -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        configuration.copying = copying
        configuration.encoder.preset = .ultrafast
        configuration.size = FrameSize(width: 128, height: 96)
        return configuration
    }

    private func mix(
        _ copying: ChannelConfiguration.Copying, of stream: StreamDescription, into hub: PacketStream = PacketStream()
    ) throws(ChannelFailure) -> TrackMix? {
        try TrackMix(
            configuration(copying), of: stream, canWait: false, publisher: Heartbeat("publisher"), into: hub)
    }

    /// The packets of two seconds of H.264 and AAC.
    private func encoded() throws -> (stream: StreamDescription, packets: CollectedPackets) {
        var settings = EncoderSettings()
        (settings.preset, settings.tune, settings.rateControl) = (.ultrafast, .zerolatency, .bitrate(200_000))
        let (hub, packets, over) = (PacketStream(), CollectedPackets(), DispatchSemaphore(value: 0))
        let encoder = try BackgroundEncoder(
            BackgroundEncoder.Name(subject: "a test", thread: "relay.test"), settings, format: Self.format, into: hub,
            clock: ManualClock(), logger: quiet)
        hub.begin(encoder.description, keyframes: NoKeyframes())
        hub.add(packets)
        encoder.start { over.signal() }
        let frame = SlatePattern.frame(Self.format, lines: [])
        for number in Int64(0)..<50 {
            encoder.take(.silence(at: number * 1920, count: 1920, format: .program))
            encoder.take(frame, at: number)
        }
        encoder.finish()
        try eventually("the packets are encoded") { over.wait(timeout: .now()) == .success }
        return (encoder.description, packets)
    }

    /// Sends `packets` through a mix, and returns what comes out of it.
    private func run(
        _ copying: ChannelConfiguration.Copying, _ stream: StreamDescription, _ packets: CollectedPackets
    ) throws -> (mix: TrackMix, out: CollectedPackets) {
        let (hub, out) = (PacketStream(delivery: .immediate), CollectedPackets())
        let mix = try #require(try mix(copying, of: stream, into: hub))
        hub.begin(mix.description(of: stream), keyframes: NoKeyframes())
        hub.add(out)
        for packet in packets.all { mix.sink.publish(packet) }
        mix.sink.finish()
        return (mix, out)
    }

    private func audio(_ packets: CollectedPackets) -> [EncodedPacket] { packets.all.filter { $0.track == .audio } }

    @Test("Without a request to encode one track, and without audio that could be encoded, there is no mix")
    func none() throws {
        let sender = FakeSender(1)
        let both = StreamDescription(video: sender.video, audio: sender.audio)
        for copying in [ChannelConfiguration.Copying.nothing, .all] { #expect(try mix(copying, of: both) == nil) }
        #expect(try mix(.video, of: StreamDescription(video: sender.video, audio: nil)) == nil)
    }

    @Test("An input without the video that is to be encoded is refused by name")
    func noVideo() {
        let failure = #expect(throws: ChannelFailure.self) {
            try mix(.audio, of: StreamDescription(video: nil, audio: FakeSender(1).audio))
        }
        #expect(failure?.cause == .inputUnreadable && failure?.attempt == .openInput("test:"))
        #expect(failure?.description.contains("has no video to encode") == true)
    }

    @Test("If the video is copied, its packets are unchanged, the audio is encoded, and no keyframe can be requested")
    func copiedVideo() throws {
        let (stream, packets) = try encoded()
        let (mix, out) = try run(.video, stream, packets)
        #expect(mix.keyframes == nil && mix.delay == nil)
        #expect(mix.description(of: stream).video === stream.video && packets.frames.count == 50)
        #expect(out.frames.map(\.payload.array) == packets.frames.map(\.payload.array))
        #expect(out.frames.map(\.pts) == packets.frames.map(\.pts))
        let (before, after) = (audio(packets), audio(out))
        let coded = mix.description(of: stream).audio
        #expect(after.allSatisfy { $0.description === coded } && coded?.bitrate == EncoderSettings().audioBitrate)
        #expect(abs(after.count - before.count) <= 5 && before.count > 90)
        #expect(mix.sink.status.errors == 0 && mix.sink.status.failure == nil)
    }

    @Test("If the audio is copied, its packets are unchanged, and each frame is encoded in the configured size")
    func copiedAudio() throws {
        let (stream, packets) = try encoded()
        let (mix, out) = try run(.audio, stream, packets)
        #expect(mix.keyframes != nil && mix.delay != nil)
        #expect(audio(out).map(\.payload.array) == audio(packets).map(\.payload.array))
        #expect(audio(out).map(\.pts) == audio(packets).map(\.pts))
        let mixed = mix.description(of: stream)
        #expect(mixed.audio === stream.audio && mixed.video?.frameFormat?.width == 128)
        #expect(out.frames.count == 50 && out.frames.allSatisfy { $0.description === mixed.video })
        #expect(out.frames.map(\.ptsNanoseconds).sorted() == packets.frames.map(\.ptsNanoseconds).sorted())
        #expect(mix.sink.status.errors == 0 && mix.sink.status.failure == nil)
    }
}
