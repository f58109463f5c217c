// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport
import Testing

@testable import FanOut

/// Records its packets.
private final class Guest: PacketConsumer, PacketServer {
    private let state = Mutex<(packets: [EncodedPacket], wakes: Int)>(([], 0))
    var packets: [EncodedPacket] { state.withLock { $0.packets } }
    var wakes: Int { state.withLock { $0.wakes } }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        state.withLock { $0.packets += packets }
        return self
    }
    func wake() { state.withLock { $0.wakes += 1 } }
}

@Suite("The packet stream of a program")
struct PacketStreamTests {
    private func publish(_ frames: Range<Int64>, to stream: PacketStream) {
        for frame in frames {
            stream.publish(Packets.video(frame, key: frame % 60 == 0))
            stream.publish(Packets.audio(frame * 1600 / 1024))
        }
    }

    @Test("A receiver that joins late gets the current GOP with its audio, then each packet once, in order")
    func joins() {
        let stream = PacketStream()
        let first = Guest()
        stream.begin(.sample, keyframes: KeyframeCounter())
        stream.add(first)
        publish(0..<100, to: stream)
        let late = Guest()
        stream.join(late)
        #expect(late.packets.first?.isKeyframe == true && late.packets.first?.pts == 60)
        #expect(late.wakes == 1)
        publish(100..<110, to: stream)
        stream.finish()
        let all = first.packets
        let start = all.firstIndex { $0.track == .video && $0.pts == 60 } ?? 0
        let isSame = late.packets.elementsEqual(all[start...], by: ===)
        #expect(isSame)
    }

    @Test(
        "A replay gets all kept packets from a keyframe on, then each new packet once")
    func replays() {
        let stream = PacketStream()
        let first = Guest()
        stream.add(first)
        #expect(stream.joinReplay(Guest()) == nil && stream.newestTime == nil)
        stream.keep(.init(duration: .seconds(3)))
        publish(0..<400, to: stream)
        let late = Guest()
        let start = stream.joinReplay(late)
        #expect(late.packets.first?.pts == 300 && start == late.packets.first?.programPts)
        #expect(stream.newestTime == first.packets.map(\.programDts).max())
        publish(400..<410, to: stream)
        stream.finish()
        let all = first.packets
        let index = all.firstIndex { $0.track == .video && $0.pts == 300 } ?? 0
        let isSame = late.packets.elementsEqual(all[index...], by: ===)
        #expect(isSame)
        stream.keep(.currentGOP)
        publish(420..<421, to: stream)
        let last = Guest()
        _ = stream.joinReplay(last)
        #expect(last.packets.first?.pts == 420)
    }

    @Test("A receiver that joins before the first keyframe gets no packet until that keyframe")
    func joinsEarly() {
        let stream = PacketStream()
        publish(1..<10, to: stream)
        let guest = Guest()
        stream.join(guest)
        #expect(guest.packets.isEmpty)
        publish(60..<61, to: stream)
        #expect(guest.packets.contains { $0.pts == 60 })
    }

    @Test("The packets of a passed-through stream are delivered at once, in the sender's order")
    func immediate() {
        let stream = PacketStream(delivery: .immediate)
        let guest = Guest()
        stream.add(guest)
        let packets = [Packets.video(0, key: true), Packets.audio(3), Packets.video(1), Packets.audio(2)]
        for (count, packet) in packets.enumerated() {
            stream.publish(packet)
            #expect(guest.packets.count == count + 1 && guest.wakes == count + 1)
        }
        let isSame = guest.packets.elementsEqual(packets, by: ===)
        #expect(isSame)
    }

    @Test("Packets of a stream without video are delivered without waiting for video")
    func radio() {
        let stream = PacketStream()
        let guest = Guest()
        stream.begin(StreamDescription(audio: Packets.audio), keyframes: KeyframeCounter())
        stream.add(guest)
        for index in Int64(0)..<5 { stream.publish(Packets.audio(index)) }
        #expect(guest.packets.count == 5)
        let late = Guest()
        stream.join(late)
        #expect(late.packets.map(\.pts) == [4 * 1024])
    }

    @Test("The stream describes the tracks of its newest packets, and forwards keyframe requests to the encoder")
    func description() {
        let stream = PacketStream()
        let keyframes = KeyframeCounter()
        stream.requestKeyframe(at: nil)
        stream.begin(StreamDescription(video: Packets.video), keyframes: keyframes)
        stream.publish(Packets.video(0, key: true))
        #expect(stream.description.isIdentical(to: StreamDescription(video: Packets.video)))
        stream.publish(Packets.audio(0))
        #expect(stream.description.isIdentical(to: .sample))
        stream.requestKeyframe(at: 7)
        #expect(keyframes.count == 1)
    }
}

@Suite("Packet history of a stream")
struct PacketHistoryTests {
    private func history(_ limits: PacketHistory.Limits, frames: Range<Int64>, size: Int = 100) -> PacketHistory {
        var history = PacketHistory(limits: limits)
        for packet in frames.map({ Packets.video($0, key: $0 % 60 == 0, size: size) }) {
            history.append(packet, isKeyframe: packet.isKeyframe)
        }
        return history
    }

    @Test("By default the packet history contains only the current GOP")
    func currentGOP() {
        let history = history(.currentGOP, frames: 30..<200)
        #expect(history.packets.map(\.pts) == Array(180..<200))
        #expect(history.currentGOP.map(\.pts) == Array(180..<200))
        #expect(history.bytes == 2000)
        #expect(history.age == history.packets[19].dtsNanoseconds - history.packets[0].dtsNanoseconds)
    }

    @Test("The packet history for replays covers at least the requested duration, and begins with a keyframe")
    func replay() {
        let history = history(.init(duration: .seconds(5)), frames: 0..<600)
        #expect(history.packets.first?.pts == 420)
        #expect(history.currentGOP.first?.pts == 540)
        #expect(history.packets.map(\.pts) == Array(420..<600))
    }

    @Test("If the history exceeds its limit in bytes the oldest GOPs are removed, and an oversized GOP is not kept")
    func bytes() {
        let some = history(.init(duration: .seconds(60), maximumBytes: 15_000), frames: 0..<600)
        #expect(some.packets.first?.pts == 480 && some.bytes == 12_000)
        let none = history(.init(maximumBytes: 5000), frames: 0..<600)
        #expect(none.packets.isEmpty && none.bytes == 0)
    }

    @Test("A GOP longer than the history's time limit is dropped, and the next GOP is kept again")
    func longGOP() {
        var history = PacketHistory(limits: .init(longestGOP: .seconds(4)))
        for index in Int64(0)..<300 {
            let packet = Packets.video(index, key: index == 0 || index == 250)
            history.append(packet, isKeyframe: packet.isKeyframe)
            #expect(history.bytes <= 12_200)
        }
        #expect(history.packets.map(\.pts) == Array(250..<300))
    }
}

@Suite("Interleaver")
struct InterleaverTests {
    @Test("If a track stops, the other's packets wait up to a limit; late packets of the stopped track pass at once")
    func bound() {
        var interleaver = Interleaver(bound: .seconds(1))
        #expect(interleaver.push(Packets.audio(0)).isEmpty)
        #expect(interleaver.push(Packets.video(0, key: true)).count == 1)
        var released: [Int64] = []
        for frame in Int64(1)..<90 {
            released += interleaver.push(Packets.video(frame)).filter { $0.track == .video }.map(\.pts)
        }
        // The frames that were held for one second were released, and no later frame was held.
        #expect(released == Array(1..<90))
        let late = interleaver.push(Packets.audio(1))
        #expect(late.first?.track == .audio)
    }

    @Test("If a stopped track's packets arrive again, the other track's packets wait for them again")
    func again() {
        var interleaver = Interleaver(bound: .seconds(1))
        _ = interleaver.push(Packets.audio(0))
        for frame in Int64(0)..<90 { _ = interleaver.push(Packets.video(frame, key: frame == 0)) }
        // After the first audio packet since 3 s, video still does not wait for audio; after the second one it does.
        #expect(interleaver.push(Packets.audio(141)).isEmpty)
        #expect(interleaver.push(Packets.video(91)).map(\.track) == [.audio, .video])
        #expect(interleaver.push(Packets.audio(143)).isEmpty)
        #expect(interleaver.push(Packets.video(92)).map(\.track) == [.audio])
    }

    @Test("At one frame every 2 s, at most one second of audio waits for a frame, and only once")
    func slow() {
        var interleaver = Interleaver(bound: .seconds(1))
        _ = interleaver.push(Packets.video(0, key: true))
        var held: [Int] = []
        for index in Int64(0)..<600 {
            if index > 0, index % 94 == 0 { held.append(1 - interleaver.push(Packets.video(index / 94 * 60)).count) }
            held.append(1 - interleaver.push(Packets.audio(index)).count)
        }
        // At most one second of audio is held, and only once.
        let waiting = held.indices.map { held[...$0].reduce(0, +) }
        #expect((waiting.max() ?? 0) <= 49 && waiting.dropFirst(94).allSatisfy { $0 <= 1 })
    }

    @Test("Packets of a stream with a single track are delivered at once")
    func oneTrack() {
        var interleaver = Interleaver(waitingFor: [.audio])
        #expect(interleaver.push(Packets.audio(0)).count == 1)
        #expect(interleaver.push(Packets.audio(1)).count == 1)
    }

    @Test("Timed data is delivered in order and delays no other track")
    func data() {
        let track = TrackDescription(data: .amf0, timeBase: .milliseconds)
        var interleaver = Interleaver()
        let cue = EncodedPacket(
            of: track, pts: 10, dts: 10, duration: 0, isKeyframe: true, payload: SharedBytes([1]))
        #expect(interleaver.push(cue).isEmpty)
        #expect(interleaver.push(Packets.video(0, key: true)).isEmpty)
        #expect(interleaver.push(Packets.audio(0)).map(\.track) == [.video])
        #expect(interleaver.push(Packets.video(1)).map(\.track) == [.audio])
        #expect(interleaver.push(Packets.audio(1)).map(\.track) == [.data, .audio])
    }
}
