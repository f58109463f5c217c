// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

extension ClipProject.Piece {
    /// The maximum rounding error of times, in nanoseconds: a millisecond, the unit of RTMP and FLV.
    private static let rounding: Int64 = 1_000_000

    /// Returns the piece aligned with the frames of `index`: it begins with the first frame that begins in the piece,
    /// and ends with the last such frame. This is necessary because the reader of a project takes only frames that are
    /// completely inside the piece: if the file's frames do not coincide with the program's, the last frame would be
    /// lost. Returns the piece unchanged if no frame begins in it.
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
