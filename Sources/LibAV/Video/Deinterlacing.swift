// SPDX-License-Identifier: Apache-2.0

package import Media

/// How interlaced video becomes progressive.
package enum Deinterlacing: Sendable, Hashable {
    /// Each interlaced frame becomes one frame.
    case toFrames
    /// Each of the two fields of an interlaced frame becomes a frame, so that motion stays as smooth as it was
    /// recorded.
    case toFields

    /// Interlaced video has 25 or 30 frames per second. A stream that states a higher rate than this limit counts its
    /// fields.
    private static let mostFrames = 40.0

    /// The choice for interlaced video of `rate` frames per second in a program of `program` frames per second: fields,
    /// if the program has at least three frames for two frames of the video. An unknown rate counts as 30.
    package init(of rate: FrameRate?, in program: FrameRate) {
        let stated = (rate ?? FrameRate(30)).value
        let frames = stated > Self.mostFrames ? stated / 2 : stated
        self = program.value / frames >= 1.5 ? .toFields : .toFrames
    }

    /// The deinterlacing filter of libavfilter, with its options. It does not change progressive frames.
    var filter: String {
        "bwdif=mode=\(self == .toFields ? "send_field" : "send_frame"):parity=auto:deint=interlaced"
    }
}
