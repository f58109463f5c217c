// SPDX-License-Identifier: Apache-2.0

import CFFmpeg
import Media
import Testing

@testable import LibAV

@Suite("Ownership of libav objects")
struct OwnershipTests {
    @Test("If a decoder cannot be opened, its context is freed exactly once")
    func decoder() throws {
        var source = avcodec_parameters_alloc()
        defer { avcodec_parameters_free(&source) }
        let parameters = try #require(source)
        parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = AV_CODEC_ID_PCM_S16LE  // without channels, which its decoder refuses
        let stream = StreamInfo(
            index: 0, kind: .audio, timeBase: .milliseconds, stampBits: 64, codecName: "pcm", video: nil, sampleRate: 0,
            parameters: try CodecParameters(copying: parameters, subject: "test"))
        for _ in 0..<20 {
            #expect(throws: AVFailure.self) {
                _ = try Decoder(stream, threading: .frames, subject: "test")
            }
        }
    }

    @Test(
        "If filters cannot be set up, their graph is freed exactly once", arguments: ["no_such", "crop=99999"])
    func filters(description: String) throws {
        let decoded = try DecodedFrame(subject: "test")
        decoded.frame.pointee.width = 320
        decoded.frame.pointee.height = 180
        decoded.frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        for _ in 0..<20 {
            #expect(throws: AVFailure.self) {
                _ = try FilterGraph(filters: description, like: decoded, timeBase: .milliseconds, subject: "test")
            }
        }
    }
}
