// SPDX-License-Identifier: Apache-2.0

internal import Media

/// One track of a clip.
package struct ClipTrack: Sendable {
    /// The track's samples in decoding order, which is also their order in the file.
    package var samples: [IndexedSample]
    /// The presentation time of the first visible sample, in ticks of the track. Samples before that time are hidden.
    package var start: Int64

    /// Creates a track of `samples`. Samples from the time `start` on are visible.
    package init(samples: [IndexedSample], start: Int64) { (self.samples, self.start) = (samples, start) }
}

/// The `moov` of a plain MP4 file that is made of samples from other files.
package struct ClipMovie {
    /// The contents of the `moov` except for the samples.
    package private(set) var layout: MovieLayout
    /// The sample table of each track, by track ID.
    package private(set) var tables: [UInt32: SampleTable] = [:]

    /// Creates the `moov` for the tracks that `layout` describes. A track without samples is omitted.
    package init(video: ClipTrack, audio: ClipTrack?, chapters: ClipTrack? = nil, layout: MovieLayout) {
        self.layout = layout
        self.layout.tracks = []
        for described in layout.tracks {
            let track: ClipTrack? =
                switch described.kind {
                case .video: video
                case .audio: audio
                case .data: chapters
                }
            if let track { append(track, like: described) }
        }
    }

    private mutating func append(_ track: ClipTrack, like source: MovieLayout.Track) {
        guard let first = track.samples.first else { return }
        var described = source
        described.mediaTime = max(0, track.start - first.dts)
        let late = Int128(max(0, first.dts - track.start)) * Int128(layout.timescale)
        described.emptyEdit = Int64(clamping: late / Int128(max(1, described.timescale)))
        tables[described.id] = Self.table(track.samples, from: first.dts)
        layout.tracks.append(described)
    }

    private static func table(_ samples: [IndexedSample], from zero: Int64) -> SampleTable {
        var table = SampleTable()
        for sample in samples {
            table.append([SampleEntry(sample, from: zero)], at: UInt64(clamping: sample.offset))
        }
        return table
    }
}

extension SampleEntry {
    /// Creates the table entry of `sample` on a timeline that begins at `zero`.
    init(_ sample: IndexedSample, from zero: Int64) {
        self.init(
            decodeTime: sample.dts - zero, duration: UInt32(clamping: sample.duration),
            compositionOffset: Int32(clamping: sample.pts - sample.dts), size: UInt32(clamping: sample.size),
            isSync: sample.isSync)
    }
}
