// SPDX-License-Identifier: Apache-2.0

internal import Media

/// One coded frame or packet of audio: when, and where in its file. Times are in ticks of the track, from the file's
/// first frame on.
package struct IndexedSample: Sendable, Equatable {
    /// When it is decoded; not decreasing from sample to sample.
    package var dts: Int64
    /// When it is shown or heard.
    package var pts: Int64
    /// Its duration.
    package var duration: Int64
    /// Where its bytes begin.
    package var offset: Int64
    /// Its size in bytes.
    package var size: Int64
    /// Whether decoding can start here.
    package var isSync: Bool

    /// A sample of these properties.
    package init(dts: Int64 = 0, pts: Int64, duration: Int64, offset: Int64, size: Int64, isSync: Bool) {
        (self.dts, self.pts, self.duration) = (dts, pts, duration)
        (self.offset, self.size, self.isSync) = (offset, size, isSync)
    }
}

/// One track of a recording, with what is needed to copy its samples.
package struct IndexedTrack: Sendable {
    /// What the `moov` says of the track besides its samples.
    package let layout: MovieLayout.Track
    /// Ticks a second.
    package var timescale: Int64 { Int64(layout.timescale) }
    /// All samples in the order of decoding; those before the first that is shown have an earlier time than it.
    package let samples: [IndexedSample]
    /// How the samples are coded, without what may differ between samples that go together.
    package let coding: [UInt8]
    /// Display size in pixels; 0 for audio.
    package var size: (width: UInt32, height: UInt32) { (layout.width >> 16, layout.height >> 16) }
    /// The content of `avcC`; empty for audio.
    package let decoderConfiguration: [UInt8]
}

extension IndexedTrack {
    /// The samples of `table`. Throws ``MP4Failure`` if its times do not fit into those of a clip, or if its `stsd` is not
    /// of this program's make.
    package init(_ layout: MovieLayout.Track, _ table: SampleTable, _ facts: TrackFacts) throws(MP4Failure) {
        self.layout = layout
        samples = Self.samples(table, zero: table.start + layout.mediaTime - facts.offset)
        let limit = facts.timescale * TrackFacts.longestTime
        // No file has ticks that are so short that the times of one track could not be converted to the ticks of
        // another.
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
        // The fields of a VisualSampleEntry (12.1.3).
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
                        size: Int64(table.sizes[samples.count]),
                        isSync: false))
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
