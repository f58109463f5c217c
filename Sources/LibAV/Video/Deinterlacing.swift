// SPDX-License-Identifier: Apache-2.0

package import Media

/// How interlaced video becomes progressive.
package enum Deinterlacing: Sendable, Hashable {
    /// Each interlaced frame becomes one frame.
    case toFrames
    /// Each of the two fields of an interlaced frame becomes a frame, so that motion stays as smooth as it was recorded.
    case toFields

    /// Interlaced video has 25 or 30 frames per second. If a stream states more than this, it counts its fields.
    private static let mostFrames = FrameRate(40)

    /// The choice for interlaced video of `rate` frames per second in a program of `program` frames per second: fields,
    /// if the program has at least three frames for two frames of the video. An unknown rate counts as 30.
    package init(of rate: FrameRate?, in program: FrameRate) {
        let stated = rate ?? FrameRate(30)
        let fields = Self.ratio(stated, Self.mostFrames) > 1
        self = Self.ratio(program, stated) * (fields ? 2 : 1) >= 1.5 ? .toFields : .toFrames
    }

    private static func ratio(_ rate: FrameRate, _ other: FrameRate) -> Double {
        Double(rate.numerator) * Double(other.denominator) / (Double(rate.denominator) * Double(other.numerator))
    }

    /// libavfilter's filter. It leaves progressive frames alone.
    var filter: String {
        "bwdif=mode=\(self == .toFields ? "send_field" : "send_frame"):parity=auto:deint=interlaced"
    }
}
