// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import Ingest
internal import Media
internal import Publisher
internal import Segmenter

/// What one channel is to do: read, checked, and free of contradictions.
struct ChannelConfiguration {
    /// One live output.
    enum Output {
        case rtmp(RTMPURL)
        case srt(SRTURL)
        case udp(UDPURL)
        case hls(HLSLocation, HLSOptions)

        /// The protocol in one word, from which the output's name is made.
        var kind: String {
            switch self {
            case .rtmp: "rtmp"
            case .srt: "srt"
            case .udp: "udp"
            case .hls: "hls"
            }
        }
    }

    /// What the recorder and its guard are to do.
    struct Recording {
        var directory: String
        var length: SegmentLength
        /// The length to reserve space for.
        var expected: Duration
        var warning: Duration
        var reserve: ByteSize?
    }

    var name = "relay"
    var input = InputLocation("test:")
    var audioInput: InputLocation?
    var loops = false
    var isPaced = true
    var size: FrameSize?
    var frameRate: FrameRate?
    var duration: Duration?
    var encoder = EncoderSettings()
    var outputs: [Output] = []
    var recording: Recording?
}
