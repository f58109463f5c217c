// SPDX-License-Identifier: Apache-2.0

import LibAV
import Media
import PacketSamples
import TestSupport
import Testing

@testable import Ingest
@testable import RTMP

/// Tests the conversion of published messages to packets.
@Suite struct RTMPPacketReaderTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func video(_ body: [UInt8], at time: UInt32 = 0) throws -> RTMPPublishedMessage {
        RTMPPublishedMessage(timestamp: time, content: .video(try #require(try FLVVideo(body: body[...]))))
    }

    private func audio(_ body: [UInt8], at time: UInt32 = 0) throws -> RTMPPublishedMessage {
        RTMPPublishedMessage(timestamp: time, content: .audio(try #require(try FLVAudio(body: body[...]))))
    }

    /// The `avcC` of a clip as a published message.
    private func configuration(_ clip: CodedClip) throws -> RTMPPublishedMessage {
        try video([0x17, 0, 0, 0, 0] + (clip.description.video?.decoderConfiguration.array ?? []))
    }

    /// A frame of a clip that is shown `offset` milliseconds after it is decoded.
    private func frame(_ packet: EncodedPacket, at time: UInt32, offset: UInt8 = 0) throws -> RTMPPublishedMessage {
        try video([packet.isKeyframe ? 0x17 : 0x27, 1, 0, 0, offset] + packet.payload.array, at: time)
    }

    private func clip(_ options: [String] = [], name: String = "clip.mp4") throws -> CodedClip {
        try CodedClip(video: "libx264", audio: "aac", options: options, name: name, in: directory.path)
    }

    @Test("Each additional audio track of a publisher is listed once, even if several messages contain it")
    func otherTracks() throws {
        var reader = RTMPPacketReader()
        let opus = Array("Opus".utf8)
        let together = try audio([0x95, 0x11] + opus + [1, 0, 0, 1, 5] + [0, 0, 0, 1, 6])
        for _ in 0..<2 {
            _ = reader.read(together)
            _ = reader.read(RTMPPublishedMessage(timestamp: 0, content: .otherTracks(["audio track 3 (AAC)"])))
        }
        #expect(reader.uncarriedTracks == ["audio track 2 (Opus)", "audio track 3 (AAC)"])
        #expect(
            reader.complaints == ["audio track 2 (Opus) is not carried", "audio track 3 (AAC) is not carried"])
    }

    @Test("A publisher's video is described by its configuration from the first keyframe on, and frames stay unchanged")
    func avc() throws {
        let clip = try clip(["-bf", "2"])
        let frames = clip.packets.filter { $0.track == .video }
        var reader = RTMPPacketReader()
        #expect(reader.isMissingTrack)
        let metadata: [String: AMF0Value] = [
            "videocodecid": .number(7), "framerate": .number(25), "videodatarate": .number(800),
        ]
        #expect(reader.read(RTMPPublishedMessage(timestamp: 0, content: .metadata(metadata))) == nil)
        #expect(reader.read(try configuration(clip)) == nil)
        #expect(reader.read(try frame(frames[1], at: 10)) == nil, "a decoder cannot start before a keyframe")
        #expect(reader.stream.video == nil && reader.isMissingTrack)
        for (index, packet) in frames.enumerated() {
            let time = UInt32(20 + index * 40)
            let read = try #require(reader.read(try frame(packet, at: time, offset: 80)))
            #expect(read.dts == Int64(time) && read.pts == Int64(time) + 80)
            #expect(read.payload.array == packet.payload.array && read.isKeyframe == packet.isKeyframe)
            #expect(read.isDisposable == packet.isDisposable)
        }
        let track = try #require(reader.stream.video)
        #expect(track.frameFormat?.width == 320 && track.frameFormat?.height == 180 && track.reorderDepth == 2)
        #expect(track.nominalRate == FrameRate(25) && track.bitrate == 800_000)
        #expect(!reader.isMissingTrack, "audio was not announced")
        #expect(frames.contains(where: \.isDisposable) && reader.complaints.isEmpty)
    }

    /// A frame of a clip that is shown `offset` milliseconds after `time`, in Adobe's form or in that of Enhanced RTMP.
    private func frame(
        _ packet: EncodedPacket, at time: UInt32, shown offset: Int64, isEnhanced: Bool
    ) throws -> RTMPPublishedMessage {
        let shift = (0..<3).map { UInt8(truncatingIfNeeded: offset >> (16 - 8 * $0)) }
        let kind: UInt8 = packet.isKeyframe ? 0x10 : 0x20
        let head = isEnhanced ? [kind | 0x81] + Array("avc1".utf8) : [kind | 7, 1]
        return try video(head + shift + packet.payload.array, at: time)
    }

    @Test(
        "Frames with presentation times before their decoding times keep their presentation times",
        arguments: [true, false], [true, false])
    func negativeOffsets(isEnhanced: Bool, announcesRate: Bool) throws {
        let clip = try clip(["-bf", "2"])
        let frames = clip.packets.filter { $0.track == .video }
        let start = try #require(frames.first).pts
        var reader = RTMPPacketReader()
        if announcesRate {
            _ = reader.read(RTMPPublishedMessage(timestamp: 0, content: .metadata(["framerate": .number(25)])))
        }
        _ = reader.read(try configuration(clip))
        var (wanted, read): ([Int64], [EncodedPacket]) = ([], [])
        for (index, packet) in frames.enumerated() {
            let shown = packet.timeBase.rescale(packet.pts - start, to: .milliseconds)
            let offset = shown - Int64(index) * 40
            wanted.append(1000 + shown)
            let message = try frame(
                packet, at: UInt32(1000 + index * 40), shown: offset, isEnhanced: isEnhanced)
            let packet = reader.read(message)
            read.append(try #require(packet))
        }
        #expect(read.map(\.pts) == wanted && Set(wanted).count == wanted.count)
        #expect(read.allSatisfy { $0.pts >= $0.dts }, "MPEG-TS has no frame that is shown before it is decoded")
        #expect(zip(read, read.dropFirst()).allSatisfy { $1.dts - $0.dts == 40 }, "and the decoding times are even")
    }

    @Test("One absurd composition time of a sender moves the decoding times by less than a second")
    func absurdOffset() throws {
        let clip = try clip()
        let key = try #require(clip.packets.first { $0.track == .video })
        var reader = RTMPPacketReader()
        _ = reader.read(try configuration(clip))
        for offset in [0, -8_000_000, 0] as [Int64] {
            let message = try frame(key, at: 10_000, shown: offset, isEnhanced: false)
            let read = reader.read(message)
            let packet = try #require(read)
            #expect(packet.pts >= packet.dts && packet.dts > 9000)
        }
    }

    @Test("Video with NAL unit lengths of 2 bytes is converted to lengths of 4 bytes")
    func narrowLengths() throws {
        let clip = try clip()
        let record = try #require(clip.description.video).decoderConfiguration.array
        var narrow = record
        narrow[4] = narrow[4] & 0xFC | 1
        var reader = RTMPPacketReader()
        // The second time, the same sender uses lengths of 4 bytes; nothing changes for the outputs.
        for (head, isNarrow) in [(narrow, true), (record, false)] {
            _ = reader.read(try video([0x17, 0, 0, 0, 0] + head))
            for (index, packet) in clip.packets.filter({ $0.track == .video }).enumerated() {
                let payload = packet.payload.array
                let body = [packet.isKeyframe ? 0x17 : 0x27, 1, 0, 0, 0] + (isNarrow ? payload.shortLengths : payload)
                let read = try #require(reader.read(try video(body, at: UInt32(index) * 40)))
                #expect(read.payload.array == payload && read.isDisposable == packet.isDisposable)
                #expect(read.description === reader.stream.video)
            }
        }
        #expect(reader.stream.video?.decoderConfiguration.array == record && reader.complaints.isEmpty)
    }

    @Test("A repeated decoder configuration keeps the track, and a changed one makes a new track from its keyframe on")
    func change() throws {
        let (small, large) = (try clip(), try clip(["-s", "640x360"], name: "large.mp4"))
        var reader = RTMPPacketReader()
        var tracks: [TrackDescription] = []
        for (index, clip) in [small, small, large].enumerated() {
            _ = reader.read(try configuration(clip))
            let key = try #require(clip.packets.first { $0.track == .video })
            tracks.append(try #require(reader.read(try frame(key, at: UInt32(index * 1000)))).description)
        }
        #expect(tracks[0] === tracks[1] && tracks[1] !== tracks[2])
        #expect(tracks[2].frameFormat?.width == 640)
    }

    @Test("A decoder configuration that cannot be parsed is reported once, and its frames are dropped")
    func damaged() throws {
        var reader = RTMPPacketReader()
        let records: [[UInt8]] = [
            [1, 100, 0, 31, 255, 225, 0, 1, 0x67, 1, 0, 1, 0x68], [1, 100, 0, 31, 253, 224, 0], [7],
        ]
        for bytes in records {
            for _ in 0..<3 {
                _ = reader.read(try video([0x17, 0, 0, 0, 0] + bytes))
                #expect(reader.read(try video([0x17, 1, 0, 0, 0, 0, 0, 0, 1, 0x65])) == nil)
            }
        }
        #expect(reader.stream.video == nil && Set(reader.complaints).count == reader.complaints.count)
        #expect(reader.complaints.contains { $0.contains("configuration cannot be read") }, "\(reader.complaints)")
    }

    @Test("AAC from a publisher is described by its configuration, and Opus by its identification header")
    func configuredAudio() throws {
        var reader = RTMPPacketReader()
        #expect(reader.read(try audio([0xAF, 1, 9, 9])) == nil, "nothing is known of it yet")
        _ = reader.read(try audio([0xAF, 0, 0x11, 0x90]))
        let packet = try #require(reader.read(try audio([0xAF, 1, 9, 9], at: 21)))
        #expect(packet.pts == 21 && packet.duration == 21 && packet.payload.array == [9, 9] && packet.isKeyframe)
        #expect(packet.description.audioFormat == AudioFormat(sampleRate: 48_000, channels: 2))
        let head = Array("OpusHead".utf8) + [1, 1, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0]
        _ = reader.read(try audio([0x90] + Array("Opus".utf8) + head))
        #expect(reader.stream.audio?.codec == .opus && reader.stream.audio?.audioFormat?.channels == 1)
        #expect(reader.read(try audio([0x91] + Array("Opus".utf8) + [7], at: 40))?.duration == 20)
    }

    /// A frame of MP3, 128 kbit/s: MPEG 1 at 48 kHz, or MPEG 2 at 24 kHz.
    private func mp3(isHalf: Bool = false, isMono: Bool = false) -> [UInt8] {
        [0x2F, 0xFF, isHalf ? 0xF3 : 0xFB, 0x94, isMono ? 0xC0 : 0, 1, 2, 3]
    }

    /// The header of a frame of AC-3: 48 kHz, 5.1 channels or stereo.
    private func ac3(isSurround: Bool) -> [UInt8] {
        [0x91] + Array("ac-3".utf8) + [0x0B, 0x77, 0, 0, 0x1C, 0x40, isSurround ? 0xE1 : 0x40, 0, 1, 2]
    }

    @Test("MP3 and AC-3 from a publisher are described by their first frame")
    func framedAudio() throws {
        for (body, rate, channels, length) in [
            (mp3(), 48_000, 2, 1152), (mp3(isHalf: true, isMono: true), 24_000, 1, 576),
            (ac3(isSurround: true), 48_000, 6, 1536), (ac3(isSurround: false), 48_000, 2, 1536),
        ] as [([UInt8], Int32, Int, Int)] {
            var reader = RTMPPacketReader()
            let track = try #require(reader.read(try audio(body))).description
            #expect(track.audioFormat == AudioFormat(sampleRate: rate, channels: channels))
            #expect(track.frameLength == length)
        }
    }

    @Test("After a publisher changes the audio codec, frames have the description of the new codec")
    func otherAudio() throws {
        var reader = RTMPPacketReader()
        _ = reader.read(try audio([0xAF, 0, 0x11, 0x90]))
        #expect(reader.read(try audio([0xAF, 1, 9]))?.description.codec == .aac)
        #expect(reader.read(try audio(mp3()))?.description.codec == .mp3)
        #expect(reader.read(try audio(ac3(isSurround: true)))?.description.codec == .ac3)
        // Opus needs its identification header first.
        #expect(reader.read(try audio([0x91] + Array("Opus".utf8) + [7])) == nil)
        #expect(reader.read(try audio([0xAF, 1, 9])) == nil, "and AAC again its configuration")
    }

    @Test("If the number of channels of MP3 or AC-3 changes, this makes a new track")
    func otherFrames() throws {
        var reader = RTMPPacketReader()
        let bodies = [mp3(), mp3(), mp3(isMono: true), ac3(isSurround: true), ac3(isSurround: false)]
        let tracks = try bodies.map { try #require(reader.read(try audio($0))).description }
        #expect(tracks[0] === tracks[1], "what is the same stays the same")
        #expect(tracks.compactMap(\.audioFormat?.channels) == [2, 2, 1, 6, 2])
    }

    @Test("Content that relay cannot carry is reported once, and the number of reports is limited")
    func complaints() throws {
        var reader = RTMPPacketReader()
        for number in 0..<20 {
            let message = RTMPPublishedMessage(timestamp: 0, content: .unsupported("codec \(number / 2)"))
            #expect(reader.read(message) == nil)
        }
        #expect(reader.complaints == (0..<8).map { "codec \($0) is not carried" })
    }
}
