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
        if track.kind == .audio, !table.isEmpty { preRoll(track, table, &stbl) }
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

    /// Writes `sgpd` and `sbgp` of type `roll` (10.1) for an audio track. They say how many packets before a packet
    /// must be decoded so that the packet is decoded correctly. Writes nothing if the codec does not define that
    /// number.
    private static func preRoll(_ track: MovieLayout.Track, _ table: SampleTable, _ stbl: inout BoxWriter) {
        guard let distance = rollDistance(track, table) else { return }
        stbl.fullBox("sgpd", version: 1) { box in
            box.code("roll")
            box.u32(2)
            box.u32(1)
            box.u16(UInt16(bitPattern: -distance))
        }
        stbl.fullBox("sbgp") { box in
            box.code("roll")
            box.u32(1)
            box.u32(UInt32(clamping: table.count))
            box.u32(1)
        }
    }

    /// The number of packets that must be decoded before a packet. AAC needs one, and Opus as many as last 80 ms (Opus
    /// in ISOBMFF, 4.3.6.2), at most 32 of 2.5 ms (RFC 6716, 2.1.4). Nil for other codecs.
    private static func rollDistance(_ track: MovieLayout.Track, _ table: SampleTable) -> Int16? {
        switch SampleDescription.audioCodec(track.sampleDescription) {
        case .aac: return 1
        case .opus:
            let packet = Int64(max(1, table.durations.runs.max { $0.count < $1.count }?.value ?? 1))
            let packets = (Int64(track.timescale) * 80 / 1000 + packet - 1) / packet
            return Int16(min(max(1, packets), 32))
        default: return nil
        }
    }
}
