// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport
import Testing

@testable import FanOut

/// Records its packets.
private final class Witness: PacketConsumer {
    private let kept = Mutex<[EncodedPacket]>([])
    var packets: [EncodedPacket] { kept.withLock { $0 } }
    var texts: [String] { packets.compactMap(\.text) }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        kept.withLock { $0 += packets }
        return nil
    }
}

@Suite("Markers in a stream of packets")
struct MarkTests {
    /// The moment at which frame `index` begins.
    private static func start(_ index: Int64) -> ProgramInstant {
        ProgramInstant(nanoseconds: index * 1_000_000_000 / 30)
    }

    private func stream(_ delivery: PacketStream.Delivery = .withFrames) -> (PacketStream, Witness) {
        let (stream, witness) = (PacketStream(delivery: delivery), Witness())
        stream.begin(.sample, keyframes: KeyframeCounter())
        stream.add(witness)
        return (stream, witness)
    }

    @Test("A marker keeps its time, and is delivered once, before the first packet with a later decoding time")
    func place() {
        let (stream, witness) = stream()
        // The encoder has not reached the marker's time yet.
        stream.mark("goal", at: Self.start(5) - .microseconds(1))
        for index in Int64(0)..<10 { stream.publish(Packets.video(index, key: index == 0)) }
        #expect(witness.texts == ["goal"])
        #expect(witness.packets.map(\.track).firstIndex(of: .data) == 5)
        #expect(witness.packets[5].programPts == Self.start(5) - .microseconds(1))
        #expect(stream.description.isIdentical(to: .sample))
    }

    @Test("A marker for a past time gets the time of the newest packet, and is delivered with the next frame")
    func late() {
        let (stream, witness) = stream()
        for index in Int64(0)..<10 { stream.publish(Packets.video(index, key: index == 0)) }
        stream.mark("late", at: 0)
        stream.publish(Packets.audio(15))
        #expect(witness.texts.isEmpty)
        stream.publish(Packets.video(10))
        #expect(witness.packets.suffix(3).map(\.track) == [.data, .audio, .video])
        #expect(zip(witness.packets, witness.packets.dropFirst()).allSatisfy { $0.dtsNanoseconds <= $1.dtsNanoseconds })
    }

    @Test("In a copied stream a marker is delivered with the next packet")
    func immediate() {
        let (stream, witness) = stream(.immediate)
        stream.publish(Packets.video(0, key: true))
        stream.mark("now", at: 0)
        #expect(witness.packets.count == 1)
        stream.publish(Packets.audio(1))
        #expect(witness.packets.map(\.track) == [.video, .data, .audio])
    }

    @Test("Markers are delivered in the order of time, also at the end, and the newest are kept if there are too many")
    func order() {
        let (stream, witness) = stream()
        stream.publish(Packets.video(0, key: true))
        stream.mark("second", at: .seconds(2))
        stream.mark("first", at: .seconds(1))
        stream.finish()
        #expect(witness.texts == ["first", "second"])
        for index in Int64(0)..<100 { stream.mark("\(index)", at: .seconds(3) + .nanoseconds(index)) }
        stream.finish()
        #expect(witness.texts.count == 2 + 64 && witness.texts.last == "99" && witness.texts[2] == "36")
    }

    @Test("A receiver that joins with the current GOP gets the markers in that GOP")
    func joins() {
        let (stream, _) = stream()
        stream.publish(Packets.video(0, key: true))
        stream.mark("early", at: 0)
        stream.publish(Packets.video(60, key: true))
        stream.mark("here", at: 0)
        stream.publish(Packets.video(61))
        let late = Witness()
        stream.join(late)
        #expect(late.texts == ["here"])
    }

    @Test("Markers set by many threads reach every consumer once and in order, between the frames")
    func threads() async {
        let (stream, witness) = stream()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for index in Int64(0)..<2000 { stream.publish(Packets.video(index, key: index % 60 == 0)) }
            }
            for thread in 0..<4 {
                group.addTask {
                    for index in 0..<10 { stream.mark("\(thread) \(index)", at: Self.start(Int64(index))) }
                }
            }
        }
        stream.finish()
        #expect(Set(witness.texts).count == 40 && witness.texts.count == 40)
        #expect(zip(witness.packets, witness.packets.dropFirst()).allSatisfy { $0.dtsNanoseconds <= $1.dtsNanoseconds })
        #expect(witness.packets.count { $0.track == .video } == 2000)
    }

    @Test("A marker in a queue does not change which frames are dropped", arguments: [5, 40, 100])
    func queue(room: Int) {
        func run(marked: Bool) -> ([Int64], DropCounts, Int) {
            let queue = PacketQueue(limits: .live)
            queue.push(Packets.video(0, key: true))
            _ = queue.connected()
            var sent: [EncodedPacket] = []
            for packet in Packets.video(1..<400) {
                if marked, packet.pts % 7 == 0 {
                    queue.push(EncodedPacket(text: "x", at: packet.programDts))
                }
                queue.push(packet)
                // The target reads nothing for a while.
                if !(100..<100 + Int64(room)).contains(packet.pts) { sent += queue.drain() }
            }
            let texts = sent.count { $0.track == .data }
            return (sent.filter { $0.track == .video }.map(\.pts), queue.drops, texts)
        }
        let (plain, marked) = (run(marked: false), run(marked: true))
        #expect(plain.0 == marked.0 && plain.1.frames == marked.1.frames)
        #expect(marked.2 > 0)
    }

    @Test("A new output gets markers from the start on; a reconnected output gets none from its time off air")
    func offAir() {
        let queue = PacketQueue(limits: .live)
        for packet in Packets.video(0..<30) { queue.push(packet) }
        queue.push(EncodedPacket(text: "start", at: Self.start(30)))
        _ = queue.connected()
        #expect(queue.drain().compactMap(\.text) == ["start"])
        queue.disconnected()
        queue.push(EncodedPacket(text: "away", at: Self.start(31)))
        for packet in Packets.video(31..<70) { queue.push(packet) }
        _ = queue.connected()
        let packets = queue.drain()
        #expect(packets.compactMap(\.text).isEmpty && packets.first?.pts == 60)
    }
}
