// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Encoder
internal import LibAV
internal import MP4
internal import Media

/// Decodes a few frames of a recording and re-encodes them so that they can be joined to frames that are copied from
/// the same recording.
struct PieceRender {
    private let source: StitchSource
    private let recording: StitchSource.Recording
    private var name: String { source.name }

    /// Creates a renderer of frames of `source`; nil if `source` was not read as a recording.
    init?(_ source: StitchSource) {
        guard let recording = source.recording else { return nil }
        (self.source, self.recording) = (source, recording)
    }

    /// Re-encodes the frames with these `numbers`, and returns the packets in decoding order. The packets' timestamps
    /// begin at 0.
    func render(_ numbers: Range<Int>, isCancelled: () -> Bool) throws -> [EncodedPacket] {
        let times = numbers.map(source.time)
        guard let first = times.first, let track = try recording.tracks.first?.video() else { return [] }
        guard let frames = track.frameFormat, frames.width % 2 == 0, frames.height % 2 == 0 else {
            throw ClipFailure("\(name) cannot be decoded: its frames are not those of a recording.")
        }
        let format = VideoFormat(
            width: frames.width, height: frames.height, frameRate: source.video.rate,
            sampleAspectRatio: frames.sampleAspectRatio, color: frames.color)
        let encoder = try PieceEncoder(
            like: recording.encoderSettings, configuration: source.video.configuration, format: format)
        let converter = try FrameConverter(track, target: format, subject: name)
        let decoder = try Decoder(track, subject: name)
        let samples = recording.samples
        var next = samples.lastIndex { $0.isSync && $0.pts <= first } ?? 0

        var (found, packets) = (0, [EncodedPacket]())
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
                if next < samples.count {
                    try decoder.send(coded: try packet(samples[next], of: track))
                } else {
                    try decoder.send(nil)
                }
                next += 1
            case .ended: break decoding
            }
        }
        while let packet = try encoder.flush() { packets.append(packet) }
        guard packets.count == times.count else {
            throw ClipFailure("\(name) cannot be decoded: \(times.count - found) frames are missing at the cut.")
        }
        return packets
    }

    private func packet(_ sample: IndexedSample, of track: TrackDescription) throws -> EncodedPacket {
        let bytes = try recording.file.read(at: sample.offset, count: Int(sample.size))
        guard bytes.count == Int(sample.size) else { throw ClipFailure("\(name) ends too early.") }
        return EncodedPacket(
            of: track, pts: sample.pts, dts: sample.dts, duration: sample.duration, isKeyframe: sample.isSync,
            payload: SharedBytes(bytes))
    }
}
