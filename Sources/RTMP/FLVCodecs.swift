// SPDX-License-Identifier: Apache-2.0

package import Media

extension FLVVideo.Codec {
    /// The video codec of Enhanced RTMP that is the same as `codec`; nil if `codec` uses Adobe's FLV form, or is no
    /// video codec.
    init?(enhanced codec: Media.Codec) {
        switch codec {
        case .hevc: self = .hevc
        case .av1: self = .av1
        case .h264, .aac, .opus, .mp3, .ac3, .pcm, .scte35, .amf0, .text: return nil
        }
    }
}

extension FLVAudio.Codec {
    /// The audio codec of Enhanced RTMP that is the same as `codec`; nil if `codec` uses Adobe's FLV form, or is no
    /// audio codec.
    init?(enhanced codec: Media.Codec) {
        switch codec {
        case .opus: self = .opus
        case .ac3: self = .ac3
        case .h264, .hevc, .av1, .aac, .mp3, .pcm, .scte35, .amf0, .text: return nil
        }
    }
}

extension Media.Codec {
    /// The codec's FourCC in Enhanced RTMP; nil for any other codec, such as one that uses Adobe's FLV form.
    var enhancedFourCC: String? { FLVVideo.Codec(enhanced: self)?.rawValue ?? FLVAudio.Codec(enhanced: self)?.rawValue }
}

extension RTMPCapabilities {
    /// The codecs of `stream` that have a FourCC and that the peer does not support according to these capabilities;
    /// empty if the peer did not send its codecs.
    package func unknownCodecs(of stream: StreamDescription) -> [Media.Codec] {
        guard isEnhanced else { return [] }
        return [stream.video, stream.audio].compactMap { $0?.codec }.filter { codec in
            codec.enhancedFourCC.map { !knows($0) } ?? false
        }
    }
}
