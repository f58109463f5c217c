// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import MP4
internal import Media

/// Encodes the audio of the result and puts it into the file beside the frames. Used by one thread.
final class AudioWriter {
    private let encoder: AACEncoder
    private let file: ClipFile
    private var mixer: AudioMixer
    private let count: Int64
    private var fed: Int64 = 0
    private var packets: [IndexedSample] = []

    /// Samples that are mixed at a time.
    private static let step: Int64 = 8192

    init(_ plan: AudioPlan, _ format: AudioFormat, _ sources: [StitchSource], bitrate: Int, file: ClipFile) throws {
        encoder = try AACEncoder(format: format, bitrate: bitrate)
        mixer = AudioMixer(plan, format, sources)
        (count, self.file) = (plan.count, file)
    }

    /// How the packets are coded.
    var description: TrackDescription { encoder.description }

    /// Encodes all that is heard before `sample`.
    func advance(to sample: Int64) throws {
        while fed < min(sample, count) {
            let end = min(fed + Self.step, count)
            try append(try encoder.encode(try mixer.mix(fed..<end)))
            fed = end
        }
    }

    /// Encodes the rest. The track ends with the last sample.
    func finish() throws -> ClipTrack {
        try advance(to: count)
        try append(try encoder.finish())
        packets.removeAll { $0.pts >= count }
        if let last = packets.indices.last {
            packets[last].duration = max(1, min(packets[last].duration, count - packets[last].pts))
        }
        return ClipTrack(samples: packets, start: 0)
    }

    private func append(_ coded: [EncodedPacket]) throws {
        for packet in coded {
            let offset = try file.append(packet.payload)
            packets.append(
                IndexedSample(
                    dts: packet.pts, pts: packet.pts, duration: packet.duration, offset: offset,
                    size: Int64(packet.payload.count), isSync: true))
        }
    }
}
