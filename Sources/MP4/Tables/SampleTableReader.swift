// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Reads the sample tables of a closed file (ISO/IEC 14496-12, 8.6 and 8.7) that ``SampleTableBox`` has written.
enum SampleTableReader {
    /// Reads the sample table of one track from its `stbl` box.
    static func table(_ stbl: BoxReader, kind: TrackKind) throws(MP4Failure) -> SampleTable {
        let sizes = try sizes(try stbl.first("stsz"))
        let times = try runs(try stbl.first("stts"), samples: sizes.count)
        var offsets: [(count: Int, value: UInt32)] = []
        var syncSamples: Set<UInt32>?
        for box in try stbl.boxes() {
            if box.type == "ctts" { offsets = try runs(box.body, samples: sizes.count) }
            if box.type == "stss" { syncSamples = try syncs(box.body, samples: sizes.count) }
        }
        guard kind == .audio || syncSamples != nil else { throw MP4Failure(description: "there is no stss") }
        let samples = entries(sizes, times, offsets, syncSamples)
        return try placed(samples, stbl)
    }

    /// Reads the number of entries that follow in `box`. Each entry has `width` bytes. Throws if the box does not
    /// contain all of them.
    private static func count(_ box: inout BoxReader, width: Int) throws(MP4Failure) -> Int {
        let count = Int(try box.u32())
        guard count <= box.count / width else { throw MP4Failure(description: "a table ends too early") }
        return count
    }

    private static func sizes(_ box: BoxReader) throws(MP4Failure) -> [UInt32] {
        var box = box
        _ = try box.versionAndFlags()
        guard try box.u32() == 0 else { throw MP4Failure(description: "its table of sizes is of another make") }
        let count = try count(&box, width: 4)
        var sizes: [UInt32] = []
        sizes.reserveCapacity(count)
        for _ in 0..<count { sizes.append(try box.u32()) }
        return sizes
    }

    /// Reads the entries of `stts` or `ctts`. Throws if they do not describe exactly `samples` samples.
    private static func runs(_ box: BoxReader, samples: Int) throws(MP4Failure) -> [(count: Int, value: UInt32)] {
        var box = box
        _ = try box.versionAndFlags()
        var runs: [(count: Int, value: UInt32)] = []
        var total = 0
        for _ in 0..<(try count(&box, width: 8)) {
            let run = (count: Int(try box.u32()), value: try box.u32())
            guard run.count > 0 else { continue }
            total += run.count
            guard total <= samples else { break }
            runs.append(run)
        }
        guard total == samples else { throw MP4Failure(description: "its tables disagree on the number of samples") }
        return runs
    }

    private static func syncs(_ box: BoxReader, samples: Int) throws(MP4Failure) -> Set<UInt32> {
        var box = box
        _ = try box.versionAndFlags()
        var result: Set<UInt32> = []
        var last: UInt32 = 0
        for _ in 0..<(try count(&box, width: 4)) {
            let number = try box.u32()
            guard number > last, number <= samples else {
                throw MP4Failure(description: "its table of keyframes is out of order")
            }
            result.insert(number)
            last = number
        }
        return result
    }

    private static func entries(
        _ sizes: [UInt32], _ times: [(count: Int, value: UInt32)], _ offsets: [(count: Int, value: UInt32)],
        _ syncSamples: Set<UInt32>?
    ) -> [SampleEntry] {
        var samples: [SampleEntry] = []
        samples.reserveCapacity(sizes.count)
        var time: Int64 = 0
        for run in times {
            for _ in 0..<run.count {
                let number = samples.count
                samples.append(
                    SampleEntry(
                        decodeTime: time, duration: run.value, compositionOffset: 0, size: sizes[number],
                        isSync: syncSamples?.contains(UInt32(number + 1)) ?? true))
                time += Int64(run.value)
            }
        }
        var index = 0
        for run in offsets {
            for _ in 0..<run.count {
                samples[index].compositionOffset = Int32(bitPattern: run.value)
                index += 1
            }
        }
        return samples
    }

    /// Sets the file positions of `samples`, from the chunks in `stsc` and the chunk offsets in `co64`.
    private static func placed(_ samples: [SampleEntry], _ stbl: BoxReader) throws(MP4Failure) -> SampleTable {
        var offsets = try stbl.first("co64")
        _ = try offsets.versionAndFlags()
        let chunks = try count(&offsets, width: 8)
        let groups = try groups(try stbl.first("stsc"), chunks: chunks)
        var table = SampleTable()
        var (index, group) = (0, 0)
        for chunk in 0..<chunks {
            if group + 1 < groups.count, groups[group + 1].first == chunk { group += 1 }
            let offset = try offsets.u64()
            guard offset <= 1 << 60 else { throw MP4Failure(description: "a place is absurd") }
            let count = groups[group].count
            guard count <= samples.count - index else {
                throw MP4Failure(description: "its tables disagree on the number of samples")
            }
            table.append(Array(samples[index..<index + count]), at: offset)
            index += count
        }
        guard index == samples.count else {
            throw MP4Failure(description: "its tables disagree on the number of samples")
        }
        return table
    }

    /// Reads the groups of consecutive chunks that have the same number of samples. `first` is the group's first chunk,
    /// counted from 0.
    private static func groups(_ box: BoxReader, chunks: Int) throws(MP4Failure) -> [(first: Int, count: Int)] {
        var box = box
        _ = try box.versionAndFlags()
        var groups: [(first: Int, count: Int)] = []
        for _ in 0..<(try count(&box, width: 12)) {
            let (first, count) = (Int(try box.u32()) - 1, Int(try box.u32()))
            guard try box.u32() == 1, first == 0 ? groups.isEmpty : first > (groups.last?.first ?? .max) else {
                throw MP4Failure(description: "its table of chunks is out of order")
            }
            groups.append((first, count))
        }
        guard chunks == 0 || !groups.isEmpty else { throw MP4Failure(description: "its table of chunks is empty") }
        return groups
    }
}
