// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Converts YCbCr samples to the colors of JPEG files: BT.601, full range (JFIF 1.02).
///
/// A matrix stores gray as luma alone. So the new chroma samples depend only on the old ones, and luma changes by an
/// offset that depends on the chroma samples alone. Primaries and transfer characteristics are not converted.
struct JPEGColors: Sendable {
    /// One plane of a frame, which is converted in place.
    struct Plane {
        /// The first sample of the first row.
        let samples: UnsafeMutablePointer<UInt8>
        /// Bytes from one row to the next.
        let stride: Int
    }

    /// How much one level of an old Cb sample, and one of an old Cr sample, adds to a new sample, in 65536ths of a
    /// level.
    private struct Share {
        let blue: Int
        let red: Int

        init(blue: Double, red: Double) {
            (self.blue, self.red) = (JPEGColors.fixed(blue), JPEGColors.fixed(red))
        }
    }

    /// The sample of black in the old luma plane.
    private let black: Int
    /// The new levels for one old level of luma, in 65536ths.
    private let lumaScale: Int
    /// What the old chroma samples add to the new samples of luma, Cb and Cr.
    private let luma: Share
    private let cb: Share
    private let cr: Share

    /// Creates the conversion of samples with the matrix and range of `color`; nil if these are the ones of JPEG files.
    init?(from color: ColorDescription) {
        let (old, new) = (LumaWeights(of: color), LumaWeights(of: .bt601With525Lines))
        if color.isFullRange, old == new { return nil }
        black = color.isFullRange ? 0 : 16
        lumaScale = Self.fixed(color.isFullRange ? 1 : 255.0 / 219)
        // Cb and Cr are the differences of blue and red from luma, scaled to -0.5...0.5 (ITU-T H.273, 8.3). The steps
        // are these differences for one level of Cb and Cr, in levels of full range.
        let scale = color.isFullRange ? 1 : 255.0 / 224
        let (blueStep, redStep) = (2 * (1 - old.blue) * scale, 2 * (1 - old.red) * scale)
        // The difference of green follows from those of blue and red: the sum of all three, with the old weights, is 0.
        // Their sum with the new weights is the offset of the new luma from the old one.
        let offset = (
            blue: blueStep * (new.blue - new.green * old.blue / old.green),
            red: redStep * (new.red - new.green * old.red / old.green)
        )
        luma = Share(blue: offset.blue, red: offset.red)
        let (blueRange, redRange) = (2 * (1 - new.blue), 2 * (1 - new.red))
        cb = Share(blue: (blueStep - offset.blue) / blueRange, red: -offset.red / blueRange)
        cr = Share(blue: -offset.blue / redRange, red: (redStep - offset.red) / redRange)
    }

    /// Converts a 4:2:0 frame of `width` columns and `height` rows, which must be even.
    func convert(y: Plane, u: Plane, v: Plane, width: Int, height: Int) {
        for row in 0..<height / 2 {
            let (blues, reds) = (u.samples + row * u.stride, v.samples + row * v.stride)
            let upper = y.samples + 2 * row * y.stride
            let lower = upper + y.stride
            for column in 0..<width / 2 {
                let (blue, red) = (Int(blues[column]) - 128, Int(reds[column]) - 128)
                blues[column] = Self.level(cb.blue * blue + cb.red * red, above: 128)
                reds[column] = Self.level(cr.blue * blue + cr.red * red, above: 128)
                let offset = luma.blue * blue + luma.red * red
                convert(upper + 2 * column, by: offset)
                convert(lower + 2 * column, by: offset)
            }
        }
    }

    /// Converts two luma samples that share their chroma samples. `offset` is in 65536ths of a level.
    private func convert(_ samples: UnsafeMutablePointer<UInt8>, by offset: Int) {
        samples[0] = Self.level(lumaScale * (Int(samples[0]) - black) + offset, above: 0)
        samples[1] = Self.level(lumaScale * (Int(samples[1]) - black) + offset, above: 0)
    }

    private static func fixed(_ value: Double) -> Int { Int((value * 65536).rounded()) }

    /// The sample that is `fixed` 65536ths of a level above `zero`, rounded.
    private static func level(_ fixed: Int, above zero: Int) -> UInt8 { UInt8(clamping: zero + (fixed + 32768) >> 16) }
}
