// SPDX-License-Identifier: Apache-2.0

package import Media

/// What a file's `moov` says besides its samples.
package struct MovieLayout {
    /// One track.
    package struct Track: Sendable {
        /// `track_ID`: 1 is the frame, 2 the audio.
        package var id: UInt32
        /// Video or audio.
        package var kind: TrackKind
        /// Ticks a second.
        package var timescale: UInt32
        /// Display size in 16.16 fixed point; 0 for audio.
        package var width: UInt32 = 0
        /// As ``width``.
        package var height: UInt32 = 0
        /// How frames are turned for display (ISO/IEC 14496-12, 8.3.2): row by row.
        package var matrix = unityMatrix
        /// The complete `stsd` box.
        package var sampleDescription: [UInt8]
        /// Movie ticks in which the track shows nothing at first.
        package var emptyEdit: Int64 = 0
        /// Where on the track's timeline the presentation begins.
        package var mediaTime: Int64 = 0
        /// Movie ticks that the edit list of a file that was read shows; 0 while a file is open.
        package var shownDuration: Int64 = 0
        /// Movie ticks that it shows at most, whatever samples there are behind them.
        package var limit: Int64?
    }

    /// The matrix that turns nothing.
    static let unityMatrix: [UInt32] = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000]

    /// What its boxes are like.
    package private(set) var form = MovieForm.mp4
    /// Movie ticks a second: the audio's rate, so that its edits are exact; without audio, the video's timescale.
    package var timescale: UInt32
    /// Seconds since 1904-01-01 UTC (ISO/IEC 14496-12, 8.2.2).
    package var creationTime: UInt64 = 0
    /// The tracks, in the order of their boxes.
    package var tracks: [Track]
    /// Movie ticks at which the presentation ends, whatever samples there are behind it; nil for the end of the samples.
    package var end: Int64?
    /// The complete `udta` box, or nothing.
    package var userData: [UInt8] = []

    /// The number of the video track in files of ours.
    package static let videoID: UInt32 = 1
    /// The number of the audio track in files of ours.
    package static let audioID: UInt32 = 2

    /// The layout of a file of the video and audio of `description` that was begun at `creationTime` and says `userData` about itself.
    package init(
        description: StreamDescription, creationTime: UInt64, userData: [UInt8], form: MovieForm = .mp4
    ) {
        (tracks, self.form) = ([], form)
        if let video = description.video, let frames = video.frameFormat {
            let aspect = frames.sampleAspectRatio
            let width = Int64(frames.width) * 65536 * Int64(aspect.horizontal) / Int64(aspect.vertical)
            tracks.append(
                Track(
                    id: Self.videoID, kind: .video, timescale: Self.videoTimescale(video.timeBase),
                    width: UInt32(clamping: width), height: UInt32(clamping: frames.height << 16),
                    sampleDescription: SampleDescription.video(video, frames, form)))
        }
        if let audio = description.audio, let format = audio.audioFormat {
            tracks.append(
                Track(
                    id: Self.audioID, kind: .audio, timescale: UInt32(format.sampleRate),
                    sampleDescription: SampleDescription.audio(audio, format, form)))
        }
        // The audio's rate, if there is audio.
        timescale = tracks.last?.timescale ?? 1000
        self.creationTime = creationTime
        self.userData = userData
    }

    /// A layout that a reader found in a file.
    package init(timescale: UInt32, creationTime: UInt64, tracks: [Track], userData: [UInt8]) {
        self.timescale = timescale
        self.creationTime = creationTime
        self.tracks = tracks
        self.userData = userData
    }

    /// The least multiple of the packets' ticks a second that is at least 10000: all times stay exact.
    static func videoTimescale(_ base: TimeBase) -> UInt32 {
        let ticks = UInt32(base.denominator)
        return ticks * max(1, (10_000 + ticks - 1) / ticks)
    }
}
