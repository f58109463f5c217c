// SPDX-License-Identifier: Apache-2.0

/// The index of the keyframes of a fragmented file, which is the box `mfra` (ISO/IEC 14496-12, 8.8.9 to 8.8.11) at the
/// end of the file.
package struct FragmentIndex {
    private struct Entry {
        /// The keyframe's presentation time on the timeline of its track, in ticks of the track.
        var time: Int64
        /// The offset of the keyframe's fragment in the file, in bytes.
        var offset: Int64
        /// The keyframe's number among the samples of its fragment. The first sample has the number 1.
        var sample: UInt32
    }

    private let track: UInt32
    private var entries: [Entry] = []

    /// Creates an empty index for the keyframes of the track with the ID `track`.
    package init(track: UInt32) { self.track = track }

    /// Adds the keyframes of the samples in `run` to the index. `run` is the first track run of the fragment at
    /// `offset`.
    package mutating func append(_ run: Fragment.Run, at offset: Int64) {
        guard run.track.id == track else { return }
        for (index, sample) in run.samples.enumerated() where sample.isSync {
            entries.append(
                Entry(
                    time: sample.decodeTime + Int64(sample.compositionOffset), offset: offset,
                    sample: UInt32(clamping: index + 1)))
        }
    }

    /// Encodes the index as an `mfra` box.
    package func encode() -> [UInt8] {
        var writer = BoxWriter()
        writer.box("mfra") { mfra in
            mfra.fullBox("tfra", version: 1) { tfra in
                tfra.u32(track)
                // Writes the lengths of the fields: the numbers of `traf` and `trun` have one byte each, and the sample
                // number has four.
                tfra.u32(3)
                tfra.u32(UInt32(clamping: entries.count))
                for entry in entries {
                    tfra.u64(UInt64(clamping: entry.time))
                    tfra.u64(UInt64(clamping: entry.offset))
                    tfra.u8(1)
                    tfra.u8(1)
                    tfra.u32(entry.sample)
                }
            }
            // The `mfro` box at the end has 16 bytes and contains the size of the whole `mfra`.
            let size = mfra.bytes.count + 16
            mfra.fullBox("mfro") { $0.u32(UInt32(clamping: size)) }
        }
        return writer.bytes
    }
}
