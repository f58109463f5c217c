// SPDX-License-Identifier: Apache-2.0

internal import Media

/// One movie fragment: the box `moof` and the header of its `mdat` (ISO/IEC 14496-12, 8.8). The media bytes follow, all
/// video before all audio.
package struct Fragment {
    /// The `sample_flags` of a sample that depends on other samples, and on which others may depend (8.8.3.1).
    static let dependentFlags: UInt32 = 0x0101_0000
    /// The `sample_flags` of a sample that does not depend on other samples.
    static let independentFlags: UInt32 = 0x0200_0000

    /// The samples of one track in the fragment, called a track run in the standard.
    package struct Run {
        /// The track to which the samples belong.
        package var track: MovieLayout.Track
        /// The samples, which follow each other in the file without a gap.
        package var samples: [SampleEntry]

        /// Creates a track run of the `samples` of `track`, which follow each other in the file without a gap.
        package init(track: MovieLayout.Track, samples: [SampleEntry]) { (self.track, self.samples) = (track, samples) }

        /// The number of media bytes of the samples.
        var bytes: Int { samples.reduce(0) { $0 + Int($1.size) } }
    }

    /// The fragment's sequence number. The first fragment of a file has the number 1 (8.8.5).
    var sequence: UInt32
    /// The track runs, in the order of their media in the file.
    var runs: [Run]

    /// Creates the fragment with the number `sequence`. The media in the file follows the order of the track runs in
    /// `runs`.
    package init(sequence: UInt32, runs: [Run]) { (self.sequence, self.runs) = (sequence, runs) }

    /// Encodes `moof` and the header of `mdat`. `offsets` are the positions at which the media of each track run
    /// begins, counted from the start of the fragment.
    package func encode() -> (header: [UInt8], offsets: [Int]) {
        var writer = BoxWriter()
        var patches: [Int] = []
        writer.box("moof") { moof in
            moof.fullBox("mfhd") { $0.u32(sequence) }
            for run in runs { patches.append(traf(run, &moof)) }
        }
        let payload = runs.reduce(0) { $0 + $1.bytes }
        writer.u32(UInt32(clamping: payload + 8))
        writer.code("mdat")
        var offsets: [Int] = []
        var offset = writer.bytes.count
        for (run, patch) in zip(runs, patches) {
            writer.patch(UInt32(clamping: offset), at: patch)
            offsets.append(offset)
            offset += run.bytes
        }
        return (writer.bytes, offsets)
    }

    /// The durations that are stored for `samples`. A sample lasts until the decoding time of the next one; the last
    /// sample has its own duration.
    private static func durations(_ samples: [SampleEntry]) -> [UInt32] {
        samples.indices.map { index in
            guard index + 1 < samples.count else { return samples[index].duration }
            return UInt32(clamping: samples[index + 1].decodeTime - samples[index].decodeTime)
        }
    }

    /// Appends a `traf` box for the track run `run`. Returns the position of the box's data offset, which is filled in
    /// later.
    private func traf(_ run: Run, _ moof: inout BoxWriter) -> Int {
        var patch = 0
        let durations = Self.durations(run.samples)
        let isUniform = durations.allSatisfy { $0 == durations.first }
        moof.box("traf") { traf in
            // The flags are default-base-is-moof and, if all samples have the same duration, a default duration
            // (8.8.7).
            traf.fullBox("tfhd", flags: 0x20000 | (isUniform ? 0x8 : 0)) { tfhd in
                tfhd.u32(run.track.id)
                if isUniform { tfhd.u32(durations.first ?? 0) }
            }
            traf.fullBox("tfdt", version: 1) { $0.u64(UInt64(clamping: run.samples.first?.decodeTime ?? 0)) }
            patch = trun(run, isUniform ? nil : durations, &traf)
        }
        return patch
    }

    /// Appends the `trun` box of the track run `run` (8.8.8). In version 1, which is used, composition offsets are
    /// signed.
    private func trun(_ run: Run, _ durations: [UInt32]?, _ traf: inout BoxWriter) -> Int {
        let isVideo = run.track.kind == .video
        let laterSync = isVideo && run.samples.dropFirst().contains(where: \.isSync)
        let firstSync = isVideo && !laterSync && run.samples.first?.isSync == true
        var flags: UInt32 = 0x1 | 0x200
        if durations != nil { flags |= 0x100 }
        if laterSync { flags |= 0x400 }
        if firstSync { flags |= 0x4 }
        if isVideo { flags |= 0x800 }
        var patch = 0
        traf.fullBox("trun", version: 1, flags: flags) { trun in
            trun.u32(UInt32(clamping: run.samples.count))
            patch = trun.bytes.count
            trun.u32(0)
            if firstSync { trun.u32(Self.independentFlags) }
            for (index, sample) in run.samples.enumerated() {
                if let durations { trun.u32(durations[index]) }
                trun.u32(sample.size)
                if laterSync { trun.u32(sample.isSync ? Self.independentFlags : Self.dependentFlags) }
                if isVideo { trun.i32(sample.compositionOffset) }
            }
        }
        return patch
    }
}
