// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import Kernels
package import LibAV
package import MP4
package import Media

/// How one clip gives way to the next.
package struct StitchTransition: Sendable, Equatable {
    /// What is seen.
    package var transition: Transition
    /// From the clip's first frame on.
    package var duration: Duration
    /// The color that is seen in it, in place of the transition's own, which is one of frames; black without it.
    package var color: RGBColor?

    /// A transition.
    package init(_ transition: Transition, duration: Duration, color: RGBColor? = nil) {
        (self.transition, self.duration, self.color) = (transition, duration, color)
    }

    /// What is drawn in frames of this color.
    func drawn(in description: ColorDescription) -> Transition {
        var drawn = transition
        drawn.color = PixelColor(color ?? .black, in: description)
        return drawn
    }
}

/// A piece of a file that is to be in the result.
package struct StitchClip: Sendable, Equatable {
    /// The file.
    package var path: String
    /// From where on and up to where, from the file's first frame on; nil for all.
    package var from: Duration?
    package var to: Duration?
    /// Whether the frames that are seen at `from` and just before `to` belong to it, if they are not whole in the range.
    package var coversEnds = false
    /// Whether the frames that begin within the range belong to it, whole or not.
    package var takesBegun = false
    /// Whether it is left out if it has no frame with audio: it is an end of something that lies in several files.
    package var mayBeEmpty = false
    /// When the file's first frame was on air, on one clock for all clips of the result; nil where clips follow each other at
    /// once. Behind a hole such a clip begins when it was on air: the last frame of the one before stays until then, and there
    /// is no audio. Frames without audio belong to it, too.
    package var airtime: Duration?
    /// How it comes on; a cut for nil. The first has none.
    package var transition: StitchTransition?
    /// By how much its audio is to be later; earlier for less than nothing.
    package var audioOffset = Duration.zero
    /// What its chapter is called; nil for the file's name.
    package var title: String?
    /// Where somebody wrote it down, such as `show.yaml:7:11`; nil for nowhere.
    package var origin: String?

    /// A piece of the file `path`.
    package init(path: String, from: Duration? = nil, to: Duration? = nil) {
        (self.path, self.from, self.to) = (path, from, to)
    }

    /// What `body` returns. What it throws says where the clip was written down.
    func placing<Result>(_ body: () throws(ClipFailure) -> Result) throws(ClipFailure) -> Result {
        do throws(ClipFailure) {
            return try body()
        } catch {
            guard let origin, !error.isCancellation else { throw error }
            throw ClipFailure("\(origin): \(error)")
        }
    }
}

/// Which audio is copied.
package enum StitchAudio: String, Sendable, CaseIterable {
    /// What can be copied while each frame keeps its time, and that of clips of a minute and more, whose frames may come half a
    /// packet of audio later or sooner for it.
    case automatic = "auto"
    /// Whatever can be copied.
    case copy
    /// None.
    case encode
}

/// How clips become one.
package struct StitchSettings: Sendable, Equatable {
    /// Where the size of the result comes from.
    package enum Size: Sendable, Equatable {
        /// The first clip.
        case first
        /// The clip with the fewest pixels.
        case smallest
        /// This one.
        case exactly(FrameSize)
    }

    package var size = Size.first
    /// Frames a second; the first clip's for nil.
    package var rate: FrameRate?
    package var fitting = FrameFitting.contain
    package var audio = StitchAudio.automatic
    /// How frames are encoded that cannot be copied, and the audio.
    package var encoder: EncoderSettings

    /// The usual settings.
    package init() {
        encoder = EncoderSettings()
        encoder.rateControl = .quality(18)
        encoder.isLive = false
    }
}

/// What is to be stitched.
package struct StitchRequest: Sendable {
    package var clips: [StitchClip]
    package var settings: StitchSettings
    package var order: StitchOrder
    /// The file to make, and whether it may replace what has that name.
    package var output: String
    package var replaces: Bool
    /// The program's version, for the tags.
    package var version: String
    /// Whether to resume an interrupted run, and to leave a journal that a later run can resume.
    package var resumes = false
    /// How many bytes of the disk must stay free.
    package var reserve: Int64 = 0
    /// What the file is to be like.
    package var form = MovieForm.mp4

    /// A request of these properties.
    package init(
        clips: [StitchClip] = [], settings: StitchSettings = StitchSettings(), order: StitchOrder = .given,
        output: String, replaces: Bool, version: String
    ) {
        (self.clips, self.settings, self.order, self.output) = (clips, settings, order, output)
        (self.replaces, self.version) = (replaces, version)
    }
}
