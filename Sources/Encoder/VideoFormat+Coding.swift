// SPDX-License-Identifier: Apache-2.0

package import Media

extension VideoFormat {
    /// The format in which frames are encoded that are to be like those of `track`; where nothing is known 1280x720 at 25.
    package init(codedLike track: TrackDescription?) {
        let frames = track?.frameFormat ?? FrameFormat(width: 1280, height: 720)
        self.init(nearestTo: frames, frameRate: track?.nominalRate ?? FrameRate(25))
        color = frames.color.resolved(width: width, height: height)
    }
}
