// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

extension ClipProject.Piece {
    /// By how much times may be rounded: nanoseconds of a millisecond, which is what RTMP and FLV count in.
    private static let rounding: Int64 = 1_000_000

    /// The same from the beginning of the first frame of `index` that begins in it up to the end of the last. A project has the
    /// frames that are whole in it, and where frames lie beside the grid of the program, the last one is not; itself, if there
    /// is no such frame.
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
