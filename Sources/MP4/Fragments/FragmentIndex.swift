// SPDX-License-Identifier: Apache-2.0

/// The points where decoding can start in a fragmented file: `mfra` (ISO/IEC 14496-12, 8.8.9 to 8.8.11), the file's
/// last box.
package struct FragmentIndex {
    private struct Entry {
        /// Presentation time on the track's own timeline.
        var time: Int64
        /// Offset of the fragment in the file.
        var offset: Int64
        /// The sample's number in the fragment, from 1.
        var sample: UInt32
    }

    private let track: UInt32
    private var entries: [Entry] = []

    /// An empty index for the keyframes of the track with this ID.
    package init(track: UInt32) { self.track = track }

    /// Adds the keyframes of `run`, the first run of the fragment at `offset`.
    package mutating func append(_ run: Fragment.Run, at offset: Int64) {
        guard run.track.id == track else { return }
        for (index, sample) in run.samples.enumerated() where sample.isSync {
            entries.append(
                Entry(
                    time: sample.decodeTime + Int64(sample.compositionOffset), offset: offset,
                    sample: UInt32(clamping: index + 1)))
        }
    }

    /// Encodes the box.
    package func encode() -> [UInt8] {
        var writer = BoxWriter()
        writer.box("mfra") { mfra in
            mfra.fullBox("tfra", version: 1) { tfra in
                tfra.u32(track)
                // The numbers of `traf` and `trun` have one byte each; the number of the sample has four.
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
            // The last 16 bytes repeat the size of the box.
            let size = mfra.bytes.count + 16
            mfra.fullBox("mfro") { $0.u32(UInt32(clamping: size)) }
        }
        return writer.bytes
    }
}
