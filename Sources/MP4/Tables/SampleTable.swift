// SPDX-License-Identifier: Apache-2.0

/// A list that stores repeated values as runs (run-length encoding).
struct RunLengthList<Value: Equatable> {
    /// The runs. Each run has a value and the number of its repetitions.
    private(set) var runs: [(count: UInt32, value: Value)] = []

    mutating func append(_ value: Value) {
        if let last = runs.last, last.value == value, last.count < .max {
            runs[runs.count - 1].count += 1
        } else {
            runs.append((1, value))
        }
    }
}

/// The entry of one coded sample in a sample table. Times are in ticks of the track.
package struct SampleEntry {
    /// The decoding time on the track's own timeline, which starts at 0, in ticks of the track.
    package var decodeTime: Int64
    /// The sample's own duration, in ticks of the track. It applies if no other sample follows.
    package var duration: UInt32
    /// The presentation time minus the decoding time, in ticks of the track.
    package var compositionOffset: Int32
    /// The size of the sample in bytes.
    package var size: UInt32
    /// Whether decoding can start at this sample.
    package var isSync: Bool

    package init(decodeTime: Int64, duration: UInt32, compositionOffset: Int32, size: UInt32, isSync: Bool) {
        (self.decodeTime, self.duration, self.compositionOffset) = (decodeTime, duration, compositionOffset)
        (self.size, self.isSync) = (size, isSync)
    }
}

/// The samples of one track, as the `stbl` of a closed file lists them (ISO/IEC 14496-12, 8.6 and 8.7). They are kept
/// in a compact form while the file grows: 4 bytes for the size of each sample, 4 bytes for the number of each sync
/// sample, and runs of equal values for the times.
package struct SampleTable {
    /// Consecutive samples that follow each other in the file without a gap.
    struct Chunk {
        var offset: UInt64
        var count: UInt32
    }

    private(set) var sizes: [UInt32] = []
    private(set) var syncSamples: [UInt32] = []
    private(set) var compositionOffsets = RunLengthList<Int32>()
    private(set) var chunks: [Chunk] = []
    /// The decoding time of the first sample, in ticks of the track.
    private(set) var start: Int64 = 0
    /// The latest time at which the presentation of a sample ends, in ticks of the track.
    private(set) var presentationEnd: Int64 = 0
    private var deltas = RunLengthList<UInt32>()
    private var last: SampleEntry?
    private var chunkEnd: UInt64 = 0

    /// Creates a table without samples.
    package init() {}

    /// The number of samples.
    package var count: Int { sizes.count }
    /// Whether the table has no samples.
    package var isEmpty: Bool { sizes.isEmpty }
    /// Whether any sample has a presentation time before its decoding time, which `ctts` version 0 cannot express.
    private(set) var hasNegativeOffset = false
    /// Whether presentation time and decoding time differ for any sample.
    private(set) var hasOffsets = false

    /// The durations of all samples (`stts`). A sample lasts until the decoding time of the next one; the last sample
    /// has its own duration.
    var durations: RunLengthList<UInt32> {
        var result = deltas
        if let last { result.append(last.duration) }
        return result
    }

    /// The decoding time of the last sample, in ticks of the track; 0 if there are no samples.
    var lastDecodeTime: Int64 { last?.decodeTime ?? 0 }

    /// The sum of all durations in ``durations``, in ticks of the track.
    var duration: Int64 { last.map { $0.decodeTime - start + Int64($0.duration) } ?? 0 }

    /// Appends `samples`, which follow each other in the file without a gap from `offset` on.
    package mutating func append(_ samples: [SampleEntry], at offset: UInt64) {
        guard !samples.isEmpty else { return }
        if offset == chunkEnd, !chunks.isEmpty {
            chunks[chunks.count - 1].count += UInt32(samples.count)
        } else {
            chunks.append(Chunk(offset: offset, count: UInt32(samples.count)))
            chunkEnd = offset
        }
        for sample in samples { append(sample) }
    }

    private mutating func append(_ sample: SampleEntry) {
        if let last {
            deltas.append(UInt32(clamping: sample.decodeTime - last.decodeTime))
        } else {
            start = sample.decodeTime
        }
        last = sample
        sizes.append(sample.size)
        chunkEnd += UInt64(sample.size)
        compositionOffsets.append(sample.compositionOffset)
        if sample.compositionOffset != 0 { hasOffsets = true }
        if sample.compositionOffset < 0 { hasNegativeOffset = true }
        if sample.isSync { syncSamples.append(UInt32(sizes.count)) }
        let end = sample.decodeTime + Int64(sample.compositionOffset) + Int64(sample.duration)
        presentationEnd = max(presentationEnd, end)
    }
}
