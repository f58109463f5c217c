// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import MP4
internal import Media

/// Gives frames as they are coded in a file whose container does not hold them as a whole. Used by one thread.
struct PacketCopier {
    private let source: StitchSource
    private let demuxer: Demuxer
    private let stream: StreamInfo

    init(_ source: StitchSource) throws {
        self.source = source
        demuxer = try StitchInspector.open(source.path, name: source.name)
        guard let stream = demuxer.streams.first(where: { $0.index == source.video.stream }) else {
            throw ClipFailure("\(source.name) has changed.")
        }
        self.stream = stream
        demuxer.select([stream.index])
    }

    /// Gives the frames of the numbers `samples`, in the order of decoding; the first is shown.
    func copy(_ samples: Range<Int>, _ take: (_ number: Int, _ bytes: SharedBytes) throws -> Void) throws {
        guard let first = samples.first else { return }
        let begin = source.time(Int(source.video.samples[first].pts))
        var packet = try? sought(begin)
        if packet == nil {
            try demuxer.seekToStart()
            packet = try found(begin)
        }
        var units = source.video.units
        for number in samples {
            guard let current = packet, let bytes = Self.payload(current, &units),
                Int64(bytes.count) == source.video.samples[number].size
            else { throw ClipFailure("\(source.name) has changed.") }
            try take(number, bytes)
            if number + 1 < samples.upperBound { packet = try next() }
        }
    }

    /// The frame in `packet` as an MP4 has it.
    private static func payload(_ packet: PacketBox, _ units: inout AnnexBReader?) -> SharedBytes? {
        guard units != nil else { return SharedBytes(packet.content) }
        return units?.read(packet.content, isRandomAccess: packet.isKeyframe)?.payload
    }

    private func sought(_ time: Int64) throws -> PacketBox? {
        try demuxer.seek(stream, to: time)
        return try found(time)
    }

    /// The packet of the frame that is shown at `time`; nil if there is none from here on.
    private func found(_ time: Int64) throws -> PacketBox? {
        while let packet = try next() {
            if (packet.pts ?? packet.dts) == time { return packet }
        }
        return nil
    }

    /// The next packet that has a time.
    private func next() throws(AVFailure) -> PacketBox? {
        while let packet = try demuxer.readPacket() {
            if packet.streamIndex == stream.index, packet.pts ?? packet.dts != nil { return packet }
        }
        return nil
    }
}
