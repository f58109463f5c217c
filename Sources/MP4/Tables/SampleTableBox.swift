// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Writes the boxes inside `stbl` (ISO/IEC 14496-12, 8.5 to 8.7), which list a track's samples.
enum SampleTableBox {
    /// Appends the boxes for `table` to `stbl`. An empty table gives the boxes of an open file.
    static func encode(_ track: MovieLayout.Track, _ table: SampleTable, _ form: MovieForm, _ stbl: inout BoxWriter) {
        stbl.raw(track.sampleDescription)
        stbl.fullBox("stts") { box in
            let runs = table.durations.runs
            box.u32(UInt32(clamping: runs.count))
            for run in runs {
                box.u32(run.count)
                box.u32(run.value)
            }
        }
        if table.hasOffsets {
            // QuickTime has only version 0 of `ctts`, and the offsets in it are signed.
            stbl.fullBox("ctts", version: table.hasNegativeOffset && form != .mov ? 1 : 0) { box in
                box.u32(UInt32(clamping: table.compositionOffsets.runs.count))
                for run in table.compositionOffsets.runs {
                    box.u32(run.count)
                    box.i32(run.value)
                }
            }
        }
        if track.kind == .video, !table.isEmpty {
            stbl.fullBox("stss") { box in
                box.u32(UInt32(clamping: table.syncSamples.count))
                for sample in table.syncSamples { box.u32(sample) }
            }
        }
        placement(table, &stbl)
        if track.kind == .audio, !table.isEmpty { preRoll(table, &stbl) }
    }

    private static func placement(_ table: SampleTable, _ stbl: inout BoxWriter) {
        stbl.fullBox("stsc") { box in
            var entries: [(first: UInt32, count: UInt32)] = []
            for (index, chunk) in table.chunks.enumerated() where entries.last?.count != chunk.count {
                entries.append((UInt32(clamping: index + 1), chunk.count))
            }
            box.u32(UInt32(clamping: entries.count))
            for entry in entries {
                box.u32(entry.first)
                box.u32(entry.count)
                box.u32(1)
            }
        }
        stbl.fullBox("stsz") { box in
            box.u32(0)
            box.u32(UInt32(clamping: table.sizes.count))
            for size in table.sizes { box.u32(size) }
        }
        stbl.fullBox("co64") { box in
            box.u32(UInt32(clamping: table.chunks.count))
            for chunk in table.chunks { box.u64(chunk.offset) }
        }
    }

    /// Writes `sgpd` and `sbgp` of type `roll` (10.1) for an audio track of any codec. They say that a packet is
    /// decoded correctly only if the packet before it was decoded too, as in AAC.
    private static func preRoll(_ table: SampleTable, _ stbl: inout BoxWriter) {
        stbl.fullBox("sgpd", version: 1) { box in
            box.code("roll")
            box.u32(2)
            box.u32(1)
            box.u16(UInt16(bitPattern: -1))
        }
        stbl.fullBox("sbgp") { box in
            box.code("roll")
            box.u32(1)
            box.u32(UInt32(clamping: table.count))
            box.u32(1)
        }
    }
}
