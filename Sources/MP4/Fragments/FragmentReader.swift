// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Reads a `traf` box: the samples of one track in a fragment.
enum FragmentReader {
    struct Run {
        /// The offset of the samples' media, in bytes from the first byte of the `moof`.
        var offset: Int64
        var samples: [SampleEntry]
    }

    static func run(_ traf: BoxReader, tracks: [MovieLayout.Track]) throws(MP4Failure) -> (id: UInt32, run: Run) {
        var header = try traf.first("tfhd")
        let (_, flags) = try header.versionAndFlags()
        let id = try header.u32()
        guard let track = tracks.first(where: { $0.id == id }), flags & 0x20000 != 0, flags & 0x1F & ~0x8 == 0 else {
            throw MP4Failure(description: "a fragment is of another make")
        }
        let duration = flags & 0x8 != 0 ? try header.u32() : nil
        var time = try traf.first("tfdt")
        let start = try time.time(version: try time.versionAndFlags().version)
        guard start >= 0 else { throw MP4Failure(description: "a fragment begins before the file") }
        return (id, try run(try traf.first("trun"), track.kind, duration, start))
    }

    private static func run(
        _ box: BoxReader, _ kind: TrackKind, _ defaultDuration: UInt32?, _ start: Int64
    ) throws(MP4Failure) -> Run {
        var trun = box
        let (_, flags) = try trun.versionAndFlags()
        let count = Int(try trun.u32())
        guard flags & 0x201 == 0x201, count > 0, count <= trun.count / 4, defaultDuration != nil || flags & 0x100 != 0
        else { throw MP4Failure(description: "a fragment is of another make") }
        var result = Run(offset: Int64(Int32(bitPattern: try trun.u32())), samples: [])
        let firstFlags = flags & 0x4 != 0 ? try trun.u32() : nil
        var time = start
        for index in 0..<count {
            let duration = flags & 0x100 != 0 ? try trun.u32() : defaultDuration ?? 0
            let size = try trun.u32()
            var sampleFlags = kind == .audio ? Fragment.independentFlags : Fragment.dependentFlags
            if index == 0, let firstFlags { sampleFlags = firstFlags }
            if flags & 0x400 != 0 { sampleFlags = try trun.u32() }
            let offset = flags & 0x800 != 0 ? Int32(bitPattern: try trun.u32()) : 0
            // A sample is a sync sample unless it has the flag `sample_is_non_sync_sample` (8.8.3.1).
            let isSync = sampleFlags & 0x10000 == 0
            result.samples.append(
                SampleEntry(
                    decodeTime: time, duration: duration, compositionOffset: offset, size: size, isSync: isSync))
            // `time` is at most 2^60 + 2^22 × 2^32, the largest start plus the durations of all samples, and cannot
            // overflow.
            time += Int64(duration)
        }
        return result
    }
}
