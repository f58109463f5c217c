// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

extension ClipProject.Piece {
    /// The maximum rounding error of times, in nanoseconds: a millisecond, the unit of RTMP and FLV.
    private static let rounding: Int64 = 1_000_000

    /// Returns the piece from the beginning of the first frame of `index` that begins in the piece up to the end of the
    /// last one. The reader of a project takes only frames that are completely inside the piece: if the file's frames
    /// lie between those of the program, the last one would be lost. If no frame begins in the piece, returns it
    /// unchanged.
    func fitted(to index: SegmentIndex) -> Self {
        let base = TimeBase(1, Int32(clamping: index.video.timescale))
        func ticks(_ time: Int64) -> Int64 {
            max(0, TimeBase.nanoseconds.rescale(time - Self.rounding, to: base, rounding: .up))
        }
        let (low, high) = (ticks(start), ticks(start + length))
        var (first, end, last) = (Int64.max, Int64.max, Int64.min)
        for sample in index.video.samples where sample.pts >= low {
            first = min(first, sample.pts)
            if sample.pts >= high { end = min(end, sample.pts) }
            last = max(last, sample.pts)
        }
        guard first < high else { return self }
        if end == .max { end = last + index.facts.leading.sampleDuration }
        let begin = base.rescale(first, to: .nanoseconds)
        return Self(file: file, opened: opened, start: begin, length: base.rescale(end, to: .nanoseconds) - begin)
    }
}
