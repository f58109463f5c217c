// SPDX-License-Identifier: Apache-2.0

import Media
import Networking
import PacketSamples
import Testing

@testable import RTMP

@Suite struct RTMPTimelineTests {
    private func composition(_ message: RTMPMessage) -> Int64? {
        if case .video(_, _, let time) = message.prefix { Int64(time) } else { nil }
    }

    @Test(
        "Over 24 h RTMP timestamps do not drift or decrease in any track",
        arguments: [FrameRate(30), FrameRate(30_000, 1001)])
    func day(rate: FrameRate) {
        var timeline = RTMPTimeline()
        let milliseconds = { (ticks: Int64) in
            rate.timeBase.rescale(ticks, to: .milliseconds, rounding: .down)
        }
        let offsets: [Int64] = [2, 4, 2, 1]  // of an I-P-B-b group with a delay of two frames
        let frames = Int64(24 * 3600 * 30)
        var (last, wrong) = (Int64(-1), 0)
        for dts in stride(from: Int64(-2), to: frames, by: 1) {
            // The first ten seconds of each hour, and the whole last minute.
            guard (dts + 2) % 108_000 < 300 || dts > frames - 1800 else { continue }
            let pts = dts + offsets[Int((dts + 4) % 4)]
            let message = timeline.message(for: Samples.video(pts: pts, dts: dts, rate: rate))
            let isExact =
                message.timestamp == milliseconds(dts) - milliseconds(-2)
                && message.timestamp + (composition(message) ?? -1) == milliseconds(pts) - milliseconds(-2)
            if !isExact || message.timestamp <= last { wrong += 1 }
            last = message.timestamp
        }
        #expect(wrong == 0)
    }

    @Test("The first packet gets the RTMP timestamp 0, even if it is audio before the first frame")
    func priming() {
        var timeline = RTMPTimeline()
        #expect(timeline.message(for: Samples.audio(pts: -1024)).timestamp == 0)
        #expect(timeline.message(for: Samples.video(pts: 0, dts: 0, isKeyframe: true)).timestamp == 22)
        #expect(timeline.message(for: Samples.audio(pts: 0)).timestamp == 22)
    }

    @Test("A packet with an earlier time does not set the RTMP timestamps of its track back")
    func monotone() {
        var timeline = RTMPTimeline()
        _ = timeline.message(for: Samples.video(pts: 30, dts: 30, isKeyframe: true))
        #expect(timeline.message(for: Samples.audio(pts: 0)).timestamp == 0)
        #expect(timeline.message(for: Samples.audio(pts: 48_000 * 2)).timestamp == 1000)
        #expect(timeline.message(for: Samples.audio(pts: 48_000)).timestamp == 1000)
    }

    @Test("An RTMP stream begins with metadata and the AVC and AAC configurations at the timestamp 0")
    func headers() {
        var writer = RTMPChunkWriter(streamID: 1)
        let messages = RTMPHeaders.messages(for: Samples.description)
        #expect(messages.map(\.kind) == [.data, .video, .audio])
        #expect(messages.allSatisfy { $0.timestamp == 0 })
        var buffer = OutboundBuffer()
        writer.append(messages[1], to: &buffer)
        #expect(
            buffer.bytes == [6, 0, 0, 0, 0, 0, 9, 9, 1, 0, 0, 0, 0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1F])
        buffer = OutboundBuffer()
        writer.append(messages[2], to: &buffer)
        #expect(buffer.bytes == [4, 0, 0, 0, 0, 0, 4, 8, 1, 0, 0, 0, 0xAF, 0, 0x11, 0x90])
    }

    @Test("The RTMP metadata has 20 properties, and its numbers are encoded as AMF numbers")
    func metadata() throws {
        let bytes = RTMPHeaders.metadata(Samples.description)
        #expect(Array(bytes[..<16]) == [2, 0, 13] + Array("@setDataFrame".utf8))
        #expect(Array(bytes[16..<29]) == [2, 0, 10] + Array("onMetaData".utf8))
        #expect(Array(bytes[29..<34]) == [8, 0, 0, 0, 20])
        #expect(bytes.suffix(3) == [0, 0, 9])
        guard case .object(let properties)? = AMF0Reader.values(bytes).last else {
            Issue.record("no properties")
            return
        }
        #expect(properties.count == 20)
        #expect(properties["videocodecid"] == .number(7))
        #expect(properties["audiocodecid"] == .number(10))
        #expect(properties["width"] == .number(1280))
        #expect(properties["videodatarate"] == .number(2500))
        #expect(properties["framerate"] == .number(30))
        #expect(properties["stereo"] == .boolean(true))
        #expect(properties["encoder"] == .string("relay"))
    }
}
