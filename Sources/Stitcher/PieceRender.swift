// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Encoder
internal import LibAV
internal import MP4
internal import Media

/// Decodes a few frames of a recording and encodes them again so that they fit it.
struct PieceRender {
    private let path: String
    private let name: String
    private let index: SegmentIndex

    init(path: String, name: String, index: SegmentIndex) { (self.path, self.name, self.index) = (path, name, index) }

    /// The frames that are shown at `times`, which are in order, in the order of decoding. The times of what comes
    /// are numbers of `times`.
    func render(_ times: [Int64], isCancelled: () -> Bool) throws -> [EncodedPacket] {
        guard let first = times.first else { return [] }
        let demuxer = try Demuxer(
            url: "file:\(path)", options: .init(format: "mp4"), interrupter: Interrupter(), subject: name)
        guard let stream = demuxer.bestVideo, let video = stream.video, video.width % 2 == 0, video.height % 2 == 0,
            stream.timeBase == TimeBase(1, Int32(clamping: index.video.timescale))
        else { throw ClipFailure("\(name) cannot be decoded: its frames are not those of a recording.") }
        let format = VideoFormat(
            width: video.width, height: video.height, frameRate: rate,
            sampleAspectRatio: video.sampleAspectRatio ?? .square, color: video.color)
        let encoder = try PieceEncoder(
            like: index.encoderSettings, configuration: index.video.decoderConfiguration, format: format)
        let converter = try FrameConverter(stream, target: format, subject: name)
        let decoder = try Decoder(stream, threading: .slices, subject: name)
        demuxer.select([stream.index])
        // The demuxer looks at decoding times, and the next keyframe's may be earlier than `first`.
        try demuxer.seek(stream, to: index.video.samples.last { $0.isSync && $0.pts <= first }?.pts ?? 0)

        var (found, packets, isAtEnd) = (0, [EncodedPacket](), false)
        decoding: while found < times.count {
            if isCancelled() { throw ClipFailure.cancelled }
            switch try decoder.receive() {
            case .frame(let decoded):
                guard decoded.pts == times[found] else { continue }
                if decoded.isDamaged { throw ClipFailure("\(name) has a damaged frame where the clip is cut.") }
                var frames: [VideoFrame] = []
                try converter.convert(decoded, pts: times[found]) { frames.append($0) }
                for frame in frames {
                    if let packet = try encoder.encode(frame) { packets.append(packet) }
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
            throw ClipFailure("\(name) cannot be decoded: \(times.count - found) frames are missing at the cut.")
        }
        return packets
    }

    private var rate: FrameRate {
        FrameRate(
            Int32(clamping: index.video.timescale), Int32(clamping: max(1, index.facts.leading.sampleDuration)))
    }
}
