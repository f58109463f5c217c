// SPDX-License-Identifier: Apache-2.0

package import Media

extension VideoFormat {
    /// The format in which frames like those of `track` are encoded. Unknown values are those of 1280x720 at 25 frames
    /// per second.
    package init(codedLike track: TrackDescription?) {
        let frames = track?.frameFormat ?? FrameFormat(width: 1280, height: 720)
        self.init(nearestTo: frames, frameRate: track?.nominalRate ?? FrameRate(25))
        color = frames.color.resolved(width: width, height: height)
    }
}
