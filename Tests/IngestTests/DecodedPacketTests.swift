// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LibAV
import Logging
import Media
import SourceClock
import Synchronization
import Testing

@testable import Ingest

/// Tests decoding of live packets that libav did not read.
@Suite("Packets that a client publishes", .serialized)
struct DecodedPacketTests {
    /// A sender that sends clips in real time, with interruptions and restarts between them.
    private final class Sender: PacketSource {
        enum Step {
            case clip([EncodedPacket])
            case interruption
            case restart
        }

        private let stream: StreamDescription
        private let steps: [Step]
        private let isStopped = Atomic(false)

        init(_ stream: StreamDescription, _ steps: [Step]) {
            self.stream = stream
            self.steps = steps
        }

        func open() throws(IngestError) -> PacketSourceDescription {
            PacketSourceDescription(stream: stream, canWait: false, clock: .rtmp, stampBits: 32)
        }

        func start(into sink: any PacketSourceSink) {
            DispatchQueue(label: "sender").async { self.send(to: sink) }
        }

        private func send(to sink: any PacketSourceSink) {
            let clock = SystemClock()
            for step in steps {
                switch step {
                case .interruption: sink.interrupt()
                case .restart: sink.restart()
                case .clip(let packets):
                    let start = clock.now - .nanoseconds(packets.first?.dtsNanoseconds ?? 0)
                    for packet in packets where !isStopped.load(ordering: .relaxed) {
                        clock.sleep(until: start + .nanoseconds(packet.dtsNanoseconds))
                        sink.take(packet, at: clock.now)
                    }
                }
            }
            sink.end(failure: nil)
        }

        func stop() { isStopped.store(true, ordering: .relaxed) }
        var status: SourceStatus { SourceStatus() }
    }

    /// Two seconds of video and a tone, with stamps in milliseconds as in RTMP.
    private func packets(
        _ encoder: String, size: String, from start: Int64 = 0
    ) throws -> (stream: StreamDescription, packets: [EncodedPacket]) {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc=size=\(size):rate=25", "-f", "lavfi", "-i", "sine=r=48000", "-t", "2",
            "-pix_fmt", "yuv420p", "-g", "50", "-c:v", encoder, "-c:a", "aac", "-ac", "2", suffix: ".mp4")
        let demuxer = try Demuxer(
            url: clip.path, options: .init(), interrupter: Interrupter(), subject: "the clip")
        let streams = [try #require(demuxer.bestVideo), try #require(demuxer.bestAudio)]
        let tracks = try streams.map { stream in
            let track = try #require(stream.codedTrack())
            guard let frames = track.frameFormat else {
                return TrackDescription(
                    audio: track.codec, format: try #require(track.audioFormat), timeBase: .milliseconds,
                    decoderConfiguration: track.decoderConfiguration, frameLength: track.frameLength)
            }
            return TrackDescription(
                video: track.codec, frames: frames, timeBase: .milliseconds,
                decoderConfiguration: track.decoderConfiguration, nominalRate: FrameRate(25),
                reorderDepth: track.reorderDepth)
        }
        var packets: [EncodedPacket] = []
        while let box = try demuxer.readPacket() {
            guard let index = streams.firstIndex(where: { $0.index == box.streamIndex }),
                let packet = box.encodedPacket(of: try #require(streams[index].codedTrack()))
            else { continue }
            let base = packet.timeBase
            packets.append(
                EncodedPacket(
                    of: tracks[index], pts: start + base.rescale(packet.pts, to: .milliseconds),
                    dts: start + base.rescale(packet.dts, to: .milliseconds), duration: 0,
                    isKeyframe: packet.isKeyframe, payload: packet.payload))
        }
        return (StreamDescription(video: tracks[0], audio: tracks[1]), packets)
    }

    private func play(_ sender: Sender) throws -> CollectingSink.Taken {
        let source = try LiveSource(
            sender, at: InputLocation("rtmp-listen://127.0.0.1/live/key"), logger: Logger(label: "test"))
        #expect(source.description.video?.frameRate == FrameRate(25) && source.description.isLive)
        let sink = CollectingSink()
        source.start(into: sink, video: source.description.video, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        #expect(source.status.decodeErrors == 0, "\(source.status)")
        return sink.taken
    }

    private func check(_ taken: CollectingSink.Taken, frames count: Int) {
        #expect(taken.frames.count == count)
        let times = taken.frames.map(\.nanoseconds)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(taken.frames.allSatisfy { $0.width == 320 && $0.height == 180 })
    }

    @Test(
        "Every frame from a publisher is decoded, and a change of size and codec causes no gap",
        arguments: ["libx265"])
    func changes(codec: String) throws {
        let first = try packets("libx264", size: "320x180")
        let second = try packets(codec, size: "640x360", from: 2000)
        let taken = try play(Sender(first.stream, [.clip(first.packets), .clip(second.packets)]))
        check(taken, frames: 100)
        let positions = taken.frames.compactMap(\.position?.nanoseconds)
        let steps = zip(positions, positions.dropFirst()).map { $1 - $0 }
        #expect(positions.count == 100 && steps.allSatisfy { abs($0 - 40_000_000) < 3_000_000 }, "\(steps)")
        #expect(taken.audio.count - Int(taken.firstAudio ?? 0) > 180_000)
    }

    @Test("Audio that a publisher adds later is played, and so is audio that only the next publisher sends")
    func laterAudio() throws {
        let all = try packets("libx264", size: "320x180")
        let frames = all.packets.filter { $0.track == .video }
        let late = all.packets.filter { $0.track == .video || $0.pts >= 1000 }
        let shows: [[Sender.Step]] = [
            [.clip(late)], [.clip(frames), .interruption, .restart, .clip(all.packets)],
        ]
        for show in shows {
            let taken = try play(Sender(StreamDescription(video: all.stream.video), show))
            let heard = taken.audio.count { abs($0) > 0.01 }
            #expect(heard > 24_000, "\(heard)")
        }
    }

    @Test("After a publisher leaves, its last frames are shown, unless another publisher follows at once")
    func returns() throws {
        let first = try packets("libx264", size: "320x180")
        let second = try packets("libx264", size: "320x180", from: 777_000)
        let taken = try play(
            Sender(first.stream, [.clip(first.packets), .interruption, .restart, .clip(second.packets)]))
        // The second sender follows at once: packets of the first that were not decoded yet are dropped, and no frame
        // is repeated.
        #expect(taken.frames.count <= 100 && taken.frames.count > 70, "\(taken.frames.count)")
        let alone = try play(Sender(first.stream, [.clip(first.packets), .interruption]))
        check(alone, frames: 50)
    }
}
