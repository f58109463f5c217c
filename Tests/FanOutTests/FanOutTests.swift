// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Synchronization
import Testing

/// A consumer that records the packets that it gets, and the order of calls.
private final class Collector: PacketConsumer, PacketServer {
    private let state = Mutex<(packets: [EncodedPacket], wakes: [Int])>(([], []))
    var packets: [EncodedPacket] { state.withLock { $0.packets } }
    var wakes: [Int] { state.withLock { $0.wakes } }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        state.withLock { $0.packets += packets }
        return self
    }
    func wake() { state.withLock { state in state.wakes.append(state.packets.count) } }
}

/// A consumer that shares a server with others.
private final class Member: PacketConsumer {
    private let packets: PacketQueue
    private let shared: any PacketServer

    init(_ packets: PacketQueue, servedBy shared: any PacketServer) { (self.packets, self.shared) = (packets, shared) }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        for packet in packets { self.packets.push(packet) }
        return shared
    }
}

/// A server of several queues that records how many packets each queue has when the server is woken.
private final class SharedServer: PacketServer {
    let queues = [PacketQueue(limits: .live), PacketQueue(limits: .live), PacketQueue(limits: .live)]
    private let seen = Mutex<[[Int]]>([])
    var wakes: [[Int]] { seen.withLock { $0 } }
    func wake() { seen.withLock { $0.append(queues.map(\.status.packets)) } }
}

@Suite("Fan-out")
struct FanOutTests {
    /// A stream whose description has both tracks.
    private func stream() -> PacketStream {
        let stream = PacketStream()
        stream.begin(.sample, keyframes: KeyframeCounter())
        return stream
    }

    private func publish(seconds: Int64, to hub: PacketStream) {
        let hub = InterleavingSink(hub)
        // The order of packets is that of an encoder: audio is ahead of the video.
        var audio: Int64 = -1
        for frame in 0..<30 * seconds {
            while audio * 1024 < (frame + 12) * 1600 {
                hub.publish(Packets.audio(audio))
                audio += 1
            }
            hub.publish(Packets.video(frame, key: frame % 60 == 0))
        }
    }

    @Test("Every consumer of the packet stream gets the same packets, uncopied, in decoding order of both tracks")
    func sharesBytes() {
        let hub = stream()
        let (first, second) = (Collector(), Collector())
        hub.add(first)
        hub.add(second)
        publish(seconds: 4, to: hub)
        hub.finish()
        #expect(first.packets.count == second.packets.count)
        #expect(zip(first.packets, second.packets).allSatisfy { $0.payload === $1.payload })
        let times = first.packets.map(\.dtsNanoseconds)
        #expect(times == times.sorted())
        #expect(first.packets.filter { $0.track == .video }.count == 120)
    }

    @Test("Consumers are woken once per frame, after the frame was delivered to all of them")
    func wakes() {
        let hub = stream()
        let collector = Collector()
        hub.add(collector)
        publish(seconds: 2, to: hub)
        #expect(collector.wakes.count == collector.packets.filter { $0.track == .video }.count)
    }

    @Test("Audio is delivered together with the frame after it, or at the end of the stream")
    func audioWaits() {
        let hub = stream()
        let collector = Collector()
        hub.add(collector)
        let order = InterleavingSink(hub)
        order.publish(Packets.video(0, key: true))
        for index in 0..<3 { order.publish(Packets.audio(Int64(index))) }
        #expect(collector.packets.map(\.track) == [.video])
        order.publish(Packets.video(1))
        #expect(collector.packets.map(\.track) == [.video, .audio, .audio, .video])
        #expect(collector.wakes == [1, 4])
        order.publish(Packets.audio(3))
        order.finish()
        #expect(collector.packets.map(\.track) == [.video, .audio, .audio, .video, .audio, .audio])
    }

    @Test("Adding or removing a consumer does not affect the other consumers of a packet stream")
    func comesAndGoes() {
        let hub = stream()
        let (steady, guest) = (Collector(), Collector())
        hub.add(steady)
        publish(seconds: 1, to: hub)
        hub.add(guest)
        hub.remove(guest)
        publish(seconds: 1, to: hub)
        hub.finish()
        #expect(guest.packets.isEmpty)
        #expect(steady.packets.filter { $0.track == .video }.count == 60)
    }

    @Test("A track's packets wait until the other track has reached the same time")
    func interleaver() {
        var interleaver = Interleaver()
        #expect(interleaver.push(Packets.video(0, key: true)).isEmpty)
        #expect(interleaver.push(Packets.audio(-1)).map(\.track) == [.audio])
        #expect(interleaver.push(Packets.audio(1)).map(\.track) == [.video])
        #expect(interleaver.end(.video).map(\.pts) == [1024])
    }

    @Test("A thread that serves several outputs is woken once per frame, after all of them got the frame")
    func sharedServer() {
        let hub = stream()
        let server = SharedServer()
        for queue in server.queues { hub.add(Member(queue, servedBy: server)) }
        publish(seconds: 2, to: hub)
        #expect(server.wakes.allSatisfy { Set($0).count == 1 })
        #expect(server.wakes.count == 60)
    }
}
