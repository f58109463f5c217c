// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import RTMP

@Suite("Content of RTMP audio and video messages")
struct FLVBodyTests {
    /// A short form of the parsed body.
    private func video(_ bytes: [UInt8]) throws -> String? {
        guard let video = try FLVVideo(body: bytes[...]) else { return nil }
        return switch video.content {
        case .configuration(let bytes): "\(video.codec.rawValue) configuration \(bytes.array)"
        case .frame(let bytes, let isKeyframe, let isDisposable, let time):
            "\(video.codec.rawValue) \(isKeyframe ? "key" : isDisposable ? "disposable" : "inter") \(time) \(bytes.array)"
        case .end: "\(video.codec.rawValue) end"
        }
    }

    private func audio(_ bytes: [UInt8]) throws -> String? {
        guard let audio = try FLVAudio(body: bytes[...]) else { return nil }
        return switch audio.content {
        case .configuration(let bytes): "\(audio.codec.rawValue) configuration \(bytes.array)"
        case .frame(let bytes): "\(audio.codec.rawValue) \(bytes.array)"
        case .end: "\(audio.codec.rawValue) end"
        }
    }

    private func code(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test("Video in legacy FLV tags is parsed: AVC, and the HEVC that some encoders send in such tags")
    func oldVideo() throws {
        #expect(try video([0x17, 0, 0, 0, 0, 1, 2]) == "avc1 configuration [1, 2]")
        #expect(try video([0x17, 1, 0, 0, 80, 9]) == "avc1 key 80 [9]")
        #expect(try video([0x27, 1, 0xFF, 0xFF, 0xFE, 9]) == "avc1 inter -2 [9]")
        #expect(try video([0x37, 1, 0, 0, 0, 9]) == "avc1 disposable 0 [9]")
        #expect(try video([0x17, 2, 0, 0, 0]) == "avc1 end")
        #expect(try video([0x1C, 1, 0, 0, 0, 4]) == "hvc1 key 0 [4]")
    }

    @Test("Video in Enhanced RTMP is parsed: HEVC and AVC with a composition time, AV1 without one")
    func enhancedVideo() throws {
        #expect(try video([0x90] + code("hvc1") + [1, 2]) == "hvc1 configuration [1, 2]")
        #expect(try video([0x91] + code("hvc1") + [0, 0, 80, 9]) == "hvc1 key 80 [9]")
        #expect(try video([0xA1] + code("avc1") + [0, 0, 40, 9]) == "avc1 inter 40 [9]")
        #expect(try video([0xA3] + code("hvc1") + [9, 8, 7]) == "hvc1 inter 0 [9, 8, 7]")
        #expect(try video([0x91] + code("av01") + [0x12, 0]) == "av01 key 0 [18, 0]")
        #expect(try video([0x92] + code("av01")) == "av01 end")
    }

    @Test("Audio in legacy FLV tags and in Enhanced RTMP is parsed")
    func audio() throws {
        #expect(try audio([0xAF, 0, 0x11, 0x90]) == "mp4a configuration [17, 144]")
        #expect(try audio([0xAF, 1, 7]) == "mp4a [7]")
        #expect(try audio([0x2F, 0xFF, 0xFB]) == ".mp3 [255, 251]")
        #expect(try audio([0x90] + code("Opus") + code("OpusHead")) == "Opus configuration \(code("OpusHead"))")
        #expect(try audio([0x91] + code("ac-3") + [0x0B, 0x77]) == "ac-3 [11, 119]")
        #expect(try audio([0x92] + code("mp4a")) == "mp4a end")
    }

    @Test("In a multitrack message the first track is recognized by its number, not by its position")
    func tracks() throws {
        // One track.
        #expect(try video([0x96, 0x01] + code("hvc1") + [0] + [0, 0, 1, 9]) == "hvc1 key 1 [9]")
        #expect(try video([0x96, 0x01] + code("hvc1") + [1] + [0, 0, 1, 9]) == nil)
        // Several tracks with one codec.
        let many = code("av01") + [1, 0, 0, 2, 5, 5] + [0, 0, 0, 1, 6]
        #expect(try video([0x96, 0x11] + many) == "av01 key 0 [6]")
        // Several tracks with several codecs.
        let mixed = code("av01") + [1, 0, 0, 2, 5, 5] + code("hvc1") + [0, 0, 0, 4, 0, 0, 2, 6]
        #expect(try video([0x96, 0x21] + mixed) == "hvc1 key 2 [6]")
        #expect(try audio([0x95, 0x11] + code("Opus") + [0, 0, 0, 1, 6]) == "Opus [6]")
        #expect(throws: FLVFailure.malformed) { try video([0x96, 0x11] + code("av01") + [0, 0xFF, 0xFF, 0xFF, 1]) }
        #expect(throws: FLVFailure.malformed) { try video([0x96, 0x31] + code("av01")) }
    }

    @Test("All audio tracks of a multitrack message except the first are reported by name")
    func otherTracks() throws {
        let many = code("Opus") + [1, 0, 0, 1, 5] + [0, 0, 0, 1, 6] + [2, 0, 0, 1, 7]
        let audio = try #require(try FLVAudio(body: ([0x95, 0x11] + many)[...]))
        #expect(audio.otherTracks == ["audio track 2 (Opus)", "audio track 3 (Opus)"])
        #expect(throws: FLVFailure.otherTracks(["audio track 3 (AAC)"])) {
            try FLVAudio(body: ([0x95, 0x01] + code("mp4a") + [2, 9])[...])
        }
        #expect(try FLVAudio(body: [0xAF, 1, 7])?.otherTracks == [])
    }

    @Test("Enhanced RTMP modifiers before a packet are skipped")
    func modifiers() throws {
        #expect(try video([0x97, 2, 1, 2, 3, 0x01] + code("hvc1") + [0, 0, 1, 9]) == "hvc1 key 1 [9]")
        let long = [0xFF, 1, 0] + [UInt8](repeating: 0, count: 257) + [0x07, 0, 0, 0x03]
        #expect(try video([0x97] + long + code("avc1") + [9]) == "avc1 key 0 [9]")
        #expect(throws: FLVFailure.malformed) { try video([0x97, 200, 1]) }
    }

    @Test("Commands, color metadata, channel orders and empty messages yield no packets")
    func nothing() throws {
        #expect(try video([0x57, 0]) == nil)
        #expect(try video([]) == nil)
        #expect(try video([0x17, 1, 0, 0, 0]) == nil)
        #expect(try video([0x94] + code("hvc1") + [2, 0]) == nil)
        #expect(try audio([0x94] + code("Opus") + [1, 2]) == nil)
        #expect(try audio([0xAF, 1]) == nil)
    }

    @Test("An unsupported codec is reported by its FourCC, without the sender's control characters")
    func unsupported() {
        #expect(throws: FLVFailure.unsupported("video codec 2")) { try video([0x12, 0]) }
        #expect(throws: FLVFailure.unsupported("video codec vp09")) { try video([0x90] + code("vp09")) }
        #expect(throws: FLVFailure.unsupported("video codec a?b?")) { try video([0x90] + code("a\nb\u{7}")) }
        #expect(throws: FLVFailure.unsupported("audio codec Speex")) { try audio([0xB2, 0]) }
    }

    /// The body of a message with this prefix.
    private func body(_ prefix: RTMPMessage.Prefix, _ payload: [UInt8]) -> [UInt8] {
        SharedBytes(count: prefix.count) { prefix.write(to: $0, at: 0) }.array + payload
    }

    @Test("A message of every codec and tag format is parsed back as it was written")
    func written() throws {
        for codec in FLVVideo.Codec.allCases {
            let name = codec.rawValue
            func video(_ isKeyframe: Bool, _ type: UInt8, _ time: Int32) throws -> String? {
                let prefix = RTMPMessage.Prefix.enhancedVideo(
                    codec, isKeyframe: isKeyframe, packetType: type, compositionTime: time)
                return try self.video(body(prefix, [9]))
            }
            #expect(try video(true, 0, 0) == "\(name) configuration [9]")
            #expect(try video(true, 1, 0) == "\(name) key 0 [9]")
            #expect(try video(false, 1, 80) == "\(name) inter \(codec == .av1 ? 0 : 80) [9]")
            #expect(try video(false, 1, -40) == "\(name) inter \(codec == .av1 ? 0 : -40) [9]")
        }
        for codec in FLVAudio.Codec.allCases {
            #expect(try audio(body(.enhancedAudio(codec, packetType: 1), [9])) == "\(codec.rawValue) [9]")
            #expect(
                try audio(body(.enhancedAudio(codec, packetType: 0), [9])) == "\(codec.rawValue) configuration [9]")
        }
        #expect(try audio(body(.mp3, [9])) == ".mp3 [9]")
        #expect(try audio(body(.audio(packetType: 1), [9])) == "mp4a [9]")
        let old = RTMPMessage.Prefix.video(isKeyframe: false, packetType: 1, compositionTime: 3)
        #expect(try video(body(old, [9])) == "avc1 inter 3 [9]")
    }

    @Test("A message that is truncated anywhere is refused or parsed, and never crashes the process")
    func cuts() {
        let bodies: [[UInt8]] = [
            [0x97, 2, 1, 2, 3, 0x06, 0x21] + code("av01") + [0, 0, 0, 1, 6], [0x17, 1, 0, 0, 0, 1],
            [0x95, 0x11] + code("Opus") + [0, 0, 0, 1, 6],
        ]
        for body in bodies {
            for count in body.indices {
                _ = try? video(Array(body[..<count]))
                _ = try? audio(Array(body[..<count]))
            }
        }
    }
}
