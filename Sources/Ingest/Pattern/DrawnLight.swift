// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LibAV
internal import Media

/// Converts the colors that are drawn into frames to the range of an HDR program, with white at 203 nits (ITU-R
/// BT.2408, table 1), in the same way as the frames of sources in standard range are converted.
enum DrawnLight {
    /// Red, green and blue, from 0 to 1.
    typealias Components = (red: Double, green: Double, blue: Double)

    /// The luminance of white, and the highest luminance of HLG and of PQ, in nits.
    private static let (white, highestHLG, highestPQ) = (203.0, 1000.0, 10_000.0)

    /// Converts `color`, coded by BT.709, to the coded color in video of `description`. Returns `color` itself if that
    /// video has standard range.
    static func coded(_ color: Components, in description: ColorDescription) -> Components {
        guard description.isHDR else { return color }
        // The light that a screen of standard range shows (ITU-R BT.1886).
        var light: Components = (
            white * pow(color.red, 2.4), white * pow(color.green, 2.4), white * pow(color.blue, 2.4)
        )
        if description.primaries == 9 { light = wide(light) }
        if description.transfer == 16 { return (pq(light.red), pq(light.green), pq(light.blue)) }
        // The inverse of the system gamma of 1.2 (ITU-R BT.2100, table 5).
        let luminance = sum(of: light, 0.2627, 0.678, 0.0593)
        let gain = luminance > 0 ? pow(luminance / highestHLG, (1 - 1.2) / 1.2) / highestHLG : 0
        return (hlg(gain * light.red), hlg(gain * light.green), hlg(gain * light.blue))
    }

    /// Converts light from the primaries of BT.709 to the primaries of BT.2020 (ITU-R BT.2087, 2.2).
    private static func wide(_ light: Components) -> Components {
        (
            sum(of: light, 0.6274, 0.3293, 0.0433), sum(of: light, 0.0691, 0.9195, 0.0114),
            sum(of: light, 0.0164, 0.088, 0.8956)
        )
    }

    private static func sum(of light: Components, _ red: Double, _ green: Double, _ blue: Double) -> Double {
        red * light.red + green * light.green + blue * light.blue
    }

    /// The PQ code value of `light`, in nits (SMPTE ST 2084, equation 5.2).
    private static func pq(_ light: Double) -> Double {
        let power = pow(max(0, light) / highestPQ, 2610.0 / 16_384)
        let (first, second, third) = (3424.0 / 4096, 2413.0 / 128, 2392.0 / 128)
        return pow((first + second * power) / (1 + third * power), 2523.0 / 32)
    }

    /// The HLG code value of `light`, which is scene light from 0 to 1 (ITU-R BT.2100, table 5).
    private static func hlg(_ light: Double) -> Double {
        if light <= 1.0 / 12 { return sqrt(3 * max(0, light)) }
        let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)
        return min(1, a * log(12 * light - b) + c)
    }
}
