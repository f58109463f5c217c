// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Decodes the video of a file from its beginning, with its alpha channel if it has one. Only one thread may use it at
/// a time.
package final class AlphaReader {
    /// For these codecs, decoders of other libraries are preferred, because libavcodec's own decoders of VP8 and VP9
    /// ignore alpha.
    private static let decodersOfAlpha = ["vp8": "libvpx", "vp9": "libvpx-vp9"]

    private let demuxer: Demuxer
    private let stream: StreamInfo
    private let decoder: Decoder
    private let path: String
    private var isDrained = false

    /// Opens the file at `path`. Blocks. Throws if it has no video, or if the video is larger than
    /// ``PixelImage/largest`` in either direction.
    package init(_ path: String) throws(AVFailure) {
        self.path = path
        demuxer = try Demuxer(
            url: "file:" + path, options: Demuxer.Options(openTimeout: .seconds(10), readTimeout: .seconds(10)),
            interrupter: Interrupter(), subject: path)
        guard let found = demuxer.bestVideo, let video = found.video else {
            throw AVFailure(operation: "find an image in", subject: path, code: AVFailure.invalidData)
        }
        let largest = 1...PixelImage.largest
        guard largest.contains(video.width), largest.contains(video.height) else {
            throw AVFailure(
                operation: "take an image of more than \(PixelImage.largest) columns or rows from", subject: path,
                code: AVFailure.invalidData)
        }
        stream = found
        demuxer.select([stream.index])
        decoder = try Decoder(
            stream, threading: .slices, subject: path, preferring: Self.decodersOfAlpha[stream.codecName])
    }

    /// The time base of the frames.
    package var timeBase: TimeBase { stream.timeBase }

    /// Returns the next frame; nil after the last one. Throws at the first packet that cannot be decoded.
    package func next() throws(AVFailure) -> DecodedFrame? {
        while true {
            switch try decoder.receive() {
            case .frame(let frame): return frame
            case .ended: return nil
            case .needsPacket where isDrained: return nil
            case .needsPacket:
                let packet = try demuxer.readPacket()
                isDrained = packet == nil
                if let packet, packet.streamIndex != stream.index { continue }
                try decoder.send(packet)
            }
        }
    }
}
