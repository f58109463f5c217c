// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import MP4
internal import Media

/// Reads encoded frames from a file whose container does not store each frame contiguously. Used by one thread.
struct PacketCopier {
    private let source: StitchSource
    private let demuxer: Demuxer
    private let stream: StreamInfo
    private var units: AnnexBReader?

    /// A frame in the form in which MP4 stores it.
    private struct Frame {
        let time: Int64
        let bytes: SharedBytes
    }

    init(_ source: StitchSource) throws {
        self.source = source
        units = source.video.units
        (demuxer, stream) = try StitchInspector.open(source, stream: source.video.stream)
    }

    /// Passes the frames with the numbers `samples` to `take`, in decoding order. The first of them must be a visible
    /// frame.
    mutating func copy(_ samples: Range<Int>, _ take: (_ number: Int, _ bytes: SharedBytes) throws -> Void) throws {
        guard let first = samples.first else { return }
        let begin = source.time(Int(source.video.samples[first].pts))
        var frame = try? sought(begin)
        if frame == nil {
            try demuxer.seekToStart()
            frame = try found(begin)
        }
        for number in samples {
            guard let bytes = frame?.bytes, Int64(bytes.count) == source.video.samples[number].size else {
                throw ClipFailure("\(source.name) has changed.")
            }
            try take(number, bytes)
            if number + 1 < samples.upperBound { frame = try next() }
        }
    }

    private mutating func sought(_ time: Int64) throws -> Frame? {
        try demuxer.seek(stream, to: time)
        return try found(time)
    }

    /// The frame that is shown at `time`; nil if the rest of the file contains no such frame.
    private mutating func found(_ time: Int64) throws -> Frame? {
        while let frame = try next() {
            if frame.time == time { return frame }
        }
        return nil
    }

    /// The next packet that has a time and contains a frame.
    private mutating func next() throws(AVFailure) -> Frame? {
        while let packet = try demuxer.readPacket() {
            guard packet.streamIndex == stream.index, let time = packet.pts ?? packet.dts else { continue }
            guard units != nil else { return Frame(time: time, bytes: SharedBytes(packet.content)) }
            if let unit = units?.read(packet.content, isRandomAccess: packet.isKeyframe) {
                return Frame(time: time, bytes: unit.payload)
            }
        }
        return nil
    }
}
