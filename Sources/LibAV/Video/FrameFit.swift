// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a video is fitted into a frame of another shape.
package enum FrameFitting: String, Sendable, Codable, CaseIterable {
    /// The whole video is visible, with bars on two of its sides.
    case contain
    /// No bars; the video is cropped on two sides.
    case cover
    /// The whole video is visible without bars: its shape is distorted.
    case stretch
}

/// The position of a video in a frame of another shape.
struct FrameFit: Hashable {
    /// Columns of the scaled video in the target; even.
    let width: Int
    /// Rows of the scaled video in the target; even.
    let height: Int
    /// Columns of the target left of the video; even.
    let left: Int
    /// Rows of the target above the video; even.
    let top: Int
    /// Whether the video needs no scaling; at most an odd last column and row are cropped.
    let isExact: Bool
    /// Size of the visible part in the middle of the video; nil if all of it is visible.
    let kept: FrameSize?

    /// Fits an upright video of `width` by `height` pixels with the pixel aspect ratio `aspect` into `target`. The
    /// displayed shape is kept, unless `fitting` is ``FrameFitting/stretch``. Bars of at most two pixels in total are
    /// not drawn, because they result from rounding.
    init(width: Int, height: Int, aspect: SampleAspectRatio, target: VideoFormat, _ fitting: FrameFitting = .contain) {
        // `across` to `down` is the ratio of the video's width to its height, in pixels of the target.
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

    /// The region of the video between bars in `target`; nil if the video fills it.
    func region(in target: VideoFormat) -> FrameRegion? {
        fills(target) ? nil : FrameRegion(x: left, y: top, width: width, height: height)
    }

    /// Returns `length` times `one` / `other`, rounded down to an even number. Returns the full length if only one or
    /// two pixels would be cropped.
    private static func part(_ length: Int, _ one: Int128, _ other: Int128) -> Int {
        let part = Int(clamping: (Int128(length) * one + other / 2) / other)
        return length - part <= 2 ? length : max(2, part & ~1)
    }

    private static func even(_ length: Int64, within limit: Int64) -> Int {
        let rounded = (length + 1) & ~1
        return Int(limit - rounded <= 2 ? limit : max(2, rounded))
    }
}
