// SPDX-License-Identifier: Apache-2.0

import LibAV
import Media
import PacketSamples
import Synchronization
import Testing

@testable import Publisher

@Suite("Transport stream of UDP and SRT outputs")
struct TransportStreamTests {
    /// High profile, level 3.1: `AVCDecoderConfigurationRecord` with one SPS and one PPS.
    private static let configuration: [UInt8] =
        [1, 0x64, 0, 0x1F, 0xFF, 0xE1, 0, 4, 0x67, 0x64, 0, 0x1F, 1, 0, 4, 0x68, 0xEE, 0x3C, 0x80]

    private static let tracks = Mutex<[FrameRate: TrackDescription]>([:])

    /// Returns the same object for each rate, because packets are compared by identity.
    static func track(_ rate: FrameRate) -> TrackDescription {
        tracks.withLock { tracks in
            let track =
                tracks[rate]
                ?? TrackDescription(
                    format: VideoFormat(width: 1280, height: 720, frameRate: rate),
                    decoderConfiguration: SharedBytes(configuration), bitrate: 2_500_000, reorderDepth: 0,
                    encoderSettings: "")
            tracks[rate] = track
            return track
        }
    }

    static func description(_ rate: FrameRate) -> StreamDescription {
        StreamDescription(video: track(rate), audio: Samples.audioTrack)
    }

    /// Returns a slice of this many bytes, preceded by its length.
    static func frame(_ index: Int64, _ rate: FrameRate, bytes: Int, isKeyframe: Bool) -> EncodedPacket {
        let slice = [isKeyframe ? 0x65 : 0x41] + [UInt8](repeating: 0x88, count: bytes - 1)
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: slice.count >> $0) }
        return EncodedPacket(
            of: track(rate), pts: index, dts: index, duration: 1, isKeyframe: isKeyframe,
            payload: SharedBytes(length + slice))
    }

    /// An AAC packet; libavformat refuses a packet with fewer than two bytes.
    private static func audio(_ index: Int64) -> EncodedPacket {
        EncodedPacket(
            of: Samples.audioTrack, pts: index * 1024, dts: index * 1024, duration: 1024, isKeyframe: true,
            payload: SharedBytes([UInt8](repeating: 0x21, count: 300)))
    }

    @Test("A timed text message is not carried in a transport stream, and changes no byte of the stream")
    func texts() throws {
        func bytes(marked: Bool) throws -> [[UInt8]] {
            let rate = FrameRate(30)
            let stream = try TransportStream(description: Self.description(rate), messageBytes: 1316)
            for index in Int64(0)..<30 {
                if marked, index % 10 == 0 {
                    let time = ProgramInstant(nanoseconds: index * 33_000_000 - 500_000)
                    try stream.write(EncodedPacket(text: "goal", at: time))
                }
                try stream.write(Self.frame(index, rate, bytes: 2000, isKeyframe: index == 0))
            }
            stream.flush()
            var messages: [[UInt8]] = []
            while let first = stream.first {
                messages.append(first)
                stream.removeFirst()
            }
            return messages
        }
        #expect(try bytes(marked: true) == bytes(marked: false))
    }

    /// Returns three seconds of both tracks with an IDR frame each second, without the frames for which `omits` returns
    /// true.
    private static func messages(_ rate: FrameRate, omits: (Int64) -> Bool = { _ in false }) throws -> [[UInt8]] {
        let stream = try TransportStream(description: description(rate), messageBytes: 1316)
        let perSecond = Int64(rate.value.rounded())
        var packets = (0..<141).map { audio($0) }
        packets += (0..<3 * perSecond).filter { !omits($0) }
            .map { frame($0, rate, bytes: 9000, isKeyframe: $0 % perSecond == 0) }
        var result: [[UInt8]] = []
        for packet in packets.sorted(by: { $0.dtsNanoseconds < $1.dtsNanoseconds }) {
            try stream.write(packet)
            if packet.track == .video { stream.flush() }
            while let message = stream.first {
                result.append(message)
                stream.removeFirst()
            }
        }
        return result
    }

    @Test(
        "A transport stream has a PCR at least every 40 ms, whatever the frame rate",
        arguments: [(60, 1), (30, 1), (25, 1), (24000, 1001), (10, 1)])
    func clocks(numerator: Int32, denominator: Int32) throws {
        let messages = try Self.messages(FrameRate(numerator, denominator))
        let stream = TransportStreamReader(messages.flatMap(\.self))
        #expect(stream.clockDistances.count > 70)
        #expect(stream.clockDistances.allSatisfy { $0 > 0 && $0 <= 40 }, "\(stream.clockDistances)")
        #expect(stream.continuityErrors == 0)
    }

    @Test(
        "While frames are missing and audio continues, at most one PCR interval of a transport stream exceeds 40 ms",
        arguments: [30, 25])
    func clocksWithoutFrames(rate: Int32) throws {
        let messages = try Self.messages(FrameRate(rate)) { (35..<Int64(2 * rate)).contains($0) }
        let stream = TransportStreamReader(messages.flatMap(\.self))
        #expect(stream.clockDistances.count > 70)
        // The first audio after a missing frame may be a little late, because the loss cannot be known before.
        #expect(stream.clockDistances.allSatisfy { $0 > 0 && $0 <= 62 }, "\(stream.clockDistances.max() ?? 0)")
        #expect(stream.clockDistances.count { $0 > 40 } <= 1)
        #expect(stream.continuityErrors == 0)
    }

    @Test("An IDR frame in a transport stream follows PAT and PMT, and begins with delimiter, SPS and PPS")
    func keyframes() throws {
        let stream = TransportStreamReader(try Self.messages(FrameRate(25)).flatMap(\.self))
        #expect(stream.randomAccessPoints.count == 3)
        for point in stream.randomAccessPoints {
            #expect(point.types == [9, 7, 8, 5])
            #expect(point.hasTables)
        }
    }

    @Test("A frame that ends in a transport stream's incomplete message counts until that message is complete")
    func incompleteFrames() throws {
        let rate = FrameRate(30)
        let stream = try TransportStream(description: Self.description(rate), messageBytes: 1316)
        try stream.write(Self.frame(0, rate, bytes: 3000, isKeyframe: true))
        // Most of the frame is in complete messages, but its end is not.
        #expect(stream.count > 0 && stream.incompleteFrames == 1)
        stream.flush()
        #expect(stream.incompleteFrames == 0)
    }

    @Test("Each message of a transport stream has complete TS packets, at most seven")
    func messageSizes() throws {
        for rate in [FrameRate(25), FrameRate(10)] {
            let messages = try Self.messages(rate)
            #expect(messages.allSatisfy { $0.count % 188 == 0 && (188...1316).contains($0.count) && $0[0] == 0x47 })
        }
    }

    /// Returns the bytes of a stream of two seconds at 25 frames per second. After one second the codec configuration
    /// changes.
    private static func recoded(
        beginningWith first: Int64 = 0, known: StreamDescription = description(FrameRate(25))
    ) throws -> TransportStreamReader {
        let stream = try TransportStream(description: known, messageBytes: 1316)
        let next = TrackDescription(
            video: .h264, frames: FrameFormat(width: 640, height: 360), timeBase: TimeBase(1, 25),
            decoderConfiguration: Samples.otherTrack.decoderConfiguration)
        let video = (first..<50).map { index in
            let packet = frame(index, FrameRate(25), bytes: 3000, isKeyframe: index % 25 == 0)
            return index < 25 ? packet : packet.recoded(as: next)
        }
        let audio = (0..<94).map { self.audio($0) }.filter { $0.dtsNanoseconds >= video[0].dtsNanoseconds }
        for packet in (video + audio).sorted(by: { $0.dtsNanoseconds < $1.dtsNanoseconds }) {
            try stream.write(packet)
            if packet.track == .video { stream.flush() }
        }
        var bytes: [UInt8] = []
        while let message = stream.first {
            bytes += message
            stream.removeFirst()
        }
        return TransportStreamReader(bytes)
    }

    @Test("When the codec configuration changes, new tables and parameter sets precede the keyframe; the PCR continues")
    func recoding() throws {
        let stream = try Self.recoded()
        #expect(Set(stream.tableVersions) == [0, 1])
        #expect(stream.tableVersions == stream.tableVersions.sorted())
        #expect(stream.randomAccessPoints.map(\.types) == [[9, 7, 8, 5], [9, 7, 8, 5]])
        #expect(stream.randomAccessPoints.allSatisfy { $0.hasTables })
        #expect(stream.clockDistances.allSatisfy { $0 > 0 && $0 <= 40 })
        #expect(stream.continuityErrors == 0)
        let profiles = stream.parameterSets.map { $0[1] }
        #expect(profiles == [0x64, 0x4D])
    }

    @Test("A transport stream that was prepared for an earlier codec configuration begins with the current tables")
    func lateJoiner() throws {
        let stream = try Self.recoded(beginningWith: 25)
        #expect(Set(stream.tableVersions) == [1])
        #expect(stream.parameterSets.map { $0[1] } == [0x4D])
    }

    @Test("A transport stream that begins without known tracks has the tables of its first packets")
    func unknownTracks() throws {
        let stream = try Self.recoded(beginningWith: 25, known: StreamDescription())
        #expect(stream.parameterSets.map { $0[1] } == [0x4D])
        #expect(stream.continuityErrors == 0)
    }
}
