// SPDX-License-Identifier: Apache-2.0

package import Media

extension VideoFormat {
    /// The format in which frames are encoded that are to be like those of `track`: even sizes for 4:2:0, and where
    /// nothing is known 1280x720 at 25.
    package init(codedLike track: TrackDescription?) {
        let frames = track?.frameFormat ?? FrameFormat(width: 1280, height: 720)
        let (width, height) = (min(8192, max(16, frames.width & ~1)), min(8192, max(16, frames.height & ~1)))
        self.init(
            width: width, height: height, frameRate: track?.nominalRate ?? FrameRate(25),
            sampleAspectRatio: frames.sampleAspectRatio,
            color: frames.color.resolved(width: width, height: height))
    }
}
