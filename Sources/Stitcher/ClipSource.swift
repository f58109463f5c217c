// SPDX-License-Identifier: Apache-2.0

package import Archive
package import MP4
package import Media

/// A recording's file as a plan sees it: when it was on air, where it lies in its program, and its samples.
package struct ClipSource: Sendable {
    /// The file's name, for sentences about it.
    package var name: String
    /// When its first frame was on air: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// The run of the recorder that made it, and where it lies in that run's program, in nanoseconds.
    package var position: SegmentPosition?
    /// Ticks a second of the video and of the audio.
    package var videoBase: TimeBase
    package var audioBase: TimeBase
    /// Ticks that one frame lasts.
    package var frameDuration: Int64
    /// The samples in the order of decoding, in ticks from the first frame on.
    package var video: [IndexedSample]
    package var audio: [IndexedSample]
    /// Ticks until the last frame ends.
    package var videoEnd: Int64
    /// Where the audio that is heard begins.
    package var audioStart: Int64

    /// A source of these properties.
    package init(
        name: String, start: Int64, position: SegmentPosition?, timescales: (video: Int32, audio: Int32),
        frameDuration: Int64, video: [IndexedSample], audio: [IndexedSample], audioStart: Int64
    ) {
        (self.name, self.start, self.position) = (name, start, position)
        videoBase = TimeBase(1, timescales.video)
        audioBase = TimeBase(1, timescales.audio)
        (self.frameDuration, self.video, self.audio) = (frameDuration, video, audio)
        self.audioStart = audioStart
        videoEnd = (video.map(\.pts).max() ?? 0) + frameDuration
    }

    /// What the file `name` holds.
    package init(name: String, _ index: SegmentIndex) {
        let scales = (
            Int32(clamping: index.video.timescale), Int32(clamping: index.audio?.timescale ?? 48_000)
        )
        self.init(
            name: name, start: index.facts.start.milliseconds, position: index.facts.position, timescales: scales,
            frameDuration: index.facts.leading.sampleDuration, video: index.video.samples,
            audio: index.audio?.samples ?? [], audioStart: index.facts.audio?.offset ?? 0)
        if position?.isTrimmed == true { videoEnd = index.facts.leading.shown }
    }

    /// By how much times may be rounded, in nanoseconds: one millisecond, the unit in which RTMP and FLV count.
    private static let rounding: Int64 = 1_000_000

    /// Program time `time`, in nanoseconds, in ticks from the first frame on, as early as a frame of that time may seem to be;
    /// nil for a file that does not say where it lies in its program.
    func ticks(atProgram time: Int64) -> Int64? {
        position.map {
            TimeBase.nanoseconds.rescale(time - Self.rounding - $0.programStart, to: videoBase, rounding: .up)
        }
    }

    /// Whether one of its frames begins within `program`, in nanoseconds of its program. True, too, if the file does
    /// not say where it lies in its program.
    func hasFrame(within program: Range<Int64>) -> Bool {
        guard let low = ticks(atProgram: program.lowerBound), let high = ticks(atProgram: program.upperBound) else {
            return true
        }
        return video.contains { $0.pts >= low && $0.pts < high }
    }

    /// When the last frame ended.
    var end: Int64 { start + videoBase.rescale(videoEnd, to: .milliseconds) }
}

/// Why no clip could be made, in one sentence.
package struct ClipFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    /// Whether it is only that the files are not coded as one: coded again, they can be joined.
    package var isDifference = false

    package init(_ description: String) { self.description = description }
}
