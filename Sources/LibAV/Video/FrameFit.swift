// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a video of one shape is put into a frame of another.
package enum FrameFitting: String, Sendable, Codable, CaseIterable {
    /// All of it is seen, with bars beside it.
    case contain
    /// No bars; what does not fit is cut off on both sides.
    case cover
    /// All of it is seen and there are no bars: its shape changes.
    case stretch
}

/// The place of a video of one shape within a frame of another.
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
    /// Columns and rows in the middle of the video that are seen; nil for all.
    let kept: FrameSize?

    /// Fits an upright video of `width` by `height` pixels of shape `aspect` into `target`, keeping the shape that
    /// a viewer sees, unless it is to be stretched. Bars thinner than two pixels are not drawn: they come of rounding, not
    /// of another shape.
    init(
        width: Int, height: Int, aspect: SampleAspectRatio, target: VideoFormat, _ fitting: FrameFitting = .contain
    ) {
        // Width to height of the video, in pixels of the target.
        let across = Int128(width) * Int128(aspect.horizontal) * Int128(target.sampleAspectRatio.vertical)
        let down = Int128(height) * Int128(aspect.vertical) * Int128(target.sampleAspectRatio.horizontal)
        let (full, tall) = (Int64(target.width), Int64(target.height))
        let wide = Int128(full) * down <= Int128(tall) * across
        guard fitting == .contain else {
            var size = FrameSize(width: width, height: height)
            if fitting == .cover {
                let (one, other) = (Int128(full) * down, Int128(tall) * across)
                if wide {
                    size.width = Self.part(width, one, other)
                } else {
                    size.height = Self.part(height, other, one)
                }
            }
            kept = size == FrameSize(width: width, height: height) ? nil : size
            (self.width, self.height, left, top) = (target.width, target.height, 0, 0)
            isExact = size.width & ~1 == target.width && size.height & ~1 == target.height
            return
        }
        kept = nil
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

    /// The place of the video between bars in `target`; nil if the video fills it.
    func region(in target: VideoFormat) -> FrameRegion? {
        fills(target) ? nil : FrameRegion(x: left, y: top, width: width, height: height)
    }

    /// `length` by `one` to `other`, even; all of it if no more than a pixel or two would be cut off.
    private static func part(_ length: Int, _ one: Int128, _ other: Int128) -> Int {
        let part = Int(clamping: (Int128(length) * one + other / 2) / other)
        return length - part <= 2 ? length : max(2, part & ~1)
    }

    private static func even(_ length: Int64, within limit: Int64) -> Int {
        let rounded = (length + 1) & ~1
        return Int(limit - rounded <= 2 ? limit : max(2, rounded))
    }
}
