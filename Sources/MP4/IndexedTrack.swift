// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The times and the position in a file of one sample: a coded frame, an audio packet or the text of a chapter. Times
/// are in ticks of the track, counted from the file's first frame.
package struct IndexedSample: Sendable, Equatable {
    /// The decoding time, in ticks of the track. It never decreases from sample to sample.
    package var dts: Int64
    /// The presentation time, in ticks of the track.
    package var pts: Int64
    /// The duration of the sample, in ticks of the track.
    package var duration: Int64
    /// The offset of the sample's first byte in the file, in bytes.
    package var offset: Int64
    /// The size of the sample in bytes.
    package var size: Int64
    /// Whether decoding can start at this sample.
    package var isSync: Bool

    package init(dts: Int64 = 0, pts: Int64, duration: Int64, offset: Int64, size: Int64, isSync: Bool) {
        (self.dts, self.pts, self.duration) = (dts, pts, duration)
        (self.offset, self.size, self.isSync) = (offset, size, isSync)
    }
}

/// One track of a recording, with all information that is needed to copy its samples to another file.
package struct IndexedTrack: Sendable {
    /// The description of the track in the `moov`, without the samples.
    package let layout: MovieLayout.Track
    /// The number of ticks per second.
    package var timescale: Int64 { Int64(layout.timescale) }
    /// All samples in decoding order. Hidden samples have a presentation time before that of the first visible sample.
    package let samples: [IndexedSample]
    /// The bytes of the `stsd` entry that describe the coding of the samples. Tracks with equal bytes can be joined.
    /// The bitrate of a video track may differ and is left out.
    package let coding: [UInt8]
    /// The display size in pixels; 0 for audio.
    package var size: (width: UInt32, height: UInt32) { (layout.width >> 16, layout.height >> 16) }
    /// The content of the `avcC` box; empty for audio.
    package let decoderConfiguration: [UInt8]
}

extension IndexedTrack {
    /// Lists the samples of `table` with their times and positions. Throws ``MP4Failure`` if a time is more than a year
    /// from the file's first frame, if the video is not H.264, or if relay did not write the track's `stsd`.
    package init(_ layout: MovieLayout.Track, _ table: SampleTable, _ facts: TrackFacts) throws(MP4Failure) {
        self.layout = layout
        samples = Self.samples(table, zero: table.start + layout.mediaTime - facts.offset)
        let limit = facts.timescale * TrackFacts.longestTime
        // More than 2^24 ticks per second, which no real file has, are refused. Times can then be converted between the
        // ticks of two tracks without overflow.
        guard layout.timescale <= 1 << 24, samples.allSatisfy({ $0.pts.magnitude <= limit }) else {
            throw MP4Failure(description: "its times are absurd")
        }
        var description = BoxReader(layout.sampleDescription[...])
        var stsd = try description.box().body
        _ = try stsd.take(8)
        let entry = try stsd.box()
        guard layout.kind == .video else {
            coding = Array(entry.whole)
            decoderConfiguration = []
            return
        }
        var children = entry.body
        // The fixed fields of a VisualSampleEntry have 78 bytes (ISO/IEC 14496-12, 12.1.3).
        let fields = try children.take(78)
        let boxes = try children.boxes()
        coding = Array(fields) + boxes.filter { $0.type != "btrt" }.flatMap(\.whole)
        decoderConfiguration = Array(try children.first("avcC").rest)
    }

    private static func samples(_ table: SampleTable, zero: Int64) -> [IndexedSample] {
        var samples: [IndexedSample] = []
        samples.reserveCapacity(table.count)
        var time = table.start - zero
        for run in table.durations.runs {
            for _ in 0..<run.count {
                samples.append(
                    IndexedSample(
                        dts: time, pts: time, duration: Int64(run.value), offset: 0,
                        size: Int64(table.sizes[samples.count]), isSync: false))
                time += Int64(run.value)
            }
        }
        var index = 0
        for run in table.compositionOffsets.runs {
            for _ in 0..<run.count {
                samples[index].pts += Int64(run.value)
                index += 1
            }
        }
        for number in table.syncSamples { samples[Int(number) - 1].isSync = true }
        index = 0
        for chunk in table.chunks {
            var offset = Int64(clamping: chunk.offset)
            for _ in 0..<chunk.count {
                samples[index].offset = offset
                offset += samples[index].size
                index += 1
            }
        }
        return samples
    }
}
