// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Program

@Suite("Buffer of a source's packets for the program")
struct PacketBufferTests {
    private static let video = TrackDescription(
        video: .h264, frames: FrameFormat(width: 320, height: 180), timeBase: .mpegTS,
        decoderConfiguration: SharedBytes([1]))
    private static let audio = TrackDescription(
        audio: .aac, format: .program, timeBase: .mpegTS, decoderConfiguration: SharedBytes([0x11, 0x90]),
        frameLength: 1024)

    private let wanted = PacketSwitch()
    private let packetBuffer: PacketBuffer

    init() { packetBuffer = PacketBuffer(delay: .zero, wanted: wanted) }

    /// Adds frames of 40 ms, every twelfth of them a keyframe, each with audio.
    private func put(_ numbers: Range<Int64>) {
        for number in numbers {
            for track in [Self.video, Self.audio] {
                packetBuffer.put(
                    EncodedPacket(
                        of: track, pts: number * 3600, dts: number * 3600, duration: 3600,
                        isKeyframe: track.codec == .aac || number % 12 == 0, payload: SharedBytes([1])))
            }
        }
    }

    /// Takes the packets before a frame, and returns their numbers by track.
    private func take(before end: Int64 = .max) -> [TrackKind: [Int64]] {
        let taken = packetBuffer.take { $0.dts / 3600 < end ? $0 : nil }
        return Dictionary(grouping: taken, by: \.track).mapValues { $0.map { $0.dts / 3600 } }
    }

    @Test("Each packet is read once; after a rewind, reading begins with the newest keyframe that was read")
    func group() {
        put(0..<30)
        #expect(take(before: 20)[.video] == Array(0..<20))
        #expect(take(before: 28)[.video] == Array(20..<28))
        packetBuffer.rewind()
        let again = take(before: 29)
        #expect(again[.video] == Array(24..<29))
        // The audio begins half a second earlier.
        #expect(again[.audio] == Array(12..<29))
        #expect(take() == [.video: [29], .audio: [29]])
        #expect(take().isEmpty)
    }

    @Test("Packets are buffered only while a consumer needs them, beginning with a keyframe")
    func unwanted() {
        put(0..<5)
        wanted.isOn = false
        put(5..<14)
        #expect(take().isEmpty)
        wanted.isOn = true
        put(14..<27)
        let taken = take()
        #expect(taken[.video] == Array(24..<27))
        #expect(taken[.audio] == Array(14..<27))
    }

    @Test("Packets are removed from the buffer after some seconds, whether they were read or not")
    func bounded() {
        put(0..<100)
        #expect(take(before: 50)[.video]?.count == 50)
        put(100..<1000)
        packetBuffer.rewind()
        // These are the frames, of 40 ms each, of the last 12 s.
        #expect(take()[.video] == Array(699..<1000))
    }
}
