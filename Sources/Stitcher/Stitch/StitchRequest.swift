// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import Kernels
package import LibAV
package import MP4
package import Media

/// The transition to a clip from the previous clip.
package struct StitchTransition: Sendable, Equatable {
    /// The visual effect.
    package var transition: Transition
    /// The duration, counted from the clip's first frame.
    package var duration: Duration
    /// The color of the transition, which replaces the color in ``transition``. (That color is in the color space of
    /// the frames.) Nil means black.
    package var color: RGBColor?

    package init(_ transition: Transition, duration: Duration, color: RGBColor? = nil) {
        (self.transition, self.duration, self.color) = (transition, duration, color)
    }

    /// The transition with ``color`` converted to the color space that `description` describes.
    func drawn(in description: ColorDescription) -> Transition {
        var drawn = transition
        drawn.color = PixelColor(color ?? .black, in: description)
        return drawn
    }
}

/// A piece of a file that is to be part of the result.
package struct StitchClip: Sendable, Equatable {
    /// The path of the file.
    package var path: String
    /// The start and the end of the piece, counted from the file's first frame; nil for the start or the end of the
    /// file.
    package var from: Duration?
    package var to: Duration?
    /// Whether the piece includes the frames that are visible at `from` and just before `to`, even if these are only
    /// partly within the range.
    package var coversEnds = false
    /// Whether the piece includes the frames that begin between `from` and `to`, even if they end after `to`.
    package var takesBegun = false
    /// Whether the piece is left out without an error if it contains no frame, or no frame that has audio. This is set
    /// for pieces of a range that extends over several files.
    package var mayBeEmpty = false
    /// The time at which the file's first frame was on air, on one clock for all clips of the result; nil if clips
    /// directly follow each other. With such times, gaps between clips remain: during a gap, the last frame of the
    /// previous clip is frozen, and there is no audio. The clip also includes frames without audio.
    package var airtime: Duration?
    /// The transition to this clip; nil means a cut. The first clip has no transition.
    package var transition: StitchTransition?
    /// The delay that is added to the clip's audio; a negative value moves the audio earlier.
    package var audioOffset = Duration.zero
    /// The title of the clip's chapter; nil means the file's name.
    package var title: String?
    /// The position in the list from which the clip was read, such as `show.yaml:7:11`; nil if there is no list.
    package var origin: String?

    /// A piece of the file `path`.
    package init(path: String, from: Duration? = nil, to: Duration? = nil) {
        (self.path, self.from, self.to) = (path, from, to)
    }

    /// Returns the result of `body`. If `body` throws, the clip's origin is added to the error.
    func placing<Result>(_ body: () throws(ClipFailure) -> Result) throws(ClipFailure) -> Result {
        do throws(ClipFailure) {
            return try body()
        } catch {
            guard let origin, !error.isCancellation else { throw error }
            throw ClipFailure("\(origin): \(error)")
        }
    }
}

/// Which packets of audio are copied.
package enum StitchAudio: String, Sendable, CaseIterable {
    /// Packets that can be copied while each frame keeps its time. In clips of a minute or more, all packets are
    /// copied; to fit the packets, the frames of such a clip and of all later clips can be moved by up to half a packet
    /// of audio (at high frame rates, by up to a packet).
    case automatic = "auto"
    /// All packets that can be copied.
    case copy
    /// No packet: all audio is re-encoded.
    case encode
}

/// The properties of the file into which clips are joined.
package struct StitchSettings: Sendable, Equatable {
    /// Determines the result's frame size.
    package enum Size: Sendable, Equatable {
        /// The size of the first clip.
        case first
        /// The size of the clip with the fewest pixels.
        case smallest
        /// The given size.
        case exactly(FrameSize)
    }

    package var size = Size.first
    /// Frames per second; nil means the rate of the first clip.
    package var rate: FrameRate?
    package var fitting = FrameFitting.contain
    package var audio = StitchAudio.automatic
    /// The settings by which audio, and frames that cannot be copied, are encoded.
    package var encoder: EncoderSettings

    package init() {
        encoder = EncoderSettings()
        encoder.rateControl = .quality(18)
        encoder.isLive = false
    }
}

/// A request to join clips into one file.
package struct StitchRequest: Sendable {
    package var clips: [StitchClip]
    package var settings: StitchSettings
    package var order: StitchOrder
    /// The path of the file that is made. `replaces` says whether an existing file with that name is replaced.
    package var output: String
    package var replaces: Bool
    /// The program's version, for the file's tags.
    package var version: String
    /// Whether an interrupted run is resumed, and a journal is written from which a later run can resume.
    package var resumes = false
    /// How many bytes must stay free on the disk.
    package var reserve: Int64 = 0
    /// The form of the file, such as a plain or a fragmented MP4.
    package var form = MovieForm.mp4

    package init(
        clips: [StitchClip] = [], settings: StitchSettings = StitchSettings(), order: StitchOrder = .given,
        output: String, replaces: Bool, version: String
    ) {
        (self.clips, self.settings, self.order, self.output) = (clips, settings, order, output)
        (self.replaces, self.version) = (replaces, version)
    }
}
