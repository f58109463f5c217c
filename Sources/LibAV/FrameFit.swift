// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Where a video of one shape lies within a frame of another.
struct FrameFit: Hashable {
    /// Columns that the video is scaled to, in pixels of the target; even.
    let width: Int
    /// Rows that the video is scaled to, in pixels of the target; even.
    let height: Int
    /// Columns of the target left of the video; even.
    let left: Int
    /// Rows of the target above the video; even.
    let top: Int
    /// Whether the video need not be scaled, at most be cut by the odd last column and row.
    let isExact: Bool

    /// Fits an upright video of `width` by `height` pixels of shape `aspect` into `target`, keeping the shape that
    /// a viewer sees. Bars thinner than two pixels are not drawn: they come of rounding, not of another shape.
    init(width: Int, height: Int, aspect: SampleAspectRatio, target: VideoFormat) {
        // Width to height of the video, in pixels of the target.
        let across = Int128(width) * Int128(aspect.horizontal) * Int128(target.sampleAspectRatio.vertical)
        let down = Int128(height) * Int128(aspect.vertical) * Int128(target.sampleAspectRatio.horizontal)
        let (full, tall) = (Int64(target.width), Int64(target.height))
        let wide = Int128(full) * down <= Int128(tall) * across
        var fitted = (width: full, height: tall)
        if wide {
            fitted.height = Int64(clamping: (Int128(full) * down + across / 2) / across)
        } else {
            fitted.width = Int64(clamping: (Int128(tall) * across + down / 2) / down)
        }
        self.width = Self.even(fitted.width, within: full)
        self.height = Self.even(fitted.height, within: tall)
        left = (target.width - self.width) / 2 & ~1
        top = (target.height - self.height) / 2 & ~1
        isExact = width & ~1 == self.width && height & ~1 == self.height
    }

    /// Whether the video fills `target` without bars.
    func fills(_ target: VideoFormat) -> Bool { width == target.width && height == target.height }

    private static func even(_ length: Int64, within limit: Int64) -> Int {
        let rounded = (length + 1) & ~1
        return Int(limit - rounded <= 2 ? limit : max(2, rounded))
    }
}
