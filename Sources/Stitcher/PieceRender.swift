// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import LibAV
internal import Media
internal import Segmenter

/// Decodes a few pictures of a recording and encodes them again so that they fit it.
struct PieceRender {
    private let path: String
    private let name: String
    private let index: SegmentIndex

    init(path: String, name: String, index: SegmentIndex) { (self.path, self.name, self.index) = (path, name, index) }

    /// The pictures that are shown at `times`, which are in order, in the order of decoding. The times of what comes
    /// are numbers of `times`.
    func render(_ times: [Int64], isCancelled: () -> Bool) throws -> [EncodedPacket] {
        guard let first = times.first else { return [] }
        let demuxer = try Demuxer(
            url: "file:\(path)", options: .init(format: "mp4"), interrupter: Interrupter(), subject: name)
        guard let stream = demuxer.bestVideo, let video = stream.video, video.width % 2 == 0, video.height % 2 == 0,
            stream.timeBase == TimeBase(1, Int32(clamping: index.picture.timescale))
        else { throw ClipFailure("\(name) cannot be decoded: its pictures are not those of a recording.") }
        let format = VideoFormat(
            width: video.width, height: video.height, frameRate: rate,
            sampleAspectRatio: video.sampleAspectRatio ?? .square, colour: video.colour)
        let encoder = try PieceEncoder(
            like: index.encoderSettings, configuration: index.picture.decoderConfiguration, format: format)
        let converter = try PictureConverter(stream, target: format, subject: name)
        let decoder = try Decoder(stream, threading: .slices, subject: name)
        demuxer.select([stream.index])
        // The demuxer looks at decoding times, and the next keyframe's may be earlier than `first`.
        try demuxer.seek(stream, to: index.picture.samples.last { $0.isSync && $0.pts <= first }?.pts ?? 0)

        var (found, packets, isAtEnd) = (0, [EncodedPacket](), false)
        decoding: while found < times.count {
            if isCancelled() { throw ClipFailure.cancelled }
            switch try decoder.receive() {
            case .frame(let picture):
                guard picture.pts == times[found] else { continue }
                if picture.isDamaged { throw ClipFailure("\(name) has a damaged picture where the clip is cut.") }
                var pictures: [VideoFrame] = []
                try converter.convert(picture, pts: times[found]) { pictures.append($0) }
                for picture in pictures {
                    if let packet = try encoder.encode(picture) { packets.append(packet) }
                }
                found += 1
            case .needsPacket:
                let packet = isAtEnd ? nil : try demuxer.readPacket()
                isAtEnd = packet == nil
                try decoder.send(packet)
            case .ended: break decoding
            }
        }
        while let packet = try encoder.flush() { packets.append(packet) }
        guard packets.count == times.count else {
            throw ClipFailure("\(name) cannot be decoded: \(times.count - found) pictures are missing at the cut.")
        }
        return packets
    }

    private var rate: FrameRate {
        FrameRate(
            Int32(clamping: index.picture.timescale), Int32(clamping: max(1, index.facts.picture.sampleDuration)))
    }
}
